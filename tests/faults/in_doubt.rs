//! Errors in doubt: no branch on a conflict handles a write that may have caused it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use azure_table::auth::AuthorizationContext;
use azure_table::bulk::LeftoverReason;
use azure_table::operation::OperationKind;
use azure_table::telemetry::{Event, Observer};
use azure_table::testing::{Fault, FaultRule, Faults, ResponseTemplate};
use azure_table::transport::{BoxFuture, Delivery};
use azure_table::{
    CallOptions, Credential, Deletion, DynamicEntity, Emulator, Error, ErrorKind, NoRetry, Result, TableClient,
    TableEntity, TableOperation, TableServiceClient,
};
use azure_table_tests::canned::{Canned, Step};
use azure_table_tests::errors::kind_in_doubt;
use bytes::Bytes;

#[derive(TableEntity, Debug)]
struct Account {
    #[table(partition_key)]
    bank: String,
    #[table(row_key)]
    id: String,
    cents: i64,
}

const KEY: (&str, &str) = ("b", "1");

fn account(id: &str) -> Account {
    Account {
        bank: KEY.0.into(),
        id: id.into(),
        cents: 100,
    }
}

/// A table behind faults, and the same table without. It has the account 1.
async fn tables() -> (Faults, TableClient<Account>, TableClient<Account>) {
    let emulator = Emulator::new();
    let truth = TableServiceClient::from_transport(emulator.clone())
        .table::<Account>("Accounts")
        .unwrap();
    truth.create_table().await.unwrap();
    truth.insert(&account(KEY.1)).await.unwrap();
    let faults = Faults::new(emulator);
    let table = TableServiceClient::from_transport(faults.clone())
        .table("Accounts")
        .unwrap();
    (faults, table, truth)
}

/// The loop of programs that do not use `modify`.
async fn withdraw(accounts: &TableClient<Account>, cents: i64) -> Result<()> {
    loop {
        let mut account = accounts.get(KEY).versioned().await?.unwrap();
        account.cents -= cents;
        match accounts.replace(&account).await {
            Err(e) if e.kind() == ErrorKind::ConditionNotMet => {}
            Err(e) if e.status() == Some(412) || e.code() == Some("UpdateConditionNotSatisfied") => {}
            written => return written.map(drop),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn loop_over_conflicts_subtracts_once_if_a_response_is_lost() {
    for (fault, is_in_doubt) in [
        (Fault::LoseRequest, false),
        (Fault::LoseResponse, true),
        (Fault::CutResponse { at: 0 }, true),
    ] {
        let (faults, table, truth) = tables().await;
        let lost = faults.add(FaultRule::new(fault).on_writes().nth(1));
        let withdrawn = withdraw(&table, 10).await;
        let last = withdrawn.as_ref().err().and_then(kind_in_doubt);
        assert_eq!(last, is_in_doubt.then_some(ErrorKind::ConditionNotMet), "{withdrawn:?}");
        assert_eq!(truth.get(KEY).await.unwrap().unwrap().cents, 90);
        assert_eq!(lost.hits(), 1);
    }
}

/// The loop still ends with a write of its own after a real conflict.
#[tokio::test(start_paused = true)]
async fn loop_over_conflicts_repeats_after_a_real_one() {
    let (faults, table, truth) = tables().await;
    let conflict = ResponseTemplate::new(412).code("UpdateConditionNotSatisfied");
    faults.add(FaultRule::new(conflict).on(OperationKind::Replace).nth(1));
    withdraw(&table, 10).await.unwrap();
    assert_eq!(truth.get(KEY).await.unwrap().unwrap().cents, 90);
}

/// Each write is applied, its response is lost, and its repetition meets its own effect.
#[tokio::test(start_paused = true)]
async fn no_arm_for_a_conflict_handles_a_write_in_doubt() {
    type Write = fn(TableClient<Account>) -> futures::future::BoxFuture<'static, Error>;
    let writes: [(ErrorKind, Write); 10] = [
        (ErrorKind::AlreadyExists, |table| {
            Box::pin(async move { table.insert(&account("2")).await.unwrap_err() })
        }),
        (ErrorKind::AlreadyExists, |table| {
            Box::pin(async move { table.insert_returning(&account("2")).await.unwrap_err() })
        }),
        (ErrorKind::AlreadyExists, |table| {
            Box::pin(async move { table.insert_if_not_exists(&account("2")).await.unwrap_err() })
        }),
        (ErrorKind::AlreadyExists, |table| {
            Box::pin(async move {
                let modify = table.modify(("b", "2"), |account| account.cents -= 10);
                modify.or_insert(|| account("2")).await.unwrap_err()
            })
        }),
        (ErrorKind::AlreadyExists, |table| {
            Box::pin(async move { table.create_table().await.unwrap_err() })
        }),
        (ErrorKind::ConditionNotMet, |table| {
            Box::pin(async move {
                let modify = table.modify(KEY, |account| account.cents -= 10);
                modify.await.unwrap_err()
            })
        }),
        (ErrorKind::ConditionNotMet, |table| {
            Box::pin(async move {
                let account = table.get(KEY).versioned().await.unwrap().unwrap();
                table.execute(TableOperation::replace(&account)).await.unwrap_err()
            })
        }),
        (ErrorKind::ConditionNotMet, |table| {
            Box::pin(async move {
                let account = table.get(KEY).versioned().await.unwrap().unwrap();
                let mut batch = table.batch();
                batch.merge(&account).unwrap().insert(&self::account("2")).unwrap();
                batch.submit().await.unwrap_err()
            })
        }),
        (ErrorKind::NotFound, |table| {
            Box::pin(async move { table.delete(KEY).await.unwrap_err() })
        }),
        (ErrorKind::AlreadyExists, |table| {
            Box::pin(async move {
                let report = table.bulk().insert([account("2"), account("3")]).await.unwrap();
                let LeftoverReason::InDoubt(of_first) = report.leftovers()[0].reason() else {
                    unreachable!("{report}")
                };
                assert_eq!((report.in_doubt(), of_first.kind()), (2, ErrorKind::InDoubt));
                report.ensure_no_leftovers().unwrap_err()
            })
        }),
    ];
    for (number, (kind, write)) in writes.into_iter().enumerate() {
        let (faults, table, truth) = tables().await;
        if number == 4 {
            truth.delete_table().await.unwrap();
        }
        faults.add(FaultRule::new(Fault::LoseResponse).on_writes().nth(1));
        // Nobody may read the rows back.
        faults.add(FaultRule::new(ResponseTemplate::new(403)).on(OperationKind::Query));
        let error = write(table).await;
        assert_eq!(kind_in_doubt(&error), Some(kind), "{number}: {error}");
        let last = error.last_failure().unwrap();
        assert_eq!(error.to_string(), format!("{last}; the write may have been applied"));
    }
}

/// A failure without a response, or with one that cannot be read, is in doubt in the same way.
#[tokio::test(start_paused = true)]
async fn write_in_doubt_without_a_rejection_has_the_same_kind() {
    for (fault, last) in [
        (Fault::LoseResponse, ErrorKind::Connection),
        (Fault::HangResponse, ErrorKind::Timeout),
        (
            Fault::Respond(ResponseTemplate::internal_error()),
            ErrorKind::ServerFault,
        ),
    ] {
        let (faults, table, _) = tables().await;
        faults.add(FaultRule::new(fault).on_writes());
        let error = table
            .insert(&account("2"))
            .with(&CallOptions::new().retry(NoRetry))
            .await
            .unwrap_err();
        assert_eq!(kind_in_doubt(&error), Some(last), "{error}");
        let read = table.get(("b", "2")).with(&CallOptions::new().retry(NoRetry)).await;
        assert!(read.is_ok(), "{read:?}");
    }
}

/// A row still has the ETag of its condition, although the batch writes what is stored and the clocks say nothing. If
/// another row lost its ETag, the first request cannot be applied any more. A row that another client inserted may be
/// deleted before that request arrives.
#[tokio::test(start_paused = true)]
async fn kept_etag_shows_that_a_batch_was_not_applied_once_another_etag_is_gone() {
    for (is_insert, kind) in [(false, ErrorKind::ConditionNotMet), (true, ErrorKind::InDoubt)] {
        let (faults, table, truth) = tables().await;
        let stored = table.get(KEY).versioned().await.unwrap().unwrap();
        truth.insert(&account("2")).await.unwrap();
        let mut batch = table.batch();
        batch.replace(&stored).unwrap();
        if is_insert {
            batch.insert(&account("2")).unwrap();
        } else {
            let stale = table.get((KEY.0, "2")).versioned().await.unwrap().unwrap();
            truth.insert_or_replace(&account("2")).await.unwrap();
            batch.replace(&stale).unwrap();
        }
        faults.add(FaultRule::new(Fault::LoseRequest).on(OperationKind::Batch).nth(1));
        faults.add(FaultRule::new(Fault::DateAhead(std::time::Duration::from_secs(3_600))).on(OperationKind::Query));
        let error = batch.submit().await.unwrap_err();
        assert_eq!((error.kind(), error.attempts()), (kind, 2), "{error}");
    }
}

/// The last attempt may still be applied, whatever the row shows before.
#[tokio::test(start_paused = true)]
async fn unchanged_etag_does_not_settle_a_last_attempt_without_a_response() {
    let (faults, table, truth) = tables().await;
    let stored = table.get(KEY).versioned().await.unwrap().unwrap();
    faults.add(FaultRule::new(Fault::LoseRequest).on(OperationKind::Replace));
    let error = table.replace(&stored).await.unwrap_err();
    assert_eq!(kind_in_doubt(&error), Some(ErrorKind::Connection), "{error}");
    assert_eq!(truth.get(KEY).versioned().await.unwrap().unwrap().etag, stored.etag);
}

/// The operation of a call that ended, and the kind of its error.
type EndedCall = (String, Option<ErrorKind>);

#[derive(Clone, Debug, Default)]
struct Kinds(Arc<Mutex<Vec<EndedCall>>>);

impl Observer for Kinds {
    fn on_event(&self, event: &Event<'_>) {
        let (operation, kind) = match event {
            Event::Completed(call) => (call.operation, call.error),
            _ => return,
        };
        self.0.lock().unwrap().push((operation.to_owned(), kind));
    }
}

#[tokio::test(start_paused = true)]
async fn observers_see_that_a_write_is_in_doubt() {
    let kinds = Kinds::default();
    let (faults, _, _) = tables().await;
    let table = TableServiceClient::from_transport(faults.clone()).observer(kinds.clone());
    let table = table.dynamic_table("Accounts").unwrap();
    faults.add(FaultRule::new(Fault::LoseResponse).on_writes().nth(1));
    table.delete(KEY).await.unwrap_err();
    table.delete(KEY).await.unwrap_err();
    faults.add(FaultRule::new(Fault::LoseResponse).on_writes());
    let insert = table.insert(&DynamicEntity::new("b", "9"));
    insert.with(&CallOptions::new().retry(NoRetry)).await.unwrap_err();
    let seen = std::mem::take(&mut *kinds.0.lock().unwrap());
    let seen: Vec<_> = seen.iter().map(|(name, kind)| (name.as_str(), *kind)).collect();
    let expected = [
        ("query", None),
        ("delete", Some(ErrorKind::InDoubt)),
        ("delete", Some(ErrorKind::NotFound)),
        ("insert", Some(ErrorKind::InDoubt)),
    ];
    assert_eq!(seen, expected);
}

/// The error that ends a bulk is in doubt if its last failure is, and says so once.
#[tokio::test(start_paused = true)]
async fn bulk_that_ends_at_a_write_in_doubt_is_in_doubt() {
    let (faults, table, _) = tables().await;
    faults.add(FaultRule::new(Fault::LoseResponse).on(OperationKind::Insert).nth(1));
    faults.add(FaultRule::new(ResponseTemplate::new(403)).on(OperationKind::Query));
    let bulk = table.bulk().max_failures(0).insert([account("2")]);
    let error = Error::from(bulk.await.unwrap_err());
    assert_eq!(kind_in_doubt(&error), Some(ErrorKind::AlreadyExists), "{error}");
    let text = error.to_string();
    assert_eq!(text.matches("may have been applied").count(), 1, "{text}");
    assert!(text.ends_with("; the write may have been applied"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn only_a_certain_deletion_was_a_deletion() {
    let (faults, table, _) = tables().await;
    faults.add(FaultRule::new(Fault::LoseResponse).on_writes().nth(1));
    let lost = table.delete_if_exists(KEY).await.unwrap();
    assert_eq!((lost, lost.was_deleted()), (Deletion::InDoubt, false));
    let missing = table.delete_if_exists(KEY).await.unwrap();
    assert_eq!((missing, missing.was_deleted()), (Deletion::WasMissing, false));
    table.insert(&account(KEY.1)).await.unwrap();
    let deleted = table.delete_if_exists(KEY).await.unwrap();
    assert_eq!((deleted, deleted.was_deleted()), (Deletion::Deleted, true));
}

/// Authorizes the first request at once, and no other.
#[derive(Debug, Default)]
struct Once(AtomicBool);

impl Credential for Once {
    fn authorize<'a>(
        &'a self,
        _: &'a mut http::Request<Bytes>,
        _: &'a AuthorizationContext<'a>,
    ) -> BoxFuture<'a, Result<()>> {
        match self.0.swap(true, Ordering::Relaxed) {
            false => Box::pin(std::future::ready(Ok(()))),
            true => Box::pin(std::future::pending()),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn retry_that_did_not_start_names_the_attempt_in_doubt() {
    let canned = Canned::new([Step::Fail(Delivery::MaybeSent)]);
    let service = TableServiceClient::new("https://acct.table.core.windows.net", Once::default()).unwrap();
    let table = service.transport(canned).table::<Account>("Accounts").unwrap();
    let insert = table.insert(&account("2")).timeout(std::time::Duration::from_secs(2));
    let error = insert.await.unwrap_err();
    assert_eq!(kind_in_doubt(&error), Some(ErrorKind::Timeout), "{error}");
    let text = error.to_string();
    let named = "attempt 1 has no result, and attempt 2 did not start: ";
    assert!(
        text.contains(named) && text.ends_with("the write may have been applied"),
        "{text}"
    );
}
