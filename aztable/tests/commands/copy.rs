//! `copy`: between Azure Storage, Cosmos DB and folders; rows that a place rejects; faults.

use azure_table::emulator::SeedEntities as _;
use azure_table::operation::OperationKind;
use azure_table::testing::{Fault, FaultRule, Faults, ResponseTemplate};
use azure_table::{DynamicEntity, EdmValue, Emulator, EmulatorServer, RunningEmulator, TableServiceClient};

use crate::program::{Folder, rows};

/// Starts an emulator on a port, and writes its connection string to a file.
async fn served(folder: &Folder, name: &str, emulator: Emulator) -> (RunningEmulator, TableServiceClient) {
    let service = TableServiceClient::from_transport(emulator.clone());
    let running = EmulatorServer::bind(emulator, "127.0.0.1:0").await.unwrap().spawn();
    folder.write(name, running.connection_string());
    (running, service)
}

/// Rows with extremes of every type.
fn values() -> Vec<DynamicEntity> {
    let values: [EdmValue; 9] = [
        f64::NAN.into(),
        (-0.0_f64).into(),
        f64::NEG_INFINITY.into(),
        i64::MIN.into(),
        i32::MAX.into(),
        "".into(),
        "x".repeat(30_000).into(),
        true.into(),
        EdmValue::Binary(vec![0, 255].into()),
    ];
    let row = |(number, value)| {
        let mut row = DynamicEntity::new(format!("p {}'", number % 2), format!("{number}é"));
        row.insert("Value", value);
        row
    };
    values.into_iter().enumerate().map(row).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_equal_after_a_way_through_all_places() {
    let folder = Folder::new();
    let storage = Emulator::new();
    storage.seed("Rows", values()).unwrap();
    let (_storage, source) = served(&folder, "storage", storage).await;
    let (_cosmos, _) = served(&folder, "cosmos", Emulator::cosmos()).await;
    let way = [
        "@storage/Rows",
        "@cosmos/Rows",
        "local:tables/Rows",
        "@cosmos/Again",
        "@storage/Again",
    ];
    for pair in way.windows(2) {
        let ran = folder.run(&["copy", pair[0], pair[1], "--yes"]);
        assert_eq!(ran.code, 0, "{pair:?} {}", ran.error);
        assert!(ran.error.contains("9 read, 9 written"), "{}", ran.error);
        let ran = folder.run(&["diff", "@storage/Rows", pair[1]]);
        assert_eq!((ran.code, ran.output.as_str()), (0, ""), "{}", ran.error);
        assert!(
            ran.error.contains("9 equal, 0 missing, 0 changed, 0 extra"),
            "{}",
            ran.error
        );
    }
    let again = rows(&source.dynamic_table("Again").unwrap()).await;
    assert_eq!(again, rows(&source.dynamic_table("Rows").unwrap()).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_cosmos_rejects_are_accounted_for() {
    let folder = Folder::new();
    let storage = Emulator::new();
    // Cosmos DB has no empty keys.
    let keys = [("", "1"), ("p", ""), ("p", "1"), ("p", "2")];
    storage
        .seed("Rows", keys.map(|(partition, row)| DynamicEntity::new(partition, row)))
        .unwrap();
    let (_storage, _) = served(&folder, "storage", storage).await;
    let (_cosmos, target) = served(&folder, "cosmos", Emulator::cosmos()).await;
    let ran = folder.run(&["copy", "@storage/Rows", "@cosmos/Rows", "--yes", "--rejects", "rejects"]);
    assert_eq!(ran.code, 1, "{}", ran.error);
    assert!(ran.error.contains("4 read, 2 written, 2 rejected"), "{}", ran.error);
    assert_eq!(rows(&target.dynamic_table("Rows").unwrap()).await.len(), 2);
    assert_eq!(folder.read("rejects").lines().count(), 2);
    assert!(!folder.file("Rows-to-Rows.position").exists());
}

#[test]
fn command_that_writes_nothing_creates_neither_folder_nor_table() {
    let folder = Folder::new();
    folder.done(&["create", "Rows"]);
    folder.write("rows.jsonl", "");
    let (rows, other) = ("local:tables/Rows", "local:other/Rows");
    for command in [
        &["copy", rows, other, "--filter", "(A eq 1", "--yes"][..],
        &["sync", rows, other, "--filter", "(A eq 1", "--yes"],
        &["copy", rows, other],
        &["sync", rows, other],
        &["import", "rows.jsonl", other],
        &["import", "absent.jsonl", other, "--yes"],
        &["cors", "clear", "--local", "other"],
        &["backup", "local:tables", "other"],
    ] {
        let ran = folder.run(command);
        assert_ne!(ran.code, 0, "{command:?} {}", ran.error);
        assert!(!folder.file("other").exists(), "{command:?} {}", ran.error);
    }
    folder.run(&["sync", rows, "local:other/Rows", "--dry-run"]);
    assert!(!folder.file("other").exists());
    for (command, to) in [("copy", "local:tables/Copies"), ("sync", "local:tables/Copies")] {
        let ran = folder.run(&[command, rows, to, "--filter", "(A eq 1", "--yes"]);
        assert_eq!(ran.code, 2, "{}", ran.error);
    }
    assert!(!folder.done(&["ls"]).output.contains("Copies"));
}

#[test]
fn folder_that_is_absent_is_named_with_what_creates_it() {
    let folder = Folder::new();
    folder.done(&["create", "Rows"]);
    for command in [
        &["ls", "local:absent"][..],
        &["diff", "local:tables/Rows", "local:absent/Rows"],
        &["copy", "local:absent/Rows", "local:tables/Rows", "--yes"],
    ] {
        let error = folder.run(command).failed(1);
        let text = "absent: no such folder: `aztable create local:absent/TABLE` creates it";
        assert!(error.contains(text), "{command:?} {error}");
    }
}

#[test]
fn one_table_under_two_names_is_an_error() {
    let folder = Folder::new();
    folder.write("rows.jsonl", r#"{"PartitionKey":"p","RowKey":"r"}"#);
    folder.done(&["import", "rows.jsonl", "Rows", "--yes"]);
    folder.write("one", "UseDevelopmentStorage=true");
    folder.write("two", "UseDevelopmentStorage=true;");
    for (from, to) in [
        ("local:tables/Rows", "local:./tables/../tables/rows"),
        ("@one/Rows", "@two/Rows"),
    ] {
        for command in ["copy", "sync", "diff"] {
            let ran = folder.run(&[command, from, to, "--yes"]);
            assert_eq!(ran.code, 2, "{command} {}", ran.error);
            assert!(ran.error.contains("are the same table"), "{}", ran.error);
        }
    }
}

#[tokio::test]
async fn an_insert_keeps_rows_that_differ() {
    let folder = Folder::new();
    let row = |row: &str, value: i32| format!("{{\"PartitionKey\":\"p\",\"RowKey\":\"{row}\",\"Value\":{value}}}\n");
    folder.write("from.jsonl", row("1", 1) + &row("2", 2) + &row("3", 3));
    folder.write("to.jsonl", row("1", 1) + &row("2", 9));
    folder.done(&["import", "from.jsonl", "Source", "--yes"]);
    folder.done(&["import", "to.jsonl", "Target", "--yes"]);
    let ran = folder.local(&["copy", "Source", "Target", "--insert", "--yes"]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.error.contains("3 read, 1 written, 1 unchanged, 1 rejected"),
        "{}",
        ran.error
    );
    assert_eq!(
        folder
            .table("Target")
            .get(("p", "2"))
            .await
            .unwrap()
            .unwrap()
            .get("Value"),
        Some(&9_i32.into())
    );
    let ran = folder.done(&["copy", "Source", "Target", "--filter", "Value gt 1", "--yes"]);
    assert!(ran.error.contains("2 read, 2 written"), "{}", ran.error);
    assert_eq!(folder.rows("Target").await, folder.rows("Source").await);
}

/// Writes 3,000 rows of seven partitions to the folder, and serves a target with faults in front of it.
async fn faulty(
    folder: &Folder,
    rules: impl IntoIterator<Item = FaultRule>,
) -> (RunningEmulator, TableServiceClient, Faults) {
    let row = |row| format!("{{\"PartitionKey\":\"p{}\",\"RowKey\":\"{row}\"}}\n", row % 7);
    folder.write("rows.jsonl", (0..3_000).map(row).collect::<String>());
    folder.done(&["import", "rows.jsonl", "Rows", "--yes"]);
    let emulator = Emulator::new();
    let service = TableServiceClient::from_transport(emulator.clone());
    let server = EmulatorServer::bind(emulator.clone(), "127.0.0.1:0").await.unwrap();
    folder.write("target", server.connection_string());
    let faults = Faults::with_seed(emulator, 7);
    for rule in rules {
        faults.add(rule);
    }
    (server.through(|_| faults.clone()).spawn(), service, faults)
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_responses_lose_and_double_nothing() {
    let folder = Folder::new();
    let rules = [
        FaultRule::new(Fault::LoseResponse)
            .on(OperationKind::Batch)
            .probability(0.3),
        FaultRule::new(Fault::LoseRequest).probability(0.1),
    ];
    let (_running, service, _) = faulty(&folder, rules).await;
    let ran = folder.run(&["copy", "local:tables/Rows", "@target/Rows", "--insert", "--yes"]);
    assert_eq!(ran.code, 0, "{}", ran.error);
    assert!(ran.error.contains("3,000 read"), "{}", ran.error);
    assert_eq!(
        rows(&service.dynamic_table("Rows").unwrap()).await,
        folder.rows("Rows").await
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_rejects_the_program_leaves_rows_that_are_counted() {
    let folder = Folder::new();
    let forbidden = ResponseTemplate::new(403).code("AuthorizationPermissionMismatch");
    let rule = FaultRule::new(Fault::Respond(forbidden))
        .on(OperationKind::Batch)
        .every(9);
    let (_running, service, faults) = faulty(&folder, [rule]).await;
    let ran = folder.run(&["copy", "local:tables/Rows", "@target/Rows", "--yes", "--json"]);
    assert_eq!(ran.code, 1, "{}", ran.error);
    let end = ran
        .error
        .lines()
        .find(|line| line.contains("\"event\":\"end\""))
        .unwrap();
    let end: serde_json::Value = serde_json::from_str(end).unwrap();
    let count = |name: &str| end[name].as_u64().unwrap();
    let stored = rows(&service.dynamic_table("Rows").unwrap()).await.len() as u64;
    assert!(count("not_attempted") > 0, "{end}");
    assert_eq!(
        (count("written"), count("in_doubt") + count("rejected")),
        (stored, 0),
        "{end}"
    );
    assert_eq!(count("read"), count("written") + count("not_attempted"));

    faults.clear();
    let mut copy = vec!["copy", "local:tables/Rows", "@target/Rows", "--yes"];
    // Without a page that is written, there is no position.
    if folder.file("Rows-to-Rows.position").exists() {
        copy.push("--resume=Rows-to-Rows.position");
    }
    let ran = folder.run(&copy);
    assert!(ran.error.contains("3,000 read, 3,000 written"), "{}", ran.error);
    assert_eq!(
        rows(&service.dynamic_table("Rows").unwrap()).await,
        folder.rows("Rows").await
    );
}
