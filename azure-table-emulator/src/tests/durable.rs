//! The emulator in a folder: the state that outlives it, rejected folders, and failures of the disk.

mod crash;
mod disk;
mod folder;

use std::io;
use std::path::{Path, PathBuf};

use self::crash::{Machine, new_disk};
use self::disk::Disk;
use super::*;
use crate::snapshot::EmulatorSnapshot;
use crate::store::journal::Journal;

/// A test's folder, removed with its contents on drop.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        Self(std::env::temp_dir().join(format!(
            "azure-table-durable-{}",
            azure_table_wire::value::guid::Guid::random()
        )))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl AsRef<Path> for Folder {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

fn open(folder: &Folder, sync: SyncPolicy) -> Emulator {
    Emulator::open(folder, sync).unwrap()
}

/// Writes tables, rows of all types, policies, properties, and a table that is being deleted.
async fn fill(emulator: &Emulator) {
    for table in ["Blogs", "Empty", "Gone"] {
        let name = format!("{{\"TableName\":\"{table}\"}}");
        assert_eq!(send(emulator, "POST", "Tables", &[], &name).await.status(), 201);
    }
    for key in ["1", "2", "\u{e9}\u{1f600}", ""] {
        let row = format!(
            "{{\"PartitionKey\":\"p\",\"RowKey\":\"{key}\",\"Z\":\"\u{e9}\\n\",\"A\":1,\"L@odata.type\":\"Edm.Int64\",\"L\":\"5\",\
             \"B@odata.type\":\"Edm.Binary\",\"B\":\"AAE=\",\"D\":1.5,\"T@odata.type\":\"Edm.DateTime\",\
             \"T\":\"2020-01-01T00:00:00Z\",\"G@odata.type\":\"Edm.Guid\",\"G\":\"{}\",\"F\":false}}",
            azure_table_wire::value::guid::Guid::random()
        );
        assert_eq!(send(emulator, "POST", "Blogs", &[], &row).await.status(), 201);
    }
    let deleted = send(
        emulator,
        "DELETE",
        "Blogs(PartitionKey='p',RowKey='2')",
        &[("if-match", "*")],
        "",
    )
    .await;
    assert_eq!(deleted.status(), 204);
    let policies = "<SignedIdentifiers><SignedIdentifier><Id>readers</Id><AccessPolicy><Permission>r</Permission>\
                    </AccessPolicy></SignedIdentifier></SignedIdentifiers>";
    assert_eq!(
        send(emulator, "PUT", "Blogs?comp=acl", &[], policies).await.status(),
        204
    );
    let properties = "<StorageServiceProperties><HourMetrics><Version>1.0</Version><Enabled>false</Enabled>\
                      <RetentionPolicy><Enabled>true</Enabled><Days>3</Days></RetentionPolicy></HourMetrics>\
                      </StorageServiceProperties>";
    assert_eq!(
        send(emulator, "PUT", "?restype=service&comp=properties", &[], properties)
            .await
            .status(),
        202
    );
    assert_eq!(send(emulator, "DELETE", "Tables('Gone')", &[], "").await.status(), 204);
}

#[tokio::test]
async fn state_outlives_the_emulator_under_each_policy() {
    for sync in [
        SyncPolicy::Always,
        SyncPolicy::Interval(Duration::from_millis(1)),
        SyncPolicy::Interval(Duration::MAX),
        SyncPolicy::Never,
    ] {
        let folder = Folder::new();
        let emulator = open(&folder, sync).deletion_time(Duration::from_secs(1_000_000));
        fill(&emulator).await;
        let before = emulator.snapshot().to_string();
        assert!(
            before.contains("readers") && before.contains("retentionDays") && before.contains("tablesBeingDeleted")
        );
        drop(emulator);
        let emulator = open(&folder, sync);
        assert_eq!(emulator.snapshot().to_string(), before, "{sync:?}");
        let gone = send(&emulator, "POST", "Tables", &[], r#"{"TableName":"Gone"}"#).await;
        assert_eq!(error(&gone).1, "TableBeingDeleted");
        // And a second time, from the state that the first opening left.
        drop(emulator);
        assert_eq!(open(&folder, sync).snapshot().to_string(), before);
    }
}

#[tokio::test]
async fn timestamps_continue_after_the_last_one_even_if_its_row_was_deleted() {
    let folder = Folder::new();
    let clock = EmulatorClock::fixed("2021-01-01T00:00:00Z".parse().unwrap());
    let row = r#"{"PartitionKey":"p","RowKey":"r"}"#;
    {
        let emulator = open(&folder, SyncPolicy::Always).shared_clock(clock.clone());
        assert_eq!(
            send(&emulator, "POST", "Tables", &[], r#"{"TableName":"Blogs"}"#)
                .await
                .status(),
            201
        );
        assert_eq!(send(&emulator, "POST", "Blogs", &[], row).await.status(), 201);
        let path = "Blogs(PartitionKey='p',RowKey='r')";
        assert_eq!(
            send(&emulator, "DELETE", path, &[("if-match", "*")], "").await.status(),
            204
        );
    }
    let emulator = open(&folder, SyncPolicy::Always).shared_clock(clock);
    let inserted = send(&emulator, "POST", "Blogs", &[], row).await;
    assert_eq!(
        header(&inserted, "etag"),
        "W/\"datetime'2021-01-01T00%3A00%3A00.0000001Z'\""
    );
}

#[tokio::test]
async fn timestamps_continue_after_those_from_before_a_restore() {
    let folder = Folder::new();
    let clock = EmulatorClock::fixed("2021-01-01T00:00:00Z".parse().unwrap());
    let emulator = open(&folder, SyncPolicy::Always).shared_clock(clock.clone());
    let table = r#"{"TableName":"Blogs"}"#;
    assert_eq!(send(&emulator, "POST", "Tables", &[], table).await.status(), 201);
    let mut etags = vec![times::written(&emulator, "first").await];
    let snapshot = emulator.snapshot();
    etags.push(times::written(&emulator, "second").await);
    emulator.restore(&snapshot).unwrap();
    drop(emulator);
    let emulator = open(&folder, SyncPolicy::Always).shared_clock(clock.clone());
    etags.push(times::written(&emulator, "third").await);
    emulator.clear().unwrap();
    drop(emulator);
    let emulator = open(&folder, SyncPolicy::Always).shared_clock(clock);
    emulator.restore(&snapshot).unwrap();
    etags.push(times::written(&emulator, "fourth").await);
    let unique: std::collections::HashSet<&String> = etags.iter().collect();
    assert_eq!(unique.len(), 4, "{etags:?}");
}

#[tokio::test]
async fn snapshots_are_imported_and_exported() {
    let memory = Emulator::new();
    fill(&memory).await;
    let (folder, file) = (Folder::new(), Folder::new());
    memory.snapshot().write(&file).unwrap();
    let emulator = open(&folder, SyncPolicy::Always);
    // The previous state is replaced entirely.
    assert_eq!(
        send(&emulator, "POST", "Tables", &[], r#"{"TableName":"Earlier"}"#)
            .await
            .status(),
        201
    );
    emulator.restore(&EmulatorSnapshot::read(&file).unwrap()).unwrap();
    std::fs::remove_file(&file).unwrap();
    drop(emulator);
    let emulator = open(&folder, SyncPolicy::Always);
    assert_eq!(emulator.snapshot().to_string(), memory.snapshot().to_string());
}

#[tokio::test]
async fn seeded_rows_are_stored_when_the_call_returns() {
    let folder = Folder::new();
    let emulator = open(&folder, SyncPolicy::Interval(Duration::MAX));
    let rows = ["1", "2"].map(|key| Ok(("p".to_owned(), key.to_owned(), Vec::new())));
    seed_rows(&emulator, "Blogs", rows).unwrap();
    let copy = Folder::new();
    std::fs::create_dir(&copy).unwrap();
    std::fs::copy(folder.0.join("tables-1.redb"), copy.0.join("tables-1.redb")).unwrap();
    assert_eq!(open(&copy, SyncPolicy::Always).snapshot().entity_count(), 2);
}

#[tokio::test]
async fn flush_stores_what_an_interval_would_still_hold() {
    let folder = Folder::new();
    let emulator = open(&folder, SyncPolicy::Interval(Duration::MAX));
    fill(&emulator).await;
    emulator.flush().await.unwrap();
    let copy = Folder::new();
    std::fs::create_dir(&copy).unwrap();
    std::fs::copy(folder.0.join("tables-1.redb"), copy.0.join("tables-1.redb")).unwrap();
    let copied = open(&copy, SyncPolicy::Always).snapshot().to_string();
    assert_eq!(copied, emulator.snapshot().to_string());
    Emulator::new().flush().await.unwrap();
}

#[tokio::test]
async fn folders_of_cosmos_db_and_storage_are_distinct() {
    let folder = Folder::new();
    let cosmos = "https://contoso.table.cosmos.azure.com";
    let emulator = Emulator::open_cosmos(&folder, SyncPolicy::Always).unwrap();
    for table in ["Blogs", "blogs", "my_table"] {
        let name = format!("{{\"TableName\":\"{table}\"}}");
        assert_eq!(send(&emulator, "POST", "Tables", &[], &name).await.status(), 201);
    }
    // In insertion order, which a snapshot keeps too.
    for key in ["2", "10", "1"] {
        let row = format!("{{\"PartitionKey\":\"p\",\"RowKey\":\"{key}\"}}");
        assert_eq!(send(&emulator, "POST", "Blogs", &[], &row).await.status(), 201);
    }
    let before = emulator.snapshot().to_string();
    let place = |key: &str| before.find(&format!("\"RowKey\":\"{key}\"")).unwrap();
    assert!(place("2") < place("10") && place("10") < place("1"), "{before}");
    drop(emulator);
    let rejected = Emulator::open(&folder, SyncPolicy::Always).unwrap_err();
    assert_eq!(rejected.kind(), io::ErrorKind::InvalidInput);
    assert!(rejected.to_string().contains("Cosmos DB"), "{rejected}");
    assert_eq!(
        Emulator::open_cosmos(&folder, SyncPolicy::Always)
            .unwrap()
            .snapshot()
            .to_string(),
        before
    );

    // At a URL of Cosmos DB its own rules apply, in a folder of Table storage too.
    let folder = Folder::new();
    let both = |folder: &Folder| {
        open(folder, SyncPolicy::Always)
            .account("contoso", DEVELOPMENT_KEY)
            .unwrap()
    };
    let emulator = both(&folder);
    let mut request = unsigned_at(cosmos, "POST", "Tables", &[], r#"{"TableName":"Blogs"}"#);
    sign(&mut request, "contoso", DEVELOPMENT_KEY);
    assert_eq!(emulator.send(request).await.unwrap().status(), 201);
    let before = emulator.snapshot().to_string();
    drop(emulator);
    assert_eq!(both(&folder).snapshot().to_string(), before);
}

#[test]
fn read_waits_until_its_data_is_stored() {
    let disk = new_disk();
    let mut machine = Machine::start(&disk).unwrap();
    let emulator = machine.emulator.clone();
    machine.run(fill(&emulator));
    let waker = std::task::Waker::noop();
    let mut context = std::task::Context::from_waker(waker);
    let path = "Blogs(PartitionKey='p',RowKey='1')";
    let mut write = Box::pin(send(&emulator, "PUT", path, &[], r#"{"New":1}"#));
    assert!(write.as_mut().poll(&mut context).is_pending());
    // The row is in memory, but a crash would lose it.
    let mut reads: Vec<_> = [path, "Blogs", "Blogs?$filter=New%20eq%201", "Tables"]
        .map(|path| Box::pin(send(&emulator, "GET", path, &[], "")))
        .into_iter()
        .collect();
    let conflict = r#"{"PartitionKey":"p","RowKey":"1"}"#;
    reads.push(Box::pin(send(&emulator, "POST", "Blogs", &[], conflict)));
    for read in &mut reads {
        assert!(read.as_mut().poll(&mut context).is_pending());
    }
    machine.store();
    assert!(write.as_mut().poll(&mut context).is_ready());
    for read in &mut reads {
        assert!(read.as_mut().poll(&mut context).is_ready());
    }
    // While no change is pending, a read does not wait.
    let mut read = Box::pin(send(&emulator, "GET", path, &[], ""));
    assert!(read.as_mut().poll(&mut context).is_ready());
}

#[test]
fn emulator_stops_after_a_failed_write_and_the_folder_has_all_acknowledged_changes() {
    for (kind, text) in [
        (io::ErrorKind::StorageFull, "no storage space"),
        (
            io::ErrorKind::ReadOnlyFilesystem,
            "read-only filesystem or storage medium",
        ),
    ] {
        for operations in 0..12 {
            let disk = new_disk();
            let mut machine = Machine::start(&disk).unwrap();
            let emulator = machine.emulator.clone();
            machine.run(fill(&emulator));
            let before = emulator.snapshot().to_string();
            disk.fail_after(operations, kind);
            let put = |key: u8| {
                let path = format!("Blogs(PartitionKey='p',RowKey='{key}')");
                let emulator = emulator.clone();
                async move { send(&emulator, "PUT", &path, &[], "{}").await }
            };
            let mut acknowledged = 0;
            let failed = (10..30).map(|key| machine.run(put(key))).find(|response| {
                acknowledged += usize::from(response.status() == 204);
                response.status() != 204
            });
            let (status, code, why) = error(&failed.unwrap());
            assert_eq!((status, &*code), (500, "InternalError"));
            assert!(
                why.contains("its folder could not be written") && why.contains(text),
                "{why}"
            );
            // Requests that need no new data fail too.
            let read = machine.run(send(&emulator, "GET", "Tables", &[], ""));
            assert_eq!(error(&read).2, why);
            drop(machine);
            let again = Machine::start(&Disk::of(disk.bytes())).unwrap().emulator.snapshot();
            // The failed write may be stored, but no later one.
            let added = again.entity_count() - 3;
            assert!(
                (acknowledged..=acknowledged + 1).contains(&added),
                "{added}, {acknowledged}"
            );
            let table = |text: &str| text.lines().filter(|line| !line.contains("\"RowKey\":\"1")).count();
            assert_eq!(table(&again.to_string()), table(&before));
        }
    }
}

#[test]
fn emulator_with_an_interval_acknowledges_nothing_after_a_failed_write() {
    let disk = new_disk();
    let mut machine = Machine::with_journal(&disk, Journal::new(Some(Duration::ZERO))).unwrap();
    let emulator = machine.emulator.clone();
    machine.run(fill(&emulator));
    machine.store();
    let before = emulator.snapshot().to_string();
    disk.fail_after(0, io::ErrorKind::StorageFull);
    let path = "Blogs(PartitionKey='p',RowKey='late')";
    let acknowledged = machine.run(send(&emulator, "PUT", path, &[], "{}"));
    assert_eq!(acknowledged.status(), 204);
    machine.store();
    for method in ["PUT", "GET"] {
        let (status, code, why) = error(&machine.run(send(&emulator, method, path, &[], "{}")));
        assert_eq!((status, &*code), (500, "InternalError"));
        assert!(why.contains("no storage space"), "{why}");
    }
    drop(machine);
    // The acknowledged change is lost, as the documentation of `Interval` says.
    let again = Machine::start(&Disk::of(disk.bytes())).unwrap().emulator.snapshot();
    assert_eq!(again.to_string(), before);
}
