//! Range servers: a bounded queue of work, and a measurement of the load.
//!
//! Decides which server has a partition, and when a range is split. A server has no task: it calculates when its
//! accepted work will be done. Without splits each partition has its own server, as after days of steady load. With
//! splits a table begins on one server.
//!
//! A request learns its turn on arrival and sleeps until then. The three kinds of rejections of `azure_storage_2010`
//! are needed to fit the study: a bounded queue alone rejects 3 % at 30 workers instead of the measured 11 % (Figure
//! 15), and many waiting requests are rejected at random (Figure 8). Splits are off in the presets, whose figures
//! describe a service that has spread its load.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use azure_table_wire::value::clock::Instant;

use crate::load::model::{RangeSplits, ServiceModel, draw};
use crate::load::{Busy, PartitionKey};

/// The utilization from which a server's range is split. Chosen.
const BUSY: f64 = 0.9;
/// The maximum number of samples per watch, spread evenly over the work: enough to find its middle.
const NOTES: u32 = 1_024;

/// A server for the partitions of a range.
#[derive(Debug, Default)]
pub(crate) struct RangeServer {
    /// The time at which all accepted work will be done.
    free_at: Option<Instant>,
    /// The times at which accepted requests will be done, if they are counted.
    ends: VecDeque<Instant>,
    is_shedding: bool,
    /// The time until which the range is moving to this server.
    away_until: Option<Instant>,
    watch: Option<Box<Watch>>,
}

/// A server's load since the last decision about a split.
#[derive(Debug)]
struct Watch {
    since: Instant,
    until: Instant,
    worked: Duration,
    /// The work that a sample represents.
    step: Duration,
    /// Samples of the partitions that were worked on.
    notes: Vec<PartitionKey>,
}

impl RangeServer {
    /// Creates a server whose range is still moving to it.
    pub(crate) fn away(time: Duration, now: Instant) -> Self {
        Self {
            away_until: Some(now + time),
            ..Self::default()
        }
    }

    /// Accepts work into the queue. Returns the time at which it will be done.
    pub(crate) fn admit(
        &mut self,
        work: Duration,
        model: &ServiceModel,
        random: &mut fastrand::Rng,
        now: Instant,
    ) -> Result<Instant, Busy> {
        if self.away_until.is_some_and(|until| now < until) {
            return Err(Busy::Server);
        }
        let wait = self.wait(now);
        let shedding = model.shedding.as_ref().filter(|shedding| {
            if self.is_shedding {
                wait > shedding.until
            } else {
                wait > shedding.from
            }
        });
        self.is_shedding = shedding.is_some();
        let is_rejected = wait > model.max_wait
            || shedding.is_some_and(|shedding| random.f64() < shedding.share)
            || self.is_unlucky(model.queue_chance, random, now);
        if is_rejected {
            return Err(Busy::Server);
        }
        let end = self.work(work, now);
        if model.queue_chance.is_some() {
            self.ends.push_back(end);
        }
        Ok(end)
    }

    /// Adds accepted work. Returns the time at which it will be done.
    pub(crate) fn work(&mut self, work: Duration, now: Instant) -> Instant {
        let end = now + self.wait(now) + work;
        self.free_at = Some(end);
        end
    }

    fn wait(&self, now: Instant) -> Duration {
        self.free_at
            .map_or(Duration::ZERO, |free_at| free_at.saturating_duration_since(now))
    }

    /// Returns `true` if a request is rejected at random. The probability grows with the cube of the number of waiting
    /// requests.
    fn is_unlucky(&mut self, queue_chance: Option<u32>, random: &mut fastrand::Rng, now: Instant) -> bool {
        let Some(queue_chance) = queue_chance else { return false };
        while self.ends.front().is_some_and(|end| *end <= now) {
            self.ends.pop_front();
        }
        let share = self.ends.len() as f64 / f64::from(queue_chance.max(1));
        random.f64() < share.powi(3)
    }

    /// Samples the partition of some work, to find the middle of the load.
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

    /// Returns the partition at which the range is to be split, if a decision is due and the load is high enough.
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
        let time = draw(&splits.decision, random);
        Box::new(Self {
            since: now,
            until: now + time,
            worked: Duration::ZERO,
            step: (time / NOTES).max(Duration::from_nanos(1)),
            notes: Vec::new(),
        })
    }

    /// Returns the partition that halves the load, or `None` if all of it is on one.
    fn middle(mut self) -> Option<PartitionKey> {
        self.notes.sort();
        let first = self.notes.first()?.clone();
        let middle = self.notes.len() / 2;
        self.notes.into_iter().skip(middle).find(|key| *key > first)
    }
}

/// The servers of a table, by the first partition of each range.
#[derive(Debug, Default)]
pub(crate) struct Ranges {
    servers: BTreeMap<PartitionKey, RangeServer>,
    pub(crate) splits: u64,
}

impl Ranges {
    /// Returns the server of a partition. Splits its range first if that is due.
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
                            .insert(cut, RangeServer::away(draw(&splits.away, random), now));
                        self.splits += 1;
                        self.first_of(partition)
                    }
                    None => first,
                }
            }
        };
        self.servers.entry(first).or_default()
    }

    /// Returns the first partition of the range of `partition`.
    fn first_of(&self, partition: &PartitionKey) -> PartitionKey {
        let range = self.servers.range(..=partition.clone()).next_back();
        range.map_or_else(|| PartitionKey::new(""), |(first, _)| first.clone())
    }
}
