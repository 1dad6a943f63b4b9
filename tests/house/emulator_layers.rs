//! The layers of the emulator: imports point downward, without cycles, and code asks rules instead of profiles.

use xtask::layers::Layers;

use super::product;

const LAYERS: Layers<'_> = Layers {
    folder: "azure-table-emulator/src",
    names: &[
        "program",
        "lib",
        "http",
        "in_process",
        "service",
        "head",
        "site",
        "access",
        "operations",
        "load",
        "durable",
        "snapshot",
        "request",
        "store",
        "response",
        "json_text",
        "settings",
        "rules",
    ],
};

/// The stages of a request, in order; `service` passes a request through them.
const STAGES: [&str; 6] = ["head", "site", "access", "operations", "store", "response"];

#[test]
fn imports_of_the_emulator_go_downward() {
    let sources = product();
    LAYERS.check_imports(sources, 100);
    LAYERS.check_circles(sources);
}

/// Imports go downward, so a stage imports only later ones if the layers have the order of the stages.
#[test]
fn stages_of_a_request_import_only_later_ones() {
    let place = |stage: &&str| LAYERS.names.iter().position(|layer| layer == stage).expect("a layer");
    let places = STAGES.iter().map(place).collect::<Vec<_>>();
    assert!(places.is_sorted(), "{places:?}");
    let sources = product();
    let driver = sources
        .files
        .iter()
        .position(|file| file.path == "azure-table-emulator/src/service.rs");
    let driven: Vec<_> = sources.imports()[driver.expect("the service")]
        .iter()
        .filter_map(|import| LAYERS.position(&sources.files[*import]))
        .collect();
    for (stage, place) in STAGES.iter().zip(places) {
        assert!(driven.contains(&place), "the service passes no request to {stage}");
    }
}

#[test]
fn emulator_code_uses_rules_instead_of_profiles() {
    // The program may name the service that it was started for.
    let allowed = [0, LAYERS.names.len() - 1];
    for file in &product().files {
        assert!(
            LAYERS.position(file).is_none_or(|position| allowed.contains(&position))
                || !file.skeleton.contains("Profile::"),
            "{}: look a field of the rules up",
            file.path
        );
    }
}
