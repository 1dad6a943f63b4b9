//! Range servers: one piece of work after the other, a queue with an end, and a watch over the load.
//!
//! Owns which server has a partition, and when a range is cut in two. A server does not wait itself: it knows when what
//! it accepted will be done. Without splits each partition has a server of its own, as after days of steady load. With
//! them a table begins on one server.
//!
//! The load is arithmetic, not tasks: a request learns its turn on arrival and sleeps until then. The three kinds of
//! refusal of `in_2010` are needed to fit the study: a bounded queue alone refuses 3 % at 30 workers where 11 % were
//! seen (Figure 15), and many waiting requests are refused by chance (Figure 8). Splits are off in the presets, whose
//! figures are those of a service that has spread its load.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::emulator::load::model::{RangeSplits, ServiceModel};
use crate::emulator::load::{Busy, PartitionKey};
use crate::model::clock::Instant;

/// The share of the time for which a server worked, from which on its range is cut. Chosen.
const BUSY: f64 = 0.9;
/// How many partitions are noted in a watch, evenly over the work: enough to find the middle, and bounded.
const NOTES: u32 = 1_024;

/// A server of the partitions of a range.
#[derive(Debug, Default)]
pub(crate) struct RangeServer {
    /// When all that was accepted will be done.
    free_at: Option<Instant>,
    /// When each of what was accepted will be, as far as it is counted.
    ends: VecDeque<Instant>,
    is_shedding: bool,
    /// Until when the range is on its way to this server.
    away_until: Option<Instant>,
    watch: Option<Box<Watch>>,
}

/// What a server did since it was last thought about.
#[derive(Debug)]
struct Watch {
    since: Instant,
    until: Instant,
    worked: Duration,
    /// How much work a note stands for.
    step: Duration,
    /// Partitions that were worked on.
    notes: Vec<PartitionKey>,
}

impl RangeServer {
    /// A server whose range is on its way.
    pub(crate) fn away(time: Duration, now: Instant) -> Self {
        Self {
            away_until: Some(now + time),
            ..Self::default()
        }
    }

    /// Takes work into the queue: when it will be done.
    pub(crate) fn admit(
        &mut self,
        work: Duration,
        model: &ServiceModel,
        random: &mut fastrand::Rng,
        now: Instant,
    ) -> Result<Instant, Busy> {
        if let Some(until) = self.away_until.filter(|until| now < *until) {
            return Err(Busy::server(until - now));
        }
        let wait = self.wait(now);
        if let Some(shedding) = &model.shedding {
            self.is_shedding = if self.is_shedding {
                wait > shedding.until
            } else {
                wait > shedding.from
            };
        }
        let share = model
            .shedding
            .as_ref()
            .filter(|_| self.is_shedding)
            .map(|shedding| shedding.share);
        let is_refused = wait > model.max_wait
            || share.is_some_and(|share| random.f64() < share)
            || self.is_unlucky(model.queue_chance, random, now);
        if is_refused {
            return Err(Busy::server(wait));
        }
        let end = self.work(work, now);
        if model.queue_chance.is_some() {
            self.ends.push_back(end);
        }
        Ok(end)
    }

    /// Adds work that was accepted: when it will be done.
    pub(crate) fn work(&mut self, work: Duration, now: Instant) -> Instant {
        let end = now + self.wait(now) + work;
        self.free_at = Some(end);
        end
    }

    fn wait(&self, now: Instant) -> Duration {
        self.free_at
            .map_or(Duration::ZERO, |free_at| free_at.saturating_duration_since(now))
    }

    /// Whether a request is refused by chance, which grows with the third power of the number that wait.
    fn is_unlucky(&mut self, queue_chance: Option<u32>, random: &mut fastrand::Rng, now: Instant) -> bool {
        let Some(queue_chance) = queue_chance else { return false };
        while self.ends.front().is_some_and(|end| *end <= now) {
            self.ends.pop_front();
        }
        let share = self.ends.len() as f64 / f64::from(queue_chance.max(1));
        random.f64() < share.powi(3)
    }

    /// Remembers what was worked on, so that the middle of the load is known.
    pub(crate) fn note(
        &mut self,
        partition: &PartitionKey,
        work: Duration,
        splits: &RangeSplits,
        random: &mut fastrand::Rng,
        now: Instant,
    ) {
        let watch = self.watch.get_or_insert_with(|| Watch::begin(splits, random, now));
        watch.worked += work;
        while watch.step * (watch.notes.len() as u32) < watch.worked && watch.notes.len() < NOTES as usize {
            watch.notes.push(partition.clone());
        }
    }

    /// The partition from which on the range goes to another server, if it is time and there is reason to.
    pub(crate) fn cut(
        &mut self,
        splits: &RangeSplits,
        random: &mut fastrand::Rng,
        now: Instant,
    ) -> Option<PartitionKey> {
        if self.watch.as_ref().is_none_or(|watch| now < watch.until) {
            return None;
        }
        let watch = self.watch.replace(Watch::begin(splits, random, now))?;
        let time = now.saturating_duration_since(watch.since);
        (watch.worked >= time.mul_f64(BUSY)).then(|| watch.middle())?
    }
}

impl Watch {
    fn begin(splits: &RangeSplits, random: &mut fastrand::Rng, now: Instant) -> Box<Self> {
        let time = splits.draw_decision(random);
        Box::new(Self {
            since: now,
            until: now + time,
            worked: Duration::ZERO,
            step: (time / NOTES).max(Duration::from_nanos(1)),
            notes: Vec::new(),
        })
    }

    /// The partition that halves the load; none where all of it is on one.
    fn middle(mut self) -> Option<PartitionKey> {
        self.notes.sort();
        let first = self.notes.first()?.clone();
        let middle = self.notes.len() / 2;
        self.notes.into_iter().skip(middle).find(|key| *key > first)
    }
}

/// The servers of a table, by the first partition of each one's range.
#[derive(Debug, Default)]
pub(crate) struct Ranges {
    servers: BTreeMap<PartitionKey, RangeServer>,
    pub(crate) splits: u64,
}

impl Ranges {
    /// The server of a partition. Its range is cut first if its time has come.
    pub(crate) fn server(
        &mut self,
        partition: &PartitionKey,
        model: &ServiceModel,
        random: &mut fastrand::Rng,
        now: Instant,
    ) -> &mut RangeServer {
        let first = match &model.splits {
            None => partition.clone(),
            Some(splits) => {
                let first = self.first_of(partition);
                let cut = self
                    .servers
                    .get_mut(&first)
                    .and_then(|server| server.cut(splits, random, now));
                match cut {
                    Some(cut) => {
                        self.servers
                            .insert(cut, RangeServer::away(splits.draw_away(random), now));
                        self.splits += 1;
                        self.first_of(partition)
                    }
                    None => first,
                }
            }
        };
        match self.servers.entry(first) {
            Entry::Occupied(server) => server.into_mut(),
            Entry::Vacant(place) => place.insert(RangeServer::default()),
        }
    }

    /// The first partition of the range of `partition`.
    fn first_of(&self, partition: &PartitionKey) -> PartitionKey {
        let range = self.servers.range(..=partition.clone()).next_back();
        range.map_or_else(|| PartitionKey::new(""), |(first, _)| first.clone())
    }
}
