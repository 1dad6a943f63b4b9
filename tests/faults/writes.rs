//! Writes whose responses are lost: read back, and never applied twice or reported as a conflict with themselves.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use azure_table::bulk::LeftoverReason;
use azure_table::emulator::EmulatorClock;
use azure_table::emulator::SeedEntities as _;
use azure_table::telemetry::{Event, OperationContext};
use azure_table::testing::{Fault, FaultRule, Faults, ResponseTemplate};
use azure_table::transport::{Delivery, TransportError};
use azure_table::{
    CallOptions, DynamicEntity, ETag, Emulator, ErrorKind, Guid, TableClient, TableEntity, TableOperation,
    TableServiceClient,
};
use azure_table_tests::closures::Observe;
use azure_table_tests::errors::kind_in_doubt;
use azure_table_tests::intercept::Intercept;
use bytes::Bytes;
use http::StatusCode;

use super::{faulty, once, row_of as row, table_of};

/// The fate of a request that writes. Reads pass.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Pass,
    /// The service never receives it, and the client cannot know that.
    LoseRequest,
    /// The service applies it, and the response is lost.
    LoseResponse,
    /// The service applies it, another client replaces the lock `a`, and the response is lost.
    Supersede,
    /// The service applies it, another client sets the column `Note` of the lock `a`, and the response is lost.
    Patch,
    /// The service applies it, and answers 500.
    FailAfter,
}

struct Tables<E> {
    /// A table whose writes have these fates.
    lossy: TableClient<E>,
    /// The same table without faults.
    truth: TableClient<E>,
    clock: EmulatorClock,
}

async fn tables<E>(fates: &[Fate]) -> Tables<E> {
    let clock = EmulatorClock::system();
    let emulator = Emulator::new().shared_clock(clock.clone());
    let (_, _, truth) = faulty::<E>(emulator.clone()).await;
    let others = table_of::<Lock>(emulator.clone());
    let fates = Mutex::new(VecDeque::from_iter(fates.iter().copied()));
    let lossy = table_of(Intercept::new(emulator, move |service, request| {
        let fate = match request.method().as_str() {
            "GET" => Fate::Pass,
            _ => fates.lock().unwrap().pop_front().unwrap_or(Fate::Pass),
        };
        let others = others.clone();
        async move {
            let lost = Err(TransportError::new(Delivery::MaybeSent, "lost"));
            if matches!(fate, Fate::LoseRequest) {
                return lost;
            }
            let mut response = service.send(request).await?;
            match fate {
                Fate::Pass => return Ok(response),
                Fate::FailAfter => {
                    *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
                    *response.body_mut() = Bytes::new();
                    return Ok(response);
                }
                Fate::Supersede => drop(others.insert_or_replace(&lock("a")).await.unwrap()),
                Fate::Patch => {
                    let mut note = DynamicEntity::new("shard", "a");
                    note.insert("Note", "theirs");
                    others.typed().merge(&note).await.unwrap();
                }
                Fate::LoseRequest | Fate::LoseResponse => {}
            }
            lost
        }
    }));
    Tables { lossy, truth, clock }
}

/// A row whose write id alone shows who wrote it.
#[derive(TableEntity)]
struct Lock {
    #[table(partition_key)]
    group: String,
    #[table(row_key)]
    name: String,
    #[table(write_id)]
    write: Option<Guid>,
}

fn lock(name: &str) -> Lock {
    Lock {
        group: "shard".into(),
        name: name.into(),
        write: None,
    }
}

const LOSSES: [Fate; 3] = [Fate::LoseRequest, Fate::LoseResponse, Fate::FailAfter];

#[tokio::test(start_paused = true)]
async fn lost_insert_is_not_reported_as_conflict() {
    for fate in LOSSES {
        for losses in 1..=3 {
            let Tables { lossy, truth, .. } = tables(&vec![fate; losses]).await;
            let etag = lossy.insert(&row("r", "x")).await.unwrap();
            let stored = truth.get(("p", "r")).await.unwrap().unwrap();
            let reported = (stored.etag.as_ref(), stored.get("V"));
            assert_eq!(reported, (Some(&etag), Some(&"x".into())), "{fate:?} {losses}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn every_lost_write_is_applied() {
    for fate in LOSSES {
        for kind in 0..4 {
            let Tables { lossy, truth, .. } = tables(&[fate]).await;
            truth.insert(&row("r", "old")).await.unwrap();
            let new = row("r", "new");
            let write = match kind {
                0 => lossy.replace(&new).await,
                1 => lossy.merge(&new).await,
                2 => lossy.insert_or_replace(&new).await,
                _ => lossy.insert_or_merge(&new).await,
            };
            let etag = write.unwrap_or_else(|e| panic!("{fate:?} {kind}: {e}"));
            let stored = truth.get(("p", "r")).await.unwrap().unwrap();
            let reported = (stored.etag.as_ref(), stored.get("V"));
            assert_eq!(reported, (Some(&etag), Some(&"new".into())));
        }
    }
}

/// Two clients increment the same counter. One of them succeeded, and the content does not show which.
#[tokio::test(start_paused = true)]
async fn lost_write_under_an_etag_is_not_confused_with_another() {
    for fate in LOSSES {
        let Tables { lossy, truth, .. } = tables(&[fate]).await;
        let one = truth.insert(&row("r", "1")).await.unwrap();
        let replaced = lossy.replace(&row("r", "2")).if_match(one.clone()).await;
        if matches!(fate, Fate::LoseRequest) {
            replaced.unwrap();
        } else {
            let error = replaced.unwrap_err();
            let last = kind_in_doubt(&error);
            assert_eq!(last, Some(ErrorKind::ConditionNotMet), "{fate:?}: {error}");
        }

        let Tables { lossy, truth, .. } = tables(&[Fate::LoseRequest, fate]).await;
        let one = truth.insert(&row("r", "1")).await.unwrap();
        truth.replace(&row("r", "2")).if_match(one.clone()).await.unwrap();
        let error = lossy.replace(&row("r", "2")).if_match(one).await.unwrap_err();
        let last = kind_in_doubt(&error);
        assert_eq!(last, Some(ErrorKind::ConditionNotMet), "{fate:?}: {error}");
    }
}

/// The policy's last attempt is read back like the earlier ones.
#[tokio::test(start_paused = true)]
async fn last_retry_of_a_lost_write_is_read_back_too() {
    for fate in [Fate::LoseResponse, Fate::FailAfter] {
        let Tables { lossy, truth, .. } = tables(&[Fate::LoseRequest, Fate::LoseRequest, fate]).await;
        let policy = CallOptions::new().retry(azure_table::LinearRetry::new(Duration::ZERO, 2));
        let etag = lossy.insert(&row("r", "x")).with(&policy).await.unwrap();
        let stored = truth.get(("p", "r")).await.unwrap().unwrap();
        assert_eq!(stored.etag, Some(etag), "{fate:?}");
    }
}

/// A real conflict stays one after a lost response, if the row was last written before anything was sent.
#[tokio::test(start_paused = true)]
async fn real_conflict_stays_a_conflict() {
    for fate in LOSSES {
        let Tables { lossy, truth, clock } = tables(&[fate]).await;
        clock.set(clock.now() - Duration::from_secs(60));
        let old = truth.insert(&row("r", "old")).await.unwrap();
        truth.replace(&row("r", "theirs")).await.unwrap();
        clock.reset();
        let replaced = lossy.replace(&row("r", "new")).if_match(old).await.unwrap_err();
        let inserted = lossy.insert(&row("r", "new")).await.unwrap_err();
        for (error, kind) in [
            (replaced, ErrorKind::ConditionNotMet),
            (inserted, ErrorKind::AlreadyExists),
        ] {
            let reported = (error.kind(), error.may_have_applied());
            assert_eq!(reported, (kind, false), "{fate:?}: {error}");
        }
    }
}

/// The row shows that no attempt can have been applied, whatever became of them.
#[tokio::test(start_paused = true)]
async fn write_that_the_rows_rule_out_is_not_in_doubt() {
    for fault in [
        Fault::LoseRequest,
        ResponseTemplate::new(500).code("InternalError").into(),
    ] {
        let clock = EmulatorClock::system();
        let (faults, table, truth) = faulty(Emulator::new().shared_clock(clock.clone())).await;
        clock.set(clock.now() - Duration::from_secs(60));
        let old = truth.insert(&row("r", "old")).await.unwrap();
        truth.replace(&row("r", "theirs")).await.unwrap();
        clock.reset();
        faults.add(FaultRule::new(fault.clone()).on_writes());
        let error = table.replace(&row("r", "new")).if_match(old).await.unwrap_err();
        assert!(!error.may_have_applied() && error.attempts() == 4, "{fault:?}: {error}");
    }
}

/// A later write of another client may have overwritten this one, so the outcome is unknown.
#[tokio::test(start_paused = true)]
async fn undecidable_write_is_in_doubt() {
    let Tables { lossy, truth, .. } = tables(&[Fate::LoseRequest]).await;
    truth.insert(&row("r", "theirs, a moment ago")).await.unwrap();
    let error = lossy.insert(&row("r", "ours")).await.unwrap_err();
    assert_eq!(kind_in_doubt(&error), Some(ErrorKind::AlreadyExists), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_lost_batch_is_applied_once() {
    for fate in LOSSES {
        let Tables { lossy, truth, .. } = tables(&[fate]).await;
        truth.insert(&row("old", "x")).await.unwrap();
        let mut batch = lossy.batch();
        batch.insert(&row("a", "1")).unwrap();
        batch.insert_or_merge(&row("b", "2")).unwrap();
        batch.delete(("p", "old")).unwrap();
        let results = batch.submit().await.unwrap();
        let rows = truth.query().all().await.unwrap();
        let keys: Vec<_> = rows.iter().map(|row| row.row_key.as_str()).collect();
        assert_eq!(keys, ["a", "b"], "{fate:?}");
        let etags: Vec<_> = results.iter().map(|result| result.etag()).collect();
        assert_eq!(etags, [rows[0].etag.as_ref(), rows[1].etag.as_ref(), None]);
    }
}

/// A missing row shows nothing: it is unknown if this delete removed it.
#[tokio::test(start_paused = true)]
async fn undecidable_delete_is_in_doubt() {
    let Tables { lossy, truth, .. } = tables(&[Fate::LoseResponse]).await;
    truth.insert(&row("r", "x")).await.unwrap();
    let error = lossy.delete(("p", "r")).await.unwrap_err();
    assert_eq!(kind_in_doubt(&error), Some(ErrorKind::NotFound), "{error}");
    let Tables { lossy, truth, .. } = tables(&[Fate::LoseRequest]).await;
    truth.insert(&row("r", "x")).await.unwrap();
    lossy.delete(("p", "r")).await.unwrap();
}

/// The write id distinguishes another client's row with the same content.
#[tokio::test(start_paused = true)]
async fn write_id_identifies_the_own_row() {
    let lock = lock("7");
    let Tables { lossy, .. } = tables(&[Fate::LoseResponse]).await;
    lossy.insert(&lock).await.unwrap();
    let Tables { lossy, truth, .. } = tables(&[Fate::LoseResponse]).await;
    let etag = truth.insert(&lock).await.unwrap();
    lossy.replace(&lock).if_match(etag).await.unwrap();
    let Tables { lossy, truth, .. } = tables(&[Fate::LoseRequest]).await;
    truth.insert(&lock).await.unwrap();
    let error = lossy.insert(&lock).await.unwrap_err();
    let last = kind_in_doubt(&error);
    assert_eq!(
        last,
        Some(ErrorKind::AlreadyExists),
        "never taken for one's own: {error}"
    );
}

/// In a batch, each row has its own write id.
#[tokio::test(start_paused = true)]
async fn write_ids_of_a_batch_identify_each_row() {
    let Tables { lossy, truth, .. } = tables::<Lock>(&[Fate::LoseResponse]).await;
    let mut batch = lossy.batch();
    let plain = DynamicEntity::new("shard", "5");
    batch.push(TableOperation::insert(&plain)).unwrap();
    for of in ["6", "7"] {
        let etag = truth.insert(&lock(of)).await.unwrap();
        // Under an ETag, only the write id identifies a row.
        let replace = TableOperation::replace(&lock(of)).if_match(etag);
        batch.push(replace).unwrap();
    }
    assert_eq!(batch.submit().await.unwrap().len(), 3);
}

/// A batch is atomic. But a leftover in doubt may have been applied by an earlier call.
#[tokio::test(start_paused = true)]
async fn one_own_row_shows_that_its_batch_was_applied() {
    for (is_pushed, is_leftover) in [(false, false), (true, false), (true, true)] {
        let (a, b) = (lock("a"), lock("b"));
        let fates = [Fate::LoseResponse, Fate::Supersede];
        let Tables { lossy, truth, .. } = tables::<Lock>(&fates[usize::from(!is_leftover)..]).await;
        truth.insert(&a).await.unwrap();
        let stored = truth.get(("shard", "a")).versioned().await.unwrap().unwrap();
        let operation = if is_leftover {
            let bulk = lossy.bulk().with(&once()).insert_or_replace([lock("b")]);
            let left = bulk.await.unwrap_err().into_parts().1.into_leftovers().pop().unwrap();
            assert!(matches!(left.reason(), LeftoverReason::InDoubt(_)), "{left}");
            left.into_operation().unwrap()
        } else {
            TableOperation::insert_or_replace(&b)
        };
        let mut batch = lossy.batch();
        batch.replace(&stored).unwrap();
        if is_pushed {
            batch.push(operation).unwrap()
        } else {
            batch.insert(&b).unwrap()
        };
        let written = batch.submit().await;
        if is_leftover {
            let error = written.unwrap_err();
            assert_eq!(kind_in_doubt(&error), Some(ErrorKind::ConditionNotMet), "{error}");
            continue;
        }
        let own = truth.get(("shard", "b")).versioned().await.unwrap().unwrap();
        let written = written.unwrap();
        assert_eq!(written[0].etag(), None, "it has the ETag of another write");
        assert_eq!(written[1].etag(), Some(&own.etag));
    }
}

/// A patch keeps the write id and the values of a merge. A write under the ETag of that row would undo the patch.
#[tokio::test(start_paused = true)]
async fn row_that_others_have_patched_returns_no_etag_that_it_has() {
    type Write = fn(TableClient<Lock>) -> futures::future::BoxFuture<'static, azure_table::Result<ETag>>;
    const KEY: (&str, &str) = ("shard", "a");
    let a = || lock("a");
    let writes: [(&str, bool, Write); 8] = calls! {
        "insert", false => |locks| locks.insert(&lock("a")).await;
        "insert_if_not_exists", false => |locks| Ok(locks.insert_if_not_exists(&lock("a")).await?.unwrap());
        "replace", true => |locks| locks.replace(&lock("a")).await;
        "merge", true => |locks| locks.merge(&lock("a")).await;
        "insert_or_merge", false => |locks| locks.insert_or_merge(&lock("a")).await;
        "save", true => |locks| {
            let mut lock = locks.get(KEY).versioned().await?.unwrap();
            locks.save(&mut lock).await?;
            Ok(lock.etag)
        };
        "modify", true => |locks| Ok(locks.modify(KEY, |_| ()).await?.etag);
        "or_insert", false => |locks| Ok(locks.modify(KEY, |_| ()).or_insert(|| lock("a")).await?.etag);
    };
    for (name, exists, write) in writes {
        let Tables { lossy, truth, .. } = tables::<Lock>(&[Fate::Patch]).await;
        if exists {
            truth.insert(&a()).await.unwrap();
        }
        let etag = write(lossy.clone()).await.unwrap_or_else(|e| panic!("{name}: {e}"));
        let over = lossy.replace(&a()).if_match(etag).await;
        assert_eq!(over.map_err(|e| e.kind()), Err(ErrorKind::ConditionNotMet), "{name}");
    }

    // Known by its values alone.
    let Tables { lossy, truth, .. } = tables::<DynamicEntity>(&[Fate::Patch]).await;
    let mut row = DynamicEntity::new("shard", "a");
    row.insert("V", "x");
    truth.insert(&row).await.unwrap();
    let etag = lossy.merge(&row).await.unwrap();
    let over = lossy.replace(&row).if_match(etag).await;
    assert_eq!(over.map_err(|e| e.kind()), Err(ErrorKind::ConditionNotMet));
}

/// A result may have no ETag, and an echo is the stored row with its own.
#[tokio::test(start_paused = true)]
async fn patched_row_of_a_lost_batch_or_operation_has_no_etag() {
    let a = || lock("a");
    let Tables { lossy, .. } = tables::<Lock>(&[Fate::Patch]).await;
    let mut batch = lossy.batch();
    batch.insert(&a()).unwrap().insert(&lock("b")).unwrap();
    let results = batch.submit().await.unwrap();
    assert_eq!((results[0].etag(), results[1].etag().is_some()), (None, true));
    assert_eq!((results[0].row_key(), results[1].row_key()), (Some("a"), Some("b")));

    let Tables { lossy, .. } = tables::<Lock>(&[Fate::Patch]).await;
    let result = lossy.execute(TableOperation::insert(&a())).await.unwrap();
    assert_eq!((result.status(), result.etag(), result.row_key()), (204, None, None));

    let Tables { lossy, truth, .. } = tables::<Lock>(&[Fate::Patch]).await;
    let echo = lossy.insert_returning(&a()).await.unwrap();
    let stored = truth.get(("shard", "a")).versioned().await.unwrap().unwrap();
    assert_eq!(echo.etag, stored.etag);
}

/// At most five requests read the rows of a batch. One own row among them suffices.
#[tokio::test(start_paused = true)]
async fn batch_around_thousands_of_rows_is_found_by_its_first() {
    let emulator = Emulator::new();
    let between = (0..6_000).map(|n| lock(&format!("m{n:04}")));
    emulator.seed("Table", between).unwrap();
    for (behind, has_all, requests) in [("xyz", true, 5), ("uvwxyz", false, 6)] {
        let faults = Faults::new(emulator.clone());
        faults.add(FaultRule::new(Fault::LoseResponse).on_writes().first(1));
        let locks = table_of::<Lock>(faults.clone());
        let mut batch = locks.batch();
        for of in ["a"].into_iter().chain(behind.split("").filter(|of| !of.is_empty())) {
            batch.insert_or_replace(&lock(of)).unwrap();
        }
        let written = batch.submit().await.unwrap();
        assert!(written[0].etag().is_some());
        assert!(written[1..].iter().all(|row| row.etag().is_some() == has_all));
        assert_eq!(faults.requests(), requests);
    }
}

#[tokio::test(start_paused = true)]
async fn without_retries_nothing_is_read_back() {
    let Tables { lossy, .. } = tables(&[Fate::LoseResponse]).await;
    let context = OperationContext::new();
    let insert = lossy.insert(&row("r", "x")).with(&once().context(&context));
    assert!(insert.await.unwrap_err().may_have_applied());
    assert_eq!(context.attempts().len(), 1);
}

#[azure_table::test(start_paused)]
async fn diagnostics_contain_the_read_back(service: TableServiceClient, table: TableClient, faults: Faults) {
    let log = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&log);
    let observer = Observe(move |event: &Event<'_>| {
        let line = match event {
            Event::Sending(sending) => format!("{} {}", sending.operation, sending.attempt),
            Event::Received(attempt) => attempt.status().map_or("lost".into(), |status| status.to_string()),
            Event::ReadBack { applied, .. } => format!("applied: {applied:?}"),
            Event::Retrying { .. } => "wait".into(),
            Event::Completed(call) => {
                format!(
                    "{} completed: {:?}, read back: {}",
                    call.operation, call.status, call.is_read_back
                )
            }
            _ => return,
        };
        seen.lock().unwrap().push(line);
    });
    faults.add(FaultRule::new(Fault::LoseResponse).on_writes().first(1));
    let table = service.observer(observer).dynamic_table(table.name().as_str()).unwrap();
    table.insert(&row("r", "x")).await.unwrap();
    assert_eq!(
        *log.lock().unwrap(),
        [
            "insert 1",
            "lost",
            "wait",
            "query 1",
            "200",
            "query completed: Some(200), read back: false",
            "applied: Some(true)",
            "insert completed: None, read back: true",
        ]
    );
}
