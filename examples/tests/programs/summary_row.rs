//! Employees and the row that counts them.

use crate::output;

#[test]
fn count_equals_the_rows_after_each_change() {
    let text = output("summary_row");
    let lines: Vec<&str> = text.lines().skip(1).collect();
    let expected = [
        "two clerks hire            employees 2, counted 2",
        "a taken id: AlreadyExists  employees 2, counted 2",
        "one leaves                 employees 1, counted 1",
    ];
    assert_eq!(lines, expected);
}
