//! Systems that are known to run on tables, written anew on the public interface of `azure-table`:
//! `cargo run -p azure-table-patterns --example systems` uses each of them once, on the emulator.
//!
//! Each module is one system: what it promises, how its rows are laid out, what each call costs. Its claims are those
//! of the original's documents and tests. `tests/systems` checks them on the emulator, under every fault, in every order of
//! the requests, and on Azurite. Its `mutants` has mistakes that they must find.

#![expect(clippy::print_stdout, reason = "an example talks to a person")]

use std::error::Error;
use std::time::Duration;

use azure_table::{DateTime, DynamicEntity, Emulator, PropertyGroup, TableOperation, TableServiceClient};

use self::catalogue::{Catalogue, Leaf, Selection};
use self::durable_execution::{Histories, Status, Step, Worker};
use self::event_streams::{Event, Partition, WriteError};
use self::membership::{Membership, Silo};
use self::transactional_state::{Prepared, StateStorage, Update};

pub mod catalogue;
pub mod durable_execution;
pub mod event_streams;
pub mod membership;
pub mod transactional_state;

/// Uses each system once.
///
/// # Errors
/// A call that failed, or a result that is not the expected one.
#[tokio::main(flavor = "current_thread")]
pub async fn main() -> Result<(), Box<dyn Error>> {
    let service = TableServiceClient::from_transport(Emulator::new());
    catalogue(&service).await?;
    durable_execution(&service).await?;
    event_streams(&service).await?;
    membership(&service).await?;
    transactional_state(&service).await
}

#[test]
fn every_system_is_used() -> Result<(), Box<dyn Error>> {
    main()
}

async fn catalogue(service: &TableServiceClient) -> Result<(), Box<dyn Error>> {
    let table = service.table("Leaves")?;
    table.create_table().await?;
    let catalogue = Catalogue::new(&table);

    // The documents arrive in any order.
    let leaf = |id, version, commit| Leaf::new(id, version, commit, "https://example.com/leaf.json");
    catalogue
        .add([leaf("serde", "1.0.0", 7), leaf("tokio", "1.0.0", 8)])
        .await?;
    let latest = catalogue
        .add([leaf("serde", "1.0.0", 3), leaf("tokio", "1.0.0", 9)])
        .await?;
    assert_eq!(latest.iter().map(|leaf| leaf.commit).collect::<Vec<_>>(), [7, 9]);

    let all = Selection::default();
    let mut rows = catalogue.query(&all).page_size(1).scan().stream();
    let mut segments = 0;
    while let Some(segment) = rows.try_next_page().await? {
        assert_eq!(segment.len(), 1);
        segments += 1; // `rows.position()` is behind this segment
    }
    assert_eq!(segments, 2);
    println!("catalogue: the latest of two versions, from four documents, in {segments} segments");
    Ok(())
}

async fn durable_execution(service: &TableServiceClient) -> Result<(), Box<dyn Error>> {
    service.ensure_tables(["Queues", "Histories"]).await?;

    // A worker takes the queues, and so the orchestrations whose messages arrive there.
    let mut worker = Worker::new(&service.dynamic_table("Queues")?, "worker-1", Duration::from_secs(30));
    worker.create_queues(4).await?;
    worker.balance().await?;
    assert_eq!(worker.owned().count(), 4);

    let histories = Histories::new(&service.dynamic_table("Histories")?);
    histories.start("order-7").await?.ok_or("the ID is not new")?;

    // A message for the orchestration: replay the history, then write the events of the next steps.
    let (history, events) = histories.open("order-7").await?.ok_or("it was not started")?;
    assert!(events.is_empty());
    let steps = [
        Step::new("TaskScheduled", "charge the card"),
        Step::new("TimerCreated", "15 minutes"),
    ];
    let history = history.checkpoint(Status::Running, &steps).await?;
    let history = history.ok_or("another worker was first")?;

    // Another worker still believes that it owns the queue. Its checkpoint changes nothing.
    let (late, events) = histories.open("order-7").await?.ok_or("it was not started")?;
    assert_eq!(events.len(), 2);
    let paid = [Step::new("ExecutionCompleted", "paid")];
    let history = history.checkpoint(Status::Completed, &paid).await?;
    let history = history.ok_or("another worker was first")?;
    assert!(late.checkpoint(Status::Failed, &[]).await?.is_none());

    assert_eq!(history.purge().await?, Some(3));
    println!("durable execution: the checkpoint of the worker that was late changed nothing");
    Ok(())
}

#[derive(PropertyGroup, Clone)]
struct Moved {
    items: i32,
}

async fn event_streams(service: &TableServiceClient) -> Result<(), Box<dyn Error>> {
    let table = service.dynamic_table("Streams")?;
    table.create_table().await?;
    let item = Partition::new(&table, "shop|item-7");

    let mut stream = item.new_stream();
    let delivery = || Event::new(Moved { items: 100 }).id("delivery-1");
    let mut stock = DynamicEntity::new("shop", "stock;item-7");
    stock.insert("Items", 100);
    stream
        .write([delivery().include(TableOperation::insert(&stock))])
        .await?;

    let again = stream.write([delivery()]).await;
    assert!(matches!(again, Err(WriteError::Duplicate(id)) if id == "delivery-1"));

    let slice = item.read::<Moved>(1, 1_000).await?.ok_or("it was not written")?;
    assert!(slice.is_end && slice.events[0].1.items == 100);
    assert_eq!(slice.stream.version(), 1);
    println!("event streams: the event of a repeated delivery was written once");
    Ok(())
}

async fn membership(service: &TableServiceClient) -> Result<(), Box<dyn Error>> {
    let table = service.dynamic_table("Silos")?;
    table.create_table().await?;
    let members = Membership::new(&table, "production");
    members.init().await?;

    let view = members.read_all().await?;
    let silo = Silo::new("production", "10.0.0.7", 11_111, 1);
    assert!(members.insert(&silo, &view.version).await?);
    assert!(!members.insert(&silo, &view.version).await?, "the version has moved");

    let mut view = members.read_all().await?;
    view.silos[0].status = membership::Status::Active;
    assert!(members.update(&view.silos[0], &view.version).await?);
    members.report_alive(&silo, DateTime::now()).await?;
    assert_eq!(members.read_all().await?.version.number(), 2);
    println!("membership: of two inserts at one version, the first won");
    Ok(())
}

async fn transactional_state(service: &TableServiceClient) -> Result<(), Box<dyn Error>> {
    let table = service.dynamic_table("States")?;
    table.create_table().await?;
    let storage = StateStorage::new(&table, "account-7");

    let withdrawal = Prepared {
        sequence_id: 1,
        transaction_id: "t1".into(),
        timestamp: DateTime::now(),
        manager: Some("account-1".into()),
        state: r#"{"balance":50}"#.into(),
    };
    let state = storage.load().await?;
    let update = Update {
        prepare: vec![withdrawal],
        ..Update::default()
    };
    state.store(update).await?;

    // Another process, after a crash. The manager says that the transaction was committed.
    let state = storage.load().await?;
    let manager = state.pending().next().and_then(|prepared| prepared.manager.as_deref());
    assert_eq!(manager, Some("account-1"));
    let update = Update {
        commit_up_to: Some(1),
        ..Update::default()
    };
    let state = state.store(update).await?;
    assert_eq!(state.committed_state(), Some(r#"{"balance":50}"#));
    println!("transactional state: the pending transaction was committed after a crash");
    Ok(())
}
