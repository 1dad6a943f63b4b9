//! A channel and its blogs, deleted by workers that crash.

use azure_table::{DateTime, TableKey};

use crate::{line, output};

#[test]
fn next_worker_deletes_what_is_left_after_any_crash_and_rows_are_those_of_the_paper() {
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
    // The item is taken, the channel read and marked, its blogs deleted, then the channel, then the item.
    let requests: Vec<&str> = rows.iter().map(|row| row[1]).collect();
    assert_eq!(
        requests,
        [
            "Query", "Replace", "Get", "Merge", "Query", "Batch", "Batch", "Batch", "Delete", "Delete", "crash"
        ],
        "{text}"
    );
    // Before the item is taken, between two batches of blogs, and before the item is completed.
    assert_eq!(
        line(&text, "2 Replace")[2..],
        ["valid", "250", "deleted", "0", "1"],
        "{text}"
    );
    assert_eq!(
        line(&text, "7 Batch")[2..],
        ["invalid", "150", "deleted", "0", "2"],
        "{text}"
    );
    assert_eq!(
        line(&text, "10 Delete")[2..],
        ["deleted", "0", "deleted", "0", "2"],
        "{text}"
    );
    // The second delivery is of the channel before.
    assert!(
        text.contains("created again before delivery 2: valid, 250 blogs"),
        "{text}"
    );

    // The rows have the keys and the properties of the paper.
    let parts: Vec<&str> = text.split("\n\n").collect();
    let [_, channel, blog, ..] = parts.as_slice() else {
        panic!("{text}")
    };
    let names = |row: &str| -> Vec<String> {
        let lines = row.lines().skip(1).filter_map(|line| line.split_whitespace().next());
        lines.map(str::to_owned).collect()
    };
    assert!(channel.starts_with("PartitionKey \"Hockey\", RowKey \"\"\n"), "{text}");
    assert_eq!(names(channel), ["CreatedOn", "IsInvalid", "Owner"], "{text}");
    let created: DateTime = line(channel, "CreatedOn")[1].parse().unwrap();
    let mut row_key = String::new();
    created.write_key(&mut row_key).unwrap();
    let key = format!("PartitionKey \"Hockey\", RowKey \"{row_key}\"\n");
    assert!(blog.starts_with(&key), "{key}\n{text}");
    assert_eq!(names(blog), ["Blog", "Title", "UserId"], "{text}");
}
