//! Operations of several calls: one timeout for all of them, and no outcome that could also be another caller's.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use azure_table::operation::OperationKind;
use azure_table::service::{Creation, RecreateProgress};
use azure_table::testing::{Fault, FaultRule, Faults, ResponseTemplate};
use azure_table::transport::{BoxFuture, Delivery, Transport, TransportError};
use azure_table::{
    CallOptions, Deletion, DynamicEntity, Emulator, ErrorKind, Guid, TableClient, TableEntity, TableServiceClient,
};
use azure_table_tests::errors::kind_in_doubt;
use bytes::Bytes;
use http::{Method, Request, Response};

/// The precision of tokio's timers.
const TICK: Duration = Duration::from_millis(1);

#[derive(Clone, Debug, PartialEq, TableEntity)]
struct Counter {
    #[table(partition_key)]
    name: String,
    #[table(row_key)]
    of: String,
    value: i64,
}

fn first_visit() -> Counter {
    Counter {
        name: "visits".into(),
        of: "home".into(),
        value: 0,
    }
}

async fn counters(emulator: &Emulator) -> TableClient<Counter> {
    let counters = TableServiceClient::from_transport(emulator.clone())
        .table::<Counter>("Counters")
        .unwrap();
    counters.create_table().await.unwrap();
    counters
}

#[tokio::test(start_paused = true)]
async fn modify_ends_with_the_timeout_wherever_it_is_set() {
    let emulator = Emulator::new();
    let truth = counters(&emulator).await;
    truth.insert(&first_visit()).await.unwrap();
    let faults = Faults::new(emulator);
    let changed = ResponseTemplate::new(412).code("UpdateConditionNotSatisfied");
    faults.add(FaultRule::new(changed).on(OperationKind::Replace));
    let service = TableServiceClient::from_transport(faults);
    let second = Duration::from_secs(1);
    let of_client = service.timeout(second).table::<Counter>("Counters").unwrap();
    let of_table = service
        .table::<Counter>("Counters")
        .unwrap()
        .with(&CallOptions::new().timeout(second));
    let unlimited = service.table::<Counter>("Counters").unwrap();
    for (name, counters, options) in [
        ("client", of_client, CallOptions::new()),
        ("table", of_table, CallOptions::new()),
        ("call", unlimited, CallOptions::new().timeout(second)),
    ] {
        let started = tokio::time::Instant::now();
        let modify = counters.modify(("visits", "home"), |row| row.value += 1);
        let error = modify.with(&options).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout, "{name}: {error}");
        assert!(error.to_string().contains("the call timed out"), "{name}: {error}");
        assert!(started.elapsed() <= second + TICK, "{name}: {:?}", started.elapsed());
    }
}

/// Inserts another visitor's row when the first insert is sent, and loses that insert.
#[derive(Clone, Debug)]
struct OtherVisitor<E> {
    service: Emulator,
    truth: TableClient<E>,
    row: E,
    came: Arc<AtomicBool>,
}

impl<E: TableEntity + Clone + std::fmt::Debug + Send + Sync + 'static> Transport for OtherVisitor<E> {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        Box::pin(async move {
            if request.method() == Method::POST && !self.came.swap(true, Ordering::Relaxed) {
                let insert = azure_table::TableOperation::insert(&self.row);
                self.truth.execute(insert).await.unwrap();
                return Err(TransportError::new(Delivery::MaybeSent, "lost"));
            }
            self.service.send(request).await
        })
    }
}

#[tokio::test(start_paused = true)]
async fn lost_first_insert_of_modify_is_not_taken_for_another_visitors() {
    let emulator = Emulator::new();
    let truth = counters(&emulator).await;
    let transport = OtherVisitor {
        service: emulator.clone(),
        truth: truth.clone(),
        row: Counter {
            value: 1,
            ..first_visit()
        },
        came: Arc::default(),
    };
    let counters = TableServiceClient::from_transport(transport)
        .table::<Counter>("Counters")
        .unwrap();
    let modify = counters.modify(("visits", "home"), |row| row.value += 1);
    let error = modify.or_insert(first_visit).await.unwrap_err();
    assert_eq!(kind_in_doubt(&error), Some(ErrorKind::AlreadyExists), "{error}");
    assert_eq!(truth.get(("visits", "home")).await.unwrap().unwrap().value, 1);
}

#[derive(Clone, Debug, PartialEq, TableEntity)]
struct Marked {
    #[table(partition_key)]
    name: String,
    #[table(row_key)]
    of: String,
    value: i64,
    #[table(write_id)]
    write: Option<Guid>,
}

#[tokio::test(start_paused = true)]
async fn lost_first_insert_with_a_write_id_counts_both_visitors() {
    let emulator = Emulator::new();
    let truth = counters(&emulator).await.typed::<Marked>();
    let visitor = |value| Marked {
        name: "visits".into(),
        of: "home".into(),
        value,
        write: None,
    };
    let transport = OtherVisitor {
        service: emulator.clone(),
        truth: truth.clone(),
        row: visitor(1),
        came: Arc::default(),
    };
    let counters = TableServiceClient::from_transport(transport)
        .table::<Marked>("Counters")
        .unwrap();
    let modify = counters.modify(("visits", "home"), |row| row.value += 1);
    let outcome = modify.or_insert(move || visitor(0)).await;
    let stored = truth.get(("visits", "home")).await.unwrap().unwrap().value;
    match outcome {
        Ok(counted) => assert_eq!((counted.value, stored), (2, 2)),
        Err(error) => assert!(error.may_have_applied() && stored == 1, "{error}"),
    }
}

/// A table that takes this long to be deleted.
async fn slow_to_delete(seconds: u64) -> (Emulator, TableClient<Counter>) {
    let emulator = Emulator::new().deletion_time(Duration::from_secs(seconds));
    let truth = counters(&emulator).await;
    truth.insert(&first_visit()).await.unwrap();
    (emulator, truth)
}

/// Advances the emulator's clock by each wait.
fn advance(emulator: &Emulator) -> impl Fn(RecreateProgress) + Send + 'static {
    let clock = emulator.clock().clone();
    move |progress| {
        if let RecreateProgress::BeingDeleted { pause, .. } = progress {
            clock.advance(pause);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn client_timeout_bounds_each_step_of_recreate_table_alone() {
    let (emulator, truth) = slow_to_delete(45).await;
    let service = TableServiceClient::from_transport(emulator.clone()).timeout(Duration::from_secs(10));
    let table = service.table::<Counter>("Counters").unwrap();
    let started = tokio::time::Instant::now();
    let recreate = table.recreate_table(Duration::from_secs(120));
    recreate.on_progress(advance(&emulator)).await.unwrap();
    assert!(started.elapsed() >= Duration::from_secs(45), "{:?}", started.elapsed());
    assert!(truth.query().all().await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn error_of_recreate_table_names_the_limit_that_ended_it() {
    for (timeout, total, ended) in [
        (5_000, 5_500, "within the `timeout` of 5s"),
        (300_000, 6_000, "within the `total_timeout` of 6s"),
    ] {
        let (emulator, _) = slow_to_delete(0).await;
        let faults = Faults::new(emulator);
        faults.add(FaultRule::new(Fault::HangRequest).on(OperationKind::DeleteTable));
        let service = TableServiceClient::from_transport(faults).timeout(Duration::from_millis(timeout));
        let recreate = service.dynamic_table("Counters").unwrap();
        let error = recreate.recreate_table(Duration::from_millis(total)).await.unwrap_err();
        assert!(error.to_string().contains(ended), "{error}");
    }
}

/// The table is already deleted, so giving up would leave none.
#[tokio::test(start_paused = true)]
async fn recreate_table_retries_transient_failures() {
    for (kind, fault) in [
        (OperationKind::CreateTable, Fault::HangRequest),
        (OperationKind::CreateTable, Fault::LoseResponse),
        (OperationKind::CreateTable, Fault::NoConnection),
        (OperationKind::DeleteTable, Fault::HangResponse),
        (OperationKind::DeleteTable, ResponseTemplate::internal_error().into()),
    ] {
        let (emulator, truth) = slow_to_delete(0).await;
        let faults = Faults::new(emulator);
        let rule = faults.add(FaultRule::new(fault.clone()).on(kind).first(6));
        let service = TableServiceClient::from_transport(faults).timeout(Duration::from_secs(10));
        let table = service.table::<Counter>("Counters").unwrap();
        table.recreate_table(Duration::from_secs(300)).await.unwrap();
        assert!(rule.hits() > 0, "{kind:?}, {fault:?}");
        assert!(truth.query().all().await.unwrap().is_empty(), "{kind:?}, {fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn recreate_table_rejects_a_timeout_below_its_deadline_before_the_delete() {
    let (_, truth) = slow_to_delete(45).await;
    let recreate = truth.recreate_table(Duration::from_secs(120));
    let error = recreate.timeout(Duration::from_secs(10)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert_eq!(
        error.to_string(),
        "recreate table Counters: the call's timeout of 10s is below the total timeout of 120s: \
         leave the call's timeout out, or lower the total timeout"
    );
    assert_eq!(truth.query().all().await.unwrap().len(), 1, "nothing was deleted");
}

#[tokio::test(start_paused = true)]
async fn recreate_table_ends_at_its_deadline() {
    let (emulator, _) = slow_to_delete(600).await;
    let faults = Faults::new(emulator);
    faults.add(FaultRule::new(Fault::HangRequest).on(OperationKind::CreateTable).nth(3));
    let table = TableServiceClient::from_transport(faults)
        .table::<Counter>("Counters")
        .unwrap();
    let started = tokio::time::Instant::now();
    let error = table.recreate_table(Duration::from_secs(60)).await.unwrap_err();
    assert!((59..=60).contains(&started.elapsed().as_secs()), "{error}");
}

/// After a lost response it is unknown whose table it is, or who deleted it.
#[tokio::test(start_paused = true)]
async fn lost_creation_and_deletion_are_in_doubt() {
    let emulator = Emulator::new();
    let faults = Faults::new(emulator);
    let service = TableServiceClient::from_transport(faults.clone());
    let table = service.dynamic_table("Things").unwrap();
    let lose = |kind| faults.add(FaultRule::new(Fault::LoseResponse).on(kind).first(1));

    lose(OperationKind::CreateTable);
    assert_eq!(table.create_table_if_not_exists().await.unwrap(), Creation::InDoubt);
    assert_eq!(table.create_table_if_not_exists().await.unwrap(), Creation::Existed);
    table.insert(&DynamicEntity::new("p", "r")).await.unwrap();
    lose(OperationKind::Delete);
    assert_eq!(table.delete_if_exists(("p", "r")).await.unwrap(), Deletion::InDoubt);
    assert_eq!(table.delete_if_exists(("p", "r")).await.unwrap(), Deletion::WasMissing);
    lose(OperationKind::DeleteTable);
    assert_eq!(table.delete_table_if_exists().await.unwrap(), Deletion::InDoubt);
    assert_eq!(table.delete_table_if_exists().await.unwrap(), Deletion::WasMissing);

    faults.clear();
    lose(OperationKind::CreateTable);
    let ensured = service.ensure_tables(["Others"]).await.unwrap();
    assert_eq!(ensured, [("Others".to_owned(), Creation::InDoubt)]);
}
