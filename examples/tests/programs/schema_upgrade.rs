//! Old rows under a new struct.

use crate::{line, output};

#[test]
fn old_rows_are_read_rewritten_one_by_one_and_then_all() {
    let text = output("schema_upgrade");
    let parts: Vec<&str> = text.split("\n\n").collect();
    let part = |heading: &str| *parts.iter().find(|part| part.starts_with(heading)).unwrap();

    assert_eq!(
        line(part("stored, written"), "Metropolis")[1..],
        ["euros", "12.5,", "stars", "4"],
        "{text}"
    );
    assert_eq!(
        line(part("read by version 2"), "Metropolis")[1..],
        ["rating", "4", "1250", "cents", "en"],
        "{text}"
    );

    let one = part("stored, after a change of one");
    assert!(one.contains("M            cents 999, language en, rating 5"), "{text}");
    assert_eq!(one.matches("euros").count(), 3, "{text}");

    assert_eq!(
        line(&text, "upgrade_where:"),
        ["upgrade_where:", "3", "applied,", "1", "unchanged"],
        "{text}"
    );
    let all = part("stored, after upgrade_where");
    assert_eq!(all.matches("language en").count(), 4, "{text}");
    assert!(!all.contains("euros") && !all.contains("stars"), "{text}");
    assert!(text.contains("upgrade_where again: 0 applied, 4 unchanged"), "{text}");
}

#[test]
fn a_filter_finds_rows_under_the_stored_name() {
    let text = output("schema_upgrade");
    let found: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("films with rating ge 4: "))
        .collect();
    assert_eq!(found, ["0", "3"], "{text}");
}
