//! The systems in processes that crash, in every order of their requests.
//!
//! Each process begins again after its crash, and a write in flight may arrive late. `patterns` and operations have
//! such cases in `azure_table_tests::explorations::crashes`, with the types of these.

use std::cell::RefCell;
use std::sync::Mutex;
use std::time::Duration;

use azure_table::testing::{Simulation, explore};
use azure_table::{DateTime, ErrorKind, PropertyGroup, Result, TableServiceClient};
use azure_table_tests::explorations::crashes::{CrashCase, behind, settle};
use futures::future::try_join;
use tokio::time::sleep;

use crate::systems::catalogue::{Catalogue, Leaf, Selection};
use crate::systems::durable_execution::{Histories, Status, Step, Worker};
use crate::systems::event_streams::{Event, Partition, WriteError};
use crate::systems::membership::{Membership, Silo};
use crate::systems::transactional_state::{Prepared, StateStorage, Update};

const ALL: [CrashCase; 9] = [
    CrashCase {
        name: "event streams: two writers of one event and its id",
        processes: 2,
        explore: |bounds| bounds.of(explore(streams)).isolated().run(),
    },
    CrashCase {
        name: "catalogue: a copy is resumed, beside a newer commit",
        processes: 2,
        explore: |bounds| bounds.of(explore(copy)).isolated().run(),
    },
    CrashCase {
        name: "membership: two silos join",
        processes: 2,
        explore: |bounds| bounds.of(explore(join_cluster)).isolated().run(),
    },
    CrashCase {
        name: "transactional state: two writers prepare and commit",
        processes: 2,
        explore: |bounds| bounds.of(explore(commit)).isolated().run(),
    },
    CrashCase {
        name: "transactional state: a store of two batches, beside a reader",
        processes: 2,
        explore: |bounds| bounds.of(explore(store_of_two_batches)).isolated().run(),
    },
    CrashCase {
        name: "durable execution: two workers at one instance",
        processes: 2,
        explore: |bounds| bounds.of(explore(orchestrate)).isolated().run(),
    },
    CrashCase {
        name: "durable execution: a checkpoint of two batches, beside a reader",
        processes: 2,
        explore: |bounds| bounds.of(explore(checkpoint_of_two_batches)).isolated().run(),
    },
    CrashCase {
        name: "durable execution: a purge, beside a start of the same ID",
        processes: 2,
        explore: |bounds| bounds.of(explore(purge)).isolated().run(),
    },
    CrashCase {
        name: "durable execution: two workers balance two queues",
        processes: 2,
        explore: |bounds| bounds.of(explore(balance)).isolated().run(),
    },
];

#[test]
fn systems_keep_their_claims_after_crashes() {
    let seconds = std::env::var("AZURE_TABLE_CRASH_SECONDS").map_or(1, |seconds| seconds.parse().unwrap());
    println!("{}", CrashCase::HEADER);
    for case in ALL {
        println!("{}", case.check(Duration::from_secs(seconds)));
    }
}

const TABLE: &str = "Rows";
/// The time of a lease.
const TIME: Duration = Duration::from_secs(30);

#[derive(PropertyGroup, Clone, Debug, PartialEq)]
struct Text {
    text: String,
}

fn stream(service: &TableServiceClient) -> Partition {
    Partition::new(&service.dynamic_table(TABLE).unwrap(), "s")
}

/// The event with the id is written once, with the event before it.
async fn streams(simulation: Simulation) -> Result<()> {
    let behind = behind(&simulation, &[TABLE]);
    let live = |name: &'static str| {
        async move |service: TableServiceClient| -> Result<()> {
            let event = |text: &str| Event::new(Text { text: text.to_owned() });
            loop {
                let partition = stream(&service);
                let mut stream = partition.open().await?.unwrap_or_else(|| partition.new_stream());
                match stream.write([event(name), event("paid").id("once")]).await {
                    Err(WriteError::Conflict) => {}
                    Err(WriteError::Other(e)) => return Err(e),
                    Ok(_) | Err(WriteError::Duplicate(_)) => return Ok(()),
                    Err(e) => panic!("{e:?}"),
                }
            }
        }
    };
    try_join(simulation.process("a", live("a")), simulation.process("b", live("b"))).await?;
    settle(&simulation, &[TABLE]).await?;
    let slice = stream(&behind).read::<Text>(1, 10).await?.unwrap();
    let texts: Vec<&str> = slice.events.iter().map(|(_, event)| event.text.as_str()).collect();
    assert!(texts == ["a", "paid"] || texts == ["b", "paid"], "{texts:?}");
    assert!(slice.is_end && slice.stream.version() == 2);
    Ok(())
}

/// The copy has every entry, and keeps a newer one that another process committed to it.
async fn copy(simulation: Simulation) -> Result<()> {
    let behind = behind(&simulation, &[TABLE, "Copy"]);
    let catalogue = |service: &TableServiceClient, table: &str| Catalogue::new(&service.table(table).unwrap());
    let leaf = |id: &str, commit| Leaf::new(id, "1", commit, "url");
    catalogue(&behind, TABLE)
        .add(["a", "b", "c"].map(|id| leaf(id, 1)))
        .await?;
    // A file that survives the crash of its process.
    let file: Mutex<Option<String>> = Mutex::default();
    let copy = async |service: TableServiceClient| -> Result<()> {
        let from = catalogue(&service, TABLE);
        let scan = from.query(&Selection::default()).page_size(1).scan().concurrency(1);
        let text = file.lock().unwrap().clone();
        let scan = match text {
            Some(text) => scan.resume_from(text.parse().unwrap()),
            None => scan,
        };
        let store = |position: &azure_table::query::ScanPosition| {
            *file.lock().unwrap() = Some(position.to_string());
            Ok(())
        };
        from.copy(scan, &catalogue(&service, "Copy"), store).await.map(drop)
    };
    let add = async |service: TableServiceClient| catalogue(&service, "Copy").add([leaf("b", 2)]).await.map(drop);
    try_join(simulation.process("copier", copy), simulation.process("writer", add)).await?;
    settle(&simulation, &["Copy"]).await?;
    for (id, commit) in [("a", 1), ("b", 2), ("c", 1)] {
        let copied = catalogue(&behind, "Copy").get(id, "1").await?;
        assert_eq!(copied.map(|leaf| leaf.commit), Some(commit), "{id}");
    }
    Ok(())
}

/// Each silo is in the table once, and the version counts both inserts.
async fn join_cluster(simulation: Simulation) -> Result<()> {
    let behind = behind(&simulation, &[TABLE]);
    let members = |service: &TableServiceClient| Membership::new(&service.dynamic_table(TABLE).unwrap(), "c");
    members(&behind).init().await?;
    let live = |generation: u32| {
        async move |service: TableServiceClient| -> Result<()> {
            let silo = Silo::new("c", "10.0.0.7", 11_111, generation);
            loop {
                let view = members(&service).read_all().await?;
                let is_member = view.silos.iter().any(|member| member.entity == silo);
                if is_member || members(&service).insert(&silo, &view.version).await? {
                    return Ok(());
                }
            }
        }
    };
    try_join(simulation.process("a", live(1)), simulation.process("b", live(2))).await?;
    settle(&simulation, &[TABLE]).await?;
    let view = members(&behind).read_all().await?;
    assert_eq!((view.silos.len(), view.version.number()), (2, 2));
    Ok(())
}

fn state(service: &TableServiceClient) -> StateStorage {
    StateStorage::new(&service.dynamic_table(TABLE).unwrap(), "s")
}

fn prepared(sequence_id: u64, state: String) -> Prepared {
    Prepared {
        sequence_id,
        transaction_id: format!("t{sequence_id}"),
        timestamp: DateTime::from_unix_seconds(1_800_000_000),
        manager: Some("tm".into()),
        state,
    }
}

/// Both transactions are committed once.
async fn commit(simulation: Simulation) -> Result<()> {
    let behind = behind(&simulation, &[TABLE]);
    let live = |name: &'static str| {
        async move |service: TableServiceClient| -> Result<()> {
            loop {
                let stored = state(&service).load().await?;
                let now = stored.committed_state().unwrap_or_default().to_owned();
                if now.contains(name) {
                    return Ok(());
                }
                let next = stored.committed_sequence_id() + 1;
                let update = Update {
                    prepare: vec![prepared(next, format!("{now}{name}"))],
                    commit_up_to: Some(next),
                    ..Update::default()
                };
                match stored.store(update).await {
                    Err(e) if !matches!(e.kind(), ErrorKind::ConditionNotMet | ErrorKind::AlreadyExists) => {
                        return Err(e);
                    }
                    _ => {}
                }
            }
        }
    };
    try_join(simulation.process("a", live("a")), simulation.process("b", live("b"))).await?;
    settle(&simulation, &[TABLE]).await?;
    let stored = state(&behind).load().await?;
    assert!(["ab", "ba"].map(Some).contains(&stored.committed_state()), "{stored:?}");
    Ok(())
}

/// A load shows a prefix of the prepared versions. The repeated store commits the last.
async fn store_of_two_batches(simulation: Simulation) -> Result<()> {
    let behind = behind(&simulation, &[TABLE]);
    let store = async |service: TableServiceClient| -> Result<()> {
        loop {
            let stored = state(&service).load().await?;
            if stored.committed_sequence_id() == 100 {
                return Ok(());
            }
            let update = Update {
                prepare: (1..=100).map(|id| prepared(id, id.to_string())).collect(),
                commit_up_to: Some(100),
                ..Update::default()
            };
            match stored.store(update).await {
                Err(e) if !matches!(e.kind(), ErrorKind::ConditionNotMet | ErrorKind::AlreadyExists) => {
                    return Err(e);
                }
                _ => {}
            }
        }
    };
    let read = async |service: TableServiceClient| -> Result<()> {
        let stored = state(&service).load().await?;
        let pending = stored.pending().map(|prepared| prepared.sequence_id);
        assert!(pending.eq(1..=stored.pending().count() as u64) || stored.committed_sequence_id() == 100);
        Ok(())
    };
    try_join(simulation.process("writer", store), simulation.process("reader", read)).await?;
    settle(&simulation, &[TABLE]).await?;
    let stored = state(&behind).load().await?;
    assert_eq!((stored.committed_state(), stored.pending().count()), (Some("100"), 0));
    Ok(())
}

fn histories(service: &TableServiceClient) -> Histories {
    Histories::new(&service.dynamic_table(TABLE).unwrap())
}

/// Writes a checkpoint, unless the history has events.
async fn run_instance(service: &TableServiceClient, name: &str, steps: usize) -> Result<()> {
    let steps: Vec<Step> = (0..steps).map(|_| Step::new("TaskScheduled", name)).collect();
    loop {
        let (history, events) = histories(service).open("i").await?.unwrap();
        if !events.is_empty() || history.checkpoint(Status::Completed, &steps).await?.is_some() {
            return Ok(());
        }
    }
}

/// Checks that the history has the steps of one worker, and the status of its end.
async fn check_instance(behind: &TableServiceClient, steps: usize) -> Result<()> {
    let (history, events) = histories(behind).open("i").await?.unwrap();
    assert_eq!((events.len(), history.instance().status), (steps, Status::Completed));
    let is_of_one = events.iter().all(|event| event.payload == events[0].payload);
    assert!(is_of_one, "two checkpoints are mixed");
    Ok(())
}

/// The history has the checkpoint of one worker, once, and its status agrees.
async fn orchestrate(simulation: Simulation) -> Result<()> {
    let behind = behind(&simulation, &[TABLE]);
    histories(&behind).start("i").await?;
    let live = |name: &'static str| async move |service: TableServiceClient| run_instance(&service, name, 2).await;
    try_join(simulation.process("a", live("a")), simulation.process("b", live("b"))).await?;
    settle(&simulation, &[TABLE]).await?;
    check_instance(&behind, 2).await
}

/// A reader sees the whole checkpoint or nothing of it.
async fn checkpoint_of_two_batches(simulation: Simulation) -> Result<()> {
    const STEPS: usize = 100;
    let behind = behind(&simulation, &[TABLE]);
    histories(&behind).start("i").await?;
    let write = async |service: TableServiceClient| run_instance(&service, "a", STEPS).await;
    let read = async |service: TableServiceClient| -> Result<()> {
        let (history, events) = histories(&service).open("i").await?.unwrap();
        let is_complete = history.instance().status == Status::Completed;
        assert_eq!(events.len(), if is_complete { STEPS } else { 0 });
        Ok(())
    };
    try_join(simulation.process("worker", write), simulation.process("reader", read)).await?;
    settle(&simulation, &[TABLE]).await?;
    check_instance(&behind, STEPS).await
}

/// The first instance is gone with its events, and the second one has its own.
async fn purge(simulation: Simulation) -> Result<()> {
    let behind = behind(&simulation, &[TABLE]);
    let first = histories(&behind).start("i").await?.unwrap();
    let execution = first.instance().execution;
    let steps = ["1", "2"].map(|payload| Step::new("TaskScheduled", payload));
    first.checkpoint(Status::Completed, &steps).await?;
    let purge = async |service: TableServiceClient| -> Result<()> {
        while let Some((history, _)) = histories(&service).open("i").await? {
            if history.instance().execution != execution || history.purge().await?.is_some() {
                break;
            }
        }
        Ok(())
    };
    let start = async |service: TableServiceClient| -> Result<()> {
        for _ in 0..4 {
            if histories(&service).start("i").await?.is_some() {
                break;
            }
            let (history, _) = match histories(&service).open("i").await? {
                Some(opened) => opened,
                None => continue,
            };
            if history.instance().execution != execution {
                break;
            }
            sleep(TIME).await;
        }
        Ok(())
    };
    try_join(
        simulation.process("purger", purge),
        simulation.process("starter", start),
    )
    .await?;
    settle(&simulation, &[TABLE]).await?;
    let (history, events) = histories(&behind).open("i").await?.unwrap();
    assert_ne!(history.instance().execution, execution);
    assert_eq!((events.len(), history.instance().events), (0, 0));
    let rows = behind.dynamic_table(TABLE)?.query().partition("i").all().await?;
    assert_eq!(rows.len(), 1, "events of the purged instance are left: {rows:?}");
    Ok(())
}

/// No queue has two owners, and no token occurs twice, also if a worker begins again under its name.
async fn balance(simulation: Simulation) -> Result<()> {
    let behind = behind(&simulation, &[TABLE]);
    let worker =
        |service: &TableServiceClient, name: &str| Worker::new(&service.dynamic_table(TABLE).unwrap(), name, TIME);
    worker(&behind, "none").create_queues(2).await?;
    let tokens: [RefCell<Vec<(String, i64)>>; 2] = Default::default();
    let live = |process: usize| {
        let tokens = &tokens[process];
        async move |service: TableServiceClient| -> Result<Vec<String>> {
            let mut worker = worker(&service, ["a", "b"][process]);
            for _ in 0..2 {
                worker.balance().await?;
                let owned = worker
                    .owned()
                    .map(|queue| (queue.to_owned(), worker.token(queue).unwrap()));
                tokens.borrow_mut().extend(owned);
                sleep(TIME / 6).await;
            }
            Ok(worker.owned().map(str::to_owned).collect())
        }
    };
    let (a, b) = try_join(simulation.process("a", live(0)), simulation.process("b", live(1))).await?;
    settle(&simulation, &[TABLE]).await?;
    assert!(
        !a.iter().any(|queue| b.contains(queue)),
        "both own one of {a:?} and {b:?}"
    );
    let [of_a, of_b] = tokens.map(RefCell::into_inner);
    assert!(!of_a.iter().any(|token| of_b.contains(token)), "{of_a:?} and {of_b:?}");
    Ok(())
}
