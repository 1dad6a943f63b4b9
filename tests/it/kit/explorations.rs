//! Every operation, every pattern and every mistake in the list of explorations.

use std::time::Duration;

use azure_table_tests::explorations::{Case, crashes, mistakes, operations, patterns};
use xtask::long::{OPERATIONS, PATTERNS};
use xtask::sources::root;

/// Explores the cases that are not slow with this many faults. A list with fewer cases than before fails.
fn prove<'a>(cases: impl Iterator<Item = &'a Case>, count: usize, faults: usize) {
    let cases: Vec<_> = cases.collect();
    assert_eq!(cases.len(), count);
    for case in cases.iter().filter(|case| !case.is_slow(faults)) {
        let found = (case.explore)(faults);
        // Unoptimized, beside other tests, its minute may end one with a fault: `cargo xtask long` sees all orders.
        let is_proven = found.is_proof() || faults > 0 && found.failure().is_none();
        assert!(is_proven, "{}: {found}", case.name);
    }
}

#[test]
fn operations_are_correct_in_every_order() {
    prove(operations::ALL.iter(), OPERATIONS, 0);
}

#[test]
#[cfg_attr(not(feature = "full"), ignore = "takes long: add `--features full`")]
fn operations_are_correct_in_every_order_with_one_fault() {
    prove(operations::ALL.iter(), OPERATIONS, 1);
}

#[test]
#[cfg_attr(not(feature = "full"), ignore = "takes long: add `--features full`")]
fn patterns_are_correct_in_every_order() {
    prove(patterns::all(), PATTERNS, 0);
}

#[test]
#[cfg_attr(not(feature = "full"), ignore = "takes long: add `--features full`")]
fn patterns_are_correct_in_every_order_with_one_fault() {
    prove(patterns::all(), PATTERNS, 1);
}

#[test]
fn processes_that_crash_keep_the_promises() {
    for case in crashes::all().filter(|case| !case.slow) {
        println!("{}", case.check(Duration::from_secs(60)));
    }
}

#[test]
#[cfg_attr(not(feature = "full"), ignore = "takes long: add `--features full`")]
fn processes_that_crash_keep_the_promises_in_many_orders() {
    // `cargo program explorations -- crashes` runs each for a minute.
    let cases: Vec<_> = crashes::all().collect();
    assert_eq!(cases.len(), 43);
    for case in cases {
        println!("{}", case.check(Duration::from_secs(3)));
    }
}

#[test]
fn mistakes_are_found_with_the_output_of_the_guide() {
    let guide = std::fs::read_to_string(root().join("azure-table/src/guide/explorations.md")).unwrap();
    let (mut shown, mut replays) = (0, 0);
    for mistake in mistakes::all() {
        let found = (mistake.wrong)();
        let failure = found.failure().unwrap_or_else(|| panic!("{}: {found}", mistake.name));
        println!("{}: {failure}\n", mistake.name);
        shown += usize::from(guide.contains(failure.story()));
        replays += usize::from(guide.contains(&format!(
            "{}\nreplay: explore(isolated, replay = {:?})\n",
            failure.story(),
            failure.schedule()
        )));
        assert!(found.schedules() < 1_000, "{}: {found}", mistake.name);
        let right = (mistake.right)();
        assert!(right.is_proof(), "{}: {right}", mistake.name);
    }
    assert_eq!(
        (shown, replays),
        (5, 1),
        "the stories of the guide, and the line that replays durabletask#1252"
    );
}
