//! The part of a history that its client can see, and the classes of histories that look the same to it.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::fates::Clock;
use super::service::{BASE, Operation, Row};
use super::writes::{Answer, Write};

/// The client assumes that no request arrives later.
const IN_FLIGHT: Duration = Duration::from_secs(180);
/// The drift between two clocks, and the fraction that a `Date` omits.
const DRIFT: i64 = 2_000_000;

/// The response to an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Event {
    Answered,
    Lost,
    Refused,
    /// The status, and `true` with an error code.
    Rejected(u16, bool),
}

/// The time of a row, compared with the start of the call by one clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Age {
    Since,
    /// Up to 30 s before.
    Before,
    /// Up to 15 minutes before.
    Old,
    Ancient,
    /// The response has no date.
    NoClock,
}

/// One row as a read shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Seen {
    NotRead,
    Missing,
    Row {
        keeps_etag: bool,
        has_id: bool,
        has_content: bool,
        /// By `Date`, by this machine's clock at the start, and by its clock at the read less the time elapsed.
        ages: [Age; 3],
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Seeing {
    Attempt(Event),
    FailedRead,
    Read {
        is_in_flight: bool,
        is_step_visible: bool,
        rows: [Seen; 2],
    },
}

/// The times at which a read ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clocks {
    pub(super) now: Duration,
    pub(super) own: SystemTime,
    pub(super) date: Option<u64>,
}

/// What the client can see of a history.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct View {
    seen: Vec<Seeing>,
    /// By this machine's clock, in microseconds after [`BASE`].
    started: i64,
    lost: Option<Duration>,
}

impl View {
    pub(super) fn begin(&mut self, own: SystemTime) {
        self.started = micros(own);
    }

    pub(super) fn attempt(&mut self, event: Event, now: Duration) {
        if matches!(event, Event::Lost | Event::Rejected(500, _)) {
            self.lost = Some(now);
        }
        self.seen.push(Seeing::Attempt(event));
    }

    pub(super) fn failed_read(&mut self) {
        self.seen.push(Seeing::FailedRead);
    }

    pub(super) fn read(&mut self, sent: &[Operation], rows: &[(usize, Option<Row>)], clocks: Clocks) {
        let elapsed = i64::try_from(clocks.now.as_micros()).unwrap();
        let own = micros(clocks.own);
        let by_date = clocks
            .date
            .map(|date| (date as i64 - BASE.as_secs() as i64) * 1_000_000 - elapsed);
        let starts = [by_date, Some(self.started), Some(own - elapsed)];
        let mut seen = [Seen::NotRead; 2];
        for (key, row) in rows {
            seen[*key] = match (row, sent.iter().find(|sent| sent.row == *key)) {
                (_, None) => Seen::NotRead,
                (None, _) => Seen::Missing,
                (Some(row), Some(sent)) => Seen::Row {
                    keeps_etag: sent.if_match.as_ref() == Some(&row.etag),
                    has_id: sent.cells.contains_key("w") && sent.cells.get("w") == row.cells.get("w"),
                    has_content: sent.cells.get("n") == row.cells.get("n"),
                    ages: starts.map(|start| start.map_or(Age::NoClock, |start| age(row.written.unwrap() - start))),
                },
            };
        }
        self.seen.push(Seeing::Read {
            is_in_flight: self.lost.is_some_and(|lost| clocks.now < lost + IN_FLIGHT),
            is_step_visible: (own - self.started - elapsed).abs() > DRIFT,
            rows: seen,
        });
    }

    /// Returns the view without the times that only compute it.
    fn finished(mut self) -> Self {
        (self.started, self.lost) = (0, None);
        self
    }
}

fn micros(time: SystemTime) -> i64 {
    let after = |time: SystemTime, start: SystemTime| time.duration_since(start).map(|d| d.as_micros() as i64);
    let base = UNIX_EPOCH + BASE;
    after(time, base).unwrap_or_else(|_| -after(base, time).unwrap_or_default())
}

fn age(after_start: i64) -> Age {
    match after_start + DRIFT {
        0.. => Age::Since,
        -30_000_000.. => Age::Before,
        -900_000_000.. => Age::Old,
        _ => Age::Ancient,
    }
}

/// The histories that look the same to the client.
#[derive(Clone, Copy, Debug, Default)]
struct Class {
    applied: u32,
    not_applied: u32,
    in_doubt: u32,
    definite: u32,
}

impl Class {
    fn add(&mut self, other: Self) {
        self.applied += other.applied;
        self.not_applied += other.not_applied;
        self.in_doubt += other.in_doubt;
        self.definite += other.definite;
    }

    fn has_one_outcome(self) -> bool {
        self.applied == 0 || self.not_applied == 0
    }
}

/// The classes of an enumeration.
#[derive(Debug, Default)]
pub(super) struct Classes(HashMap<(usize, bool, View), Class>);

impl Classes {
    /// Adds a history of the write with this number.
    pub(super) fn add(&mut self, (number, clock): (usize, Clock), view: View, is_applied: bool, answer: &Answer) {
        let class = Class {
            applied: u32::from(is_applied),
            not_applied: u32::from(!is_applied),
            in_doubt: u32::from(matches!(answer, Answer::InDoubt(_))),
            definite: u32::from(!matches!(answer, Answer::InDoubt(_))),
        };
        let key = (number, clock == Clock::Cosmos, view.finished());
        self.0.entry(key).or_default().add(class);
    }

    pub(super) fn extend(&mut self, other: Self) {
        for (key, class) in other.0 {
            self.0.entry(key).or_default().add(class);
        }
    }

    /// Reports the classes whose histories have one outcome and end in doubt, by pattern.
    pub(super) fn report(&self, writes: &[Write]) -> Needless {
        let mut coarse: HashMap<Features, Class> = HashMap::new();
        for ((number, is_cosmos, view), class) in &self.0 {
            coarse
                .entry(features(&writes[*number], *is_cosmos, view))
                .or_default()
                .add(*class);
        }
        let mut report = Needless {
            classes: self.0.len(),
            mixed: self
                .0
                .values()
                .filter(|class| class.in_doubt > 0 && class.definite > 0)
                .count(),
            ..Needless::default()
        };
        let mut patterns: HashMap<Features, Features> = HashMap::new();
        for ((number, is_cosmos, view), class) in &self.0 {
            report.in_doubt += usize::from(class.in_doubt > 0);
            if class.in_doubt == 0 || !class.has_one_outcome() {
                continue;
            }
            report.needless += 1;
            let own = features(&writes[*number], *is_cosmos, view);
            let pattern = patterns.entry(own.clone()).or_insert_with(|| general(&own, &coarse));
            let outcome = if class.applied > 0 { "applied" } else { "not applied" };
            let (classes, histories) = report.patterns.entry((outcome, pattern.clone())).or_default();
            *classes += 1;
            *histories += class.in_doubt;
        }
        report
    }
}

/// The names of the features, in the order in which a pattern drops them.
const NAMES: [&str; 9] = [
    "write", "service", "id", "earlier", "row b", "time", "step", "flight", "last",
];
/// The parts of a view that a pattern may name. An empty one is irrelevant.
type Features = [String; 10];

fn features(write: &Write, is_cosmos: bool, view: &View) -> Features {
    let attempts = view.seen.iter().filter_map(|seen| match seen {
        Seeing::Attempt(event) => Some(format!("{event:?}")),
        _ => None,
    });
    let mut earlier: Vec<String> = attempts.collect();
    let last = earlier.pop().unwrap_or_default();
    earlier.dedup();
    let read = view.seen.iter().rev().find(|seen| !matches!(seen, Seeing::Attempt(_)));
    let (mut flight, mut step, mut rows) = ("", "", ["no read".to_owned(), String::new()]);
    let mut time = String::new();
    match read {
        Some(Seeing::FailedRead) => rows[0] = "read failed".into(),
        Some(Seeing::Read {
            is_in_flight,
            is_step_visible,
            rows: seen,
        }) => {
            flight = if *is_in_flight { "in flight" } else { "none in flight" };
            step = if *is_step_visible { "step seen" } else { "no step" };
            rows = seen.map(|seen| match seen {
                Seen::NotRead => "-".into(),
                Seen::Missing => "missing".into(),
                Seen::Row { keeps_etag: true, .. } => "keeps the ETag".into(),
                Seen::Row { has_id: true, .. } => "has the id".into(),
                Seen::Row { has_content: true, .. } => "same content".into(),
                Seen::Row { .. } => "other content".into(),
            });
            let ages = seen.iter().filter_map(|seen| match seen {
                Seen::Row { ages, .. } => Some(format!("{:?}", ages.map(|age| age))),
                _ => None,
            });
            time = ages.collect::<Vec<_>>().join(" ");
        }
        _ => {}
    }
    let [a, b] = rows;
    let service = if is_cosmos { "Cosmos" } else { "Storage" };
    let id = if write.has_id { "id" } else { "no id" };
    let form = write.to_string().replace(" with write_id", "");
    [
        form,
        service.into(),
        id.into(),
        earlier.join("+"),
        b,
        time,
        step.into(),
        flight.into(),
        last,
        a,
    ]
}

/// Drops the features without which all histories of the pattern still have one outcome.
fn general(own: &Features, coarse: &HashMap<Features, Class>) -> Features {
    let decides = |pattern: &Features| {
        let matching = coarse.iter().filter(|(features, _)| {
            features
                .iter()
                .zip(pattern)
                .all(|(feature, wanted)| wanted.is_empty() || feature == wanted)
        });
        let mut all = Class::default();
        matching.for_each(|(_, class)| all.add(*class));
        all.has_one_outcome()
    };
    let mut pattern = own.clone();
    if !decides(&pattern) {
        // Only the earlier reads decide.
        pattern = Default::default();
        pattern[0] = own[0].clone();
        pattern[9] = format!("{} after earlier reads", own[9]);
        return pattern;
    }
    for at in 0..pattern.len() {
        let kept = std::mem::take(&mut pattern[at]);
        if !decides(&pattern) {
            pattern[at] = kept;
        }
    }
    pattern
}

/// The classes that end in doubt although all their histories have one outcome.
#[derive(Debug, Default)]
pub(super) struct Needless {
    pub(super) classes: usize,
    pub(super) in_doubt: usize,
    /// Classes of which some histories end in doubt, so that the view omits something that the client uses.
    pub(super) mixed: usize,
    pub(super) needless: usize,
    patterns: BTreeMap<(&'static str, Features), (u32, u32)>,
}

impl fmt::Display for Needless {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            classes,
            in_doubt,
            mixed,
            needless,
            ..
        } = self;
        writeln!(
            f,
            "{classes} classes, {in_doubt} end in doubt, {needless} of them without need; {mixed} are mixed"
        )?;
        let mut patterns: Vec<_> = self.patterns.iter().collect();
        patterns.sort_by_key(|(_, (classes, _))| std::cmp::Reverse(*classes));
        for ((outcome, pattern), (classes, histories)) in patterns {
            let named = pattern
                .iter()
                .zip(NAMES.iter().chain(&["row a"]))
                .filter(|(value, _)| !value.is_empty());
            let named = named
                .map(|(value, name)| format!("{name}: {value}"))
                .collect::<Vec<_>>()
                .join("; ");
            writeln!(f, "{classes:7} classes {histories:8} histories  {outcome:11}  {named}")?;
        }
        Ok(())
    }
}
