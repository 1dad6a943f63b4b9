//! The layers of the emulator: imports point downward, without cycles, and code asks rules instead of profiles.

use xtask::layers::Layers;
use xtask::sources::{Sources, root};

const LAYERS: Layers<'_> = Layers {
    folder: "azure-table/src/emulator",
    names: &[
        "emulator",
        "http",
        "in_process",
        "dispatch",
        "operations",
        "access",
        "load",
        "response",
        "durable",
        "snapshot",
        "request",
        "store",
        "settings",
        "rules",
    ],
};

#[test]
fn imports_of_the_emulator_go_downward() {
    let sources = Sources::read(root());
    LAYERS.check_imports(&sources, 100);
    LAYERS.check_circles(&sources);
}

#[test]
fn emulator_code_uses_rules_instead_of_profiles() {
    for file in Sources::read(root()).files {
        assert!(
            LAYERS
                .position(&file)
                .is_none_or(|position| position == LAYERS.names.len() - 1)
                || !file.skeleton.contains("Profile::"),
            "{}: look a field of the rules up",
            file.path
        );
    }
}
