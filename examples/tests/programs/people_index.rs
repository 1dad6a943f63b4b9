//! People found by their declared indexes.

use crate::{line, output};

#[test]
fn index_of_a_table_with_rows_is_built_once_its_values_are_unique() {
    let text = output("people_index");
    let builds: Vec<&str> = text.lines().filter(|line| line.starts_with("build")).collect();
    let expected = [
        "build by_mail      2 indexed, taken: [(\"contoso\", \"0000000003\")]",
        "build by_mail      3 indexed, taken: []",
        "build by_joined    3 indexed",
    ];
    assert_eq!(builds, expected);
}

#[test]
fn queries_follow_each_change_in_the_order_of_the_index() {
    let text = output("people_index");
    // Each person is an id, `since` and a date.
    let ids = |step: &str| -> Vec<String> {
        let words = line(&text, step);
        let people = &words[step.split_whitespace().count()..];
        people.chunks(3).map(|person| person[0].to_owned()).collect()
    };
    assert_eq!(ids("in sales"), ["4", "2", "1"], "{text}");
    assert_eq!(ids("3 moves to sales"), ["4", "2", "3", "1"], "{text}");
    assert_eq!(ids("1 leaves"), ["4", "2", "3"], "{text}");
    assert_eq!(
        line(&text, "insert")[1..],
        ["AlreadyExists", "in", "Some(\"by_mail\")"],
        "{text}"
    );
    assert_eq!(line(&text, "eve@x")[1..], ["Some(4)"], "{text}");
}

#[test]
fn rows_of_a_writer_without_the_indexes_are_found_and_repaired() {
    let text = output("people_index");
    let (_, after) = text.split_once("a script writes    ").unwrap();
    let lines: Vec<&str> = after.lines().collect();
    let expected = [
        "4 since 2018-11-05, 2 since 2019-07-15, 3 since 2020-01-02",
        "verify             4 faults",
        "  the entity (\"contoso\", \"0000000005\") lacks its index row \"$ix;by_joined sales 0637792704000000000 0000000005\"",
        "  the entity (\"contoso\", \"0000000005\") lacks its index row \"$ix;by_mail fay@x\"",
        "  the index row (\"contoso\", \"$ix;by_joined sales 0636987456000000000 0000000002\") has no entity with these fields",
        "  the index row (\"contoso\", \"$ix;by_mail bob@x\") has no entity with these fields",
        "repair             4 index rows",
        "in sales           4 since 2018-11-05, 3 since 2020-01-02, 5 since 2022-02-01",
    ];
    assert_eq!(lines, expected);
}
