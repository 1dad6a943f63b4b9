//! Errors in doubt: no branch on a conflict handles a write that may have caused it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use azure_table::auth::AuthorizationContext;
use azure_table::bulk::LeftoverReason;
use azure_table::operation::OperationKind;
use azure_table::policy::RequestPolicy;
use azure_table::telemetry::Event;
use azure_table::testing::{Fault, FaultRule, Faults, ResponseTemplate};
use azure_table::transport::{BoxFuture, Delivery};
use azure_table::{
    CallOptions, Credential, Deletion, DynamicEntity, ETag, Emulator, Error, ErrorKind, Result, TableClient,
    TableOperation, TableServiceClient,
};
use azure_table_patterns::Queue;
use azure_table_tests::canned::{Canned, Step};
use azure_table_tests::entities::Counter;
use azure_table_tests::errors::kind_in_doubt;
use azure_table_tests::intercept::Intercept;
use azure_table_tests::scenario::rejection;
use bytes::Bytes;
use http::Method;

use super::{faulty, once, row};
use azure_table_tests::closures::Observe;

const KEY: (&str, &str) = ("b", "1");

/// An account with 100 cents.
fn account(id: &str) -> Counter {
    Counter::new(KEY.0, id, 100)
}

/// A table behind faults, and the same table without. It has the account 1.
async fn tables() -> (Faults, TableClient<Counter>, TableClient<Counter>) {
    let (faults, table, truth) = faulty(Emulator::new()).await;
    truth.insert(&account(KEY.1)).await.unwrap();
    (faults, table, truth)
}

/// A fault of the first write.
fn first_write(fault: Fault) -> FaultRule {
    FaultRule::new(fault).on_writes().nth(1)
}

/// The loop of programs that do not use `modify`.
async fn withdraw(accounts: &TableClient<Counter>, cents: i64) -> Result<()> {
    loop {
        let mut account = accounts.get(KEY).versioned().await?.unwrap();
        account.value -= cents;
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
        let lost = faults.add(first_write(fault));
        let withdrawn = withdraw(&table, 10).await;
        let last = withdrawn.as_ref().err().and_then(kind_in_doubt);
        assert_eq!(last, is_in_doubt.then_some(ErrorKind::ConditionNotMet), "{withdrawn:?}");
        assert_eq!(truth.get(KEY).await.unwrap().unwrap().value, 90);
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
    assert_eq!(truth.get(KEY).await.unwrap().unwrap().value, 90);
}

/// Each write is applied, its response is lost, and its repetition meets its own effect.
#[tokio::test(start_paused = true)]
async fn no_arm_for_a_conflict_handles_a_write_in_doubt() {
    use ErrorKind::{AlreadyExists, ConditionNotMet, NotFound};
    type Write = fn(TableClient<Counter>) -> futures::future::BoxFuture<'static, Error>;
    let writes: [(ErrorKind, Write); 10] = calls! {
        AlreadyExists => |table| table.insert(&account("2")).await.unwrap_err();
        AlreadyExists => |table| table.insert_returning(&account("2")).await.unwrap_err();
        AlreadyExists => |table| table.insert_if_not_exists(&account("2")).await.unwrap_err();
        AlreadyExists => |table| {
            let modify = table.modify(("b", "2"), |account| account.value -= 10);
            modify.or_insert(|| account("2")).await.unwrap_err()
        };
        AlreadyExists => |table| table.create_table().await.unwrap_err();
        ConditionNotMet => |table| table.modify(KEY, |account| account.value -= 10).await.unwrap_err();
        ConditionNotMet => |table| {
            let account = table.get(KEY).versioned().await.unwrap().unwrap();
            table.execute(TableOperation::replace(&account)).await.unwrap_err()
        };
        ConditionNotMet => |table| {
            let stored = table.get(KEY).versioned().await.unwrap().unwrap();
            let mut batch = table.batch();
            batch.merge(&stored).unwrap().insert(&account("2")).unwrap();
            batch.submit().await.unwrap_err()
        };
        NotFound => |table| table.delete(KEY).await.unwrap_err();
        AlreadyExists => |table| {
            let report = table.bulk().insert([account("2"), account("3")]).await.unwrap();
            let LeftoverReason::InDoubt(of_first) = report.leftovers()[0].reason() else {
                unreachable!("{report}")
            };
            assert_eq!((report.in_doubt(), of_first.kind()), (2, ErrorKind::InDoubt));
            report.ensure_no_leftovers().unwrap_err()
        };
    };
    for (number, (kind, write)) in writes.into_iter().enumerate() {
        let (faults, table, truth) = tables().await;
        if number == 4 {
            truth.delete_table().await.unwrap();
        }
        faults.add(first_write(Fault::LoseResponse));
        // Nobody may read the rows back.
        faults.add(FaultRule::new(ResponseTemplate::new(403)).on(OperationKind::Query));
        let error = write(table).await;
        assert_eq!(kind_in_doubt(&error), Some(kind), "{number}: {error}");
        let last = error.last_failure().unwrap();
        assert_eq!(
            error.to_string(),
            format!("{last}; the write may have been applied, so read what is stored before you repeat it")
        );
    }
}

/// A failure without a response, or with one that cannot be read, is in doubt in the same way.
#[tokio::test(start_paused = true)]
async fn write_in_doubt_without_a_rejection_has_the_same_kind() {
    for (fault, last) in [
        (Fault::LoseResponse, ErrorKind::Connection),
        (Fault::HangResponse, ErrorKind::Timeout),
        (ResponseTemplate::internal_error().into(), ErrorKind::ServerFault),
    ] {
        let (faults, table, _) = tables().await;
        faults.add(FaultRule::new(fault).on_writes());
        let error = table.insert(&account("2")).with(&once()).await.unwrap_err();
        assert_eq!(kind_in_doubt(&error), Some(last), "{error}");
        let read = table.get(("b", "2")).with(&once()).await;
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
        faults.add(FaultRule::new(Fault::DateAhead(Duration::from_secs(3_600))).on(OperationKind::Query));
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

#[tokio::test(start_paused = true)]
async fn observers_see_that_a_write_is_in_doubt() {
    let kinds = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&kinds);
    let observer = Observe(move |event: &Event<'_>| {
        if let Event::Completed(call) = event {
            seen.lock().unwrap().push((call.operation.to_owned(), call.error));
        }
    });
    let (faults, _, _) = tables().await;
    let service = TableServiceClient::from_transport(faults.clone()).observer(observer);
    let table = service.dynamic_table("Table").unwrap();
    faults.add(first_write(Fault::LoseResponse));
    table.delete(KEY).await.unwrap_err();
    table.delete(KEY).await.unwrap_err();
    faults.add(FaultRule::new(Fault::LoseResponse).on_writes());
    table.insert(&row()).with(&once()).await.unwrap_err();
    let expected = [
        ("query", None),
        ("delete", Some(ErrorKind::InDoubt)),
        ("delete", Some(ErrorKind::NotFound)),
        ("insert", Some(ErrorKind::InDoubt)),
    ];
    assert_eq!(
        *kinds.lock().unwrap(),
        expected.map(|(name, kind)| (name.to_owned(), kind))
    );
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
    assert!(
        text.contains("; the write may have been applied, so read what is stored"),
        "{text}"
    );
}

#[tokio::test(start_paused = true)]
async fn only_a_certain_deletion_was_a_deletion() {
    let (faults, table, _) = tables().await;
    faults.add(first_write(Fault::LoseResponse));
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
    let table = service.transport(canned).dynamic_table("Accounts").unwrap();
    let insert = table.insert(&row()).timeout(Duration::from_secs(2));
    let error = insert.await.unwrap_err();
    assert_eq!(kind_in_doubt(&error), Some(ErrorKind::Timeout), "{error}");
    let text = error.to_string();
    assert!(
        text.contains("attempt 1 has no result, and attempt 2 did not start: "),
        "{text}"
    );
    assert!(text.contains("the write may have been applied, so read"), "{text}");
}

/// A transport on which an insert is lost, and its table is missing: read back, sent again, read back.
fn lost_without_table(create: Step) -> Canned {
    let missing = || Step::Received(rejection(404, "TableNotFound"));
    Canned::new([Step::Fail(Delivery::MaybeSent), missing(), missing(), missing(), create])
}

/// Another client may create the table before the lost insert arrives.
#[tokio::test(start_paused = true)]
async fn lost_insert_is_in_doubt_although_its_missing_table_is_not_created() {
    let rejected = rejection(403, "AuthorizationPermissionMismatch");
    let canned = lost_without_table(Step::Received(rejected));
    let table = canned.table().create_missing_table();
    let error = table.insert(&row()).await.unwrap_err();
    assert_eq!(canned.sent().len(), 5);
    assert_eq!(error.kind(), ErrorKind::InDoubt, "{error}");
    assert!(error.to_string().contains("AuthorizationPermissionMismatch"), "{error}");
    assert!(error.in_doubt_write().is_some(), "{error:?}");
}

/// A policy that does nothing.
#[derive(Debug)]
struct Silent;

impl RequestPolicy for Silent {}

/// A call with policies checks its remaining time before it runs them.
#[tokio::test(start_paused = true)]
async fn lost_insert_is_in_doubt_if_its_timeout_elapses_while_its_table_is_created() {
    let limit = Duration::from_secs(30);
    let table = || {
        let canned = lost_without_table(Step::response(204, &[("location", "Tables('Things')")], ""));
        let slow = Intercept::new(canned.clone(), move |service, request| async move {
            let creates = request.method() == Method::POST && request.uri().path() == "/Tables";
            let response = service.send(request).await;
            if creates {
                tokio::time::advance(limit).await;
            }
            response
        });
        let table = canned.service().transport(slow).dynamic_table("Things").unwrap();
        let options = CallOptions::new().timeout(limit).policy(Silent);
        (canned, table.create_missing_table().with(&options))
    };
    let (canned, insert) = table();
    let error = insert.insert(&row()).await.unwrap_err();
    assert_eq!(canned.sent().len(), 5);
    assert_eq!(error.kind(), ErrorKind::InDoubt, "{error}");
    let named = "an earlier call has no result, and attempt 1 did not start";
    assert!(error.to_string().contains(named), "{error}");
    assert!(error.in_doubt_write().is_some(), "{error:?}");
    let sent: Vec<_> = error
        .diagnostics()
        .attempts()
        .iter()
        .map(|sent| sent.operation())
        .collect();
    assert_eq!(
        (error.attempts(), &*sent),
        (2, &["insert", "query", "insert", "query"][..])
    );

    let (canned, insert) = table();
    let interrupted = insert.bulk().insert([row()]).await.unwrap_err();
    assert_eq!(canned.sent().len(), 5);
    assert_eq!(interrupted.report().in_doubt(), 1, "{interrupted}");
}

/// A proxy sent the rejection, and the row is unchanged: the lost attempt may still arrive.
#[tokio::test(start_paused = true)]
async fn lost_replace_stays_in_doubt_after_a_404_of_a_proxy() {
    let stored = |keys: &[&str]| {
        let rows = keys.iter().map(|key| {
            format!(
                r#"{{"odata.etag":"W/\"1\"","PartitionKey":"p","RowKey":"{key}","Timestamp":"2026-01-01T00:00:00Z"}}"#
            )
        });
        let rows = rows.collect::<Vec<_>>().join(",");
        Step::response(200, &[], &format!(r#"{{"value":[{rows}]}}"#))
    };
    for (body, keys) in [("<html>", &["r"][..]), ("", &["r"]), ("", &["r", "s"])] {
        let not_found = Step::response(404, &[("content-type", "text/html")], body);
        let canned = Canned::new([Step::Fail(Delivery::MaybeSent), stored(keys), not_found, stored(keys)]);
        let table = canned.table();
        let replace = |key: &str| TableOperation::replace(&DynamicEntity::new("p", key)).if_match(ETag::new("W/\"1\""));
        let error = if let [key] = *keys {
            table.execute(replace(key)).await.unwrap_err()
        } else {
            let mut batch = table.batch();
            for key in keys {
                batch.push(replace(key)).unwrap();
            }
            batch.submit().await.unwrap_err()
        };
        assert_eq!(canned.sent().len(), 4, "{body} {keys:?}");
        assert_eq!(error.kind(), ErrorKind::InDoubt, "{body} {keys:?}: {error}");
    }
}

/// A proxy answers without the service's error code: it says nothing about a table or a row.
#[tokio::test(start_paused = true)]
async fn rejection_without_an_error_code_shows_no_change_by_others() {
    for status in [404, 409, 412] {
        let (faults, table, _) = tables().await;
        let rejects = |rule: fn(FaultRule) -> FaultRule| {
            faults.add(rule(FaultRule::new(ResponseTemplate::new(status))).first(1));
        };
        let check = |call: &str, error: &Error| {
            let text = format!("the server answered {status}: no error code, so");
            assert_eq!(error.kind(), ErrorKind::InvalidResponse, "{call}: {error}");
            assert!(error.to_string().contains(&text), "{call}: {error}");
        };
        let mut stored = table.get(KEY).versioned().await.unwrap().unwrap();
        stored.value = 1;
        rejects(FaultRule::on_writes);
        check("save", &table.save(&mut stored).await.unwrap_err());
        rejects(FaultRule::on_reads);
        check("modify", &table.modify(KEY, |row| row.value += 1).await.unwrap_err());
        rejects(FaultRule::on_writes);
        let interrupted = table
            .update_where(table.query(), |row| row.value += 1)
            .await
            .unwrap_err();
        assert_eq!(interrupted.report().changed(), 0, "{interrupted:?}");
        check("update_where", interrupted.error());
        rejects(FaultRule::on_writes);
        let atomic = table.update_where(table.query(), |row| row.value += 1).atomic();
        check("atomic", &atomic.await.unwrap_err());

        let queue = Queue::<u32>::new(&table, "q", "~");
        queue.push(&7).await.unwrap();
        let item = queue.take(Duration::from_secs(60)).await.unwrap().unwrap();
        rejects(FaultRule::on_writes);
        check("complete", &item.complete().await.unwrap_err());
    }
}

/// A captive portal or a load balancer answers every request with a success.
#[tokio::test(start_paused = true)]
async fn success_that_is_not_of_the_service_is_an_error() {
    let page = |status| Step::response(status, &[("content-type", "text/html")], "<html>");
    for body in [page(200), Step::status(200), Step::response(200, &[], r#"{"up":true}"#)] {
        let error = Canned::new([body]).service().ping().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidResponse, "{error}");
    }
    for success in [page(200), page(201), Step::status(201), Step::status(204)] {
        let error = Canned::new([success]).table().create_table().await.unwrap_err();
        assert_eq!(kind_in_doubt(&error), Some(ErrorKind::InvalidResponse), "{error}");
    }
    for success in [page(200), page(201), Step::status(201)] {
        let table = || Canned::new([success.clone()]).table();
        for error in [
            table().delete(("p", "r")).await.unwrap_err(),
            table().delete_if_exists(("p", "r")).await.unwrap_err(),
            table().delete_table().await.unwrap_err(),
            table()
                .execute(TableOperation::insert_or_replace(&row()))
                .await
                .unwrap_err(),
        ] {
            assert_eq!(kind_in_doubt(&error), Some(ErrorKind::InvalidResponse), "{error}");
        }
    }
}
