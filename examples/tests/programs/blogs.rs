//! The table `Blogs` in seven steps.

use crate::output;

#[test]
fn each_step_shows_its_effect() {
    let text = output("blogs");
    let steps = [
        "2 create   the table Blogs",
        "3 insert   a blog into Channel9",
        "4 query    rated 3, TableScan: 1",
        "4 query    new blogs of 2 channels, RowRange in each: 3",
        "5 update   \"Hi there\"",
        "6 delete   that blog, 3 are left",
        "7 batch    3 operations, all or none",
        "           2008-10-29T10:00:00Z a *****",
        "           2008-10-30T08:00:00Z c ****",
        "           2008-10-30T09:00:00Z d *",
    ];
    let (_, text) = text.split_once('\n').unwrap();
    let (found, _) = text.split_once("\n\n").unwrap();
    assert_eq!(found.lines().collect::<Vec<_>>(), steps);
}

/// The lines of the paragraph with this heading.
fn paragraph<'t>(text: &'t str, heading: &str) -> Vec<&'t str> {
    let found = text.split("\n\n").find_map(|part| part.strip_prefix(heading));
    assert!(found.is_some(), "no {heading}\n{text}");
    found.unwrap().lines().skip(1).map(str::trim).collect()
}

/// `20101130;` is before the range, `20110101;` behind it, and so is `SportsCars;` behind that of `Sports;`.
#[test]
fn blogs_of_an_author_are_ranges_of_dates_and_of_a_category() {
    let text = output("blogs");
    assert_eq!(
        paragraph(&text, "blogs of Brady in December 2010, RowRange:"),
        [
            "20101201;PartitionKeys   2010/12/01  Azure    about PartitionKeys",
            "20101231;BowlGames       2010/12/31  Sports   about BowlGames",
        ]
    );
    assert_eq!(
        paragraph(&text, "blogs of Brady about sports, RowRange:"),
        [
            "Sports;BowlGames         2010/12/31  Sports   about BowlGames",
            "Sports;RandyToVikings    2010/09/20  Sports   about RandyToVikings",
        ]
    );
}

#[test]
fn entity_type_and_key_bring_comments_to_their_blog() {
    let text = output("blogs");
    let (first, second) = ("0633584520000000000", "0633585384000000000");
    assert_eq!(
        paragraph(&text, "entries of Joe as stored:"),
        [
            format!("{first}      Blogs     EntityType, Message"),
            format!("{first}_001  Comments  Comment, EntityType, Rating"),
            format!("{first}_002  Comments  Comment, EntityType, Rating"),
            format!("{second}      Blogs     EntityType, Message"),
            format!("{second}_001  Comments  Comment, EntityType, Rating"),
        ]
    );
    let one = ["Kick-off", "1 Who plays?, rated 3", "2 At last, rated 4"];
    let other = ["We won", "1 Congratulations, rated 5"];
    assert_eq!(
        paragraph(&text, "blogs of Joe with their comments, Partition:"),
        [&one[..], &other].concat()
    );
    assert_eq!(paragraph(&text, "one blog of Joe with its comments, RowRange:"), one);
}
