//! Snapshots: a restored emulator answers like the original, and a person can read and write the file, which is never
//! written in part.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use azure_table::emulator::{EmulatorClock, EmulatorSnapshot, SeedEntities as _};
use azure_table::service::{CorsRule, Logging, ServiceProperties, StoredAccessPolicy};
use azure_table::{
    DateTime, DynamicEntity, EdmValue, Emulator, ErrorKind, Guid, TableClient, TablePermissions, TableServiceClient,
};
use azure_table_tests::entities::Counter;
use azure_table_tests::errors::{assert_contains, assert_error};
use azure_table_tests::scenario::of_all;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

use super::signed::{ACCOUNT, KEY, ask_at};

/// A temporary folder, deleted when it is dropped.
pub(super) struct Folder(pub(super) PathBuf);

impl Folder {
    pub(super) fn new() -> Self {
        let path = std::env::temp_dir().join(format!("azure-table-{}", Guid::random()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("tables.json")
    }

    fn names(&self) -> Vec<String> {
        let names = fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name());
        names.map(|name| name.into_string().unwrap()).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn value() -> impl Strategy<Value = EdmValue> {
    let moments = DateTime::MIN_STORED.ticks()..=DateTime::MAX.ticks();
    prop_oneof![
        any::<String>().prop_map(EdmValue::from),
        any::<bool>().prop_map(EdmValue::from),
        any::<i32>().prop_map(EdmValue::from),
        any::<i64>().prop_map(EdmValue::from),
        any::<u64>().prop_map(|bits| EdmValue::from(f64::from_bits(bits))),
        any::<i16>().prop_map(|whole| EdmValue::from(f64::from(whole))),
        prop_oneof![Just(-0.0), Just(f64::INFINITY), Just(f64::NEG_INFINITY), Just(f64::NAN)].prop_map(EdmValue::from),
        moments.prop_map(|ticks| EdmValue::from(DateTime::from_ticks(ticks).unwrap())),
        any::<[u8; 16]>().prop_map(|id| EdmValue::from(Guid(id))),
        vec(any::<u8>(), 0..40).prop_map(EdmValue::from),
    ]
}

fn key() -> impl Strategy<Value = String> {
    let allowed = |c: &char| !c.is_control() && !"/\\#?".contains(*c);
    vec(any::<char>(), 0..6).prop_map(move |chars| chars.into_iter().filter(allowed).collect())
}

prop_compose! {
    fn entity()(
        partition_key in key(),
        row_key in key(),
        // Names with characters that also have a meaning in a line of the file.
        properties in btree_map("[A-Za-z_][A-Za-z0-9_]{0,3}|table|account|TableName", value(), 0..6),
    ) -> DynamicEntity {
        DynamicEntity { partition_key, row_key, properties, ..DynamicEntity::default() }
    }
}

/// Returns all that a client reads of the tables, including versions.
async fn responses(emulator: &Emulator) -> String {
    let service = TableServiceClient::from_transport(emulator.clone());
    let mut all = String::new();
    for name in service.list_tables().await.unwrap() {
        let rows = service.dynamic_table(&name).unwrap().query().all().await.unwrap();
        all.push_str(&format!("{name}: {rows:?}\n"));
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(of_all(ProptestConfig::default().cases)))]

    #[test]
    fn tables_survive_a_snapshot_file(tables in btree_map("[A-Z][A-Za-z0-9]{2,8}", vec(entity(), 0..6), 0..4)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let emulator = Emulator::new();
        for (name, entities) in &tables {
            emulator.seed(name, entities.clone()).unwrap();
        }
        let snapshot = emulator.snapshot();
        let folder = Folder::new();
        snapshot.write(folder.file()).unwrap();
        prop_assert_eq!(fs::read_to_string(folder.file()).unwrap(), snapshot.to_string());

        let restored = Emulator::new();
        restored.restore(&EmulatorSnapshot::read(folder.file()).unwrap()).unwrap();
        prop_assert_eq!(restored.snapshot().to_string(), snapshot.to_string());
        prop_assert_eq!(runtime.block_on(responses(&restored)), runtime.block_on(responses(&emulator)));
        prop_assert_eq!(snapshot.to_string().lines().count(), 1 + usize::from(snapshot.table_count() > 0)
            + snapshot.table_count() + snapshot.entity_count());
    }
}

/// A write: an insert, a replace or a merge of one of few rows.
fn writes() -> impl Strategy<Value = Vec<(usize, DynamicEntity)>> {
    let keys = ("[ab]", "[12]");
    let properties = btree_map("[AB]|etag|Etag|table|account", value(), 0..4);
    let entity = (keys, properties).prop_map(|((partition_key, row_key), properties)| DynamicEntity {
        properties,
        ..DynamicEntity::new(partition_key, row_key)
    });
    vec((0..4_usize, entity), 0..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(of_all(ProptestConfig::default().cases)))]

    /// A merge makes rows that no insert can make.
    #[test]
    fn rows_made_by_any_writes_survive_a_snapshot(writes in writes(), is_cosmos in any::<bool>()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let new = || if is_cosmos { Emulator::cosmos() } else { Emulator::new() };
        let emulator = new();
        let rows = TableServiceClient::from_transport(emulator.clone()).dynamic_table("Rows").unwrap();
        runtime.block_on(async {
            rows.create_table().await.unwrap();
            for (kind, entity) in writes {
                // Rejections do not matter: of rows that exist, and of `Etag` beside `etag`.
                let _ = match kind {
                    0 => rows.insert(&entity).await.map(drop),
                    1 => rows.insert_or_replace(&entity).await.map(drop),
                    2 => rows.insert_or_merge(&entity).await.map(drop),
                    _ => rows.delete((&*entity.partition_key, &*entity.row_key)).await,
                };
            }
        });
        let text = emulator.snapshot().to_string();
        let restored = new();
        restored.restore(&text.parse().unwrap()).unwrap();
        prop_assert_eq!(restored.snapshot().to_string(), text);
        prop_assert_eq!(runtime.block_on(responses(&restored)), runtime.block_on(responses(&emulator)));
    }
}

/// Copies and drops of rows happen while other requests are answered.
#[test]
fn restore_answers_other_requests_meanwhile() {
    let emulator = Emulator::new();
    let rows = (0..60_000).map(|n| DynamicEntity::new("p", format!("{n:05}")));
    emulator.seed("Rows", rows).unwrap();
    let snapshot = emulator.snapshot();
    // The longest time without a completed read, as a part of the whole.
    let ratio = |_| {
        let (is_done, begin) = (AtomicBool::new(false), std::sync::Barrier::new(2));
        let (start, end, reads) = std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let mut reads = Vec::new();
                begin.wait();
                while !is_done.load(Ordering::Relaxed) {
                    assert!(emulator.table_lines("devstoreaccount1", "Rows", 1).is_some());
                    reads.push(Instant::now());
                }
                reads
            });
            begin.wait();
            let start = Instant::now();
            emulator.restore(&snapshot).unwrap();
            let end = Instant::now();
            is_done.store(true, Ordering::Relaxed);
            (start, end, reader.join().unwrap())
        });
        let reads = reads.into_iter().filter(|read| (start..end).contains(read));
        let times: Vec<_> = [start].into_iter().chain(reads).chain([end]).collect();
        let longest = times.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
        longest.as_secs_f64() / (end - start).as_secs_f64()
    };
    // A busy machine stops the reader in most rounds. A restore that blocks it does so in all.
    let is_answered = (0..200).map(ratio).any(|ratio| ratio < 0.1);
    assert!(is_answered, "reads waited for most of every restore");
}

fn at(text: &str) -> DateTime {
    text.parse().unwrap()
}

#[tokio::test]
async fn settings_policies_and_versions_are_restored() {
    let clock = EmulatorClock::fixed(at("2030-01-01T00:00:00Z"));
    let emulator = Emulator::new()
        .shared_clock(clock.clone())
        .deletion_time(Duration::from_secs(40));
    let service = TableServiceClient::from_transport(emulator.clone());
    let logging = Logging {
        write: true,
        retention_days: Some(3),
        ..Logging::default()
    };
    let mut cors = CorsRule::new(["https://contoso.com"], ["GET"]);
    cors.max_age = Duration::from_secs(60);
    let properties = ServiceProperties::default().logging(logging).cors([cors]);
    service.set_properties(properties).await.unwrap();
    let blogs = service.dynamic_table("Blogs").unwrap();
    blogs.create_table().await.unwrap();
    let policy = StoredAccessPolicy {
        permissions: Some(TablePermissions::READ),
        expiry: Some(at("2031-01-01T00:00:00Z")),
        ..StoredAccessPolicy::new("readers \"1\"")
    };
    blogs.set_access_policies([policy.clone()]).await.unwrap();
    // An insert keeps the order of its properties, which is not the order of their names here.
    blogs.insert(&DynamicEntity::new("p", "kept")).await.unwrap();
    blogs.insert(&DynamicEntity::new("p", "gone")).await.unwrap();
    blogs.delete(("p", "gone")).await.unwrap();
    let leaving = service.dynamic_table("Leaving").unwrap();
    leaving.create_table().await.unwrap();
    leaving.delete_table().await.unwrap();

    let text = emulator.snapshot().to_string();
    let restored = Emulator::new().shared_clock(clock);
    restored.restore(&text.parse().unwrap()).unwrap();
    let service_again = TableServiceClient::from_transport(restored.clone());
    let properties = service_again.properties().await.unwrap();
    assert_eq!(properties, service.properties().await.unwrap());
    let blogs_again = service_again.dynamic_table("Blogs").unwrap();
    assert_eq!(blogs_again.access_policies().await.unwrap(), [policy]);
    let kept = blogs_again.get(("p", "kept")).await.unwrap();
    assert_eq!(kept, blogs.get(("p", "kept")).await.unwrap());
    let leaving = service_again.dynamic_table("Leaving").unwrap();
    let rejected = leaving.create_table().await.unwrap_err();
    assert_eq!(rejected.code(), Some("TableBeingDeleted"));
    // No version occurs twice, even though the clock is paused and the last row was deleted.
    let entity = DynamicEntity::new("p", "new");
    let etag = blogs_again.insert(&entity).await.unwrap();
    assert_eq!(etag, blogs.insert(&entity).await.unwrap());
    assert_eq!(restored.snapshot().to_string(), emulator.snapshot().to_string());
}

#[tokio::test]
async fn snapshot_file_is_readable() {
    let clock = EmulatorClock::fixed(at("2030-01-01T00:00:00Z"));
    let emulator = Emulator::new().shared_clock(clock);
    let mut entity = DynamicEntity::new("Channel9", "é \"1\"");
    for (name, value) in [
        ("B", EdmValue::from(vec![1, 2])),
        ("D", 5.0.into()),
        ("G", Guid([7; 16]).into()),
        ("I", 5.into()),
        ("L", 5_i64.into()),
        ("S", "a\nb".into()),
        ("T", at("2026-01-02T03:04:05.1234567Z").into()),
    ] {
        entity.insert(name, value);
    }
    let other = DynamicEntity::new("Channel9", "0");
    emulator.seed("Blogs", [entity, other]).unwrap();
    let expected = [
        r#"{"azure-table-snapshot":1,"lastWrite":"2030-01-01T00:00:00.0000001Z"}"#,
        r#"{"account":"devstoreaccount1"}"#,
        r#"{"table":"Blogs","created":"2030-01-01T00:00:00Z"}"#,
        r#"{"PartitionKey":"Channel9","RowKey":"0","Timestamp":"2030-01-01T00:00:00.0000001Z"}"#,
        concat!(
            r#"{"PartitionKey":"Channel9","RowKey":"é \"1\"","Timestamp":"2030-01-01T00:00:00Z","#,
            r#""B@odata.type":"Edm.Binary","B":"AQI=","D@odata.type":"Edm.Double","D":5.0,"#,
            r#""G@odata.type":"Edm.Guid","G":"07070707-0707-0707-0707-070707070707","I":5,"#,
            r#""L@odata.type":"Edm.Int64","L":"5","S":"a\u000ab","#,
            r#""T@odata.type":"Edm.DateTime","T":"2026-01-02T03:04:05.1234567Z"}"#,
        ),
        "",
    ];
    assert_eq!(emulator.snapshot().to_string(), expected.join("\n"));
}

#[tokio::test]
async fn handwritten_snapshot_needs_no_timestamps() {
    let text = "\u{feff}{ \"azure-table-snapshot\" : 1 }\r\n\r\n{\"account\":\"devstoreaccount1\"}\r\n{\"table\":\"Blogs\"}\r\n\
                {\"RowKey\":\"2\",\"PartitionKey\":\"p\",\"N\":null,\"odata.etag\":\"x\",\"L\":\"7\",\"L@odata.type\":\"Edm.Int64\"}\r\n\
                {\"PartitionKey\":\"p\",\"RowKey\":\"1\"}";
    let snapshot: EmulatorSnapshot = text.parse().unwrap();
    assert_eq!((snapshot.table_count(), snapshot.entity_count()), (1, 2));
    assert_eq!(snapshot.accounts().collect::<Vec<_>>(), ["devstoreaccount1"]);
    let emulator = Emulator::new();
    emulator.restore(&snapshot).unwrap();
    let service = TableServiceClient::from_transport(emulator);
    let blogs = service.dynamic_table("Blogs").unwrap();
    let rows = blogs.query().all().await.unwrap();
    let l = (&"L".to_owned(), &EdmValue::from(7_i64));
    assert!(rows[1].properties.iter().eq([l]), "{:?}", rows[1]);
    assert_ne!(rows[0].etag, rows[1].etag);
    blogs.replace(&rows[0]).await.unwrap();
}

/// Snapshots, and how their errors begin. `|` is a line end, `HEAD` a version, an account and a table, `ROW` the keys of
/// an entity, `LONG` a text that is too long.
const INVALID: &str = r#"
=> line 1: expected {"azure-table-snapshot":1}, it is empty
{} => line 1, column 2: not a snapshot
not json => line 1, column 2: not a snapshot
{"azure-table-snapshot":2,"new":1} => line 1: this is version 2 of the format, only 1 is known
{"azure-table-snapshot":1,"more":1} => line 1, column 32: unknown field `more`
VERSION|{"table":"Blogs"}| => line 2: a table, but no account before it
VERSION|{"PartitionKey":"p","RowKey":"r"} => line 2: an entity, but no table of the account before it
VERSION|{"account":"a","logging":{"raed":true}} => line 2, column 32: unknown field `raed`
VERSION|{"account":"a","logging":{"retentionDays":400}} => line 2: logging: 400 days of retention, it must be 1 to 365
HEAD|{"account":"a"} => line 4: account "a": it occurs twice
HEAD|{"table":"BLOGS"} => line 4: table "BLOGS": it occurs twice
HEAD|{"table":"1a"} => line 4: table "1a": it has 2 characters
HEAD|{"table":"Two","policies":[{"id":"p","permissions":"rx"}]} => line 4: table "Two": permissions are "rx"
ROW,"A":1x}| => line 4, column 39: expected `,` or `}`
ROW,"A":{}} => line 4, column 38: expected a plain value
ROW,"A@odata.type":"Edm.Int64","A":"5x"} => line 4, column 65: property "A": expected Edm.Int64, found
ROW,"A@odata.type":"Edm.Int","A":"5"} => line 4, column 49: property "A": its type is not an EDM type
ROW,"a-b":1} => line 4, column 40: property "a-b":
ROW,"A":1,"A":1} => line 4, column 44: property "A": it occurs twice
ROW,"Timestamp":"today"} => line 4, column 46: property "Timestamp":
// Each later write would have its ETag.
ROW,"Timestamp":"9999-12-31T23:59:59.9999999Z"} => line 4, column 46: property "Timestamp": 9999-12-31T23:59:59.9999999Z is later than 9000-
HEAD|{"PartitionKey":5,"RowKey":"r"} => line 4, column 17: property "PartitionKey":
HEAD|{"PartitionKey":"p"}| => line 4: RowKey is missing|
HEAD|{"PartitionKey":"a/b","RowKey":"r"} => line 4: OutOfRangeInput:
ROW,"A":"LONG"}| => line 4: PropertyValueTooLarge:
ROW}|{"PartitionKey":"é","RowKey":"r"} => line 5: entity ("é", "r"): it occurs twice
"#;

#[test]
fn errors_name_line_column_and_property() {
    for case in INVALID.trim().lines().filter(|line| !line.starts_with("//")) {
        let case = case
            .replace("ROW", r#"HEAD|{"PartitionKey":"é","RowKey":"r""#)
            .replace("HEAD", r#"VERSION|{"account":"a"}|{"table":"Blogs"}"#)
            .replace("VERSION", r#"{"azure-table-snapshot":1}"#)
            .replace("LONG", &"x".repeat(32_769))
            .replace('|', "\n");
        let (text, why) = case.split_once("=> ").unwrap();
        let error = text.trim_end_matches(' ').parse::<EmulatorSnapshot>().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(format!("{error}\n").starts_with(why), "{text:.200}\n{error}\n{why}");
    }
}

#[test]
fn unusable_file_is_named() {
    let folder = Folder::new();
    let missing = EmulatorSnapshot::read(folder.file()).unwrap_err();
    assert_eq!(missing.kind(), std::io::ErrorKind::NotFound);
    fs::write(folder.file(), b"{\"azure-table-snapshot\":1}\n\xff").unwrap();
    let binary = EmulatorSnapshot::read(folder.file()).unwrap_err();
    fs::write(folder.file(), "{\"azure-table-snapshot\":1}\n{").unwrap();
    let wrong = EmulatorSnapshot::read(folder.file()).unwrap_err();
    for error in [&missing, &binary, &wrong] {
        assert_contains(error, "tables.json: ");
    }
    let why = "line 2: an entity, but no table of the account before it";
    assert!(wrong.to_string().ends_with(why), "{wrong}");
    assert_eq!(wrong.kind(), std::io::ErrorKind::InvalidData);

    // A folder cannot be replaced by a file: the attempt leaves nothing behind.
    let place = folder.0.join("folder");
    fs::create_dir(&place).unwrap();
    fs::write(place.join("kept"), "").unwrap();
    Emulator::new().snapshot().write(&place).unwrap_err();
    let mut names = folder.names();
    names.sort();
    assert_eq!(names, ["folder", "tables.json"]);
}

#[cfg(unix)]
#[test]
fn snapshot_file_keeps_its_permissions() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = Folder::new();
    let snapshot = Emulator::new().snapshot();
    snapshot.write(folder.file()).unwrap();
    for mode in [0o600, 0o640, 0o444] {
        fs::set_permissions(folder.file(), fs::Permissions::from_mode(mode)).unwrap();
        snapshot.write(folder.file()).unwrap();
        let found = fs::metadata(folder.file()).unwrap().permissions().mode();
        assert_eq!(found & 0o777, mode, "{found:o}");
    }
}

#[test]
fn reader_never_sees_a_partial_snapshot_file() {
    let folder = Folder::new();
    let emulator = Emulator::new();
    let rows = (0..500).map(|n| DynamicEntity::new("p", n.to_string()));
    emulator.seed("Blogs", rows).unwrap();
    let snapshot = emulator.snapshot();
    snapshot.write(folder.file()).unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| (0..50).for_each(|_| snapshot.write(folder.file()).unwrap()));
        while !writer.is_finished() {
            assert_eq!(EmulatorSnapshot::read(folder.file()).unwrap().entity_count(), 500);
        }
        writer.join().unwrap();
    });
    assert_eq!(folder.names(), ["tables.json"]);
}

#[tokio::test]
async fn snapshot_of_another_service_is_rejected() {
    let cosmos = Emulator::cosmos();
    cosmos.seed("Blogs", [DynamicEntity::new("p", "r")]).unwrap();
    cosmos.seed("BLOGS", [DynamicEntity::new("p", "r")]).unwrap();
    let snapshot: EmulatorSnapshot = cosmos.snapshot().to_string().parse().unwrap();
    let error = Emulator::new().restore(&snapshot).unwrap_err();
    assert_contains(error, "the snapshot is of");
    let again = Emulator::cosmos();
    again.restore(&snapshot).unwrap();
    assert_eq!(responses(&again).await, responses(&cosmos).await);
    assert_eq!(again.snapshot().table_count(), 2);

    // An emulator that is Cosmos DB only at its addresses separates such tables, too.
    let both = Emulator::new().account("contoso", "AAAA").unwrap();
    let connection = "AccountName=contoso;AccountKey=AAAA;TableEndpoint=https://contoso.table.cosmos.azure.com:443/;";
    for name in ["Blogs", "BLOGS"] {
        let service = TableServiceClient::from_connection_string(connection).unwrap();
        let service = service.transport(both.clone());
        service.dynamic_table(name).unwrap().create_table().await.unwrap();
    }
    let snapshot: EmulatorSnapshot = both.snapshot().to_string().parse().unwrap();
    assert_eq!(snapshot.to_string(), both.snapshot().to_string());
    assert_eq!(snapshot.table_count(), 2);
}

/// Returns all responses, byte by byte except the time.
async fn pages(emulator: &Emulator, host: &str) -> String {
    let full = [("accept", "application/json;odata=fullmetadata")];
    let response = ask_at(emulator, host, "GET", "Blogs()", &full, "").await;
    assert_eq!(response.status(), 200);
    String::from_utf8(response.into_body().to_vec()).unwrap()
}

#[tokio::test]
async fn rows_keep_the_order_in_which_they_were_inserted() {
    for (emulator, host) in [
        (Emulator::new(), "table.core.windows.net"),
        (Emulator::cosmos(), "table.cosmos.azure.com"),
        (Emulator::new(), "table.cosmos.azure.com"),
    ] {
        let emulator = emulator.account(ACCOUNT, KEY).unwrap();
        let clean = emulator.snapshot();
        let made = ask_at(&emulator, host, "POST", "Tables", &[], r#"{"TableName":"Blogs"}"#).await;
        assert_eq!(made.status(), 201);
        for (n, row) in [
            r#"{"PartitionKey":"p","RowKey":"0","b":1,"a":2}"#,
            r#"{"RowKey":"1","PartitionKey":"p","b":1}"#,
            // This beginning could be the line of a table.
            r#"{"table":"Blogs","RowKey":"2","b":1,"PartitionKey":"p","a":2}"#,
            r#"{"account":"a","PartitionKey":"p","RowKey":"3"}"#,
        ]
        .into_iter()
        .enumerate()
        {
            let made = ask_at(&emulator, host, "POST", "Blogs", &[], row).await;
            assert_eq!(made.status(), 201, "{row}");
            let row = format!("Blogs(PartitionKey='p',RowKey='{n}')");
            let merge = [("x-http-method", "MERGE")];
            let merged = ask_at(&emulator, host, "POST", &row, &merge, r#"{"z":1}"#).await;
            assert_eq!(merged.status(), 204);
            let upserted = format!("Blogs(PartitionKey='q',RowKey='{n}')");
            let upserted = ask_at(&emulator, host, "PUT", &upserted, &[], r#"{"b":1}"#).await;
            assert_eq!(upserted.status(), 204);
        }
        let endpoint = format!("AccountName={ACCOUNT};AccountKey={KEY};TableEndpoint=https://{ACCOUNT}.{host}/;");
        let service = TableServiceClient::from_connection_string(&endpoint).unwrap();
        let blogs = service.transport(emulator.clone()).dynamic_table("Blogs").unwrap();
        blogs.insert(&DynamicEntity::new("client", "r")).await.unwrap();

        let folder = Folder::new();
        emulator.snapshot().write(folder.file()).unwrap();
        let before = pages(&emulator, host).await;
        emulator.restore(&clean).unwrap();
        let snapshot = EmulatorSnapshot::read(folder.file()).unwrap();
        assert_eq!(snapshot.entity_count(), 9, "{host}");
        emulator.restore(&snapshot).unwrap();
        assert_eq!(pages(&emulator, host).await, before, "{host}");
        assert_eq!(emulator.snapshot().to_string(), snapshot.to_string());
    }
}

#[test]
fn cosmos_rejects_rows_that_violate_its_rules() {
    let with = |name: &str| {
        let mut entity = DynamicEntity::new("p", "r");
        entity.insert(name, 1);
        entity
    };
    for (entity, why) in [
        (DynamicEntity::new("p", "r".repeat(300)), "InvalidInput"),
        (DynamicEntity::new("", "r"), "PropertiesNeedValue"),
        (DynamicEntity::new("p", ""), "PropertiesNeedValue"),
        (with("rid"), "PropertyNameInvalid"),
        (with("id"), "PropertyNameInvalid"),
    ] {
        Emulator::new().seed("Blogs", [entity.clone()]).unwrap();
        let emulator = Emulator::cosmos();
        let error = emulator.seed("Blogs", [entity]).unwrap_err();
        assert_error(&error, ErrorKind::InvalidInput, "table Blogs: entity (");
        assert_contains(&error, why);
        assert_eq!(emulator.snapshot().entity_count(), 0);
        emulator.snapshot().to_string().parse::<EmulatorSnapshot>().unwrap();
    }
}

#[azure_table::test]
async fn seeded_rows_are_those_of_an_upsert(emulator: Emulator, blogs: TableClient<Counter>) {
    emulator.seed("Blogs", [Counter::new("p", "r", 1)]).unwrap();
    emulator.seed("blogs", [Counter::new("p", "r", 2)]).unwrap();
    assert_eq!(blogs.get(("p", "r")).await.unwrap().unwrap().value, 2);
    for (table, group, why) in [
        ("1", "p", "table 1: it has 1 characters"),
        ("Blogs", "a/b", "PartitionKey"),
    ] {
        let error = emulator.seed(table, [Counter::new(group, "r", 3)]).unwrap_err();
        assert_contains(error, why);
    }
}
