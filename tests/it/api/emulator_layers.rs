//! The layers of the emulator: imports point downward, without cycles, and code asks rules instead of profiles.

use xtask::sources::{SourceFile, Sources, root};

/// The layers, highest first. `emulator` is the public page.
const LAYERS: [&str; 14] = [
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
];

/// Returns the layer of a file, 0 at the top, or `None` outside the emulator.
fn layer(file: &SourceFile) -> Option<usize> {
    let name = match file.modules()[..] {
        ["emulator"] => "emulator",
        ["emulator", name, ..] => name,
        _ => return None,
    };
    let layer = LAYERS.iter().position(|layer| *layer == name);
    assert!(layer.is_some(), "{} belongs to no layer", file.path);
    layer
}

#[test]
fn imports_of_the_emulator_go_downward() {
    let sources = Sources::read(root());
    let mut found = 0;
    for (file, imports) in sources.files.iter().zip(sources.imports()) {
        let Some(above) = layer(file) else { continue };
        for other in imports.into_iter().map(|import| &sources.files[import]) {
            if let Some(below) = layer(other) {
                assert!(
                    below >= above,
                    "{} imports {}, which stands above",
                    file.path,
                    other.path
                );
                found += 1;
            }
        }
    }
    assert!(found > 100, "the imports were not found");
}

#[test]
fn files_of_the_emulator_have_no_import_cycles() {
    let sources = Sources::read(root());
    let of_emulator = |circle: &Vec<&str>| circle.iter().any(|path| path.contains("/emulator"));
    let circles: Vec<_> = sources.circles().into_iter().filter(of_emulator).collect();
    assert!(circles.is_empty(), "{circles:?}");
}

#[test]
fn emulator_code_uses_rules_instead_of_profiles() {
    for file in Sources::read(root()).files {
        assert!(
            layer(&file).is_none_or(|layer| layer == LAYERS.len() - 1) || !file.skeleton.contains("Profile::"),
            "{}: look a field of the rules up",
            file.path
        );
    }
}
