//! Rows that come newest or highest first.

use crate::output;

/// The end of each line of the paragraph with this heading.
fn paragraph<'t>(text: &'t str, heading: &str) -> Vec<&'t str> {
    let (_, rest) = text.split_once(heading).unwrap();
    rest.lines()
        .skip(1)
        .take_while(|line| line.starts_with("  "))
        .map(str::trim)
        .collect()
}

#[test]
fn keys_are_those_of_the_paper_and_the_newest_row_is_first() {
    let text = output("latest_first");
    assert!(
        text.contains("2008-10-01T10:00:00Z  Kick-off      RowKey 2521794455999999999"),
        "{text}"
    );
    let latest = ["2008-10-22T10:00:00Z  The final", "2008-10-15T10:00:00Z  Extra time"];
    assert_eq!(paragraph(&text, "the latest two"), latest, "{text}");
    assert_eq!(
        paragraph(&text, "newer than 2008-10-08T10:00:00Z, RowRange"),
        latest,
        "{text}"
    );
}

#[test]
fn the_highest_score_is_first_and_then_the_latest() {
    let text = output("latest_first");
    let best = paragraph(&text, "the best three");
    let names: Vec<&str> = best.iter().filter_map(|line| line.split_whitespace().nth(1)).collect();
    assert_eq!(names, ["Kim", "Ben", "Ada"], "{text}");
    assert!(text.contains("2 gamers have 10000"), "{text}");
}

#[test]
fn the_home_page_has_all_kinds_and_the_photo_page_one() {
    let text = output("latest_first");
    let all = [
        "2009-05-11T12:00:00Z  Photo  a gull",
        "2009-05-09T12:00:00Z  Blog   on a boat",
        "2009-05-04T12:00:00Z  Photo  a boat",
    ];
    assert_eq!(paragraph(&text, "the home page of joe"), all, "{text}");
    assert_eq!(paragraph(&text, "photos only, Partition"), [all[0], all[2]], "{text}");
}
