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
}

impl Class {
    fn add(&mut self, other: Self) {
        self.applied += other.applied;
        self.not_applied += other.not_applied;
        self.in_doubt += other.in_doubt;
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
        };
        let key = (number, clock == Clock::Cosmos, view.finished());
        self.0.entry(key).or_default().add(class);
    }

    pub(super) fn extend(&mut self, other: Self) {
        for (key, class) in other.0 {
            self.0.entry(key).or_default().add(class);
        }
    }

    /// Reports the classes whose histories have one outcome and end in doubt, by the reason.
    pub(super) fn report(&self, writes: &[Write]) -> Needless {
        let mut report = Needless {
            classes: self.0.len(),
            ..Needless::default()
        };
        for ((number, is_cosmos, view), class) in &self.0 {
            report.in_doubt += usize::from(class.in_doubt > 0);
            if class.in_doubt == 0 || !class.has_one_outcome() {
                continue;
            }
            match reason(*is_cosmos, view) {
                Some(reason) => *report.named.entry(reason).or_default() += 1,
                None => report
                    .unnamed
                    .push(format!("{}: {class:?} {:?}", writes[*number], view.seen)),
            }
        }
        report
    }
}

/// Returns why the client does not say the only outcome that the enumerated histories of a view have.
fn reason(is_cosmos: bool, view: &View) -> Option<&'static str> {
    let reads = || view.seen.iter().filter(|seen| !matches!(seen, Seeing::Attempt(_)));
    let Some(Seeing::Read {
        is_in_flight,
        is_step_visible,
        rows,
    }) = reads().next_back()
    else {
        return Some("the rows were not read");
    };
    let ages = || {
        rows.iter().filter_map(|row| match row {
            Seen::Row { ages, .. } => Some(*ages),
            _ => None,
        })
    };
    Some(if is_cosmos {
        "Cosmos DB: reads may lag by more than the one version of the bound"
    } else if ages().flatten().any(|age| age == Age::NoClock) {
        "no Date: this machine's clock alone is no evidence"
    } else if *is_step_visible {
        "this machine's clock was set: a machine that slept looks the same"
    } else if ages().any(|[date, start, read]| date != start || start != read) {
        "one clock is wrong: the client does not decide which"
    } else if ages().flatten().any(|age| age == Age::Before) {
        "right clocks may differ by 30 s"
    } else if *is_in_flight {
        "in flight: a request may arrive after more than the two others of the bound"
    } else if reads().count() > 1 {
        "several reads: another client may write more often than once, the bound"
    } else {
        return None;
    })
}

/// The classes that end in doubt although all their enumerated histories have one outcome.
#[derive(Debug, Default)]
pub(super) struct Needless {
    classes: usize,
    in_doubt: usize,
    /// Their number by the reason.
    named: BTreeMap<&'static str, usize>,
    /// Those without a reason.
    pub(super) unnamed: Vec<String>,
}

impl fmt::Display for Needless {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let needless = self.named.values().sum::<usize>() + self.unnamed.len();
        let (classes, in_doubt) = (self.classes, self.in_doubt);
        writeln!(
            f,
            "{classes} classes, {in_doubt} end in doubt, {needless} with one outcome within the bound:"
        )?;
        for (reason, classes) in &self.named {
            writeln!(f, "{classes:7}  {reason}")?;
        }
        writeln!(f, "{:7}  without a reason", self.unnamed.len())?;
        self.unnamed
            .iter()
            .take(20)
            .try_for_each(|view| writeln!(f, "         {view}"))
    }
}
