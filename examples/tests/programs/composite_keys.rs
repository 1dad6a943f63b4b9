//! An expense with its items, read in two ways.

use crate::output;

#[test]
fn two_tables_scan_for_an_expense_and_one_table_reads_a_range() {
    let text = output("composite_keys");
    let (two, one) = text.split_once("one table, one query").unwrap();
    assert!(
        two.contains("the expense   TableScan") && two.contains("its items     RowRange"),
        "{text}"
    );
    assert!(one.contains("both          RowRange"), "{text}");
    for part in [two, one] {
        assert!(
            part.contains("taxi of ada") && part.contains("02   500 cents"),
            "{text}"
        );
        assert_eq!(part.matches("cents").count(), 2, "{text}");
        assert!(!part.contains("hotel"), "{text}");
    }
}
