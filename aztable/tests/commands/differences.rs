//! `diff` and `sync`: rows that are missing, changed or extra.

use azure_table::{DynamicEntity, Emulator, EmulatorServer, TableServiceClient};
use serde_json::json;

use crate::program::Folder;

/// Writes two tables that differ in three rows of 1,203.
fn two_tables(folder: &Folder) {
    let row = |row: &str, properties: &str| format!("{{\"PartitionKey\":\"p\",\"RowKey\":\"{row}\"{properties}}}\n");
    let equal: String = (0..1_200)
        .map(|number| row(&format!("e{number}"), ",\"Value\":1"))
        .collect();
    let (missing, extra) = (row("a", ""), row("z", ""));
    let one = row("m", ",\"Value\":1,\"Gone\":\"x\",\"Seen\":1");
    let other = row(
        "m",
        ",\"Value@odata.type\":\"Edm.Int64\",\"Value\":\"1\",\"New\":true,\"Seen\":2",
    );
    folder.write("a.jsonl", equal.clone() + &missing + &one);
    folder.write("b.jsonl", equal + &other + &extra);
    folder.done(&["import", "a.jsonl", "Aaa", "--yes"]);
    folder.done(&["import", "b.jsonl", "Bbb", "--yes"]);
}

#[test]
fn a_difference_names_properties_types_and_values() {
    let folder = Folder::new();
    two_tables(&folder);
    let ran = folder.local(&["diff", "Aaa", "Bbb"]);
    assert_eq!(ran.code, 1);
    assert_eq!(
        ran.output,
        concat!(
            "- \"p\" \"a\"\n",
            "~ \"p\" \"m\"\n",
            "    Gone: \"x\" -> absent\n",
            "    Seen: int32=1 -> int32=2\n",
            "    Value: int32=1 -> int64=1\n",
            "    New: absent -> bool=true\n",
            "+ \"p\" \"z\"\n",
        )
    );
    assert!(
        ran.error.contains("1,200 equal, 1 missing, 1 changed, 1 extra"),
        "{}",
        ran.error
    );
    assert!(ran.error.contains("error: 3 rows differ"), "{}", ran.error);

    let ran = folder.local(&["diff", "Aaa", "Bbb", "--ignore", "Gone,Value,New,Seen", "--limit", "1"]);
    assert_eq!((ran.code, ran.output.as_str()), (1, "- \"p\" \"a\"\n"));
    assert!(
        ran.error.contains("1,201 equal, 1 missing, 0 changed, 1 extra"),
        "{}",
        ran.error
    );

    let ran = folder.local(&["diff", "Aaa", "Bbb", "--json", "--limit", "1"]);
    let lines: Vec<serde_json::Value> = ran
        .output
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 3, "{}", ran.output);
    assert_eq!(
        lines[0],
        json!({ "difference": "missing", "partition_key": "p", "row_key": "a" })
    );
    assert_eq!(
        lines[1]["properties"]["Value"],
        json!({ "from": { "Edm.Int32": 1 }, "to": { "Edm.Int64": "1" } })
    );
    assert_eq!(
        folder
            .local(&["diff", "Aaa", "Bbb", "--partition", "p", "--prefix", "e"])
            .code,
        0
    );
}

#[tokio::test]
async fn sync_writes_the_rows_that_differ_alone() {
    let folder = Folder::new();
    two_tables(&folder);
    let before = folder.rows("Bbb").await;
    folder.done(&["create", "Empty"]);
    let ran = folder.done(&["sync", "Aaa", "Empty", "--dry-run"]);
    assert!(ran.error.contains("`aztable diff --limit N`"), "{}", ran.error);
    assert_eq!(folder.local(&["sync", "Aaa", "Bbb", "--delete"]).code, 2);
    assert_eq!(folder.rows("Bbb").await, before);

    let ran = folder.done(&["sync", "Aaa", "Bbb", "--yes"]);
    assert!(
        ran.error.contains("1,203 read, 2 written, 1,200 unchanged, 1 kept"),
        "{}",
        ran.error
    );
    let ran = folder.done(&["sync", "Aaa", "Bbb", "--yes", "--delete"]);
    assert!(
        ran.error.contains("1,203 read, 1,202 unchanged, 1 deleted"),
        "{}",
        ran.error
    );
    assert_eq!(folder.rows("Bbb").await, folder.rows("Aaa").await);
    assert_eq!(folder.local(&["diff", "Aaa", "Bbb"]).code, 0);
}

#[tokio::test]
async fn dry_run_prints_what_sync_would_write() {
    let folder = Folder::new();
    two_tables(&folder);
    let before = folder.rows("Bbb").await;
    let dry_run = ["sync", "Aaa", "Bbb", "--dry-run"];
    let written = concat!(
        "+ \"p\" \"a\"\n",
        "~ \"p\" \"m\"\n",
        "    New: bool=true -> absent\n",
        "    Seen: int32=2 -> int32=1\n",
        "    Value: int64=1 -> int32=1\n",
        "    Gone: absent -> \"x\"\n",
    );
    let kept = "\nwould write 2, delete 0; nothing was written\n";
    let deleted = "\nwould write 2, delete 1; nothing was written\n";
    let ran = folder.done(&dry_run);
    assert_eq!(
        (ran.output.as_str(), ran.error.ends_with(kept)),
        (written, true),
        "{}",
        ran.error
    );
    let ran = folder.done(&[&dry_run[..], &["--delete"]].concat());
    assert_eq!(ran.output, format!("{written}- \"p\" \"z\"\n"));
    assert!(ran.error.ends_with(deleted), "{}", ran.error);

    let ran = folder.done(&[&dry_run[..], &["--delete", "--json"]].concat());
    let first = serde_json::from_str::<serde_json::Value>(ran.output.lines().next().unwrap()).unwrap();
    assert_eq!(
        first,
        json!({ "difference": "extra", "partition_key": "p", "row_key": "a" })
    );
    let end = ran.error.lines().find(|line| line.contains("\"end\"")).unwrap();
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(end).unwrap(),
        json!({ "event": "end", "equal": 1_200, "missing": 1, "changed": 1, "extra": 1, "rejected": 0 })
    );
    assert_eq!(folder.rows("Bbb").await, before);
}

#[tokio::test]
async fn sync_deletes_nothing_by_a_filter_on_values() {
    let folder = Folder::new();
    two_tables(&folder);
    let before = folder.rows("Bbb").await;
    let ran = folder.local(&["sync", "Aaa", "Bbb", "--yes", "--delete", "--filter", "Value gt 5"]);
    assert_eq!(folder.rows("Bbb").await, before);
    assert_eq!(ran.code, 2, "{}", ran.error);
    assert!(ran.error.contains("cannot be used with"), "{}", ran.error);
}

#[tokio::test(flavor = "multi_thread")]
async fn cosmos_is_compared_in_the_order_of_storage() {
    let folder = Folder::new();
    two_tables(&folder);
    let emulator = Emulator::cosmos();
    let service = TableServiceClient::from_transport(emulator.clone());
    let running = EmulatorServer::bind(emulator, "127.0.0.1:0").await.unwrap().spawn();
    folder.write("cosmos", running.connection_string());
    let ran = folder.run(&["sync", "local:tables/Aaa", "@cosmos/Ccc", "--yes"]);
    assert!(ran.error.contains("1,202 read, 1,202 written"), "{}", ran.error);
    let table = service.dynamic_table("Ccc").unwrap();
    table.delete(("p", "e7")).await.unwrap();
    table.insert(&DynamicEntity::new("q", "1")).await.unwrap();
    let ran = folder.run(&["diff", "local:tables/Aaa", "@cosmos/Ccc"]);
    assert_eq!(ran.output, "- \"p\" \"e7\"\n+ \"q\" \"1\"\n", "{}", ran.error);
    let ran = folder.run(&["sync", "local:tables/Aaa", "@cosmos/Ccc", "--delete", "--yes"]);
    assert!(
        ran.error.contains("1,203 read, 1 written, 1,201 unchanged, 1 deleted"),
        "{}",
        ran.error
    );
    // A copy and an export read several pages, and no range of keys is skipped.
    let ran = folder.run(&["copy", "@cosmos/Ccc", "local:tables/Back", "--yes"]);
    assert!(ran.error.contains("1,202 read, 1,202 written"), "{}", ran.error);
    assert_eq!(folder.rows("Back").await, folder.rows("Aaa").await);
    let exported = folder.run(&["export", "@cosmos/Ccc", "-"]);
    assert_eq!(exported.output.lines().count(), 1_202, "{}", exported.error);
}
