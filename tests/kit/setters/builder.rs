//! A builder and its setters, and the orders in which they are set.
//!
//! What a builder does is a text: its requests, then its result. It is taken on three networks, so that limits of time
//! show: one that takes 10 ms for each response, one that takes 5 s, and one that never responds.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use futures::FutureExt as _;
use futures::future::LocalBoxFuture;
use tokio::time::Instant;

use super::world::{Network, World, without_ids};

/// The random orders of all setters of a builder. Without all cases, one in sixteen is tried, and pairs on one network.
const ORDERS: usize = 200;
const NETWORKS: [Network; 3] = [Network::Prompt, Network::Slow, Network::Hanging];

/// Sets one option.
type Set<B> = Box<dyn Fn(B, &World) -> B>;

/// A setter of a builder.
pub(super) struct Setter<B> {
    name: &'static str,
    /// The setters of a group replace each other: one of them is set.
    group: &'static str,
    set: Set<B>,
    /// Whether the text of what the builder does shows that it is set, whatever else is. Absent if another line of the
    /// builder asserts it.
    shows: Option<fn(&str) -> bool>,
}

impl<B> Setter<B> {
    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    /// Says that the setter replaces others of a group.
    pub(super) fn one_of(self, group: &'static str) -> Self {
        Self { group, ..self }
    }
}

pub(super) fn set<B>(name: &'static str, set: impl Fn(B, &World) -> B + 'static, shows: fn(&str) -> bool) -> Setter<B> {
    Setter {
        name,
        group: name,
        set: Box::new(set),
        shows: Some(shows),
    }
}

/// Removes the assertions of these setters, whose effects another line of the builder shows.
pub(super) fn unseen_here<B>(names: &[&str], setters: Vec<Setter<B>>) -> Vec<Setter<B>> {
    let unseen = |setter: Setter<B>| Setter {
        shows: setter.shows.filter(|_| !names.contains(&setter.name)),
        ..setter
    };
    setters.into_iter().map(unseen).collect()
}

/// Runs what was built, and returns its result as a text.
type Run<B> = Box<dyn Fn(B, Rc<World>) -> LocalBoxFuture<'static, String>>;

/// Changes the type of a builder.
type ChangeType<A, B> = Box<dyn Fn(A, &World) -> B>;

/// The setters before a change, the change, and those behind it.
type Changing<A, B> = (Vec<Setter<A>>, Change<A, B>, Vec<Setter<B>>);

/// A setter that changes the type of its builder.
pub(super) struct Change<A, B> {
    /// Its name, or an empty text for a builder whose type stays the same.
    pub(super) name: &'static str,
    pub(super) set: ChangeType<A, B>,
    /// Whether the text of what the builder does shows that it is set, whatever else is.
    pub(super) shows: fn(&str) -> bool,
}

pub(super) fn change<A, B>(
    name: &'static str,
    set: impl Fn(A) -> B + 'static,
    shows: fn(&str) -> bool,
) -> Change<A, B> {
    let set = Box::new(move |builder, _: &World| set(builder));
    Change { name, set, shows }
}

/// Returns the position in the middle of an earlier run.
type FindPosition = Box<dyn Fn(Rc<World>) -> LocalBoxFuture<'static, String>>;

/// A builder `A` whose options can be set before and after it becomes a `B`.
pub(super) struct Builder<A, B = A> {
    name: &'static str,
    new: Box<dyn Fn(&World) -> A>,
    /// The first ones of `after`.
    before: Vec<Setter<A>>,
    change: Change<A, B>,
    after: Vec<Setter<B>>,
    run: Run<B>,
    /// If absent, `resume_from` gets the position that the run without it shows.
    find_position: Option<FindPosition>,
    position: OnceCell<String>,
}

impl<A: 'static> Builder<A> {
    pub(super) fn of(
        name: &'static str,
        new: impl Fn(&World) -> A + 'static,
        setters: Vec<Setter<A>>,
        run: impl AsyncFn(A, Rc<World>) -> String + Clone + 'static,
    ) -> Box<dyn Line> {
        Box::new(Self::plain(name, new, setters, run))
    }

    /// Creates a builder that resumes from a position of its own.
    pub(super) fn resuming(
        name: &'static str,
        new: impl Fn(&World) -> A + 'static,
        setters: Vec<Setter<A>>,
        run: impl AsyncFn(A, Rc<World>) -> String + Clone + 'static,
        find_position: impl AsyncFn(Rc<World>) -> String + Clone + 'static,
    ) -> Box<dyn Line> {
        let find_position: FindPosition = Box::new(move |world| {
            let find = find_position.clone();
            async move { find(world).await }.boxed_local()
        });
        Box::new(Self {
            find_position: Some(find_position),
            ..Self::plain(name, new, setters, run)
        })
    }

    fn plain(
        name: &'static str,
        new: impl Fn(&World) -> A + 'static,
        setters: Vec<Setter<A>>,
        run: impl AsyncFn(A, Rc<World>) -> String + Clone + 'static,
    ) -> Self {
        Self {
            name,
            new: Box::new(new),
            before: Vec::new(),
            change: change("", |builder| builder, |_| true),
            after: setters,
            run: boxed(run),
            find_position: None,
            position: OnceCell::new(),
        }
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
            find_position: None,
            position: OnceCell::new(),
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
            let built = (self.change.set)(built, &world);
            let built = rest
                .iter()
                .fold(built, |builder, index| (self.after[*index].set)(builder, &world));
            // Waits between attempts are random.
            fastrand::seed(7);
            let start = Instant::now();
            let result = (self.run)(built, Rc::clone(&world)).await;
            let millis = start.elapsed().as_millis();
            let (events, result) = (world.events(), without_ids(&result));
            seen += &format!("{network:?}\n{events}{result}\nafter {millis} ms\n");
        }
        seen
    }

    /// Returns one setter of each group, each in turn.
    fn chosen(&self, turn: usize) -> Vec<usize> {
        let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (index, setter) in self.after.iter().enumerate() {
            groups.entry(setter.group).or_default().push(index);
        }
        groups.into_values().map(|group| group[turn % group.len()]).collect()
    }

    /// Returns what a builder does with these setters in the order of the list.
    async fn usual(&self, chosen: &[usize], networks: &[Network]) -> (String, Option<String>) {
        let mut order = chosen.to_vec();
        order.sort_unstable();
        let resumed = order.iter().position(|index| self.after[*index].name == "resume_from");
        let mut position = None;
        if resumed.is_some() && self.find_position.is_some() {
            position = Some(self.found_position().await);
        } else if let Some(resumed) = resumed {
            let others: Vec<usize> = order.iter().copied().filter(|index| *index != order[resumed]).collect();
            let seen = self.seen(&others, 0, None, networks).await;
            let found = seen.split_once("position: ");
            let text = found.and_then(|(_, rest)| rest.lines().next());
            position = text.filter(|text| !text.is_empty()).map(str::to_owned);
        }
        (self.seen(&order, 0, position.as_deref(), networks).await, position)
    }

    async fn found_position(&self) -> String {
        if let Some(known) = self.position.get() {
            return known.clone();
        }
        let mut found = String::new();
        if let Some(find) = &self.find_position {
            found = find(Rc::new(World::new(Network::Prompt, None))).await;
        }
        self.position.get_or_init(|| found).clone()
    }

    /// Returns how many setters of an order can be set before the change.
    fn splits(&self, order: &[usize]) -> usize {
        order.iter().take_while(|index| **index < self.before.len()).count()
    }

    async fn check_all(&self, has_all: bool) -> Tried {
        let (orders, networks) = if has_all {
            (ORDERS, &NETWORKS[..])
        } else {
            (ORDERS / 16, &NETWORKS[..1])
        };
        let mut tried = Tried::default();
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
                    for before in (0..=self.splits(&order)).filter(|before| has_all || *before == self.splits(&order)) {
                        tried.pairs += 1;
                        // The expected one.
                        if order == [first, second] && before == 0 {
                            continue;
                        }
                        let seen = self.seen(&order, before, position.as_deref(), networks).await;
                        self.assert_same(&seen, &expected, &order, before);
                    }
                }
            }
        }
        let mut random = fastrand::Rng::with_seed(7);
        let mut usual = BTreeMap::new();
        for turn in 0..orders {
            let mut order = self.chosen(turn);
            let mut key = order.clone();
            key.sort_unstable();
            if !usual.contains_key(&key) {
                let expected = self.usual(&key, &NETWORKS).await;
                self.check_effects(&key, &expected.0).await;
                usual.insert(key.clone(), expected);
            }
            let (expected, position) = &usual[&key];
            random.shuffle(&mut order);
            let before = random.usize(..=self.splits(&order));
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
    async fn check_effects(&self, chosen: &[usize], seen: &str) {
        let change = &self.change;
        assert!(
            (change.shows)(seen),
            "{}::{} does not show:\n{seen}",
            self.name,
            change.name
        );
        for index in chosen {
            let setter = &self.after[*index];
            let Some(shows) = setter.shows else { continue };
            assert!(shows(seen), "{}::{} does not show:\n{seen}", self.name, setter.name);
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
    /// The names of its setters, and whether each is asserted.
    fn setters(&self) -> Vec<(&'static str, bool)>;
    fn check(&self, has_all: bool) -> LocalBoxFuture<'_, Tried>;
}

impl<A: 'static, B: 'static> Line for Builder<A, B> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn setters(&self) -> Vec<(&'static str, bool)> {
        let change = Some((self.change.name, true)).filter(|(name, _)| !name.is_empty());
        let setters = self.after.iter().map(|setter| (setter.name, setter.shows.is_some()));
        setters.chain(change).collect()
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
