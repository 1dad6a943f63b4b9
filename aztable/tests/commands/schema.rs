//! `schema`: what it says about rows, and a struct that reads them.

use azure_table::emulator::SyncPolicy;
use azure_table::{Emulator, TableServiceClient};
use serde_json::Value;

use crate::program::Folder;

/// The struct that the program prints, compiled.
#[expect(unreachable_pub, reason = "the program prints a public struct")]
mod printed {
    include!("schema/orders.rs");
}

/// Every type, types that differ, names that are keywords, collide, or follow no rule.
const ROWS: [(&str, &str, &[&str]); 4] = [
    (
        "ada",
        "0000000001",
        &[
            "Item=tea",
            "Count:int32=2",
            "Paid:bool=true",
            "Weight:int32=1",
            "Code=x",
            "PostedAt:datetime=2026-01-02T03:04:05Z",
        ],
    ),
    (
        "ada",
        "0000000002",
        &[
            "Item=cup",
            "Count:int64=9000000000",
            "type=gift",
            "Self=me",
            "SCHEMA=1",
            "RowKey2=k",
            "Weight:double=1.5",
        ],
    ),
    (
        "ben",
        "0000000001",
        &[
            "Item=pot",
            "Id:guid=00112233-4455-6677-8899-aabbccddeeff",
            "Code:guid=00112233-4455-6677-8899-aabbccddeeff",
        ],
    ),
    (
        "cy_1",
        "1",
        &[
            "Item=",
            "Data:binary=AAEC",
            "Mixed:bool=true",
            "postedAt=later",
            "partition_key=p",
            "größe:int32=1",
        ],
    ),
];

fn folder() -> Folder {
    let folder = Folder::new();
    folder.local(&["create", "Orders"]).done();
    for (partition, row, properties) in ROWS {
        folder
            .local(&[&["put", "Orders", partition, row], properties].concat())
            .done();
    }
    folder.local(&["set", "Orders", "ada", "0000000001", "Mixed=x"]).done();
    folder
}

#[tokio::test]
async fn printed_struct_reads_and_writes_all_rows() {
    let folder = folder();
    let source = folder.local(&["schema", "Orders", "--all", "--rust"]).done();
    let expected = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/commands/schema/orders.rs");
    if std::env::var_os("AZTABLE_UPDATE_GUIDE").is_some() {
        std::fs::write(expected, &source).unwrap();
    }
    assert_eq!(source, std::fs::read_to_string(expected).unwrap());

    let emulator = Emulator::open(folder.path().join("tables"), SyncPolicy::Never).unwrap();
    let service = TableServiceClient::from_transport(emulator);
    let orders = service.table_of::<printed::OrdersRow>().unwrap();
    let rows = orders.query().allow_table_scan().all().await.unwrap();
    assert_eq!(rows.len(), ROWS.len());
    let row = &rows[1];
    assert_eq!(
        (row.item.as_str(), row.count, row.weight),
        ("cup", Some(9_000_000_000), Some(1.5))
    );
    assert_eq!(
        (row.r#type.as_deref(), row.self_.as_deref()),
        (Some("gift"), Some("me"))
    );
    let row = &rows[2];
    assert_eq!(row.code.as_deref(), Some("00112233-4455-6677-8899-aabbccddeeff"));
    let row = &rows[3];
    assert_eq!((row.posted_at, row.posted_at_2.as_deref()), (None, Some("later")));
    assert_eq!(row.partition_key_2.as_deref(), Some("p"));
    assert_eq!(row.others.keys().collect::<Vec<_>>(), ["Mixed"]);
    for row in &rows {
        orders.replace(row).await.unwrap();
        let stored = orders.get((&row.partition_key, &row.row_key)).await.unwrap();
        assert_eq!(stored.as_ref(), Some(row));
    }
}

#[test]
fn schema_names_types_frequencies_and_shapes() {
    let folder = folder();
    let ran = folder.local(&["schema", "Orders", "--json"]);
    let schema: Value = serde_json::from_str(&ran.done()).unwrap();
    assert_eq!((&schema["rows"], &schema["sample"]), (&4.into(), &false.into()));
    assert_eq!(schema["partition_key"][0]["shape"], "text");
    assert_eq!(schema["partition_key"][1]["shape"], "text \"_\" 1 digit");
    assert_eq!(schema["row_key"][0]["shape"], "10 digits");
    let property = |name: &str| {
        let properties = schema["properties"].as_array().unwrap();
        properties
            .iter()
            .find(|property| property["name"] == name)
            .unwrap()
            .clone()
    };
    assert_eq!(property("Item")["lengths"], serde_json::json!([0, 3]));
    assert_eq!(
        property("Count")["types"],
        serde_json::json!({ "int32": 1, "int64": 1 })
    );
    assert_eq!(property("Data")["examples"], serde_json::json!(["AAEC"]));

    let ran = folder.local(&["schema", "Orders", "--sample", "2"]);
    assert!(ran.error.contains("the first 2 rows; --all reads all"), "{ran:?}");
    assert!(
        ran.output.contains("int32 (1), int64 (1)") && !ran.output.contains("binary"),
        "{ran:?}"
    );
    let rust = folder
        .local(&["schema", "Orders", "--sample", "1", "--rust", "--name", "Order"])
        .done();
    assert!(
        rust.starts_with("// From the first row of Orders: others may differ."),
        "{rust}"
    );
    assert!(rust.contains("pub struct Order {"), "{rust}");
}

#[test]
fn a_table_without_rows_has_no_schema() {
    let folder = Folder::new();
    folder.local(&["create", "Orders"]).done();
    let error = folder.local(&["schema", "Orders"]).failed(1);
    assert_eq!(error, "error: Orders: no such rows, which a schema needs\n");
    let error = folder.local(&["schema", "Missing"]).failed(1);
    assert!(
        error.starts_with("error: Missing: no such table: `aztable ls`"),
        "{error}"
    );
}

#[test]
fn stats_count_rows_bytes_and_partitions() {
    let folder = Folder::new();
    folder.local(&["create", "T"]).failed(2);
    folder.local(&["create", "Rows"]).done();
    for (partition, row, text) in [("a", "1", "x"), ("a", "2", "x"), ("b", "1", &*"y".repeat(1_000))] {
        folder
            .local(&["put", "Rows", partition, row, &format!("Text={text}")])
            .done();
    }
    let stats: Value = serde_json::from_str(&folder.local(&["stats", "Rows", "--json"]).done()).unwrap();
    // 4 bytes and the keys, 8 and the name, 4 and the text.
    let small = 4 + 4 + 8 + 8 + 4 + 2;
    let large = small - 2 + 2_000;
    assert_eq!((&stats["rows"], &stats["partitions"]), (&3.into(), &2.into()));
    assert_eq!(stats["bytes"], 2 * small + large);
    assert_eq!(
        stats["largest_by_rows"][0],
        serde_json::json!({ "partition_key": "a", "rows": 2, "bytes": 2 * small })
    );
    assert_eq!(stats["largest_by_bytes"][0]["partition_key"], "b");
    assert_eq!(
        stats["sizes"][0],
        serde_json::json!({ "from": 16, "below": 32, "rows": 2 })
    );

    let price = [
        "stats",
        "Rows",
        "--price-per-gb",
        "1073741824",
        "--price-per-10k-requests",
        "10000",
    ];
    let text = folder.local(&price).done();
    let total = 2 * small + large;
    assert!(text.contains(&format!("a month of storage: {total}.0000\n")), "{text}");
    assert!(text.contains("reading the table once: 1.0000\n"), "{text}");
    let empty = folder.local(&["stats", "Rows", "--partition", "none"]).done();
    assert_eq!(empty, "0 rows, 0 B, 0 partitions, 1 request\n");
}
