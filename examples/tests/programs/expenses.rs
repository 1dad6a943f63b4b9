//! Two tables and a log.

use crate::output;

#[test]
fn after_a_crash_both_tables_have_what_the_log_has() {
    let text = output("expenses");
    let (_, table) = text.split_once("after recovery").unwrap();
    let rows: Vec<Vec<&str>> = table
        .lines()
        .skip(1)
        .map(|row| row.split_whitespace().collect())
        .collect();
    assert!(rows.len() > 6, "{text}");
    for row in &rows {
        let [.., logged, _, _, expense, items] = row[..] else {
            panic!("{row:?}\n{text}")
        };
        let expected = if logged == "yes" { ("1", "2") } else { ("0", "0") };
        assert_eq!((expense, items), expected, "{text}");
    }
    // A crash between the two tables, and one before the log.
    assert!(
        rows.iter().any(|row| row.ends_with(&["yes", "1", "0", "1", "2"])),
        "{text}"
    );
    assert!(
        rows.iter().any(|row| row.ends_with(&["no", "0", "0", "0", "0"])),
        "{text}"
    );
    assert_eq!(
        rows[rows.len() - 1],
        ["no", "crash", "yes", "1", "2", "1", "2"],
        "{text}"
    );
}
