//! Every operation, every pattern and every mistake in the list of explorations.

use azure_table_tests::explorations::{crashes, mistakes, operations, patterns};
use std::time::Duration;
use xtask::sources::root;

#[test]
fn operations_are_correct_in_every_order() {
    for case in operations::ALL {
        let found = (case.explore)(0);
        assert!(found.is_proof(), "{}: {found}", case.name);
    }
}

#[test]
#[cfg_attr(not(feature = "full"), ignore = "takes long: add `--features full`")]
fn operations_are_correct_in_every_order_with_one_fault() {
    // Three tasks take half a minute: `cargo program explorations` runs them.
    for case in operations::ALL.iter().filter(|case| !case.name.contains("three")) {
        let found = (case.explore)(1);
        assert!(found.is_proof(), "{}: {found}", case.name);
    }
}

#[test]
#[cfg_attr(not(feature = "full"), ignore = "takes long: add `--features full`")]
fn patterns_are_correct_in_every_order() {
    // Beside a crash these take minutes: `cargo program explorations` runs them.
    let slow = [
        "`build`",
        "a changed index",
        "`update_where`",
        "`delete_where`",
        "`remove_index` by two",
    ];
    let is_fast = |name: &str| !(name.contains("crashes") && slow.iter().any(|part| name.contains(part)));
    for case in patterns::all().filter(|case| is_fast(case.name)) {
        let found = (case.explore)(0);
        assert!(found.is_proof(), "{}: {found}", case.name);
    }
}

#[test]
#[cfg_attr(not(feature = "full"), ignore = "takes long: add `--features full`")]
fn patterns_are_correct_in_every_order_with_one_fault() {
    // These take up to a minute: `cargo program explorations` runs them.
    let slow = [
        "`Sequence`",
        "the clock jumps",
        "the holder renews",
        "`Log`: two appends",
        "`Log`: an append",
        "with what",
        "`UniqueInTable`",
        "`Indexed`: `build`",
        "`Indexed`: `repair`",
        "`Indexed`: `update_where`",
        "`Indexed`: `delete_where`",
        "`Indexed`: `remove_index` by two",
        "`Indexed`: a changed index",
        "crashes",
    ];
    let is_fast = |name: &str| !slow.iter().any(|part| name.contains(part));
    for case in patterns::all().filter(|case| is_fast(case.name)) {
        let found = (case.explore)(1);
        assert!(found.is_proof(), "{}: {found}", case.name);
    }
}

#[test]
fn processes_that_crash_keep_the_promises() {
    // Those that see all orders within two seconds.
    let fast = [
        "an outbox",
        "under their IDs",
        "with a new header",
        "append with keys",
        "`Indexed`: two processes",
        "`Expiring`",
        "`TablePerPeriod`",
        "`bulk`",
        "`writer`",
        "`grouped`",
        "`delete_where`",
        "`modify` by two",
    ];
    let is_fast = |name: &str| fast.iter().any(|part| name.contains(part));
    for case in crashes::all().filter(|case| is_fast(case.name)) {
        println!("{}", case.check(Duration::from_secs(60)));
    }
}

#[test]
#[cfg_attr(not(feature = "full"), ignore = "takes long: add `--features full`")]
fn processes_that_crash_keep_the_promises_in_many_orders() {
    // `cargo program explorations -- crashes` runs each for a minute.
    for case in crashes::all() {
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
