//! Every operation, every pattern and every mistake in the list of explorations.

use azure_table_tests::explorations::{crashes, mistakes, operations, patterns};
use xtask::long::{OPERATIONS, PATTERNS};
use xtask::sources::root;

/// Those of the patterns, with a fault, and with a crash are in `tests/faults`.
#[test]
fn operations_are_correct_in_every_order() {
    for case in operations::ALL.iter().filter(|case| !case.is_slow(0)) {
        let found = case.explore(0);
        assert!(found.is_proof(), "{}: {found}", case.name);
    }
}

/// A list with fewer cases than before fails.
#[test]
fn every_list_has_its_cases() {
    assert_eq!(operations::ALL.len(), OPERATIONS);
    assert_eq!(patterns::all().count(), PATTERNS);
    assert_eq!(crashes::all().count(), 43);
}

#[test]
#[ignore = "takes 10 s: add `--ignored`"]
fn mistakes_are_found_with_the_output_of_the_guide() {
    let guide = std::fs::read_to_string(root().join("azure-table/src/guide/explorations.md")).unwrap();
    let (mut shown, mut replays) = (0, 0);
    for mistake in mistakes::all() {
        let found = mistake.explore(false);
        let failure = found.failure().unwrap_or_else(|| panic!("{}: {found}", mistake.name));
        println!("{}: {failure}\n", mistake.name);
        shown += usize::from(guide.contains(failure.story()));
        replays += usize::from(guide.contains(&format!(
            "{}\nreplay: explore(isolated, replay = {:?})\n",
            failure.story(),
            failure.schedule()
        )));
        assert!(found.schedules() < 1_000, "{}: {found}", mistake.name);
        let right = mistake.explore(true);
        assert!(right.is_proof(), "{}: {right}", mistake.name);
    }
    assert_eq!(
        (shown, replays),
        (2, 2),
        "the stories of the guide, and the lines that replay them"
    );
}
