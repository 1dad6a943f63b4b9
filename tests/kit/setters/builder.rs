//! A builder and its setters, and the orders in which they are set.
//!
//! What a builder does is a text: its requests, then its result. It is taken on three networks, so that limits of time
//! show: one that takes 10 ms for each response, one that takes 5 s, and one that never responds.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::rc::Rc;
use std::str::FromStr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use azure_table::emulator::{EmulatorClock, SeedEntities as _};
use azure_table::filter::AccessPath;
use azure_table::testing::{Exchange, Fault, FaultRule, Faults, Spy};
use azure_table::{
    DateTime, DynamicEntity, Emulator, NoRetry, TableClient, TableEntity, TableQuery, TableServiceClient,
};
use futures::FutureExt as _;
use futures::future::LocalBoxFuture;
use tokio::time::Instant;

/// The random orders of all setters of a builder. Without all cases, one in eight is tried, and pairs on one network.
const ORDERS: usize = 200;
const NETWORKS: [Network; 3] = [Network::Prompt, Network::Slow, Network::Hanging];

/// The network between a client and the service.
#[derive(Clone, Copy, Debug)]
enum Network {
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
    pub(super) count: i32,
}

/// A client, its service with a few rows, and notes of callbacks.
pub(super) struct World {
    pub(super) spy: Spy,
    pub(super) service: TableServiceClient,
    pub(super) things: TableClient<Thing>,
    /// The position that the first page of a run without `resume_from` had.
    position: Option<String>,
    notes: Arc<Mutex<Vec<&'static str>>>,
}

impl World {
    fn new(network: Network, position: Option<String>) -> Self {
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
        let faults = Faults::new(emulator);
        match network {
            // The first response is the last of several.
            Network::Prompt => {
                faults.add(FaultRule::new(Fault::DelayResponse(Duration::from_millis(25))).nth(1));
                faults.add(FaultRule::new(Fault::DelayResponse(Duration::from_millis(10))));
            }
            Network::Slow => drop(faults.add(FaultRule::new(Fault::DelayResponse(Duration::from_secs(5))))),
            Network::Hanging => drop(faults.add(FaultRule::new(Fault::HangRequest))),
        }
        let spy = Spy::new(faults);
        let service = TableServiceClient::from_transport(spy.clone())
            .retry(NoRetry)
            .deny_access(AccessPath::Point);
        let things = service.table("Things").unwrap();
        Self {
            spy,
            service,
            things,
            position,
            notes: Arc::default(),
        }
    }

    /// Returns a query for the rows that are things.
    pub(super) fn good(&self) -> TableQuery<Thing> {
        self.things.query().filter(Thing::ID.ne("105")).allow_table_scan()
    }

    /// Returns a callback that notes its calls.
    pub(super) fn noted<T: ?Sized>(&self, text: &'static str) -> impl Fn(&T) + Send + Sync + 'static {
        let notes = Arc::clone(&self.notes);
        move |_| notes.lock().unwrap().push(text)
    }

    /// Returns the position to resume from.
    pub(super) fn position<T: FromStr<Err: Debug> + Default>(&self) -> T {
        self.position
            .as_deref()
            .map_or_else(T::default, |text| text.parse().unwrap())
    }
}

/// Sets one option.
type Set<B> = Box<dyn Fn(B, &World) -> B>;

/// A setter of a builder.
pub(super) struct Setter<B> {
    name: &'static str,
    /// The setters of a group replace each other: one of them is set.
    group: &'static str,
    set: Set<B>,
    /// Whether the text of what the builder does shows that it is set, whatever else is.
    shows: Option<fn(&str) -> bool>,
}

impl<B> Setter<B> {
    /// Says that the setter replaces others of a group.
    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    pub(super) fn one_of(self, group: &'static str) -> Self {
        Self { group, ..self }
    }
}

pub(super) fn set<B>(name: &'static str, set: impl Fn(B, &World) -> B + 'static, shows: fn(&str) -> bool) -> Setter<B> {
    Setter {
        shows: Some(shows),
        ..unseen(name, set)
    }
}

/// Returns a setter without an effect here, such as a limit that nothing reaches. It must not change what others do.
pub(super) fn unseen<B>(name: &'static str, set: impl Fn(B, &World) -> B + 'static) -> Setter<B> {
    Setter {
        name,
        group: name,
        set: Box::new(set),
        shows: None,
    }
}

/// Runs what was built, and returns its result as a text.
type Run<B> = Box<dyn Fn(B, Rc<World>) -> LocalBoxFuture<'static, String>>;

/// The setters before a change, the change, and those behind it.
type Changing<A, B> = (Vec<Setter<A>>, fn(A) -> B, Vec<Setter<B>>);

/// A builder `A` whose options can be set before and after it becomes a `B`.
pub(super) struct Builder<A, B = A> {
    name: &'static str,
    new: Box<dyn Fn(&World) -> A>,
    before: Vec<Setter<A>>,
    change: fn(A) -> B,
    after: Vec<Setter<B>>,
    run: Run<B>,
    /// `false` for a builder that stays an `A`.
    changes: bool,
}

impl<A: 'static> Builder<A> {
    pub(super) fn of(
        name: &'static str,
        new: impl Fn(&World) -> A + 'static,
        setters: Vec<Setter<A>>,
        run: impl AsyncFn(A, Rc<World>) -> String + Clone + 'static,
    ) -> Box<dyn Line> {
        Box::new(Self {
            name,
            new: Box::new(new),
            before: Vec::new(),
            change: |builder| builder,
            after: setters,
            run: boxed(run),
            changes: false,
        })
    }
}

impl<A: 'static, B: 'static> Builder<A, B> {
    pub(super) fn changing(
        name: &'static str,
        new: impl Fn(&World) -> A + 'static,
        (before, change, after): Changing<A, B>,
        run: impl AsyncFn(B, Rc<World>) -> String + Clone + 'static,
    ) -> Box<dyn Line> {
        Box::new(Self {
            name,
            new: Box::new(new),
            before,
            change,
            after,
            run: boxed(run),
            changes: true,
        })
    }

    /// Returns what a builder does with these setters, of which the first ones are set before its change.
    async fn seen(&self, order: &[usize], before: usize, position: Option<&str>, networks: &[Network]) -> String {
        let mut seen = String::new();
        for &network in networks {
            let world = Rc::new(World::new(network, position.map(str::to_owned)));
            let (first, rest) = order.split_at(before);
            let built = first.iter().fold((self.new)(&world), |builder, index| {
                (self.before[*index].set)(builder, &world)
            });
            let built = (self.change)(built);
            let built = rest
                .iter()
                .fold(built, |builder, index| (self.after[*index].set)(builder, &world));
            let start = Instant::now();
            let result = (self.run)(built, Rc::clone(&world)).await;
            let mut requests: Vec<String> = world.spy.exchanges().iter().map(|it| without_ids(&shown(it))).collect();
            requests.sort();
            let notes = world.notes.lock().unwrap().join("\n");
            seen += &format!(
                "{network:?}\n{}\n{notes}\n{result}\nafter {:?}\n",
                requests.join("\n"),
                start.elapsed()
            );
        }
        without_ids(&seen)
    }

    /// Returns one of each group, by its number in the group.
    fn chosen(&self, pick: &mut impl FnMut(usize) -> usize) -> Vec<usize> {
        let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (index, setter) in self.after.iter().enumerate() {
            groups.entry(setter.group).or_default().push(index);
        }
        groups.into_values().map(|group| group[pick(group.len())]).collect()
    }

    /// Returns what a builder does with these setters in the order of the list.
    async fn usual(&self, chosen: &[usize], networks: &[Network]) -> (String, Option<String>) {
        let mut order = chosen.to_vec();
        order.sort_unstable();
        let resumed = order.iter().position(|index| self.after[*index].name == "resume_from");
        let mut position = None;
        if let Some(resumed) = resumed {
            let others: Vec<usize> = order.iter().copied().filter(|index| *index != order[resumed]).collect();
            let seen = self.seen(&others, 0, None, networks).await;
            let found = seen.split_once("position: ");
            let text = found.and_then(|(_, rest)| rest.lines().next());
            position = text.filter(|text| !text.is_empty()).map(str::to_owned);
        }
        (self.seen(&order, 0, position.as_deref(), networks).await, position)
    }

    async fn check_all(&self, has_all: bool) -> Tried {
        let (orders, networks) = if has_all {
            (ORDERS, &NETWORKS[..])
        } else {
            (ORDERS / 8, &NETWORKS[..1])
        };
        let mut tried = Tried::default();
        let splits = |order: &[usize]| if self.changes { order.len() } else { 0 };
        for (first, setter) in self.after.iter().enumerate() {
            for (second, _) in self
                .after
                .iter()
                .enumerate()
                .skip(first + 1)
                .filter(|(_, other)| other.group != setter.group)
            {
                let (expected, position) = self.usual(&[first, second], networks).await;
                for order in [[first, second], [second, first]] {
                    for before in (0..=splits(&order)).filter(|before| has_all || *before == splits(&order)) {
                        let seen = self.seen(&order, before, position.as_deref(), networks).await;
                        self.assert_same(&seen, &expected, &order, before);
                        tried.pairs += 1;
                    }
                }
            }
        }
        let mut random = fastrand::Rng::with_seed(7);
        let mut usual = BTreeMap::new();
        for _ in 0..orders {
            let mut order = self.chosen(&mut |count| random.usize(..count));
            let mut key = order.clone();
            key.sort_unstable();
            if !usual.contains_key(&key) {
                usual.insert(key.clone(), self.usual(&key, &NETWORKS).await);
                self.check_effects(&key).await;
            }
            let (expected, position) = &usual[&key];
            random.shuffle(&mut order);
            let before = random.usize(..=splits(&order));
            let seen = self.seen(&order, before, position.as_deref(), &NETWORKS).await;
            self.assert_same(&seen, expected, &order, before);
            tried.orders += 1;
        }
        tried
    }

    fn assert_same(&self, seen: &str, expected: &str, order: &[usize], before: usize) {
        let mut lines = seen.lines().zip(expected.lines());
        let different = lines.find(|(seen, expected)| seen != expected);
        assert!(
            seen == expected,
            "{}: {:?}, {before} before the change: {different:#?}",
            self.name,
            order.iter().map(|index| self.after[*index].name).collect::<Vec<_>>()
        );
    }

    /// Checks that each setter shows among all others, and does not show without it.
    async fn check_effects(&self, chosen: &[usize]) {
        let (seen, _) = self.usual(chosen, &NETWORKS).await;
        for index in chosen {
            let setter = &self.after[*index];
            let Some(shows) = setter.shows else { continue };
            assert!(shows(&seen), "{}::{} does not show:\n{seen}", self.name, setter.name);
            let others: Vec<usize> = chosen.iter().copied().filter(|other| other != index).collect();
            let (without, _) = self.usual(&others, &NETWORKS).await;
            assert!(
                !shows(&without),
                "{}::{} shows without it:\n{without}",
                self.name,
                setter.name
            );
        }
    }
}

/// The orders that were tried.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tried {
    pub(super) pairs: usize,
    pub(super) orders: usize,
}

/// A line of the table of builders.
pub(super) trait Line {
    fn name(&self) -> &'static str;
    /// The names of its setters.
    fn setters(&self) -> Vec<&'static str>;
    fn check(&self, has_all: bool) -> LocalBoxFuture<'_, Tried>;
}

impl<A: 'static, B: 'static> Line for Builder<A, B> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn setters(&self) -> Vec<&'static str> {
        self.after.iter().map(|setter| setter.name).collect()
    }

    fn check(&self, has_all: bool) -> LocalBoxFuture<'_, Tried> {
        self.check_all(has_all).boxed_local()
    }
}

fn boxed<B: 'static>(run: impl AsyncFn(B, Rc<World>) -> String + Clone + 'static) -> Run<B> {
    Box::new(move |builder, world| {
        let run = run.clone();
        async move { run(builder, world).await }.boxed_local()
    })
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
fn without_ids(text: &str) -> String {
    let is_guid = |text: &str| {
        text.len() == 36
            && text.bytes().enumerate().all(|(at, byte)| match at {
                8 | 13 | 18 | 23 => byte == b'-',
                _ => byte.is_ascii_hexdigit(),
            })
    };
    let (mut shown, mut rest) = (String::new(), text);
    while let Some(first) = rest.chars().next() {
        if rest.get(..36).is_some_and(is_guid) {
            shown += "GUID";
            rest = &rest[36..];
        } else {
            shown.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    shown
}
