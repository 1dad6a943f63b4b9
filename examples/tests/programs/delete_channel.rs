//! A channel and its blogs, deleted by workers that crash.

use crate::{line, output};

#[test]
fn after_any_crash_the_next_worker_deletes_what_is_left() {
    let text = output("delete_channel");
    let (_, table) = text.split_once("deliveries\n").unwrap();
    let rows: Vec<Vec<&str>> = table
        .lines()
        .take_while(|row| !row.is_empty())
        .map(|row| row.split_whitespace().collect())
        .collect();
    assert_eq!(rows.len(), 11, "{text}");
    for row in &rows {
        assert_eq!(row[4..6], ["deleted", "0"], "{text}");
    }
    // Before the item is taken, between two batches of blogs, and before the item is completed.
    assert_eq!(
        line(&text, "2 Replace")[2..],
        ["visible", "250", "deleted", "0", "1"],
        "{text}"
    );
    assert_eq!(
        line(&text, "7 Batch")[2..],
        ["marked", "150", "deleted", "0", "2"],
        "{text}"
    );
    assert_eq!(
        line(&text, "10 Delete")[2..],
        ["deleted", "0", "deleted", "0", "2"],
        "{text}"
    );
    // The second delivery is of the channel before.
    assert!(
        text.contains("created again before delivery 2: visible, 250 blogs"),
        "{text}"
    );
}
