//! The tables of an emulator, without a client: listed, filled from text, deleted.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use azure_table::emulator::{EmulatorClock, SeedEntities as _};
use azure_table::testing::{Fault, Faults};
use azure_table::{DateTime, DynamicEntity, Emulator, EmulatorServer, ErrorKind, TableServiceClient};
use azure_table_tests::canned::no_retry;
use azure_table_tests::process::LIMIT;

const ACCOUNT: &str = "devstoreaccount1";

const ROWS: &str = "{\"PartitionKey\":\"p\",\"RowKey\":\"1\",\"Rating\":5}\n{\"PartitionKey\":\"p\",\"RowKey\":\"2\"}";

fn names(emulator: &Emulator) -> Vec<(String, usize)> {
    let tables = emulator.tables().into_iter();
    tables.map(|table| (table.name, table.entity_count)).collect()
}

#[test]
fn lines_are_stored_all_or_none_and_read_back() {
    let emulator = Emulator::new();
    assert_eq!(emulator.seed_lines(ACCOUNT, "Blogs", ROWS).unwrap(), 2);
    let lines = emulator.table_lines(ACCOUNT, "blogs", 10).unwrap();
    assert_eq!(emulator.seed_lines(ACCOUNT, "Copy", &lines).unwrap(), 2);
    let twice = r#"line 3: entity ("p", "1"): it occurs twice"#;
    for (more, why) in [
        ("\n{\"PartitionKey\":\"p\"}", "line 4: RowKey is missing"),
        (r#"{"RowKey":"1","PartitionKey":"p"}"#, twice),
    ] {
        let lines = format!("{ROWS}\n{more}");
        let error = emulator.seed_lines(ACCOUNT, "New", &lines).unwrap_err();
        assert_eq!(error.to_string(), why);
    }
    let error = emulator.seed_lines("other", "New", ROWS).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert_eq!(names(&emulator), [("Blogs".to_owned(), 2), ("Copy".to_owned(), 2)]);
    assert!(emulator.table_lines("other", "Blogs", 10).is_none());
    emulator.check_storage().unwrap();
}

#[test]
fn concurrent_seeds_share_a_new_table() {
    for round in 0..50 {
        let emulator = Emulator::new();
        std::thread::scope(|scope| {
            for part in ["a", "b", "c", "d"] {
                let emulator = &emulator;
                scope.spawn(move || emulator.seed("Blogs", [DynamicEntity::new(part, "1")]).unwrap());
            }
        });
        assert_eq!(names(&emulator), [("Blogs".to_owned(), 4)], "{round}");
    }
}

#[tokio::test]
async fn names_of_deleted_tables_are_free_immediately() {
    let emulator = Emulator::new().deletion_time(Duration::from_secs(40));
    emulator.seed_lines(ACCOUNT, "Blogs", ROWS).unwrap();
    let service = TableServiceClient::from_transport(emulator.clone());
    let blogs = service.dynamic_table("Blogs").unwrap();
    blogs.delete_table().await.unwrap();
    let error = blogs.create_table().await.unwrap_err();
    assert_eq!(error.code(), Some("TableBeingDeleted"));
    emulator.clear().unwrap();
    blogs.create_table().await.unwrap();
    assert!(emulator.delete_table(ACCOUNT, "BLOGS").unwrap());
    assert!(!emulator.delete_table(ACCOUNT, "Blogs").unwrap());
    blogs.create_table().await.unwrap();
}

#[tokio::test]
async fn tables_of_one_account_or_of_all_are_deleted() {
    let emulator = Emulator::new().account("contoso", "AAAA").unwrap();
    for account in ["contoso", ACCOUNT] {
        for table in ["Blogs", "Posts"] {
            emulator.seed_lines(account, table, ROWS).unwrap();
        }
    }
    let snapshot = emulator.snapshot();
    emulator.clear_account("contoso").unwrap();
    let left: Vec<_> = emulator.tables().into_iter().map(|table| table.account).collect();
    assert_eq!(left, [ACCOUNT, ACCOUNT]);
    let error = emulator.clear_account("nobody").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let expected = "account \"nobody\" does not exist, the accounts are contoso, devstoreaccount1";
    assert_eq!(error.to_string(), expected);
    emulator.clear().unwrap();
    assert_eq!(emulator.tables(), []);
    emulator.settle().await.unwrap();
    // An account of a snapshot, whose key this emulator does not have.
    let other = Emulator::new();
    other.restore(&snapshot).unwrap();
    other.clear_account("contoso").unwrap();
    assert_eq!(names(&other).len(), 2);
}

#[tokio::test]
async fn tables_that_were_created_at_an_address_of_cosmos_db_are_found() {
    let emulator = Emulator::new().account("contoso", "AAAA").unwrap();
    let connection = "AccountName=contoso;AccountKey=AAAA;TableEndpoint=https://contoso.table.cosmos.azure.com:443/;";
    let service = TableServiceClient::from_connection_string(connection).unwrap();
    let service = service.transport(emulator.clone());
    service.dynamic_table("Blogs").unwrap().create_table().await.unwrap();
    assert_eq!(emulator.seed_lines("contoso", "Blogs", ROWS).unwrap(), 2);
    let lines = emulator.table_lines("contoso", "Blogs", 1).unwrap();
    assert_eq!(lines.lines().count(), 1);
    assert!(emulator.delete_table("contoso", "Blogs").unwrap());
    assert_eq!(names(&emulator), []);
}

#[test]
fn clock_returns_to_the_time_of_the_system() {
    let clock = EmulatorClock::fixed("2030-01-01T00:00:00Z".parse().unwrap());
    clock.reset();
    let now = clock.now();
    assert!(now <= DateTime::now() && now + LIMIT > DateTime::now());
}

#[tokio::test]
async fn server_answers_through_faults_and_its_observer_sees_what_clients_see() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    let emulator = Emulator::new().observer(move |request| {
        let status = request.status.map(|status| status.as_u16());
        let why = request.why.clone().unwrap_or_default();
        sink.lock().unwrap().push((status, why));
    });
    let server = EmulatorServer::bind(emulator, "127.0.0.1:0").await.unwrap();
    let mut added = None;
    let server = server.through(|emulator| {
        let faults = Faults::new(emulator);
        added = Some((faults.add(Fault::LoseResponse), faults.clone()));
        faults
    });
    let (rule, faults) = added.unwrap();
    let running = server.spawn();
    let service = TableServiceClient::from_connection_string(running.connection_string()).unwrap();
    let blogs = service.dynamic_table("Blogs").unwrap().with(&no_retry());
    let lost = blogs.create_table().await.unwrap_err();
    assert!(lost.may_have_applied(), "{lost}");
    faults.remove(&rule);
    assert_eq!(blogs.create_table().await.unwrap_err().status(), Some(409));
    faults.add(Fault::DateAhead(Duration::from_secs(1)));
    blogs.delete_table().await.unwrap();
    let none = String::new();
    let expected = [
        (None, "injected fault: the response was lost".to_owned()),
        (Some(409), none),
        (Some(204), "injected fault: date ahead".to_owned()),
    ];
    assert_eq!(*seen.lock().unwrap(), expected);
}
