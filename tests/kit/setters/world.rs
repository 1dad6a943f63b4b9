//! The service that a builder meets: a few tables, a network, and notes of what happened.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use azure_table::emulator::{EmulatorClock, SeedEntities as _};
use azure_table::filter::AccessPath;
use azure_table::telemetry::OperationContext;
use azure_table::testing::{Exchange, Fault, FaultRule, Faults, Spy};
use azure_table::{
    DateTime, DynamicEntity, Emulator, NoRetry, TableClient, TableEntity, TableQuery, TableServiceClient,
};
use azure_table_tests::intercept::Intercept;
use bytes::Bytes;
use http::{Method, Request};

/// The network between a client and the service.
#[derive(Clone, Copy, Debug)]
pub(super) enum Network {
    Prompt,
    Slow,
    Hanging,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
pub(super) struct Thing {
    #[table(partition_key)]
    pub(super) shelf: String,
    #[table(row_key)]
    pub(super) id: String,
    #[table(alias = "old_count")]
    pub(super) count: i32,
}

/// A client, its service with a few rows, and notes of callbacks.
pub(super) struct World {
    pub(super) spy: Spy,
    /// Faults of the service, behind the network.
    pub(super) faults: Faults,
    pub(super) emulator: Emulator,
    pub(super) service: TableServiceClient,
    pub(super) things: TableClient<Thing>,
    pub(super) context: OperationContext,
    /// The number of items that a source has yielded.
    pub(super) read: Arc<AtomicUsize>,
    /// The position to resume from.
    position: Option<String>,
    gauge: Arc<Mutex<Gauge>>,
    /// Whether another writer changes two rows of `Many` once they are read.
    is_overtaken: Arc<AtomicBool>,
    notes: Arc<Mutex<Vec<&'static str>>>,
}

impl World {
    pub(super) fn new(network: Network, position: Option<String>) -> Self {
        let emulator = Emulator::new()
            .accepting_old_requests()
            .shared_clock(EmulatorClock::fixed(DateTime::from_unix_seconds(1_800_000_000)));
        let rows = |shelf: &'static str| {
            (100..130).map(move |number| {
                let mut row = DynamicEntity::new(shelf, number.to_string());
                match number {
                    // It is no `Thing`.
                    105 => row.insert("count", "many"),
                    _ => row.insert("count", number),
                };
                row
            })
        };
        for name in ["Other", "Thing1", "Thing2", "Thing3", "Thing4", "Thing5"] {
            emulator.seed(name, Vec::<DynamicEntity>::new()).unwrap();
        }
        emulator.seed("Things", rows("a").chain(rows("b"))).unwrap();
        let faults = Faults::new(emulator.clone());
        let slow = Faults::new(faults.clone());
        match network {
            // The first response is the last of several.
            Network::Prompt => {
                slow.add(FaultRule::new(Fault::DelayResponse(Duration::from_millis(25))).nth(1));
                slow.add(FaultRule::new(Fault::DelayResponse(Duration::from_millis(10))));
            }
            Network::Slow => drop(slow.add(FaultRule::new(Fault::DelayResponse(Duration::from_secs(5))))),
            Network::Hanging => drop(slow.add(FaultRule::new(Fault::HangRequest))),
        }
        let (gauge, is_overtaken) = (Arc::<Mutex<Gauge>>::default(), Arc::<AtomicBool>::default());
        let measured = {
            let (gauge, is_overtaken, emulator) = (Arc::clone(&gauge), Arc::clone(&is_overtaken), emulator.clone());
            Intercept::new(slow, move |behind, request| {
                let in_flight = InFlight::begin(&gauge, &request);
                let (is_overtaken, emulator) = (Arc::clone(&is_overtaken), emulator.clone());
                async move {
                    let response = behind.send(request).await;
                    drop(in_flight);
                    if is_overtaken.swap(false, Ordering::Relaxed) {
                        emulator.seed("Many", [("x", 0), ("y", 0)].map(old_row)).unwrap();
                    }
                    response
                }
            })
        };
        let spy = Spy::new(measured);
        let service = TableServiceClient::from_transport(spy.clone())
            .retry(NoRetry)
            .deny_access(AccessPath::Point);
        let things = service.table("Things").unwrap();
        Self {
            spy,
            faults,
            emulator,
            service,
            things,
            context: OperationContext::new(),
            read: Arc::default(),
            position,
            gauge,
            is_overtaken,
            notes: Arc::default(),
        }
    }

    /// Returns a table whose first page fills four batches. Another writer changes two rows once they are read.
    pub(super) fn many(&self) -> TableClient<Thing> {
        self.is_overtaken.store(true, Ordering::Relaxed);
        let alone = ["w", "y", "z"].map(|shelf| (shelf, 0));
        self.old("Many", (0..102).map(|id| ("x", id)).chain(alone))
    }

    /// Returns a table of twenty rows.
    pub(super) fn few(&self) -> TableClient<Thing> {
        self.old("Few", (0..20).map(|id| (if id < 10 { "a" } else { "b" }, id)))
    }

    /// Stores things in an older form, with a property that a `Thing` does not know.
    fn old(&self, table: &str, rows: impl Iterator<Item = (&'static str, i32)>) -> TableClient<Thing> {
        self.emulator.seed(table, rows.map(old_row)).unwrap();
        self.service.table(table).unwrap()
    }

    /// Returns a query for the rows that are things.
    pub(super) fn good(&self) -> TableQuery<Thing> {
        let numbered = Thing::COUNT.lt(105).or(Thing::COUNT.gt(105));
        self.things.query().filter(numbered).allow_table_scan()
    }

    /// Returns a callback that notes its calls.
    pub(super) fn noted<T: ?Sized>(&self, text: &'static str) -> impl Fn(&T) + Send + Sync + 'static {
        let notes = Arc::clone(&self.notes);
        move |_| notes.lock().unwrap().push(text)
    }

    /// Returns what happened, as a text: requests, and notes of callbacks.
    pub(super) fn events(&self) -> String {
        let mut requests: Vec<String> = self.spy.exchanges().iter().map(|it| without_ids(&shown(it))).collect();
        requests.sort();
        let notes = self.notes.lock().unwrap().join("\n");
        let gauge = self.gauge.lock().unwrap();
        format!(
            "{}\n{notes}\nat most {} in flight, {} of one partition\nrecorded {} attempts\n",
            requests.join("\n"),
            gauge.most,
            gauge.most_of_one,
            self.context.attempts().len()
        )
    }

    pub(super) fn is_resumed(&self) -> bool {
        self.position.is_some()
    }

    /// Returns the position to resume from.
    pub(super) fn position<T: FromStr<Err: Debug>>(&self) -> Option<T> {
        self.position.as_deref().map(|text| text.parse().unwrap())
    }
}

fn old_row((shelf, id): (&'static str, i32)) -> DynamicEntity {
    let mut row = DynamicEntity::new(shelf, format!("{id:03}"));
    row.insert("old_count", id + 1);
    row.insert("unknown", true);
    row
}

/// The requests in flight, and the greatest numbers of them.
#[derive(Default)]
struct Gauge {
    now: usize,
    most: usize,
    writes: BTreeMap<String, usize>,
    most_of_one: usize,
}

/// A request in flight.
struct InFlight {
    gauge: Arc<Mutex<Gauge>>,
    partition: String,
}

impl InFlight {
    fn begin(gauge: &Arc<Mutex<Gauge>>, request: &Request<Bytes>) -> Self {
        let partition = written_partition(request);
        {
            let mut gauge = gauge.lock().unwrap();
            gauge.now += 1;
            gauge.most = gauge.most.max(gauge.now);
            let writes = gauge.writes.entry(partition.clone()).or_default();
            *writes += 1;
            let writes = *writes;
            if !partition.is_empty() {
                gauge.most_of_one = gauge.most_of_one.max(writes);
            }
        }
        Self {
            gauge: Arc::clone(gauge),
            partition,
        }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let mut gauge = self.gauge.lock().unwrap();
        gauge.now -= 1;
        *gauge.writes.get_mut(&self.partition).unwrap() -= 1;
    }
}

/// Returns the partition that a request writes, or an empty text.
fn written_partition(request: &Request<Bytes>) -> String {
    if request.method() == Method::GET {
        return String::new();
    }
    let text = format!("{} {}", request.uri(), String::from_utf8_lossy(request.body())).replace("%27", "'");
    let (_, rest) = text.split_once("PartitionKey").unwrap_or_default();
    let rest = rest.trim_start_matches(|c: char| !c.is_alphanumeric());
    rest.chars().take_while(|c| c.is_alphanumeric()).collect()
}

/// Returns a request as a line, without what differs from call to call.
fn shown(exchange: &Exchange) -> String {
    let headers = [
        "if-match",
        "prefer",
        "accept",
        "x-own",
        "x-other",
        "x-stamp",
        "x-ms-version",
        "user-agent",
    ];
    let headers = headers
        .iter()
        .filter_map(|name| Some(format!("{name}: {}", exchange.header(name)?)));
    let own_id = exchange.client_request_id().filter(|id| id.starts_with("own"));
    let query = exchange
        .query()
        .replace("%20", " ")
        .replace("%27", "'")
        .replace("%28", "(")
        .replace("%29", ")")
        .replace('+', " ");
    format!(
        "{} {}?{query} {} {own_id:?} secondary: {} {}",
        exchange.method(),
        exchange.path(),
        headers.collect::<Vec<_>>().join(", "),
        exchange.is_secondary(),
        exchange.body()
    )
}

/// Returns a text with its GUIDs replaced.
pub(super) fn without_ids(text: &str) -> String {
    let is_guid = |text: &str| {
        text.len() == 36
            && text.bytes().enumerate().all(|(at, byte)| match at {
                8 | 13 | 18 | 23 => byte == b'-',
                _ => byte.is_ascii_hexdigit(),
            })
    };
    let (mut shown, mut rest) = (String::new(), text);
    while let Some(dash) = rest.find('-') {
        let guid = dash
            .checked_sub(8)
            .filter(|at| rest.get(*at..at + 36).is_some_and(is_guid));
        let (before, id, length) = guid.map_or((dash + 1, "", 0), |at| (at, "GUID", 36));
        shown = shown + &rest[..before] + id;
        rest = &rest[before + length..];
    }
    shown + rest
}
