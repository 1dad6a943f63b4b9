//! A table as plain JSON lines.

use crate::output;

#[test]
fn values_are_plain_json() {
    let text = output("export");
    assert!(text.contains("exported   2 rows"), "{text}");
    let last: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let expected = serde_json::json!({
        "PartitionKey": "us", "RowKey": "7kdx", "Place": "Banda Sea",
        "Magnitude": 5.1, "Felt": 5_000_000_000_i64, "Time": "2026-03-01T04:11:09.5Z",
    });
    assert_eq!(last, expected);
}
