//! The case study of the paper: blogs in partitions of five sizes.

use crate::output;

/// The columns of a matrix, one for each size.
fn columns(matrix: &str) -> Vec<[&str; 5]> {
    let lines = matrix.lines().filter(|line| !line.is_empty());
    let cells = lines.map(|line| {
        let cells = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty());
        let cells: Vec<&str> = cells.collect();
        let (_, sizes) = cells.split_at(cells.len() - 5);
        <[&str; 5]>::try_from(sizes).unwrap()
    });
    cells.collect()
}

#[test]
fn sizes_are_those_of_the_paper_and_each_query_has_its_path_and_requests() {
    let text = output("partition_granularity");
    let (_, text) = text.split_once("and its requests:\n").unwrap();
    let (together, text) = text.split_once("The same").unwrap();
    let (_, spread) = text.split_once(":\n").unwrap();

    let keys = [
        "Football",
        "Football_7991_03",
        "Football_7991_03_04",
        "Football_7991_03_04",
        "Football_2521793087999999999",
    ];
    let sizes = [keys, ["2", "15", "43", "63", "1444"], ["1443", "186", "42", "42", "1"]];
    let (row, rows, range) = ("RowRange 1", "RowRange 2", "PartitionRange 1");
    let ranges = "PartitionRange 2";
    let expected = [
        ["Partition 1", range, range, range, range],
        ["Partition 2", ranges, ranges, ranges, ranges],
        [row, row, row, row, range],
        [row, range, range, range, range],
        [row, row, range, range, range],
        [rows, ranges, ranges, ranges, ranges],
        [row, row, row, row, range],
        [row, row, row, row, range],
    ];
    let (found, expected) = (columns(together), [&sizes[..], &expected].concat());
    assert_eq!(found, expected, "{text}");

    let of = |requests: u32| format!("PartitionRange {requests}");
    let expected = [
        ["Partition 1", &of(2), &of(2), &of(2), &of(10)],
        ["Partition 2", &of(14), &of(42), &of(62), &of(1_443)],
        [row, row, row, row, &of(6)],
        [row, &of(2), &of(3), &of(3), &of(42)],
        [row, row, &of(5), &of(5), &of(186)],
        [rows, &of(12), &of(40), &of(60), &of(1_431)],
        [row, row, row, row, &of(1)],
        [row, row, row, row, &of(6)],
    ];
    assert_eq!(columns(spread), [&sizes[..], &expected].concat(), "{text}");
}
