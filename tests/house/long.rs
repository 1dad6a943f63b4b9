//! `cargo xtask long` expects every planted mistake, and the weekly workflow runs every step.

use std::fs;

use xtask::long::STEPS;
use xtask::sources::root;

#[test]
fn every_planted_mistake_is_a_case() {
    for (name, folder) in [
        ("mistakes", "tests/programs/explorations/mutants"),
        ("mistakes-of-systems", "tests/systems/mutants"),
    ] {
        let files = fs::read_dir(root().join(folder)).unwrap();
        let patches = files.filter(|file| {
            file.as_ref()
                .unwrap()
                .path()
                .extension()
                .is_some_and(|it| it == "patch")
        });
        let step = STEPS.iter().find(|step| step.name == name).unwrap();
        assert_eq!(patches.count(), step.cases, "{folder}");
    }
}

#[test]
fn workflow_runs_every_step() {
    let workflow = fs::read_to_string(root().join(".github/workflows/long.yml")).unwrap();
    let names = STEPS.map(|step| step.name).join(", ");
    assert!(workflow.contains(&format!("step: [{names}]\n")), "{names}");
}
