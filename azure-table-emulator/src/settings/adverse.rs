//! The choices of an adverse service: wherever the services leave room, a seed decides, often for the worst.
//!
//! Defines [`Adverse`], which draws the [`Choices`] of each request. Nothing else varies: each choice has the number of
//! its fact.
//!
//! 1. a Timestamp is up to 29 s before or after the clock, by partition; `Date` omits the fraction (not measured;
//!    `Changes` of `azure-table-patterns` allows for 30 s)
//! 2. a page ends anywhere, also before its first row (REST "Query timeout and pagination"; azure-cosmos-table-dotnet
//!    issue 54)
//! 3. a continuation leads to no further row (recorded of azure-data-tables, `query_tables_with_marker`; recorded last
//!    pages of Cosmos DB)
//! 4. Cosmos DB lists tables in no order (recorded of azure-data-tables, `query_tables_with_marker`)
//! 5. a deletion takes 40 s on Table storage; until then the table is missing, in conflict, or still accessible (REST
//!    "Delete Table"; azure-sdk-for-net issue 23600, azure-sdk-for-go issue 10813)
//! 6. 500, even if the write was applied; 503 `ServerBusy`, which applies nothing (REST "Setting timeouts for Table
//!    service operations", "Table service error codes")
//! 7. 429 of Cosmos DB, without a time to wait (recorded; azure-sdk-for-net issue 13554)
//! 8. a connection closes before the request, before the response or within it (HTTP)
//! 9. a read of Cosmos DB is as old as the secondary, if that lags ("Consistency levels in Azure Cosmos DB")
//!
//! A seed omits some facts and repeats others, so that seeds differ in more than their order. The choices for a request
//! depend on the seed, on the request and on its number among equal ones, not on other requests.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use azure_table_wire::request::inbound::{Inbound, Verb};
use azure_table_wire::transport::injected_fault::{CutResponse, InjectedFault};
use azure_table_wire::transport::{Delivery, TransportError};
use azure_table_wire::value::datetime::DateTime;
use azure_table_wire::value::fnv;
use bytes::Bytes;
use http::Response;

use crate::rules::service_error::ServiceError;
use crate::rules::{Continuation, ServiceRules};
use crate::settings::timestamp_skew::TimestampSkew;

/// The maximum difference of a Timestamp from the clock.
const SKEW: Duration = Duration::from_secs(29);
/// The differences of the partitions, in seconds.
const OFFSETS: [i64; 8] = [-28, -28, -9, -3, 0, 3, 9, 28];
const TICKS_PER_SECOND: i64 = 10_000_000;
/// The shares of requests that a fact concerns, in percent: of pages and reads, and of failures.
const SHARES: [u8; 4] = [0, 15, 40, 80];
const FAILURES: [u8; 4] = [0, 4, 12, 25];
/// The maximum number of rows of a short page.
const SHORT_PAGE: usize = 4;
/// The number of choices that are kept, the newest.
const MAX_CHOICES: usize = 500;
/// The number of different requests that are counted. After it, all counts begin again.
const MAX_REQUESTS: usize = 100_000;

/// The number of a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fact {
    Clocks = 1,
    PageEnds,
    LastPage,
    TableOrder,
    Deletion,
    Failures,
    Throttling,
    Connections,
    Lag,
}

/// An adverse service. Clones share its choices; the last one prints them if its thread panics.
#[derive(Clone)]
pub(crate) struct Adverse(Arc<Shared>);

struct Shared {
    seed: u64,
    /// The share of each fact.
    shares: [u8; 10],
    timestamps: TimestampSkew,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The number of equal requests, by the hash of their text.
    requests: HashMap<u64, u64>,
    served: u64,
    choices: VecDeque<String>,
}

/// The choices for one request. By default it is served as usual.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Choices {
    pub(crate) fate: Fate,
    /// The maximum number of rows of a page.
    pub(crate) rows: Option<usize>,
    /// The maximum number of rows that a page examines.
    pub(crate) examined: Option<usize>,
    /// The first page of a query has no rows.
    pub(crate) begins_empty: bool,
    /// A page without rows follows the last one.
    pub(crate) ends_empty: bool,
    pub(crate) deleted: Deleted,
    /// The read shows the state of the secondary.
    pub(crate) is_behind: bool,
}

/// The course of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Fate {
    #[default]
    Served,
    /// The connection closes before the service sees the request.
    Closed,
    /// The connection closes before the response.
    Lost,
    /// The response ends after this number of bytes.
    Cut(usize),
    Failed {
        failure: Failure,
        is_applied: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    TimedOut,
    Busy,
    Throttled,
}

/// The state of a table that is being deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Deleted {
    #[default]
    Missing,
    Conflicting,
    /// Reads and writes succeed, and the writes vanish.
    Lingering,
}

impl Adverse {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut shares = [0; 10];
        for (fact, share) in shares.iter_mut().enumerate() {
            let is_failure = (Fact::Failures as usize..=Fact::Connections as usize).contains(&fact);
            let from = if is_failure { FAILURES } else { SHARES };
            *share = random.choice(from).unwrap_or_default();
        }
        Self(Arc::new(Shared {
            seed,
            shares,
            timestamps: TimestampSkew::new(SKEW, seed),
            state: Mutex::default(),
        }))
    }

    /// Draws the choices for a request. `is_deleted` is `true` if its table is being deleted.
    pub(crate) fn choose(&self, request: &Inbound<'_>, rules: &ServiceRules, is_deleted: bool) -> Choices {
        let is_read = request.verb == Ok(Verb::Get);
        let is_cosmos = rules.continuation == Continuation::Places;
        let mut draw = self.draw(request);
        let mut choices = Choices::default();
        if is_read && draw.happens(Fact::PageEnds) {
            choices.rows = Some(draw.random.usize(1..=SHORT_PAGE));
            choices.examined = Some(draw.random.usize(1..=2 * SHORT_PAGE));
            choices.begins_empty = draw.random.u8(..4) == 0;
            draw.note(Fact::PageEnds, "short page");
        }
        choices.ends_empty = is_read && draw.happens(Fact::LastPage);
        if is_deleted {
            let states = [Deleted::Missing, Deleted::Conflicting, Deleted::Lingering];
            choices.deleted = draw.random.choice(states).unwrap_or_default();
            draw.note(Fact::Deletion, &format!("{:?}", choices.deleted));
        }
        choices.is_behind = is_read && is_cosmos && draw.happens(Fact::Lag);
        let is_applied = !is_read && draw.random.bool();
        choices.fate = if is_cosmos && draw.happens(Fact::Throttling) {
            draw.fate(Fact::Throttling, [Failure::Throttled.before()])
        } else if draw.happens(Fact::Failures) {
            let failure = Failure::TimedOut;
            let other = if is_applied { failure } else { Failure::Busy };
            let fates = [failure, other].map(|failure| Fate::Failed { failure, is_applied });
            draw.fate(Fact::Failures, fates)
        } else if draw.happens(Fact::Connections) {
            let cut = Fate::Cut(draw.random.usize(..64));
            draw.fate(Fact::Connections, [Fate::Closed, Fate::Lost, Fate::Lost, cut])
        } else {
            Fate::Served
        };
        choices
    }

    /// Returns the difference of a partition's clock, in ticks.
    pub(crate) fn offset_of(&self, partition_key: &str) -> i64 {
        let drawn = self.random(&["clock", partition_key], 0).choice(OFFSETS);
        let drawn = drawn.filter(|_| self.0.shares[Fact::Clocks as usize] > 0);
        drawn.unwrap_or_default() * TICKS_PER_SECOND
    }

    /// Returns the Timestamp of a write at `time` by a clock with this difference.
    pub(crate) fn timestamp(&self, time: DateTime, offset: i64) -> DateTime {
        let mut random = self.random(&["write"], time.ticks().cast_unsigned());
        let jitter = random.i64(-TICKS_PER_SECOND..=TICKS_PER_SECOND);
        self.0
            .timestamps
            .at(time, if offset == 0 { 0 } else { offset + jitter })
    }

    /// Returns the position of a table in the lists of Cosmos DB.
    pub(crate) fn place_of(&self, table: &str) -> u64 {
        match self.0.shares[Fact::TableOrder as usize] {
            0 => 0,
            _ => self.random(&["table", table], 0).u64(..),
        }
    }

    fn draw(&self, request: &Inbound<'_>) -> Draw<'_> {
        // Of a batch its first operation, because boundaries differ.
        let batch = request.batch();
        let first = batch.as_ref().and_then(|batch| batch.operations.first());
        let text = |request: &Inbound<'_>| format!("{:?} {:?} {}", request.verb, request.target, request.query);
        let texts = [text(request), first.map(text).unwrap_or_default()];
        let texts = texts.each_ref().map(String::as_str);
        let mut state = self.0.state();
        state.served += 1;
        if state.requests.len() == MAX_REQUESTS {
            state.requests.clear();
        }
        let number = state.requests.entry(hash(&texts)).or_default();
        *number += 1;
        let random = self.random(&texts, *number);
        let kind = request.kind().map_or("Other".to_owned(), |kind| format!("{kind:?}"));
        Draw {
            random,
            shown: format!("{} {kind} {}", state.served, request.table().unwrap_or_default()),
            from: &self.0,
        }
    }

    fn random(&self, texts: &[&str], number: u64) -> fastrand::Rng {
        let seed = hash(&[&self.0.seed.to_string(), &number.to_string()]);
        fastrand::Rng::with_seed(seed ^ hash(texts))
    }
}

/// The choices for one request, while they are drawn.
struct Draw<'a> {
    random: fastrand::Rng,
    /// The request, with its number.
    shown: String,
    from: &'a Shared,
}

impl Draw<'_> {
    fn happens(&mut self, fact: Fact) -> bool {
        self.random.u8(..100) < self.from.shares[fact as usize]
    }

    fn fate<const N: usize>(&mut self, fact: Fact, fates: [Fate; N]) -> Fate {
        let fate = self.random.choice(fates).unwrap_or_default();
        self.note(fact, &format!("{fate:?}"));
        fate
    }

    fn note(&self, fact: Fact, choice: &str) {
        let mut state = self.from.state();
        if state.choices.len() == MAX_CHOICES {
            state.choices.pop_front();
        }
        let line = format!("{}: {choice} (fact {})", self.shown, fact as u8);
        state.choices.push_back(line);
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Shows what a failed test has to repeat.
impl Drop for Shared {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{self:?}");
        }
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "adverse service of seed {}", self.seed)?;
        let state = self.state();
        state.choices.iter().try_for_each(|choice| write!(f, "\n  {choice}"))
    }
}

impl fmt::Debug for Adverse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Failure {
    fn before(self) -> Fate {
        Fate::Failed {
            failure: self,
            is_applied: false,
        }
    }

    pub(crate) fn error(self) -> ServiceError {
        match self {
            Self::TimedOut => ServiceError::OPERATION_TIMED_OUT,
            Self::Busy => ServiceError::SERVER_BUSY,
            Self::Throttled => ServiceError::TOO_MANY_REQUESTS,
        }
    }
}

impl Fate {
    /// Returns a response as it arrives.
    pub(crate) fn arrived(self, mut response: Response<Bytes>) -> Result<Response<Bytes>, TransportError> {
        let broken = |kind, why: &str| {
            let cause = io::Error::new(kind, format!("adverse service: {why}"));
            Err(TransportError::new(Delivery::MaybeSent, cause))
        };
        match self {
            Self::Served => Ok(response),
            Self::Failed { .. } => {
                let fault = InjectedFault("failure of an adverse service");
                response.extensions_mut().insert(fault);
                Ok(response)
            }
            Self::Closed => broken(io::ErrorKind::ConnectionReset, "the connection was closed"),
            Self::Lost => broken(io::ErrorKind::UnexpectedEof, "the response was lost"),
            Self::Cut(at) => {
                let cut = CutResponse { response, at };
                let cause = io::Error::new(io::ErrorKind::UnexpectedEof, cut);
                Err(TransportError::new(Delivery::ResponseCut, cause))
            }
        }
    }
}

/// Returns a hash that is the same in every build.
fn hash(texts: &[&str]) -> u64 {
    let bytes = texts.iter().flat_map(|text| text.bytes().chain([0]));
    bytes.fold(fnv::START, fnv::add)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use http::Request;

    use super::*;
    use crate::rules::COSMOS;

    #[test]
    fn choices_for_a_request_depend_on_its_number_and_not_on_others() {
        let request = |path: &str| Request::get(format!("http://h/a/{path}")).body(Bytes::new()).unwrap();
        let (one, other) = (request("T(PartitionKey='p',RowKey='r')"), request("T()"));
        let choose = |adverse: &Adverse, request| format!("{:?}", adverse.choose(&Inbound::of(request), &COSMOS, true));
        for seed in 0..50 {
            let (alone, beside) = (Adverse::new(seed), Adverse::new(seed));
            let first: Vec<String> = (0..20).map(|_| choose(&alone, &one)).collect();
            let second = (0..20).map(|_| {
                choose(&beside, &other);
                choose(&beside, &one)
            });
            assert_eq!(second.collect::<Vec<_>>(), first, "seed {seed}");
        }
    }

    #[test]
    fn counted_requests_are_bounded() {
        let adverse = Adverse::new(1);
        for n in 0..=MAX_REQUESTS {
            let request = Request::get(format!("http://h/a/T{n}()")).body(Bytes::new()).unwrap();
            adverse.choose(&Inbound::of(&request), &COSMOS, false);
        }
        assert_eq!(adverse.0.state().requests.len(), 1);
    }

    #[test]
    fn timestamps_are_near_the_clock_and_never_repeat() {
        let now = DateTime::from_unix_seconds(1_800_000_000);
        for seed in 0..10 {
            let adverse = Adverse::new(seed);
            let mut seen = BTreeSet::new();
            for (n, partition) in ["a", "b", "c", "d", "e", "f"]
                .into_iter()
                .cycle()
                .take(6_000)
                .enumerate()
            {
                let time = now + Duration::from_micros(n as u64);
                let timestamp = adverse.timestamp(time, adverse.offset_of(partition));
                let most = SKEW + Duration::from_millis(1);
                assert!(timestamp.abs_diff(time) <= most, "{timestamp} at {time}");
                assert!(seen.insert(timestamp), "{timestamp} twice");
            }
        }
    }
}
