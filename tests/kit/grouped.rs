//! The writes of many tasks in batches: what their callers see, and what the service sees of them.

use std::time::Duration;

use azure_table::bulk::LeftoverReason;
use azure_table::operation::OperationKind;
use azure_table::testing::{Exchange, Fault, FaultRule, Faults, ResponseTemplate, Spy};
use azure_table::{
    AccountKey, CallOptions, Column, DateTime, DynamicEntity, ETag, EdmValue, Emulator, Error, ErrorKind, NoRetry,
    TableClient, TableOperation, TablePermissions, TableSas, TableServiceClient,
};
use azure_table_patterns::{Grouped, GroupedError};
use futures::future::{FutureExt as _, join, join_all};

/// A service whose requests take time, so that concurrent writes share a batch.
struct Slow {
    spy: Spy,
    faults: Faults,
    service: TableServiceClient,
}

const LATENCY: Duration = Duration::from_millis(100);

impl Slow {
    async fn new() -> Self {
        let faults = Faults::new(Emulator::new());
        // A request receives at most one fault of each `Faults`.
        let delays = Faults::new(faults.clone());
        let spy = Spy::new(delays.clone());
        let service = TableServiceClient::from_transport(spy.clone());
        service.dynamic_table("Things").unwrap().create_table().await.unwrap();
        delays.add(FaultRule::new(Fault::DelayRequest(LATENCY)));
        spy.clear();
        Self { spy, faults, service }
    }

    fn table(&self) -> TableClient {
        self.service.dynamic_table("Things").unwrap()
    }

    /// Returns the number of operations of each request that wrote.
    fn sizes(&self) -> Vec<usize> {
        let parts = |body: &str| body.matches("HTTP/1.1\r\n").count();
        let exchanges = self.spy.exchanges();
        let writes = exchanges.iter().filter(|it| it.kind() != Some(OperationKind::Query));
        writes.map(|it| parts(&it.body()).max(1)).collect()
    }
}

/// Runs `work` beside the driver of a group, which ends after it.
async fn grouped<T>(table: &TableClient, work: impl AsyncFnOnce(Grouped) -> T) -> T {
    let (group, driver) = Grouped::new(table);
    join(driver, work(group)).await.1
}

fn row(partition: &str, row: impl ToString, value: i32) -> DynamicEntity {
    let mut entity = DynamicEntity::new(partition, row.to_string());
    entity.insert("V", value);
    entity
}

fn insert(row: &DynamicEntity) -> TableOperation {
    TableOperation::insert(row)
}

fn upsert(row: &DynamicEntity) -> TableOperation {
    TableOperation::insert_or_replace(row)
}

fn delete(row: &str) -> TableOperation {
    TableOperation::delete::<DynamicEntity>(("p", row))
}

fn stale() -> ETag {
    ETag::new("W/\"datetime'2020-01-01T00%3A00%3A00.0000000Z'\"")
}

fn kind(error: &GroupedError) -> Option<ErrorKind> {
    error.error().map(Error::kind)
}

async fn stored(table: &TableClient, row: &str) -> Option<EdmValue> {
    let entity = table.get(("p", row)).await.unwrap()?;
    entity.properties.get("V").cloned()
}

/// Keeps the group busy, so that the writes of `later` form one batch.
async fn behind_another<T>(group: &Grouped, later: impl Future<Output = T>) -> T {
    let later = async {
        tokio::time::sleep(LATENCY / 4).await;
        later.await
    };
    let (first, output) = join(group.write(upsert(&row("p", "first", 0))), later).await;
    first.unwrap();
    output
}

/// A bulk ends after a thousand failures by default. The writes of a group are those of callers who know nothing of
/// each other.
#[tokio::test]
async fn failures_of_others_do_not_end_a_group() {
    const MANY: usize = 1_200;
    let service = TableServiceClient::from_transport(Emulator::new());
    let table = service.dynamic_table("Things").unwrap();
    table.create_table().await.unwrap();
    let partitions: Vec<_> = (0..MANY).map(|n| format!("p{n}")).collect();
    let (failed, other) = grouped(&table, async |group| {
        let write = |partition: &str| group.write(insert(&row(partition, 1, 1)));
        let all = || join_all(partitions.iter().map(|partition| write(partition)));
        assert!(all().await.iter().all(Result::is_ok));
        join(all(), write("other")).await
    })
    .await;
    for result in failed {
        assert_eq!(kind(&result.unwrap_err()), Some(ErrorKind::AlreadyExists));
    }
    other.unwrap();
}

#[tokio::test(start_paused = true)]
async fn single_write_is_a_plain_request() {
    let slow = Slow::new().await;
    let options = CallOptions::new().client_request_id("id");
    let table = slow.table().with(&options);
    let writes = || {
        [
            insert(&row("p", "1", 1)),
            TableOperation::replace(&row("p", "1", 2)),
            TableOperation::merge(&row("p", "1", 3)).if_match(stale()),
            delete("1"),
        ]
    };
    for write in writes() {
        let _ = table.execute(write).await;
    }
    grouped(&table, async |group| {
        for write in writes() {
            let _ = group.write(write).await;
        }
    })
    .await;
    let names = [
        "accept",
        "content-type",
        "if-match",
        "prefer",
        "user-agent",
        "x-ms-client-request-id",
        "x-ms-version",
    ];
    let text = |exchange: &Exchange| {
        let headers = names.map(|name| exchange.header(name).map(str::to_owned));
        let target = format!("{} {}?{}", exchange.method(), exchange.path(), exchange.query());
        (target, headers, exchange.body().into_owned())
    };
    let sent: Vec<_> = slow.spy.exchanges().iter().map(text).collect();
    assert_eq!(sent.len(), 8);
    assert_eq!(sent[..4], sent[4..]);
}

#[tokio::test(start_paused = true)]
async fn writes_during_a_batch_form_the_next_batch() {
    let slow = Slow::new().await;
    let rows: Vec<_> = (0..2_500).map(|n| row("p", n, n)).collect();
    let others: Vec<_> = (0..3).map(|n| row("q", n, n)).collect();
    let etags = grouped(&slow.table(), async |group| {
        join_all(rows.iter().chain(&others).map(|row| group.write(insert(row)))).await
    })
    .await;
    let mut sizes = slow.sizes();
    sizes.sort_unstable();
    assert_eq!(sizes.iter().sum::<usize>(), 2_503);
    assert!(sizes.len() <= 30 && sizes.last() == Some(&100), "{sizes:?}");
    for (row, etag) in rows.iter().zip(etags) {
        let read = slow
            .table()
            .get((row.partition_key.as_str(), row.row_key.as_str()))
            .await;
        assert_eq!(read.unwrap().unwrap().etag, etag.unwrap());
    }
}

#[tokio::test(start_paused = true)]
async fn conflict_of_one_row_does_not_fail_the_others() {
    let slow = Slow::new().await;
    let table = slow.table();
    table.insert(&row("p", "3", 0)).await.unwrap();
    slow.spy.clear();
    let rows: Vec<_> = (0..8).map(|n| row("p", n, n)).collect();
    let (inserts, rejected) = grouped(&table, async |group| {
        let inserts = join_all(rows.iter().map(|row| group.write(insert(row))));
        let rejected = [
            TableOperation::replace(&row("p", "other", 1)).if_match(stale()),
            delete("absent"),
            TableOperation::merge(&row("p", "gone", 0)),
        ];
        let rejected = join_all(rejected.map(|write| group.write(write)));
        behind_another(&group, join(inserts, rejected)).await
    })
    .await;
    for (n, result) in inserts.iter().enumerate() {
        match result {
            Ok(_) => assert_ne!(n, 3),
            Err(e) => {
                assert_eq!(
                    (n, kind(e), e.may_have_applied()),
                    (3, Some(ErrorKind::AlreadyExists), false)
                );
                assert_eq!(e.error().unwrap().entity(), Some(("p", "3")));
            }
        }
    }
    for result in rejected {
        let error = result.unwrap_err();
        assert_eq!(
            (kind(&error), error.may_have_applied()),
            (Some(ErrorKind::NotFound), false)
        );
    }
    assert_eq!(stored(&table, "7").await, Some(EdmValue::Int32(7)));
    assert_eq!(slow.sizes()[..2], [1, 11]);
}

/// More writes than a task may poll at once.
#[tokio::test(start_paused = true)]
async fn writes_to_one_row_keep_the_order_of_their_first_polls() {
    let slow = Slow::new().await;
    let versions: Vec<_> = (0..300).map(|n| row("p", n % 3, n)).collect();
    let results = grouped(&slow.table(), async |group| {
        join_all(versions.iter().map(|row| group.write(upsert(row)))).await
    })
    .await;
    assert!(results.iter().all(Result::is_ok));
    for n in 0..3 {
        let stored = stored(&slow.table(), &n.to_string()).await;
        assert_eq!(stored, Some(EdmValue::Int32(297 + n)));
    }
    assert!(slow.sizes().iter().all(|size| *size <= 3), "{:?}", slow.sizes());
}

/// The first task polls more writes in a row than tokio lets a task receive, before the second task polls its own.
#[tokio::test]
async fn writes_of_two_tasks_to_one_row_keep_the_order_of_their_first_polls() {
    for others in [150, 20_000] {
        let table = TableServiceClient::from_transport(Emulator::new()).dynamic_table("Things");
        let table = table.unwrap();
        table.create_table().await.unwrap();
        let (group, driver) = Grouped::new(&table);
        let (first, second) = (group.clone(), group);
        let first = tokio::spawn(async move {
            let others = (0..others).map(|n| first.write(upsert(&row("p", n, 0))));
            let written = first.write(upsert(&row("p", "both", 1)));
            join(join_all(others), written).await.1.map(drop)
        });
        let second = tokio::spawn(async move { second.write(upsert(&row("p", "both", 2))).await.map(drop) });
        driver.await;
        assert!(first.await.unwrap().is_ok() && second.await.unwrap().is_ok());
        assert_eq!(stored(&table, "both").await, Some(EdmValue::Int32(2)), "after {others}");
    }
}

#[tokio::test(start_paused = true)]
async fn write_of_a_dropped_caller_is_sent() {
    let slow = Slow::new().await;
    grouped(&slow.table(), async |group| {
        behind_another(&group, async {
            let waiting = tokio::time::timeout(LATENCY / 4, group.write(insert(&row("p", "waiting", 1))));
            assert!(waiting.await.is_err());
        })
        .await;
    })
    .await;
    assert_eq!(stored(&slow.table(), "waiting").await, Some(EdmValue::Int32(1)));
}

#[tokio::test(start_paused = true)]
async fn write_whose_caller_is_gone_before_the_driver_takes_it_is_not_sent() {
    let slow = Slow::new().await;
    let (group, driver) = Grouped::new(&slow.table());
    for n in 0..10_001 {
        let waiting = group.write(insert(&row("p", n, 1)));
        assert!(waiting.now_or_never().is_none());
    }
    let last = async {
        let written = group.write(insert(&row("p", "last", 1))).await;
        drop(group);
        written
    };
    assert!(join(driver, last).await.1.is_ok());
    assert_eq!(slow.sizes(), [1]);
}

#[tokio::test(start_paused = true)]
async fn every_kind_of_write_shares_a_batch() {
    let slow = Slow::new().await;
    let table = slow.table();
    for name in ["replaced", "merged", "patched", "deleted"] {
        table.insert(&row("p", name, 1)).await.unwrap();
    }
    slow.spy.clear();
    let patch = Column::<DynamicEntity, i32>::property("V").set(2);
    let writes = [
        TableOperation::replace(&row("p", "replaced", 2)),
        TableOperation::merge(&row("p", "merged", 2)),
        TableOperation::patch::<DynamicEntity>(("p", "patched"), [patch]),
        upsert(&row("p", "upserted", 2)),
        TableOperation::insert_or_merge(&row("p", "inserted or merged", 2)),
        insert(&row("p", "inserted", 2)),
        delete("deleted"),
    ];
    let results = grouped(&table, async |group| {
        behind_another(&group, join_all(writes.map(|write| group.write(write)))).await
    })
    .await;
    let etags: Vec<_> = results.into_iter().map(|result| result.unwrap().is_some()).collect();
    assert_eq!(etags, [true, true, true, true, true, true, false]);
    assert_eq!(slow.sizes(), [1, 7]);
    for name in [
        "replaced",
        "merged",
        "patched",
        "upserted",
        "inserted or merged",
        "inserted",
    ] {
        assert_eq!(stored(&table, name).await, Some(EdmValue::Int32(2)), "{name}");
    }
    assert_eq!(stored(&table, "deleted").await, None);
}

#[tokio::test(start_paused = true)]
async fn throttled_batch_is_sent_again_whatever_the_policy() {
    let slow = Slow::new().await;
    let table = slow.table().with(&CallOptions::new().retry(NoRetry));
    let busy = ResponseTemplate::server_busy(Duration::from_secs(2));
    slow.faults.add(FaultRule::new(busy).on(OperationKind::Batch).first(3));
    let rows: Vec<_> = (0..10).map(|n| row("p", n, n)).collect();
    let results = grouped(&table, async |group| {
        behind_another(&group, join_all(rows.iter().map(|row| group.write(insert(row))))).await
    })
    .await;
    assert!(results.iter().all(Result::is_ok), "{results:?}");
}

/// A minute later the group sends again.
#[tokio::test(start_paused = true)]
async fn write_fails_after_it_was_throttled_for_a_minute() {
    let slow = Slow::new().await;
    let busy = slow
        .faults
        .add(FaultRule::new(ResponseTemplate::new(503).code("ServerBusy")));
    let started = tokio::time::Instant::now();
    grouped(&slow.table(), async |group| {
        let error = group.write(insert(&row("p", "1", 1))).await.unwrap_err();
        assert_eq!(kind(&error), Some(ErrorKind::Throttled), "{error}");
        assert!(
            (60..70).contains(&started.elapsed().as_secs()),
            "{:?}",
            started.elapsed()
        );
        busy.disable();
        group.write(insert(&row("p", "2", 1))).await.unwrap();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn lost_response_of_a_batch_is_read_back_for_all() {
    let slow = Slow::new().await;
    let table = slow.table();
    let rows: Vec<_> = (0..10).map(|n| row("p", n, n)).collect();
    let lose = || FaultRule::new(Fault::LoseResponse).on(OperationKind::Batch).first(1);
    slow.faults.add(lose());
    let results = grouped(&table, async |group| {
        behind_another(&group, join_all(rows.iter().map(|row| group.write(insert(row))))).await
    })
    .await;
    for (row, result) in rows.iter().zip(results) {
        let read = table.get(("p", row.row_key.as_str())).await.unwrap().unwrap();
        assert_eq!(read.etag, result.unwrap());
    }
    // Without retries nothing is read back, and each caller receives an error in doubt.
    slow.faults.add(lose());
    let hasty = table.with(&CallOptions::new().retry(NoRetry));
    let rows: Vec<_> = (20..23).map(|n| row("p", n, n)).collect();
    let results = grouped(&hasty, async |group| {
        behind_another(&group, join_all(rows.iter().map(|row| group.write(insert(row))))).await
    })
    .await;
    for result in results {
        let error = result.unwrap_err();
        assert!(error.may_have_applied(), "{error}");
        assert!(matches!(error.reason(), LeftoverReason::InDoubt(_)));
    }
}

/// The batch may have been applied before, whatever the outcome of its retry.
#[tokio::test(start_paused = true)]
async fn lost_delete_stays_in_doubt_if_its_retry_fails() {
    let slow = Slow::new().await;
    let table = slow.table();
    for name in ["1", "2"] {
        table.insert(&row("p", name, 1)).await.unwrap();
    }
    slow.faults
        .add(FaultRule::new(Fault::LoseResponse).on(OperationKind::Batch).first(1));
    slow.faults
        .add(FaultRule::new(Fault::NoConnection).on(OperationKind::Delete));
    let results = grouped(&table, async |group| {
        join_all(["1", "2"].map(|row| group.write(delete(row)))).await
    })
    .await;
    assert_eq!((stored(&table, "1").await, stored(&table, "2").await), (None, None));
    for deleted in results {
        let error = deleted.unwrap_err();
        assert!(error.may_have_applied(), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn error_of_no_single_row_is_returned_to_each_caller() {
    let slow = Slow::new().await;
    let missing = slow.service.dynamic_table("Missing").unwrap();
    let rows: Vec<_> = (0..300).map(|n| row("p", n, n)).collect();
    grouped(&missing, async |group| {
        for result in join_all(rows.iter().map(|row| group.write(insert(row)))).await {
            let error = result.unwrap_err();
            assert_eq!(
                (kind(&error), error.may_have_applied()),
                (Some(ErrorKind::TableNotFound), false)
            );
        }
        // The next writes are sent again.
        missing.create_table().await.unwrap();
        let results = join_all(rows.iter().map(|row| group.write(insert(row)))).await;
        assert!(results.iter().all(Result::is_ok));
        // An operation that cannot be sent fails at once, and the others of its batch are sent.
        let mut large = row("p", "large", 1);
        large.insert("Text", "x".repeat(40_000));
        let (large, other) = join(group.write(insert(&large)), group.write(insert(&row("p", "small", 1)))).await;
        assert_eq!(kind(&large.unwrap_err()), Some(ErrorKind::InvalidInput));
        other.unwrap();
    })
    .await;
}

/// A missing permission ends the batches in which it is missing, and no later ones.
#[tokio::test(start_paused = true)]
async fn writes_after_one_without_permission_are_sent() {
    let emulator = Emulator::new().account("contoso", "AAECAwQFBgc=").unwrap();
    let key = AccountKey::new("contoso", "AAECAwQFBgc=").unwrap();
    let endpoint = "https://contoso.table.core.windows.net";
    let owner = TableServiceClient::new(endpoint, key.clone()).unwrap();
    let owner = owner.transport(emulator.clone()).dynamic_table("Things").unwrap();
    owner.create_table().await.unwrap();
    owner.insert(&row("p", "there", 1)).await.unwrap();
    let sas = TableSas::new(owner.name()).permissions(TablePermissions::ADD);
    let sas = sas
        .expiry(DateTime::now() + Duration::from_secs(3_600))
        .sign(&key)
        .unwrap();
    let adder = TableServiceClient::new(endpoint, sas).unwrap().transport(emulator);
    let table = adder.dynamic_table("Things").unwrap();
    grouped(&table, async |group| {
        let (deleted, inserted) = join(group.write(delete("there")), group.write(insert(&row("p", "1", 1)))).await;
        for error in [deleted.unwrap_err(), inserted.unwrap_err()] {
            assert_eq!(
                (kind(&error), error.may_have_applied()),
                (Some(ErrorKind::Forbidden), false)
            );
        }
        group.write(insert(&row("p", "1", 1))).await.unwrap();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn callers_get_an_error_when_their_driver_ends() {
    let slow = Slow::new().await;
    let (group, driver) = Grouped::new(&slow.table());
    let driver = tokio::spawn(driver);
    let sent = tokio::spawn({
        let group = group.clone();
        async move { group.write(insert(&row("p", "1", 1))).await }
    });
    tokio::time::sleep(LATENCY / 4).await;
    driver.abort();
    let error = sent.await.unwrap().unwrap_err();
    assert_eq!(
        (kind(&error), error.may_have_applied()),
        (Some(ErrorKind::InDoubt), true)
    );
    let error = group.write(insert(&row("p", "2", 1))).await.unwrap_err();
    assert!(matches!(error.reason(), LeftoverReason::NotAttempted), "{error}");
    let text = "not attempted: the driver of the group has ended";
    assert_eq!((error.may_have_applied(), error.to_string().as_str()), (false, text));
}
