//! Grouped writes: what callers see of their batches, and what the service sees of the callers.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use azure_table::batch::GroupOptions;
use azure_table::operation::OperationKind;
use azure_table::telemetry::{Event, Observer, OperationContext};
use azure_table::testing::{Exchange, Fault, FaultRule, Faults, ResponseTemplate, Spy};
use azure_table::{
    AccountKey, CallOptions, DateTime, Deletion, DynamicEntity, ETag, EdmValue, Emulator, ErrorKind, NoRetry,
    TableClient, TableOperation, TablePermissions, TableResult, TableSas, TableServiceClient,
};
use azure_table_tests::errors::kind_in_doubt;
use futures::future::{join, join_all};

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

fn row(partition: &str, row: impl ToString, value: i32) -> DynamicEntity {
    let mut entity = DynamicEntity::new(partition, row.to_string());
    entity.insert("V", value);
    entity
}

async fn stored(table: &TableClient, row: &str) -> Option<EdmValue> {
    let entity = table.get(("p", row)).await.unwrap()?;
    entity.properties.get("V").cloned()
}

#[tokio::test(start_paused = true)]
async fn single_grouped_write_is_a_plain_request() {
    let slow = Slow::new().await;
    let options = CallOptions::new()
        .client_request_id("id")
        .timeout(Duration::from_secs(5));
    let plain = slow.table().with(&options);
    let grouped = plain.grouped();
    let stale = || ETag::new("W/\"datetime'2020-01-01T00%3A00%3A00.0000000Z'\"");
    for table in [&plain, &grouped] {
        table.insert(&row("p", "1", 1)).await.unwrap();
        table.replace(&row("p", "1", 2)).await.unwrap();
        table.merge(&row("p", "1", 3)).if_match(stale()).await.unwrap_err();
        table.delete(("p", "1")).await.unwrap();
    }
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
    let table = slow.table().grouped();
    let rows: Vec<_> = (0..250).map(|n| row("p", n, n)).collect();
    let others: Vec<_> = (0..3).map(|n| row("q", n, n)).collect();
    let writes = rows.iter().chain(&others).map(|row| table.insert(row));
    let etags = join_all(writes).await;
    let mut sizes = slow.sizes();
    sizes.sort_unstable();
    assert_eq!(sizes.iter().sum::<usize>(), 253);
    assert!(sizes.len() <= 6 && sizes.last() == Some(&100), "{sizes:?}");
    for (row, etag) in rows.iter().zip(etags) {
        let read = table.get((row.partition_key.as_str(), row.row_key.as_str())).await;
        assert_eq!(read.unwrap().unwrap().etag, Some(etag.unwrap()));
    }
    let group = table.settings().group().unwrap();
    assert_eq!(
        (group.writes, group.batches, group.largest_batch),
        (253, sizes.len() as u64, 100)
    );
    assert_eq!((group.pending, group.pending_bytes), (0, 0));
    assert!(table.settings().to_string().contains("253 writes sent in "));
    assert_eq!(slow.table().settings().group(), None);
}

/// Keeps the group of a handle busy, so that the writes of `f` form one batch.
async fn behind_another<T>(table: &TableClient, f: impl Future<Output = T>) -> T {
    let first = row("p", "first", 0);
    let later = async {
        tokio::time::sleep(LATENCY / 4).await;
        f.await
    };
    let (first, output) = join(table.insert_or_replace(&first), later).await;
    first.unwrap();
    output
}

#[tokio::test(start_paused = true)]
async fn conflict_of_one_row_does_not_fail_the_others() {
    let slow = Slow::new().await;
    let table = slow.table().grouped();
    table.insert(&row("p", "3", 0)).await.unwrap();
    let stale = ETag::new("W/\"datetime'2020-01-01T00%3A00%3A00.0000000Z'\"");
    let rows: Vec<_> = (0..8).map(|n| row("p", n, n)).collect();
    slow.spy.clear();
    let (inserts, replace, delete, merge) = behind_another(&table, async {
        let inserts = join_all(rows.iter().map(|row| table.insert(row)));
        let first = row("p", "other", 1);
        let (inserts, (replace, (delete, merge))) = join(
            inserts,
            join(
                table.replace(&first).if_match(stale),
                join(table.delete(("p", "absent")), table.merge(&row("p", "gone", 0))),
            ),
        )
        .await;
        (inserts, replace, delete, merge)
    })
    .await;
    for (n, result) in inserts.iter().enumerate() {
        match result {
            Ok(_) => assert_ne!(n, 3),
            Err(e) => {
                assert_eq!(
                    (n, e.kind(), e.operation()),
                    (3, ErrorKind::AlreadyExists, Some("insert"))
                );
                assert_eq!((e.entity(), e.batch_index()), (Some(("p", "3")), None));
                assert!(e.batch_size().is_some_and(|size| size > 1) && !e.may_have_applied());
                let text = e.to_string();
                assert!(
                    text.starts_with("insert in table Things: entity (\"p\", \"3\"): "),
                    "{text}"
                );
                assert!(text.contains(" grouped writes)"), "{text}");
            }
        }
    }
    for (error, operation, rows) in [
        (replace.unwrap_err(), "replace", "other"),
        (delete.unwrap_err(), "delete", "absent"),
        (merge.unwrap_err(), "merge", "gone"),
    ] {
        let is_expected = matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConditionNotMet);
        assert!(is_expected && !error.may_have_applied(), "{error}");
        assert_eq!(
            (error.operation(), error.entity()),
            (Some(operation), Some(("p", rows)))
        );
    }
    assert_eq!(stored(&table, "7").await, Some(EdmValue::Int32(7)));
    assert!(slow.sizes()[1] == 11, "{:?}", slow.sizes());
}

#[tokio::test(start_paused = true)]
async fn writes_to_one_row_keep_the_order_of_their_first_polls() {
    let slow = Slow::new().await;
    let table = slow.table().grouped();
    let versions: Vec<_> = (0..20).map(|n| row("p", n % 3, n)).collect();
    let results = join_all(versions.iter().map(|row| table.insert_or_replace(row))).await;
    assert!(results.iter().all(Result::is_ok));
    for n in 0..3 {
        let last = versions
            .iter()
            .rfind(|version| version.row_key == n.to_string())
            .unwrap();
        assert_eq!(stored(&table, &n.to_string()).await.as_ref(), last.properties.get("V"));
    }
    assert!(slow.sizes().iter().all(|size| *size <= 3), "{:?}", slow.sizes());
}

#[tokio::test(start_paused = true)]
async fn write_dropped_before_it_is_sent_is_withdrawn() {
    let slow = Slow::new().await;
    let table = slow.table().grouped();
    let (sent, waiting, other) = (row("p", "sent", 1), row("p", "waiting", 1), row("p", "other", 1));
    let mut sent = Box::pin(async { table.insert(&sent).await });
    assert!(tokio::time::timeout(LATENCY / 4, &mut sent).await.is_err());
    let mut waiting = Box::pin(async { table.insert(&waiting).await });
    let mut other = Box::pin(async { table.insert(&other).await });
    assert!(
        tokio::time::timeout(LATENCY / 4, join(&mut waiting, &mut other))
            .await
            .is_err()
    );
    assert_eq!(table.settings().group().unwrap().pending, 3);
    drop((sent, waiting));
    assert_eq!(table.settings().group().unwrap().pending, 2);
    other.await.unwrap();
    assert_eq!(stored(&table, "sent").await, Some(EdmValue::Int32(1)));
    assert_eq!(stored(&table, "waiting").await, None);
}

#[tokio::test(start_paused = true)]
async fn timeout_withdraws_unsent_writes_and_leaves_sent_ones_in_doubt() {
    let slow = Slow::new().await;
    let table = slow.table().grouped();
    let (waits, patient) = (row("p", "waits", 1), row("p", "patient", 1));
    let (waits, patient) = behind_another(
        &table,
        join(table.insert(&waits).timeout(LATENCY / 2), table.insert(&patient)),
    )
    .await;
    let error = waits.unwrap_err();
    assert_eq!((error.kind(), error.may_have_applied()), (ErrorKind::Timeout, false));
    assert_eq!(
        (error.operation(), error.entity()),
        (Some("insert"), Some(("p", "waits")))
    );
    assert!(
        error
            .to_string()
            .contains("`timeout` of 50ms ended before the write was sent"),
        "{error}"
    );
    assert!(patient.is_ok());
    assert_eq!(stored(&table, "waits").await, None);

    // In one batch with a caller that has more time.
    let (hasty, patient) = (row("p", "hasty", 1), row("p", "patient", 2));
    let (hasty, patient) = behind_another(
        &table,
        join(
            table.insert(&hasty).timeout(LATENCY * 3 / 2),
            table.insert_or_replace(&patient),
        ),
    )
    .await;
    let error = hasty.unwrap_err();
    assert_eq!(kind_in_doubt(&error), Some(ErrorKind::Timeout));
    assert!(patient.is_ok());
    assert_eq!(stored(&table, "hasty").await, Some(EdmValue::Int32(1)));

    // Alone, like any call.
    let error = table
        .insert(&row("p", "alone", 1))
        .timeout(LATENCY / 2)
        .await
        .unwrap_err();
    assert_eq!((kind_in_doubt(&error), error.attempts()), (Some(ErrorKind::Timeout), 1));
}

#[tokio::test(start_paused = true)]
async fn calls_share_a_batch_only_with_equal_options() {
    let slow = Slow::new().await;
    let table = slow.table().grouped();
    let rows: Vec<_> = (0..6).map(|n| row("p", n, n)).collect();
    let (one, two) = (OperationContext::new(), OperationContext::new());
    slow.spy.clear();
    let results = behind_another(
        &table,
        join_all(rows.iter().enumerate().map(|(n, row)| {
            let insert = table.insert(row);
            match n {
                0 | 3 => insert.with(&CallOptions::new().header("x-tenant", "7")),
                1 => insert.with(&CallOptions::new().context(&one)),
                2 => insert
                    .with(&CallOptions::new().context(&two))
                    .timeout(Duration::from_secs(60)),
                4 => insert.with(&CallOptions::new().retry(NoRetry)),
                _ => insert,
            }
        })),
    )
    .await;
    assert!(results.iter().all(Result::is_ok));
    assert_eq!(slow.sizes(), [1, 2, 3, 1]);
    let tenants: Vec<_> = slow.spy.exchanges();
    let has_tenant = |it: &Exchange| it.header("x-tenant").is_some();
    assert_eq!(
        tenants.iter().map(has_tenant).collect::<Vec<_>>(),
        [false, true, false, false]
    );
    for context in [one, two] {
        let attempts = context.attempts();
        assert_eq!((attempts.len(), attempts[0].operation()), (1, "batch"));
    }
}

/// A later write to a row does not overtake one that waits for a separate batch.
#[tokio::test(start_paused = true)]
async fn different_options_do_not_change_the_order_of_a_row() {
    let slow = Slow::new().await;
    let table = slow.table().grouped();
    let versions: Vec<_> = (0..12).map(|n| row("p", "r", n)).collect();
    behind_another(
        &table,
        join_all(versions.iter().enumerate().map(|(n, row)| {
            let write = table.insert_or_replace(row);
            if n % 2 == 0 {
                write.with(&CallOptions::new().header("x-tenant", "7"))
            } else {
                write
            }
        })),
    )
    .await;
    assert_eq!(stored(&table, "r").await, Some(EdmValue::Int32(11)));
}

#[tokio::test(start_paused = true)]
async fn every_write_is_grouped_with_the_result_of_a_single_write() {
    let slow = Slow::new().await;
    let table = slow.table().grouped();
    for name in ["replaced", "merged", "patched", "deleted", "modified", "there"] {
        table.insert(&row("p", name, 1)).await.unwrap();
    }
    slow.spy.clear();
    let mut echoed = None;
    let mut executed: Option<TableResult> = None;
    let (mut absent, mut exists, mut gone) = (None, None, None);
    behind_another(&table, async {
        let (replaced, merged, upserted) = (row("p", "replaced", 2), row("p", "merged", 2), row("p", "upserted", 2));
        let (echo, new, there) = (row("p", "echo", 2), row("p", "new", 2), row("p", "there", 2));
        let executes = TableOperation::insert_or_merge(&row("p", "executed", 2));
        let patch = azure_table::Column::<DynamicEntity, i32>::property("V").set(2);
        let _ = tokio::join!(
            async { table.replace(&replaced).await.unwrap() },
            async { table.merge(&merged).await.unwrap() },
            async { table.insert_or_replace(&upserted).await.unwrap() },
            async { table.patch(("p", "patched"), [patch]).await.unwrap() },
            async { table.delete(("p", "deleted")).await.unwrap() },
            async { echoed = Some(table.insert_returning(&echo).await.unwrap()) },
            async { executed = Some(table.execute(executes).await.unwrap()) },
            async { absent = Some(table.insert_if_not_exists(&new).await.unwrap()) },
            async { exists = Some(table.insert_if_not_exists(&there).await.unwrap()) },
            async { gone = Some(table.delete_if_exists(("p", "never")).await.unwrap()) },
        );
    })
    .await;
    let echoed = echoed.unwrap();
    assert_eq!(
        (echoed.entity.row_key.as_str(), echoed.entity.get("V")),
        ("echo", Some(&EdmValue::Int32(2)))
    );
    let executed = executed.unwrap();
    assert!(executed.kind() == OperationKind::InsertOrMerge && executed.status() == 204 && executed.etag().is_some());
    assert!(absent.unwrap().is_some() && exists.unwrap().is_none());
    assert_eq!(gone, Some(Deletion::WasMissing));
    for name in ["replaced", "merged", "upserted", "patched", "executed", "new"] {
        assert_eq!(stored(&table, name).await, Some(EdmValue::Int32(2)), "{name}");
    }
    assert_eq!(stored(&table, "deleted").await, None);
    assert_eq!(
        slow.spy.of(OperationKind::Batch)[0]
            .body()
            .matches("HTTP/1.1\r\n")
            .count(),
        10
    );
    let modified = table
        .modify(("p", "modified"), |row: &mut DynamicEntity| {
            row.insert("V", 9).map(drop).unwrap_or_default()
        })
        .await
        .unwrap();
    assert_eq!(modified.entity.get("V"), Some(&EdmValue::Int32(9)));
    let mut batch = table.batch();
    batch
        .insert(&row("p", "b1", 1))
        .unwrap()
        .insert(&row("p", "b2", 1))
        .unwrap();
    assert_eq!(batch.submit().await.unwrap().len(), 2);
    let report = table.bulk().insert((0..150).map(|n| row("bulk", n, n))).await.unwrap();
    assert_eq!(report.applied(), 150);
}

#[tokio::test(start_paused = true)]
async fn flush_waits_for_writes_of_dropped_callers() {
    let slow = Slow::new().await;
    let table = slow.table().grouped();
    let one = row("p", "1", 1);
    let mut write = Box::pin(async { table.insert(&one).await });
    assert!(tokio::time::timeout(LATENCY / 4, &mut write).await.is_err());
    drop(write);
    table.flush().await;
    let truth = slow.table();
    assert_eq!(stored(&truth, "1").await, Some(EdmValue::Int32(1)));
    table.flush().await;
    slow.table().flush().await;
    slow.table().close().await;
}

/// Polls a future once.
async fn poll_once<F: Future + Unpin>(future: &mut F) {
    let polled = std::future::poll_fn(|cx| std::task::Poll::Ready(std::pin::Pin::new(&mut *future).poll(cx))).await;
    assert!(polled.is_pending());
}

/// A caller may start a write and then wait for something else.
#[tokio::test(start_paused = true)]
async fn write_that_is_not_polled_any_more_holds_up_nobody() {
    for polls in [1, 2, 3] {
        let slow = Slow::new().await;
        let table = slow.table().grouped();
        let rows = [row("p", 1, 1), row("p", 2, 2)];
        let mut first = Box::pin(async { table.insert(&rows[0]).await });
        for _ in 0..polls {
            poll_once(&mut first).await;
        }
        tokio::time::timeout(10 * LATENCY, async { table.insert(&rows[1]).await })
            .await
            .unwrap()
            .unwrap();
        assert_eq!(stored(&slow.table(), "1").await, Some(EdmValue::Int32(1)));
        first.await.unwrap();

        let rows = [row("q", 1, 1), row("q", 2, 2)];
        let mut first = Box::pin(async { table.insert(&rows[0]).await });
        for _ in 0..polls {
            poll_once(&mut first).await;
        }
        tokio::time::timeout(10 * LATENCY, table.flush()).await.unwrap();
        assert!(slow.table().get(("q", "1")).await.unwrap().is_some());
        first.await.unwrap();
    }
}

/// A write that finds the group full enters the lane of a lone write that nobody polls.
#[tokio::test(start_paused = true)]
async fn write_outside_of_a_full_group_takes_over_an_abandoned_poll() {
    let slow = Slow::new().await;
    let table = slow.table().grouped_with(&GroupOptions::new().max_pending(1));
    let rows = [row("p", 1, 1), row("q", 2, 2), row("q", 3, 3)];
    let mut first = Box::pin(async { table.insert(&rows[0]).await });
    poll_once(&mut first).await;
    let (second, third) = (table.insert(&rows[1]), table.insert(&rows[2]));
    let others = async { tokio::time::timeout(20 * LATENCY, async { join(second, third).await }).await };
    let (first, others) = join(first, others).await;
    first.unwrap();
    let (second, third) = others.unwrap();
    assert!(second.is_ok() && third.is_ok());
}

/// Dropped in its runtime, and after its runtime.
#[test]
fn lone_write_goes_on_in_its_runtime_after_its_caller() {
    let faults = Faults::new(Emulator::new());
    let plain = TableServiceClient::from_transport(faults.clone())
        .dynamic_table("Things")
        .unwrap();
    let first = runtime();
    first.block_on(plain.create_table().into_future()).unwrap();
    let delay = Duration::from_millis(50);
    faults.add(FaultRule::new(Fault::DelayRequest(delay)).on(OperationKind::Insert));
    let table = plain.grouped();
    let one = row("p", 1, 1);
    let mut write = Box::pin(async { table.insert(&one).await });
    first.block_on(async { assert!(tokio::time::timeout(delay / 5, &mut write).await.is_err()) });
    drop(write);
    first.block_on(table.flush());
    assert!(first.block_on(plain.exists(("p", "1")).into_future()).unwrap());

    let two = row("p", 2, 2);
    let mut write = Box::pin(async { table.insert(&two).await });
    first.block_on(async { assert!(tokio::time::timeout(delay / 5, &mut write).await.is_err()) });
    drop(first);
    drop(write);
    let second = runtime();
    second.block_on(async { table.insert(&row("p", 3, 3)).await }).unwrap();
    second.block_on(table.flush());
}

/// Writes that find the group full are flushed too: none of them waits for company.
#[tokio::test(start_paused = true)]
async fn flush_delays_no_write_outside_of_a_full_group() {
    let delay = Duration::from_secs(60);
    let slow = Slow::new().await;
    let table = slow
        .table()
        .grouped_with(&GroupOptions::new().max_delay(delay).max_pending(2));
    let rows: Vec<_> = (0..6).map(|n| row(&format!("p{n}"), n, n)).collect();
    let started = tokio::time::Instant::now();
    let writes = join_all(rows.iter().map(|row| table.insert(row)));
    let (written, ()) = join(writes, table.flush()).await;
    assert!(written.iter().all(Result::is_ok));
    assert!(started.elapsed() < 10 * LATENCY, "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn closed_group_rejects_new_writes_and_completes_earlier_ones() {
    let slow = Slow::new().await;
    let table = slow.table().grouped();
    let (one, two, late) = (row("p", "1", 1), row("p", "2", 1), row("p", "3", 1));
    let clone = table.clone().with(&CallOptions::new().timeout(Duration::from_secs(60)));
    let (results, ()) = join(join(table.insert(&one), clone.insert(&two)), table.close()).await;
    assert!(results.0.is_ok() && results.1.is_ok());
    let sent = slow.spy.requests();
    let error = clone.insert(&late).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.may_have_applied()),
        (ErrorKind::InvalidInput, false)
    );
    assert!(error.to_string().contains("the group is closed"), "{error}");
    assert_eq!(error.entity(), Some(("p", "3")));
    assert_eq!(slow.spy.requests(), sent);
    assert!(table.get(("p", "1")).await.unwrap().is_some());
    assert!(slow.table().insert(&late).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn writes_beyond_the_limit_wait_in_their_order() {
    let slow = Slow::new().await;
    for options in [
        GroupOptions::new().max_pending(3),
        GroupOptions::new().max_pending_bytes(200),
    ] {
        let table = slow.table().grouped_with(&options);
        let rows: Vec<_> = (0..40)
            .map(|n| row(["p", "q", "r"][n as usize % 3], "same", n))
            .collect();
        let most = std::cell::Cell::new(0);
        let watch = async {
            loop {
                let pending = table.settings().group().unwrap();
                assert!(pending.pending <= 3 || pending.pending_bytes <= 200, "{pending}");
                most.set(pending.pending.max(most.get()));
                tokio::time::sleep(LATENCY / 10).await;
            }
        };
        let writes = join_all(rows.iter().map(|row| table.insert_or_replace(row)));
        let results = tokio::select! { results = writes => results, () = watch => unreachable!() };
        assert!(results.iter().all(Result::is_ok));
        assert!((2..=4).contains(&most.get()), "{most:?}");
        assert_eq!(stored(&table, "same").await, Some(EdmValue::Int32(39)));
    }
}

#[tokio::test(start_paused = true)]
async fn batch_ends_at_the_byte_limit_of_the_service() {
    let slow = Slow::new().await;
    let table = slow.table().grouped();
    let rows: Vec<_> = (0..7)
        .map(|n| {
            let mut row = row("p", n, n);
            for part in 0..14 {
                row.insert(format!("Text{part}"), "x".repeat(32_000));
            }
            row
        })
        .collect();
    let results = behind_another(&table, join_all(rows.iter().map(|row| table.insert(row)))).await;
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    let bodies: Vec<_> = slow
        .spy
        .of(OperationKind::Batch)
        .iter()
        .map(|it| it.body().len())
        .collect();
    assert!(bodies.iter().all(|bytes| *bytes <= 4 << 20), "{bodies:?}");
}

#[tokio::test(start_paused = true)]
async fn max_delay_makes_writes_wait_for_others() {
    let slow = Slow::new().await;
    let table = slow
        .table()
        .grouped_with(&GroupOptions::new().max_delay(Duration::from_millis(50)));
    let rows: Vec<_> = (0..10).map(|n| row("p", n, n)).collect();
    let later = async |row| {
        tokio::time::sleep(Duration::from_millis(20)).await;
        table.insert(row).await
    };
    let started = tokio::time::Instant::now();
    let (first, others) = join(table.insert(&rows[0]), join_all(rows[1..].iter().map(later))).await;
    assert!(first.is_ok() && others.iter().all(Result::is_ok));
    assert_eq!(slow.sizes(), [10]);
    assert_eq!(started.elapsed().as_millis() / 10, 15);
    // A full batch does not wait, and a flush ends the wait.
    let rows: Vec<_> = (100..200).map(|n| row("p", n, n)).collect();
    let started = tokio::time::Instant::now();
    join_all(rows.iter().map(|row| table.insert(row))).await;
    assert_eq!(started.elapsed().as_millis() / 10, 10);
    let (started, one) = (tokio::time::Instant::now(), row("p", "one", 1));
    let (one, ()) = join(table.insert(&one), table.flush()).await;
    one.unwrap();
    assert_eq!(started.elapsed().as_millis() / 10, 10);
}

#[tokio::test(start_paused = true)]
async fn throttled_batch_is_sent_again_whatever_the_policy() {
    let slow = Slow::new().await;
    let table = slow.table().grouped().with(&CallOptions::new().retry(NoRetry));
    let busy = ResponseTemplate::new(503).code("ServerBusy");
    slow.faults.add(FaultRule::new(busy).first(3));
    let rows: Vec<_> = (0..10).map(|n| row("p", n, n)).collect();
    let results = join_all(rows.iter().map(|row| table.insert(row))).await;
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    // It was not sent while it waited for its turn.
    let always = slow
        .faults
        .add(FaultRule::new(ResponseTemplate::new(503).code("ServerBusy")));
    let late = row("p", "late", 1);
    let error = table.insert(&late).timeout(Duration::from_secs(1)).await.unwrap_err();
    assert_eq!((error.kind(), error.may_have_applied()), (ErrorKind::Timeout, false));
    let text = error.to_string();
    assert!(text.contains("while the service throttled the partition"), "{text}");
    always.disable();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(stored(&table, "late").await, None);
}

/// Sent again later, it would overwrite what others have written in between.
#[tokio::test(start_paused = true)]
async fn rejected_write_of_a_dropped_caller_is_not_sent_again() {
    let slow = Slow::new().await;
    let table = slow.table().grouped();
    slow.faults
        .add(FaultRule::new(ResponseTemplate::server_busy(Duration::from_secs(20))).first(1));
    let old = row("p", "1", 1);
    let dropped = tokio::time::timeout(LATENCY / 2, table.insert_or_replace(&old));
    assert!(dropped.await.is_err());
    tokio::time::sleep(LATENCY).await;
    slow.table().insert_or_replace(&row("p", "1", 2)).await.unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(stored(&table, "1").await, Some(2.into()));
    assert_eq!(table.settings().group().unwrap().pending, 0);

    // The row of another caller made the batch fail.
    let (first, late) = (row("p", "2", 1), row("p", "3", 1));
    let late = tokio::time::timeout(LATENCY / 2, table.insert_or_replace(&late));
    let (applied, conflict, dropped) = futures::join!(table.insert(&first), table.insert(&old), late);
    assert!(applied.is_ok() && dropped.is_err());
    assert_eq!(conflict.unwrap_err().kind(), ErrorKind::AlreadyExists);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(stored(&table, "3").await, None);
}

/// The first batch was applied, so the second finds no row. Sent alone, each delete would remove a newer row.
#[tokio::test(start_paused = true)]
async fn lost_deletes_of_dropped_callers_are_not_sent_alone() {
    let slow = Slow::new().await;
    let plain = slow.table();
    for name in ["1", "2", "3"] {
        plain.insert(&row("p", name, 1)).await.unwrap();
    }
    slow.spy.clear();
    let table = plain.grouped();
    slow.faults
        .add(FaultRule::new(Fault::LoseResponse).on(OperationKind::Batch).first(1));
    let dropped = |row| tokio::time::timeout(LATENCY / 2, table.delete(("p", row)));
    let inserted = async {
        tokio::time::sleep(LATENCY * 5 / 4).await;
        plain.insert(&row("p", "1", 2)).await
    };
    let (one, two, awaited, inserted) = futures::join!(dropped("1"), dropped("2"), table.delete(("p", "3")), inserted);
    assert!(one.is_err() && two.is_err());
    let error = awaited.unwrap_err();
    assert_eq!(kind_in_doubt(&error), Some(ErrorKind::NotFound), "{error}");
    inserted.unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(slow.sizes(), [3, 1, 3, 1], "only the awaited delete is sent alone");
    assert_eq!(stored(&plain, "1").await, Some(2.into()));
    assert_eq!(table.settings().group().unwrap().pending, 0);
}

/// The minute counts from the throttling of the write itself.
#[tokio::test(start_paused = true)]
async fn write_fails_after_it_was_throttled_for_a_minute() {
    let slow = Slow::new().await;
    let table = slow.table().grouped();
    let busy = || FaultRule::new(ResponseTemplate::new(503).code("ServerBusy"));
    let always = slow.faults.add(busy());
    let earlier = row("p", "1", 1);
    let withdrawn = table.insert(&earlier).timeout(Duration::from_secs(5)).await;
    assert_eq!(withdrawn.unwrap_err().kind(), ErrorKind::Timeout);
    always.disable();
    tokio::time::sleep(Duration::from_secs(120)).await;
    slow.faults.add(busy().first(2));
    table.insert(&row("p", "2", 1)).await.unwrap();

    slow.faults.add(busy());
    let started = tokio::time::Instant::now();
    let error = table.insert(&row("p", "3", 1)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Throttled, "{error}");
    assert!(
        (60..70).contains(&started.elapsed().as_secs()),
        "{:?}",
        started.elapsed()
    );
}

/// Without a verdict of the service, a failure does not show that it accepts writes again.
#[tokio::test(start_paused = true)]
async fn failures_without_a_verdict_do_not_prolong_throttling() {
    let slow = Slow::new().await;
    let table = slow.table().grouped().with(&CallOptions::new().retry(NoRetry));
    let busy = ResponseTemplate::new(503).code("ServerBusy");
    slow.faults.add(FaultRule::new(busy).on(OperationKind::Insert));
    slow.faults
        .add(FaultRule::new(ResponseTemplate::internal_error()).on(OperationKind::Delete));
    let started = tokio::time::Instant::now();
    let throttled = row("busy", "1", 1);
    let throttled = async { (table.insert(&throttled).await, started.elapsed().as_secs()) };
    let failing = async {
        for _ in 0..90 {
            assert!(table.delete(("broken", "1")).await.is_err());
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    };
    let ((result, seconds), ()) = join(throttled, failing).await;
    assert_eq!(result.unwrap_err().kind(), ErrorKind::Throttled);
    assert!((60..70).contains(&seconds), "{seconds}");
}

#[tokio::test(start_paused = true)]
async fn lost_response_of_a_batch_is_read_back_for_all() {
    let slow = Slow::new().await;
    let table = slow.table().grouped();
    let rows: Vec<_> = (0..10).map(|n| row("p", n, n)).collect();
    slow.faults
        .add(FaultRule::new(Fault::LoseResponse).on(OperationKind::Batch).first(1));
    let results = behind_another(&table, join_all(rows.iter().map(|row| table.insert(row)))).await;
    for (row, result) in rows.iter().zip(&results) {
        let read = table.get(("p", row.row_key.as_str())).await.unwrap().unwrap();
        assert_eq!(read.etag.as_ref(), result.as_ref().ok(), "{result:?}");
    }
    // Without retries nothing is read back, and each caller receives an error in doubt.
    slow.faults
        .add(FaultRule::new(Fault::LoseResponse).on(OperationKind::Batch).first(1));
    let hasty = table.with(&CallOptions::new().retry(NoRetry));
    let rows: Vec<_> = (20..23).map(|n| row("p", n, n)).collect();
    let results = behind_another(&table, join_all(rows.iter().map(|row| hasty.insert(row)))).await;
    for (row, result) in rows.iter().zip(results) {
        let error = result.unwrap_err();
        assert!(error.may_have_applied(), "{error}");
        assert_eq!(error.entity(), Some(("p", row.row_key.as_str())));
        assert_eq!((error.operation(), error.batch_size()), (Some("insert"), Some(3)));
    }
}

#[tokio::test(start_paused = true)]
async fn error_of_no_single_row_is_returned_to_each_caller() {
    let slow = Slow::new().await;
    let missing = slow.service.dynamic_table("Missing").unwrap().grouped();
    let rows: Vec<_> = (0..3).map(|n| row("p", n, n)).collect();
    for (row, result) in rows
        .iter()
        .zip(join_all(rows.iter().map(|row| missing.insert(row))).await)
    {
        let error = result.unwrap_err();
        assert_eq!(
            (error.kind(), error.code()),
            (ErrorKind::TableNotFound, Some("TableNotFound"))
        );
        assert_eq!(
            (error.operation(), error.entity()),
            (Some("insert"), Some(("p", row.row_key.as_str())))
        );
    }
    let read_only = slow.service.read_only().dynamic_table("Things").unwrap().grouped();
    for result in join_all(rows.iter().map(|row| read_only.insert(row))).await {
        assert_eq!(result.unwrap_err().kind(), ErrorKind::InvalidInput);
    }
    let made = missing.create_missing_table();
    assert!(
        join_all(rows.iter().map(|row| made.insert(row)))
            .await
            .iter()
            .all(Result::is_ok)
    );
    // An operation that cannot be sent fails immediately, and the others of its batch are sent.
    let things = slow.table().grouped();
    let mut large = row("p", "large", 1);
    large.insert("Text", "x".repeat(40_000));
    let (large, others) = join(
        things.insert(&large),
        join_all(rows.iter().map(|row| things.insert(row))),
    )
    .await;
    let error = large.unwrap_err();
    assert_eq!(
        (error.kind(), error.operation()),
        (ErrorKind::InvalidInput, Some("insert"))
    );
    assert!(others.iter().all(Result::is_ok));
}

#[test]
fn grouped_write_outside_of_a_runtime_is_an_error() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let table = TableServiceClient::from_transport(Emulator::new())
        .dynamic_table("Things")
        .unwrap();
    runtime.block_on(async { table.create_table().await.unwrap() });
    let error = futures::executor::block_on(async { table.grouped().insert(&row("p", "1", 1)).await }).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains("inside a tokio runtime"), "{error}");
}

/// The runtime that sends a batch ends while its callers wait elsewhere.
#[test]
fn callers_get_an_error_when_the_runtime_of_their_batch_ends() {
    let build = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
    };
    let (one, two) = (build(), build());
    let faults = Faults::new(Emulator::new());
    let table = TableServiceClient::from_transport(faults.clone())
        .dynamic_table("Things")
        .unwrap();
    one.block_on(async { table.create_table().await.unwrap() });
    faults.add(FaultRule::new(Fault::DelayResponse(Duration::from_secs(60))).first(1));
    let table = table.grouped();
    let (first, second) = (row("p", "1", 1), row("p", "2", 1));
    let mut sent = Box::pin(async { table.insert(&first).await });
    let mut waiting = Box::pin(async { table.insert(&second).await });
    let short = Duration::from_millis(20);
    assert!(
        one.block_on(async { tokio::time::timeout(short, &mut sent).await })
            .is_err()
    );
    assert!(
        one.block_on(async { tokio::time::timeout(short, &mut waiting).await })
            .is_err()
    );
    drop(one);
    let (sent, waiting) = two.block_on(async { (sent.await.unwrap_err(), waiting.await.unwrap_err()) });
    assert!(
        sent.may_have_applied() && sent.to_string().contains("its runtime is shutting down"),
        "{sent}"
    );
    assert!(!waiting.may_have_applied(), "{waiting}");
    two.block_on(async { table.insert(&second).await }).unwrap();
}

#[derive(Debug, Default)]
struct Seen(Arc<Mutex<Vec<String>>>);

impl Observer for Seen {
    fn on_event(&self, event: &Event<'_>) {
        let line = match event {
            Event::GroupedBatch(batch) => format!("batch of {} for {}", batch.writes, batch.table),
            Event::GroupedWrite(write) => format!(
                "{} in {} of {}: {:?}",
                write.operation, write.table, write.batch_size, write.error
            ),
            _ => return,
        };
        self.0.lock().unwrap().push(line);
    }
}

#[tokio::test(start_paused = true)]
async fn observers_see_each_batch_and_each_write() {
    let slow = Slow::new().await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let service = slow.service.observer(Seen(Arc::clone(&seen)));
    let table = service.dynamic_table("Things").unwrap().grouped();
    let (one, again) = (row("p", "1", 1), row("p", "first", 2));
    let (one, again) = behind_another(&table, join(table.insert(&one), table.insert(&again))).await;
    assert!(one.is_ok() && again.is_err());
    let seen = seen.lock().unwrap().clone();
    assert_eq!(
        seen,
        [
            "batch of 1 for Things",
            "insert or replace in Things of 1: None",
            "batch of 2 for Things",
            "insert in Things of 2: Some(AlreadyExists)",
            "insert in Things of 1: None",
        ]
    );
}

/// The service rejects a batch as a whole if the credential lacks a permission for one of its operations.
#[tokio::test(start_paused = true)]
async fn write_without_permission_does_not_fail_the_others() {
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
    let table = adder.dynamic_table("Things").unwrap().grouped();
    let rows: Vec<_> = (0..6).map(|n| row("p", n, n)).collect();
    let (deleted, inserted) = join(
        table.delete(("p", "there")),
        join_all(rows.iter().map(|row| table.insert(row))),
    )
    .await;
    let error = deleted.unwrap_err();
    assert_eq!(
        (error.kind(), error.operation()),
        (ErrorKind::Forbidden, Some("delete"))
    );
    assert!(inserted.iter().all(Result::is_ok), "{inserted:?}");
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap()
}

/// Nothing drives that runtime, so the write would wait forever.
#[test]
fn write_does_not_wait_for_the_task_of_another_runtime() {
    let service = TableServiceClient::from_transport(Emulator::new());
    let plain = service.dynamic_table("Things").unwrap();
    let (first, second) = (runtime(), runtime());
    first.block_on(plain.create_table().into_future()).unwrap();
    let table = plain.grouped();
    first.block_on(async { table.insert(&row("p", 1, 1)).await }).unwrap();
    second.block_on(async { table.insert(&row("p", 2, 2)).await }).unwrap();
    drop(first);
    second.block_on(async { table.insert(&row("p", 3, 3)).await }).unwrap();
}

/// The batch may have been applied before, whatever the outcome of its retry.
#[tokio::test(start_paused = true)]
async fn lost_delete_stays_in_doubt_if_its_retry_fails() {
    let slow = Slow::new().await;
    let plain = slow.table();
    for name in ["1", "2"] {
        plain.insert(&row("p", name, 1)).await.unwrap();
    }
    let table = plain.grouped();
    slow.faults
        .add(FaultRule::new(Fault::LoseResponse).on(OperationKind::Batch).first(1));
    slow.faults
        .add(FaultRule::new(Fault::NoConnection).on(OperationKind::Delete));
    let (one, two) = join(table.delete(("p", "1")), table.delete(("p", "2"))).await;
    assert_eq!((stored(&plain, "1").await, stored(&plain, "2").await), (None, None));
    for deleted in [one, two] {
        let error = deleted.unwrap_err();
        assert!(error.may_have_applied(), "{error}");
    }
}

/// The writes are counted until the flush ends, and not beyond it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_write_is_pending_once_a_group_is_closed() {
    let service = TableServiceClient::from_transport(Emulator::new());
    let table = service.dynamic_table("Things").unwrap();
    table.create_table().await.unwrap();
    for round in 0..500 {
        let group = table.grouped();
        let write = group.clone();
        let write = tokio::spawn(async move { write.insert(&row("p", round, 1)).await });
        write.await.unwrap().unwrap();
        group.close().await;
        assert_eq!(group.settings().group().unwrap().pending, 0, "round {round}");
    }
}
