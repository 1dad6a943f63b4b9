//! Writes in doubt as values: every kind of write, every way to lose it, and every way to resolve it.
//!
//! tokio's clock is paused, and the emulator's follows it. `explorations/operations.rs` has two callers in every order.

use std::sync::Arc;
use std::time::Duration;

use azure_table::bulk::LeftoverReason;
use azure_table::emulator::EmulatorClock;
use azure_table::operation::{InDoubtWrite, OperationKind, Resolution};
use azure_table::testing::EntityResponse as _;
use azure_table::testing::{AddedRule, Fault, FaultRule, Faults, ResponseTemplate};
use azure_table::{
    CallOptions, DateTime, DynamicEntity, Emulator, Error, ErrorKind, ExponentialRetry, Guid, LinearRetry, NoRetry,
    Result, TableClient, TableEntity, TableOperation, TableServiceClient, Versioned,
};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures::future::BoxFuture;
use tokio::time::sleep;

use azure_table_tests::errors::kind_in_doubt;
use azure_table_tests::intercept::Intercept;
use azure_table_tests::promises::{Following, ReplacedClock, wall_clock_follows_tokio};

use super::{busy, table_of};

/// A row that shows who wrote it.
#[derive(TableEntity, Clone, Debug)]
struct Marked {
    #[table(partition_key)]
    group: String,
    #[table(row_key)]
    id: String,
    secret: String,
    #[table(write_id)]
    write: Option<Guid>,
}

/// A row that does not.
#[derive(TableEntity, Clone, Debug)]
struct Plain {
    #[table(partition_key)]
    group: String,
    #[table(row_key)]
    id: String,
    secret: String,
}

fn marked(id: &str, secret: &str) -> Marked {
    let (group, id, secret, write) = ("g".into(), id.into(), secret.into(), None);
    Marked {
        group,
        id,
        secret,
        write,
    }
}

fn plain(id: &str, secret: &str) -> Plain {
    let (group, id, secret) = ("g".into(), id.into(), secret.into());
    Plain { group, id, secret }
}

/// Returns the doubt of an insert long ago, as it is stored. It knows nothing but the key.
pub(crate) fn doubt(table: &str, (partition_key, row_key): (&str, &str)) -> InDoubtWrite {
    let row = serde_json::json!({ "row_key": row_key, "is_delete": false, "needs_write_id": true });
    let at = "2000-01-01T00:00:00Z";
    let json = serde_json::json!({
        "version": 1, "account": null, "operation": "insert", "table": table, "partition_key": partition_key,
        "rows": [row], "started": at, "ended": at, "ahead": null,
    });
    URL_SAFE_NO_PAD.encode(json.to_string()).parse().unwrap()
}

const HOUR: Duration = Duration::from_secs(3_600);
const OVER: Duration = Duration::from_secs(181);

/// An account whose rows `old` and `other` were written an hour ago.
struct Place {
    faults: Faults,
    service: TableServiceClient,
    /// Without faults, as another process.
    truth: TableServiceClient,
    behind: Following,
    _clock: ReplacedClock,
}

impl Place {
    async fn new() -> Self {
        let clock = wall_clock_follows_tokio();
        let before = DateTime::now().checked_sub(HOUR).unwrap();
        let emulator = Emulator::new().shared_clock(EmulatorClock::fixed(before));
        let rows = table_of(emulator.clone());
        rows.create_table().await.unwrap();
        for id in ["old", "other"] {
            rows.insert(&marked(id, "before")).await.unwrap();
        }
        let behind = Following::new(&emulator);
        let faults = Faults::new(behind.clone());
        Self {
            service: TableServiceClient::from_transport(faults.clone()).retry(NoRetry),
            truth: TableServiceClient::from_transport(behind.clone()),
            behind,
            faults,
            _clock: clock,
        }
    }

    fn marked(&self) -> TableClient<Marked> {
        self.service.table("Table").unwrap()
    }

    fn plain(&self) -> TableClient<Plain> {
        self.service.table("Table").unwrap()
    }

    /// Returns a client that sends again, and the same table with it.
    fn retrying(&self) -> (TableServiceClient, TableClient<Marked>) {
        let service = self.service.retry(ExponentialRetry::default());
        let table = service.table("Table").unwrap();
        (service, table)
    }

    /// Adds a fault of all writes.
    fn lose(&self, fault: impl Into<Fault>) -> AddedRule {
        self.faults.add(FaultRule::new(fault).on_writes())
    }

    async fn old(&self) -> Versioned<Marked> {
        self.truth_of("old").await
    }

    async fn truth_of(&self, id: &str) -> Versioned<Marked> {
        let rows = table_of(self.behind.clone());
        rows.get(("g", id)).versioned().await.unwrap().unwrap()
    }

    async fn resolve(&self, doubt: &InDoubtWrite) -> Resolution {
        self.truth.resolve(doubt).await.unwrap()
    }
}

/// The conclusion that the rows allow: applied, not applied, or none.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shown {
    Yes,
    No,
    Nothing,
}

use Shown::{No, Nothing, Yes};

type Write = fn(&Place) -> BoxFuture<'_, Result<()>>;

/// Each write: the rows show, if it was applied and if it was not.
const WRITES: &[(&str, Shown, Shown, Write)] = &calls! {
    "insert", Yes, Nothing => |at| at.marked().insert(&marked("new", "s3cret")).await.map(drop);
    "insert", Yes, Nothing => |at| at.plain().insert(&plain("new", "s3cret")).await.map(drop);
    "insert", Yes, Nothing => |at| at.plain().insert_returning(&plain("new", "s3cret")).await.map(drop);
    "insert", Yes, Nothing => |at| at.plain().insert_if_not_exists(&plain("new", "s3cret")).await.map(drop);
    "insert", Yes, Nothing => |at| {
        let insert = at.marked().insert(&marked("new", "s3cret"));
        insert.with(&CallOptions::new().via_batch()).await.map(drop)
    };
    "insert or replace", Yes, No => |at| at.plain().insert_or_replace(&plain("old", "s3cret")).await.map(drop);
    "insert or merge", Yes, No => |at| at.plain().insert_or_merge(&plain("old", "s3cret")).await.map(drop);
    "replace", Yes, No => |at| at.plain().replace(&plain("old", "s3cret")).unconditionally().await.map(drop);
    "replace", Yes, No => |at| {
        let mut old = at.old().await;
        old.secret = "s3cret".into();
        at.marked().replace(&old).await.map(drop)
    };
    // Others may write the same, so its content shows nothing.
    "replace", Nothing, No => |at| {
        let old = at.old().await.map(|_| plain("old", "s3cret"));
        at.plain().replace(&old).await.map(drop)
    };
    "merge", Yes, No => |at| at.plain().patch(("g", "old"), [Plain::SECRET.set("s3cret")]).await.map(drop);
    "delete", Nothing, No => |at| at.plain().delete(("g", "old")).await.map(drop);
    "delete", Nothing, No => |at| at.marked().delete(&at.old().await).await.map(drop);
    "batch", Yes, No => |at| {
        let mut batch = at.marked().batch();
        batch.delete(("g", "other"))?.insert(&marked("new", "s3cret"))?;
        batch.submit().await.map(drop)
    };
    "batch", Yes, No => |at| {
        let mut batch = at.plain().batch();
        batch.delete(("g", "other"))?.insert(&plain("new", "s3cret"))?;
        batch.insert_or_merge(&plain("old", "s3cret"))?;
        batch.submit().await.map(drop)
    };
    "batch", Nothing, No => |at| {
        let mut batch = at.plain().batch();
        batch.delete(("g", "other"))?.delete(("g", "old"))?;
        batch.submit().await.map(drop)
    };
    "replace", Yes, No => |at| {
        at.marked().modify(("g", "old"), |row| row.secret = "s3cret".into()).await.map(drop)
    };
    "insert", Yes, Nothing => |at| {
        let report = at.marked().bulk().insert([marked("new", "s3cret")]).await?;
        report.ensure_no_leftovers()
    };
};

/// Adds the headers by which another process compares the clocks.
fn with_date(response: ResponseTemplate) -> ResponseTemplate {
    let date = httpdate::fmt_http_date(std::time::SystemTime::now());
    response.header("date", date).header("x-ms-request-id", "1")
}

/// The faults that leave a write in doubt, and whether the service applied it.
fn losses() -> Vec<(Fault, bool)> {
    let fault = || ResponseTemplate::new(500).code("InternalError");
    vec![
        (Fault::LoseRequest, false),
        (Fault::Reset, false),
        (Fault::Respond(fault()), false),
        (Fault::Respond(with_date(fault())), false),
        (Fault::LoseResponse, true),
        (Fault::HangResponse, true),
        (Fault::CutResponse { at: 0 }, true),
        (Fault::RespondAfterApplying(fault()), true),
    ]
}

/// Returns the doubt, as the process has it and as another one reads it.
fn doubts(error: &Error) -> [InDoubtWrite; 2] {
    let doubt = error
        .in_doubt_write()
        .unwrap_or_else(|| unreachable!("no doubt: {error}"));
    let text = doubt.to_string();
    let json = String::from_utf8(URL_SAFE_NO_PAD.decode(&text).unwrap()).unwrap();
    for hidden in ["s3cret", "before", "Secret", "SharedKey", "sig"] {
        assert!(
            !json.contains(hidden) || (hidden == "Secret" && json.contains("merged")),
            "{json}"
        );
        assert!(!format!("{doubt:?}").contains(hidden), "{doubt:?}");
    }
    [doubt, text.parse().unwrap()]
}

fn is_unknown(resolution: &Resolution) -> bool {
    matches!(resolution, Resolution::Unknown(why) if !why.is_empty())
}

#[tokio::test(start_paused = true)]
async fn every_write_in_doubt_is_resolved_as_its_rows_show() {
    let mut resolved = 0;
    for (number, (name, if_applied, if_not, write)) in WRITES.iter().enumerate() {
        for (fault, is_applied) in losses() {
            let place = Place::new().await;
            let context = format!("{number} {name}, {fault:?}");
            let is_dated = matches!(&fault, Fault::Respond(_)) && format!("{fault:?}").contains("date");
            place.lose(fault);
            let error = write(&place).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InDoubt, "{context}");
            let [own, read] = doubts(&error);
            assert_eq!((own.operation(), own.table()), (*name, "Table"), "{context}");
            assert!(own.keys().eq(read.keys()) && own.keys().count() > 0);
            let shown = if is_applied { if_applied } else { if_not };
            // Until then a request may be in flight.
            let first = place.resolve(&own).await;
            match shown {
                Yes => assert_eq!(first, Resolution::Applied, "{context}"),
                No | Nothing => assert!(is_unknown(&first), "{context}: {first:?}"),
            }
            sleep(OVER).await;
            let later = place.resolve(&own).await;
            match shown {
                Yes => assert_eq!(later, Resolution::Applied, "{context}"),
                No => assert_eq!(later, Resolution::NotApplied, "{context}"),
                Nothing => assert!(is_unknown(&later), "{context}: {later:?}"),
            }
            // Another process may know less, and never something else.
            let mut elsewhere = place.resolve(&read).await;
            assert!(elsewhere == later || is_unknown(&elsewhere), "{context}: {elsewhere:?}");
            sleep(HOUR).await;
            elsewhere = place.resolve(&read).await;
            assert!(elsewhere == later || is_unknown(&elsewhere), "{context}: {elsewhere:?}");
            if *shown == No && is_dated {
                assert_eq!(elsewhere, Resolution::NotApplied, "{context}");
            }
            resolved += 1;
        }
    }
    assert_eq!(resolved, WRITES.len() * losses().len());
}

#[tokio::test(start_paused = true)]
async fn write_of_another_caller_after_the_doubt_is_never_taken_for_ours() {
    for (number, (name, _, _, write)) in WRITES.iter().enumerate() {
        for (fault, is_applied) in losses() {
            let place = Place::new().await;
            place.lose(fault);
            let error = write(&place).await.unwrap_err();
            let rows = table_of(place.behind.clone());
            for id in ["old", "other", "new"] {
                rows.insert_or_replace(&marked(id, "theirs")).await.unwrap();
            }
            sleep(OVER).await;
            for doubt in doubts(&error) {
                let resolution = place.resolve(&doubt).await;
                assert!(is_unknown(&resolution), "{number} {name}, {is_applied}: {resolution:?}");
            }
        }
    }
}

/// A patch of another caller keeps the write id.
#[tokio::test(start_paused = true)]
async fn write_id_decides_after_a_patch_of_another_caller() {
    let place = Place::new().await;
    place.lose(Fault::LoseResponse);
    let error = place.marked().insert(&marked("new", "s3cret")).await.unwrap_err();
    let rows = table_of::<Marked>(place.behind.clone());
    rows.patch(("g", "new"), [Marked::SECRET.set("theirs")]).await.unwrap();
    for doubt in doubts(&error) {
        assert_eq!(place.resolve(&doubt).await, Resolution::Applied);
    }
}

/// The bulk may have applied it, with the same write id.
#[tokio::test(start_paused = true)]
async fn leftover_in_doubt_does_not_show_that_its_batch_was_applied() {
    let place = Place::new().await;
    let lost = place.lose(Fault::LoseResponse);
    let bulk = place.marked().bulk().insert_or_replace([marked("new", "s3cret")]);
    let left = bulk.await.unwrap_err().into_parts().1.into_leftovers().pop().unwrap();
    place.faults.remove(&lost);
    place.lose(Fault::LoseRequest);
    let mut batch = place.marked().batch();
    batch.push(left.into_operation().unwrap()).unwrap();
    batch.insert(&marked("newer", "s3cret")).unwrap();
    let error = batch.submit().await.unwrap_err();
    for doubt in doubts(&error) {
        let resolution = place.resolve(&doubt).await;
        assert!(is_unknown(&resolution), "{resolution:?}");
    }
}

/// Something between the client and the service may mix up responses.
#[tokio::test(start_paused = true)]
async fn row_with_another_key_than_requested_is_an_invalid_response() {
    let place = Place::new().await;
    let mut old = place.old().await;
    let other = ResponseTemplate::row(&place.truth_of("other").await);
    place.faults.add(FaultRule::new(other).on(OperationKind::Get));
    let rows = place.marked();
    for error in [
        rows.get(("g", "old")).await.unwrap_err(),
        rows.exists(("g", "old")).await.unwrap_err(),
        rows.modify(("g", "old"), |_| ()).await.unwrap_err(),
        rows.refresh(&mut old).await.unwrap_err(),
        rows.get_many([("g", "old")]).all().await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::InvalidResponse, "{error}");
        assert_eq!(error.entity(), Some(("g", "old")), "{error}");
    }
    assert_eq!(old.id, "old");
    assert!(rows.get(("g", "other")).await.unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn operation_that_reads_another_key_is_an_invalid_response() {
    let place = Place::new().await;
    let rows = place.marked();
    let get = || TableOperation::get::<Marked>(("g", "old"));
    let via_batch = CallOptions::new().via_batch();
    let other = ResponseTemplate::row(&place.truth_of("other").await);
    let alone = place.faults.add(other.clone());
    let mut errors = vec![rows.execute(get()).await.unwrap_err()];
    place.faults.remove(&alone);
    let inside = place.faults.add(ResponseTemplate::batch([other]));
    let mut batch = rows.batch();
    batch.push(get()).unwrap();
    errors.extend([
        rows.execute(get()).with(&via_batch).await.unwrap_err(),
        rows.get(("g", "old")).with(&via_batch).await.unwrap_err(),
        batch.submit().await.unwrap_err(),
    ]);
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::InvalidResponse, "{error}");
        assert_eq!(error.entity(), Some(("g", "old")), "{error}");
    }
    let other = rows.get(("g", "other")).with(&via_batch).await.unwrap();
    assert!(other.is_some());
    place.faults.remove(&inside);
    assert_eq!(rows.execute(get()).await.unwrap().status(), 200);
}

/// The response of another call says nothing about this one, whatever it contains.
#[tokio::test(start_paused = true)]
async fn response_with_the_id_of_another_request_is_an_invalid_response() {
    let place = Place::new().await;
    let theirs = |response: ResponseTemplate| response.header("x-ms-client-request-id", "theirs");
    let old = place.old().await;
    let row = place.faults.add(theirs(ResponseTemplate::row(&old)));
    let rows = place.marked();
    let mine = CallOptions::new().client_request_id("mine");
    let error = rows.get(("g", "old")).with(&mine).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidResponse, "{error}");
    let text = error.to_string();
    assert!(text.contains("\"theirs\"") && text.contains("\"mine\""), "{text}");
    place.faults.remove(&row);

    let written = place.faults.add(theirs(ResponseTemplate::written()));
    let mut batch = rows.batch();
    batch.insert(&marked("new", "s3cret")).unwrap();
    for error in [
        rows.insert(&marked("new", "s3cret")).await.unwrap_err(),
        batch.submit().await.unwrap_err(),
    ] {
        let last = kind_in_doubt(&error);
        assert_eq!(last, Some(ErrorKind::InvalidResponse), "{error}");
    }
    place.faults.remove(&written);
    let applied = Fault::RespondAfterApplying(theirs(ResponseTemplate::written()));
    place.faults.add(FaultRule::new(applied).first(1));
    let (_, rows) = place.retrying();
    rows.insert(&marked("new", "s3cret")).await.unwrap();
}

/// The retries of the call are over before the doubt exists: the read back has failed too.
#[tokio::test(start_paused = true)]
async fn doubt_after_all_retries_is_resolved_once_the_service_is_back() {
    let place = Place::new().await;
    let (service, rows) = place.retrying();
    let outage = place.faults.add(FaultRule::new(Fault::LoseResponse));
    let error = rows.insert(&marked("new", "s3cret")).await.unwrap_err();
    assert!(error.attempts() > 1);
    place.faults.remove(&outage);
    for doubt in doubts(&error) {
        assert_eq!(service.resolve(&doubt).await.unwrap(), Resolution::Applied);
    }
}

/// Throttling says nothing about the attempt before it, which may have been applied and patched since.
#[tokio::test(start_paused = true)]
async fn write_in_doubt_is_read_back_before_each_retry() {
    let place = Place::new().await;
    let faults = &place.faults;
    faults.add(FaultRule::new(Fault::LoseResponse).on_writes().first(1));
    // The attempts of the first read-back.
    faults.add(FaultRule::new(busy()).on_reads().first(4));
    faults.add(FaultRule::new(busy()).on_writes().first(1));
    let (_, rows) = place.retrying();
    let others = table_of::<DynamicEntity>(place.behind.clone());
    let mut note = DynamicEntity::new("g", "old");
    note.insert("Note", "theirs");
    let patch = async {
        sleep(Duration::from_millis(100)).await;
        others.merge(&note).await
    };
    let ours = marked("old", "mine");
    let (written, patched) = futures::join!(rows.insert_or_replace(&ours), patch);
    written.and(patched).unwrap();
    let stored = others.get(("g", "old")).await.unwrap().unwrap();
    assert_eq!(stored.get("secret"), Some(&"mine".into()));
    assert_eq!(stored.get("Note"), Some(&"theirs".into()), "the patch is undone");
}

/// The same at the end of the call.
#[tokio::test(start_paused = true)]
async fn write_in_doubt_is_read_back_before_its_call_fails() {
    let place = Place::new().await;
    let faults = &place.faults;
    faults.add(FaultRule::new(Fault::LoseResponse).on_writes().first(1));
    // Both attempts of the first read-back.
    faults.add(FaultRule::new(busy()).on_reads().first(2));
    let second = place.lose(busy());
    let retry = CallOptions::new().retry(LinearRetry::new(Duration::ZERO, 1));
    let written = place.marked().insert_or_replace(&marked("old", "mine"));
    written.with(&retry).await.unwrap();
    assert_eq!((second.hits(), faults.requests()), (1, 5));
}

#[tokio::test(start_paused = true)]
async fn fault_while_resolving_is_an_error_and_never_an_answer() {
    let faults = losses().into_iter().map(|(fault, _)| fault);
    for fault in faults.chain([Fault::NoConnection, Fault::Respond(ResponseTemplate::new(403))]) {
        let place = Place::new().await;
        let lost = place.lose(Fault::LoseResponse);
        let error = place.marked().insert(&marked("new", "s3cret")).await.unwrap_err();
        place.faults.remove(&lost);
        let [doubt, _] = doubts(&error);
        let rule = FaultRule::new(fault.clone()).on(OperationKind::Query);
        let always = place.faults.add(rule.clone());
        assert!(place.service.resolve(&doubt).await.is_err(), "{fault:?}");
        place.faults.remove(&always);
        place.faults.add(rule.first(1));
        let (service, _) = place.retrying();
        let resolved = service.resolve(&doubt).await;
        let is_right = matches!(resolved, Ok(Resolution::Applied) | Err(_));
        assert!(is_right, "{fault:?}: {resolved:?}");
        let resolved = place.service.resolve(&doubt).await.unwrap();
        assert_eq!(resolved, Resolution::Applied, "{fault:?}");
    }
}

/// Without a response in the call, another process cannot compare the clocks.
#[tokio::test(start_paused = true)]
async fn another_process_relies_on_the_clocks_only_if_a_response_showed_them() {
    let dated = with_date(ResponseTemplate::new(500));
    for (fault, is_known) in [(Fault::LoseResponse, false), (Fault::RespondAfterApplying(dated), true)] {
        let place = Place::new().await;
        place.lose(fault);
        let error = place.plain().insert(&plain("new", "s3cret")).await.unwrap_err();
        let [own, read] = doubts(&error);
        assert_eq!(place.resolve(&own).await, Resolution::Applied);
        match place.resolve(&read).await {
            Resolution::Applied => assert!(is_known),
            Resolution::Unknown(why) => assert!(!is_known && why.contains("`write_id`"), "{why}"),
            other => panic!("{other:?}"),
        }
    }
    let place = Place::new().await;
    place.lose(Fault::LoseRequest);
    let [own, read] = doubts(&place.plain().delete(("g", "old")).await.unwrap_err());
    for (after, own_is_final, read_is_final) in [(0, false, false), (181, true, false), (15 * 60, true, false)] {
        sleep(Duration::from_secs(after)).await;
        for (doubt, is_final) in [(&own, own_is_final), (&read, read_is_final)] {
            match place.truth.resolve(doubt).await.unwrap() {
                Resolution::NotApplied => assert!(is_final, "{after}"),
                Resolution::Unknown(why) => {
                    let in_flight = why.contains("in flight") || why.contains("no response showed");
                    assert!(!is_final && in_flight, "{after}: {why}");
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn text_of_a_doubt_is_checked_when_it_is_read() {
    let place = Place::new().await;
    place.lose(Fault::LoseResponse);
    let error = place.marked().insert(&marked("new", "s3cret")).await.unwrap_err();
    let doubt = error.in_doubt_write().unwrap();
    let text = doubt.to_string();
    assert_eq!(text.parse::<InDoubtWrite>().unwrap().to_string(), text);
    let json = serde_json::to_string(&doubt).unwrap();
    assert_eq!(json, format!("{text:?}"), "serde writes the same text");
    assert_eq!(serde_json::from_str::<InDoubtWrite>(&json).unwrap().to_string(), text);

    // A later format may have other fields altogether.
    let later = URL_SAFE_NO_PAD.encode(r#"{"anything":1,"version":2}"#);
    let by_serde = serde_json::from_str::<InDoubtWrite>(&format!("{later:?}"));
    let parsed = later.parse::<InDoubtWrite>().unwrap_err();
    for error in [parsed.to_string(), by_serde.unwrap_err().to_string()] {
        assert!(error.contains("a write in doubt of format 2: this version"), "{error}");
    }
    let empty = URL_SAFE_NO_PAD.encode(r#"{"version":1,"rows":[]}"#);
    for text in ["", "no doubt", "e30", &text[1..], &text[..text.len() - 8], &empty] {
        let error = text.parse::<InDoubtWrite>().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{text}");
        assert!(error.to_string().contains("is not a write in doubt"), "{error}");
    }

    let other = TableServiceClient::from_connection_string("AccountName=contoso;AccountKey=AAECAwQFBgc=").unwrap();
    let other = other.transport(place.faults.clone());
    let requests = place.faults.log().len();
    let error = other.resolve(&doubt).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains("the account devstoreaccount1"), "{error}");
    assert_eq!(place.faults.log().len(), requests, "nothing was sent");
}

#[tokio::test(start_paused = true)]
async fn only_writes_of_rows_in_doubt_have_a_doubt() {
    let place = Place::new().await;
    let rows = place.marked();
    let conflict = rows.insert(&marked("old", "x")).await.unwrap_err();
    place.faults.add(Fault::LoseResponse);
    let read = rows.get(("g", "old")).await.unwrap_err();
    assert!(conflict.in_doubt_write().is_none() && read.in_doubt_write().is_none());
    let created = place.service.dynamic_table("More").unwrap().create_table().await;
    let created = created.unwrap_err();
    assert!(created.may_have_applied() && created.in_doubt_write().is_none());
    let error = rows.insert(&marked("new", "x")).await.unwrap_err();
    assert!(error.in_doubt_write().is_some() && error.last_failure().unwrap().in_doubt_write().is_none());
}

/// A success that cannot be read leaves a batch in doubt, and its rows decide.
#[tokio::test(start_paused = true)]
async fn success_that_cannot_be_read_has_a_doubt() {
    let place = Place::new().await;
    place.lose(Fault::RespondAfterApplying(ResponseTemplate::new(202)));
    let mut batch = place.marked().batch();
    batch.push(TableOperation::insert(&marked("new", "s3cret"))).unwrap();
    let error = batch.submit().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InDoubt);
    let [doubt, _] = doubts(&error);
    assert_eq!(place.resolve(&doubt).await, Resolution::Applied);
}

/// Rows of another account or service, or of a secondary that lags, would show an applied write as not applied.
#[tokio::test(start_paused = true)]
async fn doubt_is_resolved_by_the_primary_of_its_own_account_alone() {
    let faults = Faults::new(Following::new(&Emulator::new()));
    faults.add(Fault::LoseRequest);
    let client = |address: &str| {
        let signature = "sv=2019-02-02&ss=t&srt=sco&se=2030-01-01&sp=rwdlacu&sig=AAAA";
        let text = format!("TableEndpoint={address};SharedAccessSignature={signature}");
        let service = TableServiceClient::from_connection_string(&text).unwrap();
        service.transport(faults.clone()).retry(NoRetry)
    };
    let primaries = [
        "https://contoso.table.core.windows.net",
        "https://contoso.table.cosmos.azure.com",
        "https://fabrikam.table.core.windows.net",
        "https://tables.example.com",
        "https://tables.example.org",
    ];
    let secondary = "https://contoso-secondary.table.core.windows.net";
    for sent in primaries {
        let rows = client(sent).table::<Plain>("Rows").unwrap();
        let error = rows.insert(&plain("new", "s3cret")).await.unwrap_err();
        for doubt in doubts(&error) {
            for own in primaries.into_iter().chain([secondary]) {
                let requests = faults.log().len();
                let error = client(own).resolve(&doubt).await.unwrap_err();
                let is_rejected = error.kind() == ErrorKind::InvalidInput && faults.log().len() == requests;
                assert_eq!(is_rejected, own != sent, "{sent}, {own}: {error}");
            }
        }
    }
}

/// The batch deleted both rows, and another client inserted one again. It is older than the delete that is lost last.
#[tokio::test(start_paused = true)]
async fn delete_that_was_sent_again_alone_stays_unknown() {
    let place = Place::new().await;
    let rows = table_of(place.behind.clone());
    let inserting = Intercept::new(place.behind.clone(), move |behind, request| {
        let rows = rows.clone();
        async move {
            rows.insert(&plain("other", "theirs")).await.unwrap();
            behind.send(request).await
        }
    });
    let inserting = Fault::RouteTo(Arc::new(inserting));
    for rule in [
        FaultRule::new(Fault::LoseResponse).on(OperationKind::Batch).first(1),
        FaultRule::new(inserting).on(OperationKind::Query).first(1),
        FaultRule::new(Fault::LoseRequest).on(OperationKind::Delete),
    ] {
        place.faults.add(rule);
    }
    let both = ["old", "other"].map(|id| plain(id, "before"));
    let retry = CallOptions::new().retry(LinearRetry::default());
    let deleting = place.plain().bulk().with(&retry).delete(&both);
    let interrupted = deleting.await.unwrap_err();
    let report = interrupted.report();
    assert_eq!((report.applied(), report.in_doubt()), (0, 2), "{report}");
    sleep(OVER).await;
    for (left, operation) in report.leftovers().iter().zip(["batch", "delete"]) {
        let LeftoverReason::InDoubt(error) = left.reason() else {
            panic!("{left}");
        };
        let doubt = error.in_doubt_write().unwrap();
        assert_eq!(doubt.operation(), operation, "{doubt:?}");
        let resolution = place.resolve(&doubt).await;
        assert!(is_unknown(&resolution), "{left}: {resolution:?}");
    }
}
