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

#[test]
fn december_is_the_range_from_its_first_to_its_last_day() {
    let text = output("blogs");
    let (_, december) = text.split_once("blogs of Brady in December 2010, RowRange:\n").unwrap();
    assert_eq!(december, "  2010-12-01  PartitionKeys\n  2010-12-31  BowlGames\n");
}
