//! The emulator has floors: imports go downward, and its code asks the rules instead of matching the profile.

use azure_table_tests::house::{House, SourceFile, root};

/// The floors, highest first. `emulator` is the face itself.
const FLOORS: [&str; 12] = [
    "http",
    "emulator",
    "dispatch",
    "operations",
    "access",
    "load",
    "response",
    "snapshot",
    "request",
    "store",
    "settings",
    "rules",
];

/// Returns the floor of a file of the emulator, 0 at the top.
///
/// # Panics
/// If it stands on none.
fn floor(file: &SourceFile) -> usize {
    let below = file.path.trim_end_matches(".rs").split("/src/emulator").nth(1);
    let name = below.and_then(|path| path.split('/').nth(1)).unwrap_or("emulator");
    let floor = FLOORS.iter().position(|floor| *floor == name);
    assert!(floor.is_some(), "{} stands on no floor", file.path);
    floor.unwrap_or_default()
}

#[test]
fn imports_of_the_emulator_go_downward() {
    let house = House::read(root());
    let is_inside = |file: &SourceFile| file.layer() == "emulator";
    let mut count = 0;
    for (own, imports) in house.imports().into_iter().enumerate() {
        let own = &house.files[own];
        for other in imports.into_iter().map(|other| &house.files[other]) {
            if is_inside(own) && is_inside(other) {
                assert!(
                    floor(other) >= floor(own),
                    "{} imports {}, which stands above",
                    own.path,
                    other.path
                );
                count += 1;
            }
        }
    }
    assert!(count > 100, "the imports were not found");
}

#[test]
fn emulator_asks_its_rules_and_never_which_service_it_is() {
    for file in House::read(root())
        .files
        .iter()
        .filter(|file| file.layer() == "emulator")
    {
        let is_rule = floor(file) == FLOORS.len() - 1;
        assert!(
            is_rule || !file.code.contains("Profile::"),
            "{}: look a field of the rules up",
            file.path
        );
    }
}
