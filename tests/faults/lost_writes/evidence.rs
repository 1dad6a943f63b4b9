//! Evidence that misleads: the `Date` of a gateway, a wall clock that is set, stale reads, and rejections that no row
//! explains. No call says "not applied" of a write that is stored, and none has two effects. Also when a write is read
//! back, and for how long.
//!
//! tokio's clock is paused. The service's clock follows it, and so does this machine's wall clock.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use azure_table::emulator::EmulatorClock;
use azure_table::operation::{InDoubtWrite, OperationKind, Resolution};
use azure_table::testing::{Fault, FaultRecord, FaultRule, Faults, ResponseTemplate};
use azure_table::transport::BoxFuture;
use azure_table::{CallOptions, DateTime, Emulator, LinearRetry, Result, TableClient, TableServiceClient, Versioned};
use azure_table_tests::entities::{Counter, Marked};
use azure_table_tests::intercept::Intercept;
use azure_table_tests::promises::{Following, replace_wall_clock};
use azure_table_tests::scenario::{ledger, rejection};
use http::Method;
use http::header::{AUTHORIZATION, DATE, HeaderValue};
use tokio::time::{Instant, sleep};

use crate::attempts::Renewed;
use crate::{faulty, once, table_of};

/// The age of the rows, and the time after which a late write is applied.
const LATE: Duration = Duration::from_secs(100);

thread_local! {
    /// A time by the right clock and by tokio's.
    static STARTED: Cell<Option<(SystemTime, Instant)>> = const { Cell::new(None) };
    /// The seconds by which this machine's wall clock is ahead.
    static AHEAD: Cell<i64> = const { Cell::new(0) };
}

/// Returns the right time plus these seconds.
fn clock_ahead(seconds: i64) -> SystemTime {
    let (at, instant) = STARTED.get().unwrap();
    let (right, by) = (at + instant.elapsed(), Duration::from_secs(seconds.unsigned_abs()));
    if seconds < 0 { right - by } else { right + by }
}

/// The circumstances of a call, whose first write ends with a 500 and may be in doubt.
#[derive(Clone, Copy, Debug, Default)]
struct Case {
    /// The first write is applied later. Otherwise it is applied at once.
    is_late: bool,
    /// Another client writes the rows before the response to the first write arrives.
    is_overwritten: bool,
    /// The seconds by which each `Date` is ahead.
    date: i64,
    /// The seconds by which this machine's clock is ahead: in the first write, later in the call, and after it.
    clock: [i64; 3],
    /// The number of reads after the first write that a replica of Cosmos DB serves without it, and `true` if the
    /// replica lacks the write before, too.
    stale: Option<(u64, bool)>,
    /// A second write is rejected with this status, although no row explains it.
    rejection: Option<u16>,
}

struct Place {
    case: Case,
    service: TableServiceClient,
    marked: TableClient<Marked>,
    plain: TableClient<Counter>,
    truth: TableClient<Marked>,
    applied: Arc<AtomicU64>,
}

impl Place {
    async fn new(case: Case) -> Self {
        let clock = EmulatorClock::fixed(DateTime::now());
        let emulator = case.stale.map_or_else(Emulator::new, |_| Emulator::cosmos());
        let replica = Emulator::cosmos().shared_clock(clock.clone());
        let behind = Following::new(&emulator.shared_clock(clock));
        let truth = table_of::<Marked>(behind.clone());
        truth.create_table().await.unwrap();
        for is_first in [true, false] {
            write_all(&truth).await;
            if case.stale.is_some_and(|(_, lacks_both)| lacks_both == is_first) {
                replica.restore(&behind.emulator().snapshot()).unwrap();
            }
        }
        table_of(behind.clone()).insert(&plain("plain")).await.unwrap();
        sleep(LATE).await;
        let applied = Arc::default();
        let gateway = gateway(case, ledger(&behind, &applied), Following::new(&replica), truth.clone());
        AHEAD.set(case.clock[0]);
        Self {
            service: TableServiceClient::from_transport(gateway.clone()),
            marked: table_of(gateway.clone()),
            plain: table_of(gateway),
            case,
            truth,
            applied,
        }
    }

    async fn stored(&self, name: &str) -> Versioned<Marked> {
        self.truth.get(("p", name)).versioned().await.unwrap().unwrap()
    }

    async fn batch(&self, names: &[&str]) -> Vec<Claim> {
        let mut batch = self.marked.batch();
        for name in names {
            batch.replace(&self.stored(name).await).unwrap();
        }
        claim(batch.submit().await)
    }

    /// Resolves a write in doubt now and later, in this process and in another one.
    async fn resolve<T>(&self, written: Result<T>) -> Vec<Claim> {
        let own = written.err().unwrap().in_doubt_write().unwrap();
        let read = own.to_string().parse::<InDoubtWrite>().unwrap();
        AHEAD.set(self.case.clock[2]);
        let mut claims = Vec::new();
        for later in [0, 200, 3_600] {
            sleep(Duration::from_secs(later)).await;
            for doubt in [&own, &read] {
                let resolution = self.service.resolve(doubt).await.unwrap();
                let is_known = !matches!(resolution, Resolution::Unknown(_));
                claims.push(is_known.then_some(resolution == Resolution::Applied));
            }
        }
        claims
    }
}

async fn write_all(table: &TableClient<Marked>) {
    for name in ["a", "b"] {
        table.insert_or_replace(&Marked::new("p", name, 0)).await.unwrap();
    }
}

/// A row without a write id.
fn plain(name: &str) -> Counter {
    Counter::new("p", name, 1)
}

/// Loses the first write, and writes the `Date` of all responses.
fn gateway(case: Case, service: Intercept, replica: Following, others: TableClient<Marked>) -> Intercept {
    let (reads, writes, replica) = (Faults::new(service), AtomicU64::new(0), Arc::new(replica));
    Intercept::new(reads.clone(), move |service, mut request| {
        let is_write = request.method() != Method::GET;
        let number = writes.fetch_add(is_write.into(), Ordering::Relaxed);
        let (others, reads, replica) = (others.clone(), reads.clone(), replica.clone());
        async move {
            let mut response = match (is_write, number, case.rejection) {
                (true, 0, _) => {
                    if case.is_late {
                        tokio::spawn(async move {
                            sleep(LATE).await;
                            service.send(request).await
                        });
                    } else {
                        service.send(request).await?;
                    }
                    if case.is_overwritten {
                        write_all(&others).await;
                    }
                    if let Some((stale, _)) = case.stale {
                        let rule = reads.add(FaultRule::new(Fault::RouteTo(replica)).on_reads().first(stale));
                        tokio::spawn(async move {
                            sleep(LATE).await;
                            rule.disable();
                        });
                    }
                    AHEAD.set(case.clock[1]);
                    rejection(500, "InternalError")
                }
                (true, 1, Some(412)) => rejection(412, "UpdateConditionNotSatisfied"),
                (true, 1, Some(_)) => {
                    request.headers_mut().remove(AUTHORIZATION);
                    service.send(request).await?
                }
                _ => service.send(request).await?,
            };
            let date = httpdate::fmt_http_date(clock_ahead(case.date)).parse().unwrap();
            let headers = response.headers_mut();
            headers.insert(DATE, date);
            headers.insert("x-ms-request-id", HeaderValue::from_static("1"));
            Ok(response)
        }
    })
}

/// What a call says of its write: applied, not applied, or in doubt.
type Claim = Option<bool>;

fn claim<T>(written: Result<T>) -> Vec<Claim> {
    vec![written.map_or_else(|e| (!e.may_have_applied()).then_some(false), |_| Some(true))]
}

type Call = fn(&Place) -> BoxFuture<'_, Vec<Claim>>;

/// The calls, and `true` if an id shows who wrote.
const CALLS: &[(&str, bool, Call)] = &calls! {
    "modify", true => |at| claim(at.marked.modify(("p", "a"), |row| row.count += 1).await);
    "save", true => |at| claim(at.marked.save(&mut at.stored("a").await).await);
    "replace without an id", false => |at| {
        let etag = at.stored("a").await.etag;
        claim(at.plain.replace(&plain("a")).if_match(etag).await)
    };
    "delete", false => |at| claim(at.marked.delete(&at.stored("a").await).await);
    "batch of one", true => |at| at.batch(&["a"]).await;
    "batch of two", true => |at| at.batch(&["a", "b"]).await;
    "update_where", true => |at| {
        let updated = at.marked.update_where(Marked::NAME.eq("a"), |row| row.count += 1).await;
        let report = updated.unwrap_or_else(|interrupted| interrupted.into_parts().1);
        vec![(report.in_doubt() == 0).then_some(report.applied() > 0)]
    };
    "insert of an existing row", false => |at| claim(at.plain.insert(&plain("plain")).await);
    "resolution of a save", true => |at| {
        let save = at.marked.with(&once());
        at.resolve(save.save(&mut at.stored("a").await).await).await
    };
    "resolution of an upsert", false => |at| {
        at.resolve(at.plain.insert_or_replace(&plain("a")).with(&once()).await).await
    };
    "resolution of an insert of an existing row", false => |at| {
        at.resolve(at.plain.insert(&plain("plain")).with(&once()).await).await
    };
};

async fn check(cases: impl Iterator<Item = Case>) {
    STARTED.set(Some((SystemTime::now(), Instant::now())));
    let _clock = replace_wall_clock(|| clock_ahead(AHEAD.get()));
    let mut wrong = Vec::new();
    for case in cases {
        // An id shows the write, whatever the clocks say.
        let is_shown = !case.is_late && !case.is_overwritten && case.stale.is_none();
        for (name, has_id, call) in CALLS {
            let place = Place::new(case).await;
            let claims = call(&place).await;
            AHEAD.set(0);
            sleep(LATE).await;
            let applied = place.applied.load(Ordering::Relaxed);
            let is_right = |claim: &Claim| match claim {
                Some(claim) => *claim == (applied > 0),
                None => !(*has_id && is_shown),
            };
            if applied > 1 || !claims.iter().all(is_right) {
                wrong.push(format!("{name}: {claims:?}, applied {applied} times, {case:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of them: {wrong:#?}", wrong.len());
}

/// These seconds, ahead and behind.
fn both_ways(seconds: &[i64]) -> impl Iterator<Item = i64> {
    seconds.iter().flat_map(|seconds| [*seconds, -seconds])
}

/// The first write is applied at once or later, without another writer and with one.
fn losses() -> impl Iterator<Item = Case> {
    let losses = [(false, false), (false, true), (true, false), (true, true)].into_iter();
    losses.map(|(is_late, is_overwritten)| Case {
        is_late,
        is_overwritten,
        ..Case::default()
    })
}

#[tokio::test(start_paused = true)]
async fn date_of_a_gateway_makes_no_outcome_wrong() {
    let dates = both_ways(&[0, 20, 29, 31, 40, 60, 120, 600, 890, 3_600]);
    check(dates.flat_map(|date| losses().map(move |case| Case { date, ..case }))).await;
}

#[tokio::test(start_paused = true)]
async fn clock_that_is_set_makes_no_outcome_wrong() {
    let clocks = both_ways(&[20, 60, 240, 890]).flat_map(|by| [[by, 0, 0], [by, by, 0], [by; 3], [0, by, by]]);
    check(clocks.flat_map(|clock| losses().map(move |case| Case { clock, ..case }))).await;
}

/// Cosmos DB below strong consistency.
#[tokio::test(start_paused = true)]
async fn stale_read_makes_no_outcome_wrong() {
    let stale = (0..=3).flat_map(|reads| [Some((reads, false)), Some((reads, true))]);
    check(stale.flat_map(|stale| losses().take(1).map(move |case| Case { stale, ..case }))).await;
}

/// The first attempt may be applied after the second one was rejected.
#[tokio::test(start_paused = true)]
async fn rejection_that_no_row_explains_decides_nothing() {
    let rejections = [Some(404), Some(412)].into_iter();
    check(rejections.flat_map(|rejection| losses().map(move |case| Case { rejection, ..case }))).await;
}

/// The lost attempt arrives while the new token is fetched, or never.
#[tokio::test(start_paused = true)]
async fn write_in_doubt_is_read_back_after_its_credential_was_renewed() {
    for (arrives, requests) in [(true, 4), (false, 5)] {
        let (emulator, applied) = (Emulator::new().token("token"), Arc::default());
        table_of::<Counter>(emulator.clone()).create_table().await.unwrap();
        let service = ledger(&emulator, &applied);
        let faults = Faults::new(service.clone());
        faults.add(FaultRule::new(Fault::LoseRequest).on_writes().first(1));
        let expired = ResponseTemplate::new(401).code("AuthenticationFailed");
        faults.add(FaultRule::new(expired).on_writes().first(1));
        if arrives {
            tokio::spawn(async move {
                sleep(Duration::from_secs(1)).await;
                table_of(service).insert_or_replace(&plain("a")).await
            });
        }
        let endpoint = "https://devstoreaccount1.table.core.windows.net";
        let service = TableServiceClient::new(endpoint, Renewed::within(Duration::from_secs(5))).unwrap();
        let table = service.transport(faults.clone()).table("Table").unwrap();
        table.insert_or_replace(&plain("a")).await.unwrap();
        let mut reads = faults.log();
        reads.retain(|sent| sent.kind() != Some(OperationKind::InsertOrReplace));
        let reads: Vec<_> = reads.iter().map(FaultRecord::number).collect();
        let (sent, applied) = (faults.requests(), applied.load(Ordering::Relaxed));
        assert_eq!((&reads[..], sent, applied), (&[2, 4][..], requests, 1));
    }
}

/// Rows of others lie between those of a batch.
#[tokio::test(start_paused = true)]
async fn read_back_takes_one_attempt_timeout_with_its_pages_and_retries() {
    let (limit, mut long) = (Duration::from_secs(10), Vec::new());
    for (rows, fails) in [1, 2, 12].into_iter().flat_map(|rows| [(rows, false), (rows, true)]) {
        let (faults, _, truth) = faulty::<Counter>(Emulator::new().page_size(1)).await;
        for n in 0..9 {
            truth.insert(&plain(&format!("m{n}"))).await.unwrap();
        }
        faults.add(FaultRule::new(Fault::LoseRequest).on_writes().first(1));
        if fails {
            faults.add(FaultRule::new(Fault::Reset).on_reads());
        }
        let slow = Faults::new(faults);
        slow.add(FaultRule::new(Fault::DelayRequest(Duration::from_millis(9_500))).on_reads());
        let options = CallOptions::new().retry(LinearRetry::new(Duration::ZERO, 3));
        let table = table_of(slow).with(&options.attempt_timeout(limit));
        let started = Instant::now();
        if rows == 1 {
            table.insert_or_replace(&plain("a")).await.unwrap();
        } else {
            let mut batch = table.batch();
            for n in 0..rows {
                let name = format!("{}{n}", ["a", "z"][n % 2]);
                batch.insert_or_replace(&plain(&name)).unwrap();
            }
            batch.submit().await.unwrap();
        }
        // The attempts of the write take no time.
        if started.elapsed() > limit + Duration::from_millis(1) {
            long.push((rows, fails, started.elapsed()));
        }
    }
    assert!(long.is_empty(), "rows, failing, time: {long:?}");
}
