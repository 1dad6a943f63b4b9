//! The summary of CI: a step that skips itself is not a success there, unless `.ci/steps` lists it.

use std::process::Command;

use xtask::sources::root;

/// Runs one step that skips itself, with this value of `CI`. Returns whether the run succeeds, and its output.
fn skipped(heading: &str, ci: &str) -> (bool, String) {
    let script = r#"source .ci/steps; skip() { return 75; }; step "$1" skip; summarize"#;
    let output = Command::new("bash")
        .args(["-euo", "pipefail", "-c", script, "bash", heading])
        .current_dir(root())
        .env("CI", ci)
        .output()
        .unwrap();
    (output.status.success(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn skipped_step_fails_in_ci_unless_it_is_listed() {
    for (heading, ci, succeeds) in [
        ("minimum Rust version", "true", true),
        ("minimum Rust", "true", false),
        ("clippy", "true", false),
        ("clippy", "", true),
    ] {
        let (success, text) = skipped(heading, ci);
        assert_eq!(success, succeeds, "{heading}: {text}");
        assert_eq!(text.contains(&format!("<== {heading}: skipped")), succeeds, "{text}");
    }
}

#[test]
fn listed_steps_exist() {
    let read = |path: &str| std::fs::read_to_string(root().join(path)).unwrap();
    let [list, run, release] = [".ci/steps", ".ci/run", "packaging/release"].map(read);
    let list = list.split_once("may_skip=(").unwrap().1.split_once(')').unwrap().0;
    let headings: Vec<_> = list.split('"').skip(1).step_by(2).collect();
    assert!(headings.len() > 5, "{headings:?}");
    for heading in headings {
        let is_step = run.contains(&format!("step \"{heading}\"")) || release.contains(&format!("{heading}() {{"));
        assert!(is_step, "{heading}");
    }
}
