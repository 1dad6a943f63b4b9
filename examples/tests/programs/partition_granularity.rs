//! A year of posts in partitions of four sizes.

use crate::{line, output};

#[test]
fn each_period_finds_a_day_in_its_partition_and_the_year_in_a_range() {
    let text = output("partition_granularity");
    for (period, partitions, largest, july, october) in [
        ("year", "3", "2862", "Football_7991,", "Football_7991,"),
        ("month", "14", "372", "Football_7991_06,", "Football_7991_03,"),
        ("day", "368", "12", "Football_7991-05-28,", "Football_7991-02-28,"),
        ("season", "42", "84", "Football_7991_06,", "Football_7991_03_04,"),
    ] {
        let expected = format!(
            "{period} {partitions} {largest} 2 in {july} RowRange 12 in {october} RowRange 2862, PartitionRange"
        );
        assert_eq!(line(&text, period).join(" "), expected, "{text}");
    }
}
