//! Operations of several calls: one timeout for all of them, and no outcome that could also be another caller's.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use azure_table::operation::OperationKind;
use azure_table::service::{Creation, RecreateProgress};
use azure_table::testing::{Fault, FaultRule, Faults, ResponseTemplate};
use azure_table::transport::{Delivery, TransportError};
use azure_table::{
    CallOptions, Deletion, DynamicEntity, Emulator, ErrorKind, NoRetry, TableClient, TableEntity, TableServiceClient,
};
use azure_table_tests::entities::{Counter, Marked};
use azure_table_tests::errors::kind_in_doubt;
use azure_table_tests::intercept::Intercept;
use http::Method;

use super::{faulty, table_of};

/// The precision of tokio's timers.
const TICK: Duration = Duration::from_millis(1);
const KEY: (&str, &str) = ("visits", "home");

fn first_visit() -> Counter {
    Counter::new(KEY.0, KEY.1, 0)
}

#[tokio::test(start_paused = true)]
async fn modify_ends_with_the_timeout_wherever_it_is_set() {
    let (faults, unlimited, truth) = faulty::<Counter>(Emulator::new()).await;
    truth.insert(&first_visit()).await.unwrap();
    let changed = ResponseTemplate::new(412).code("UpdateConditionNotSatisfied");
    faults.add(FaultRule::new(changed).on(OperationKind::Replace));
    let second = Duration::from_secs(1);
    let limit = CallOptions::new().timeout(second);
    let of_client = TableServiceClient::from_transport(faults).timeout(second);
    let of_client = of_client.table::<Counter>("Table").unwrap();
    for (name, counters, options) in [
        ("client", of_client, CallOptions::new()),
        ("table", unlimited.with(&limit), CallOptions::new()),
        ("call", unlimited, limit),
    ] {
        let started = tokio::time::Instant::now();
        let modify = counters.modify(KEY, |row| row.value += 1);
        let error = modify.with(&options).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout, "{name}: {error}");
        assert!(error.to_string().contains("the call timed out"), "{name}: {error}");
        assert!(started.elapsed() <= second + TICK, "{name}: {:?}", started.elapsed());
    }
}

/// The client's timeout does not limit the steps of a call that has its own.
#[tokio::test(start_paused = true)]
async fn timeout_of_modify_overrides_that_of_the_client_in_each_step() {
    let (faults, _, truth) = faulty::<Counter>(Emulator::new()).await;
    truth.insert(&first_visit()).await.unwrap();
    faults.add(FaultRule::new(Fault::DelayResponse(Duration::from_secs(20))));
    let service = TableServiceClient::from_transport(faults).timeout(Duration::from_secs(10));
    let counters = service.table::<Counter>("Table").unwrap();
    let modify = || counters.modify(KEY, |row| row.value += 1);
    assert_eq!(modify().await.unwrap_err().kind(), ErrorKind::Timeout);
    let counter = modify().timeout(Duration::from_secs(60)).await.unwrap();
    assert_eq!(counter.value, 1);
}

/// Returns a table, and the same table before which another visitor's row is inserted, as the first insert is lost.
async fn another_visitor<E>(row: E) -> (TableClient<E>, TableClient<E>)
where
    E: TableEntity + Clone + Send + Sync + 'static,
{
    let emulator = Emulator::new();
    let (_, _, truth) = faulty::<E>(emulator.clone()).await;
    let (others, has_come) = (truth.clone(), AtomicBool::new(false));
    let table = table_of(Intercept::new(emulator, move |service, request| {
        let comes = request.method() == Method::POST && !has_come.swap(true, Ordering::Relaxed);
        let (others, row) = (others.clone(), row.clone());
        async move {
            if comes {
                others.execute(azure_table::TableOperation::insert(&row)).await.unwrap();
                return Err(TransportError::new(Delivery::MaybeSent, "lost"));
            }
            service.send(request).await
        }
    }));
    (truth, table)
}

#[tokio::test(start_paused = true)]
async fn lost_first_insert_of_modify_is_not_taken_for_another_visitors() {
    let (truth, counters) = another_visitor(Counter::new(KEY.0, KEY.1, 1)).await;
    let modify = counters.modify(KEY, |row| row.value += 1);
    let error = modify.or_insert(|| Counter::new(KEY.0, KEY.1, 1)).await.unwrap_err();
    assert_eq!(kind_in_doubt(&error), Some(ErrorKind::AlreadyExists), "{error}");
    assert_eq!(truth.get(KEY).await.unwrap().unwrap().value, 1);
}

#[tokio::test(start_paused = true)]
async fn lost_first_insert_with_a_write_id_counts_both_visitors() {
    let visitor = |count| Marked::new(KEY.0, KEY.1, count);
    let (truth, counters) = another_visitor(visitor(1)).await;
    let modify = counters.modify(KEY, |row| row.count += 1);
    let outcome = modify.or_insert(move || visitor(1)).await;
    let stored = truth.get(KEY).await.unwrap().unwrap().count;
    match outcome {
        Ok(counted) => assert_eq!((counted.count, stored), (2, 2)),
        Err(error) => assert!(error.may_have_applied() && stored == 1, "{error}"),
    }
}

/// A table that takes this long to be deleted.
async fn slow_to_delete(seconds: u64) -> (Emulator, Faults, TableClient<Counter>) {
    let emulator = Emulator::new().deletion_time(Duration::from_secs(seconds));
    let (faults, _, truth) = faulty(emulator.clone()).await;
    truth.insert(&first_visit()).await.unwrap();
    (emulator, faults, truth)
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
    let (emulator, faults, truth) = slow_to_delete(45).await;
    let service = TableServiceClient::from_transport(faults).timeout(Duration::from_secs(10));
    let table = service.table::<Counter>("Table").unwrap();
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
        let (_, faults, _) = slow_to_delete(0).await;
        faults.add(FaultRule::new(Fault::HangRequest).on(OperationKind::DeleteTable));
        let service = TableServiceClient::from_transport(faults).timeout(Duration::from_millis(timeout));
        let recreate = service.dynamic_table("Table").unwrap();
        let error = recreate.recreate_table(Duration::from_millis(total)).await.unwrap_err();
        assert!(error.to_string().contains(ended), "{error}");
    }
}

/// The table is already deleted, so giving up would leave none.
#[tokio::test(start_paused = true)]
async fn recreate_table_retries_transient_failures() {
    for (kind, fault) in [
        (OperationKind::CreateTable, Fault::HangRequest),
        (OperationKind::CreateTable, Fault::NoConnection),
        (OperationKind::DeleteTable, Fault::HangResponse),
        (OperationKind::DeleteTable, ResponseTemplate::internal_error().into()),
    ] {
        let (_, faults, truth) = slow_to_delete(0).await;
        let rule = faults.add(FaultRule::new(fault.clone()).on(kind).first(6));
        let service = TableServiceClient::from_transport(faults).timeout(Duration::from_secs(10));
        let table = service.table::<Counter>("Table").unwrap();
        table.recreate_table(Duration::from_secs(300)).await.unwrap();
        assert!(rule.hits() > 0, "{kind:?}, {fault:?}");
        assert!(truth.query().all().await.unwrap().is_empty(), "{kind:?}, {fault:?}");
    }
}

/// The table that a later attempt finds is another client's if the lost creation was not applied.
#[tokio::test(start_paused = true)]
async fn table_that_recreate_table_finds_after_a_lost_creation_is_in_doubt() {
    let creation = |fault: Fault| FaultRule::new(fault).on(OperationKind::CreateTable).first(1);
    let throttled = creation(ResponseTemplate::server_busy(Duration::ZERO).into());
    for (others, throttled, retries) in [(false, None, true), (false, Some(throttled), false), (true, None, true)] {
        let (_, faults, truth) = slow_to_delete(0).await;
        let lost = if others {
            Fault::LoseRequest
        } else {
            Fault::LoseResponse
        };
        faults.add(creation(lost));
        throttled.map(|rule| faults.add(rule));
        let has_come = AtomicBool::new(!others);
        let theirs = truth.clone();
        let beside = Intercept::new(faults, move |service, request| {
            let creates = request.method() == Method::POST;
            let comes = creates && !has_come.swap(true, Ordering::Relaxed);
            let theirs = theirs.clone();
            async move {
                let response = service.send(request).await;
                if comes {
                    theirs.create_table().await.unwrap();
                    theirs.insert(&first_visit()).await.unwrap();
                }
                response
            }
        });
        let mut service = TableServiceClient::from_transport(beside);
        if !retries {
            service = service.retry(NoRetry);
        }
        let table = service.table::<Counter>("Table").unwrap();
        let error = table.recreate_table(Duration::from_secs(300)).await.unwrap_err();
        assert_eq!(kind_in_doubt(&error), Some(ErrorKind::AlreadyExists), "{error}");
        assert_eq!(truth.query().count().await.unwrap(), usize::from(others));
    }
}

/// A later rejection says nothing about the request whose response was lost.
#[tokio::test(start_paused = true)]
async fn recreate_table_stays_in_doubt_after_a_lost_request() {
    for kind in [OperationKind::DeleteTable, OperationKind::CreateTable] {
        let (_, faults, _) = slow_to_delete(0).await;
        faults.add(FaultRule::new(Fault::LoseResponse).on(kind).first(1));
        let denied = ResponseTemplate::new(403).code("AuthorizationFailure");
        faults.add(FaultRule::new(denied).on(kind).first(1));
        let service = TableServiceClient::from_transport(faults).retry(NoRetry);
        let table = service.table::<Counter>("Table").unwrap();
        let error = table.recreate_table(Duration::from_secs(300)).await.unwrap_err();
        assert!(error.may_have_applied(), "{kind:?}: {error}");
        assert_eq!(error.last_failure().unwrap().kind(), ErrorKind::Forbidden, "{kind:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn recreate_table_rejects_a_timeout_below_its_deadline_before_the_delete() {
    let (_, _, truth) = slow_to_delete(45).await;
    let recreate = truth.recreate_table(Duration::from_secs(120));
    let error = recreate.timeout(Duration::from_secs(10)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert_eq!(
        error.to_string(),
        "recreate table Table: the call's timeout of 10s is below the total timeout of 120s: \
         leave the call's timeout out, or lower the total timeout"
    );
    assert_eq!(truth.query().all().await.unwrap().len(), 1, "nothing was deleted");
}

#[tokio::test(start_paused = true)]
async fn recreate_table_ends_at_its_deadline() {
    let (_, faults, _) = slow_to_delete(600).await;
    faults.add(FaultRule::new(Fault::HangRequest).on(OperationKind::CreateTable).nth(3));
    let table = table_of::<Counter>(faults);
    let started = tokio::time::Instant::now();
    let error = table.recreate_table(Duration::from_secs(60)).await.unwrap_err();
    assert!((59..=60).contains(&started.elapsed().as_secs()), "{error}");
}

/// After a lost response it is unknown whose table it is, or who deleted it.
#[azure_table::test(start_paused)]
async fn lost_creation_and_deletion_are_in_doubt(service: TableServiceClient, faults: Faults) {
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
