//! The servers of an emulator, of all accounts: their capacity and their load.
//!
//! A request passes the limit of its account, then the limit of its partition, then the queue of its range server. A
//! rejected request uses the capacity of none of them. All random numbers come from one seed, in the order of the
//! requests.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use azure_table_wire::value::clock::{self, Instant};
use http::Method;

use crate::load::model::ServiceModel;
use crate::load::range_server::Ranges;
use crate::load::{Busy, Demand, PartitionKey, ServiceLoad, Work};

/// The maximum deviation of a latency from its mean, in both directions. Chosen: it prevents clients from running in
/// lockstep.
const SPREAD: f64 = 0.1;

/// The servers. "Storage stamp" is the service's own name for a cluster of them.
#[derive(Debug)]
pub(crate) struct Stamp {
    model: ServiceModel,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    random: fastrand::Rng,
    accounts: HashMap<String, Account>,
    load: ServiceLoad,
}

#[derive(Debug)]
struct Account {
    bucket: Option<Bucket>,
    tables: HashMap<String, Table>,
}

#[derive(Debug, Default)]
struct Table {
    partitions: HashMap<PartitionKey, Partition>,
    ranges: Ranges,
}

#[derive(Debug)]
struct Partition {
    bucket: Option<Bucket>,
    load: ServiceLoad,
}

/// The limits that a demand passes, from the front end to its server.
struct Way<'s> {
    account: &'s mut Option<Bucket>,
    partition: &'s mut Partition,
    ranges: &'s mut Ranges,
    random: &'s mut fastrand::Rng,
    load: &'s mut ServiceLoad,
}

impl State {
    fn way(&mut self, demand: &Demand, model: &ServiceModel, now: Instant) -> Way<'_> {
        let full = |rate: Option<u32>| rate.map(|rate| Bucket::full(rate, model.burst, now));
        let account = self.accounts.entry(demand.account.clone());
        let account = account.or_insert_with(|| Account {
            bucket: full(model.account_rate),
            tables: HashMap::new(),
        });
        let table = account.tables.entry(demand.table.clone()).or_default();
        let partition = table.partitions.entry(demand.partition.clone());
        let partition = partition.or_insert_with(|| Partition {
            bucket: full(model.partition_rate),
            load: ServiceLoad::default(),
        });
        Way {
            account: &mut account.bucket,
            partition,
            ranges: &mut table.ranges,
            random: &mut self.random,
            load: &mut self.load,
        }
    }
}

impl Way<'_> {
    /// Returns the time at which the work will be done, if no limit is exceeded.
    fn pass(&mut self, demand: &Demand, model: &ServiceModel, now: Instant) -> Result<Instant, Busy> {
        let entities = demand.work.entities();
        let allows = |bucket: &mut Option<Bucket>| bucket.as_mut().is_none_or(|bucket| bucket.allows(entities, now));
        if !allows(self.account) {
            return Err(Busy::Account);
        }
        if !allows(&mut self.partition.bucket) {
            return Err(Busy::Server);
        }
        let work = model.time_of(demand.work);
        let server = self.ranges.server(&demand.partition, model, self.random, now);
        let done = server.admit(work, model, self.random, now)?;
        if let Some(splits) = &model.splits {
            server.note(&demand.partition, work, splits, self.random, now);
        }
        self.take(entities);
        Ok(done)
    }

    fn take(&mut self, entities: u64) {
        for bucket in [&mut *self.account, &mut self.partition.bucket].into_iter().flatten() {
            bucket.take(entities);
        }
    }
}

impl Stamp {
    pub(crate) fn new(model: ServiceModel) -> Self {
        let state = State {
            random: fastrand::Rng::with_seed(model.seed),
            accounts: HashMap::new(),
            load: ServiceLoad::default(),
        };
        Self {
            model,
            state: Mutex::new(state),
        }
    }

    pub(crate) fn model(&self) -> &ServiceModel {
        &self.model
    }

    /// Draws the time that a request and its response spend outside the servers.
    pub(crate) fn latency(&self, work: Work) -> Duration {
        let share = self.state().random.f64() * 2.0 - 1.0;
        self.model.latency_of(work).mul_f64(1.0 + SPREAD * share)
    }

    /// Accepts a request and returns the end of its turn, or rejects it.
    pub(crate) fn admit(&self, demand: &Demand, now: Instant) -> Result<Instant, Busy> {
        let mut state = self.state();
        let mut way = state.way(demand, &self.model, now);
        let outcome = way.pass(demand, &self.model, now);
        let entities = demand.work.entities();
        for load in [way.load, &mut way.partition.load] {
            match outcome {
                Ok(_) => load.accept(entities),
                Err(_) => load.reject(entities),
            }
        }
        outcome
    }

    /// Counts the rows that an accepted query examined, beyond the one it was accepted for. Returns the time at which
    /// they have been read.
    pub(crate) fn read(&self, demand: &Demand, rows: u64, now: Instant) -> Instant {
        let further = rows.saturating_sub(Work::Read.entities());
        let work = self
            .model
            .time_per_entity_read
            .saturating_mul(u32::try_from(further).unwrap_or(u32::MAX));
        let mut state = self.state();
        let mut way = state.way(demand, &self.model, now);
        let server = way.ranges.server(&demand.partition, &self.model, way.random, now);
        let done = server.work(work, now);
        if let Some(splits) = &self.model.splits {
            server.note(&demand.partition, work, splits, way.random, now);
        }
        way.take(further);
        way.load.accepted_entities += further;
        way.partition.load.accepted_entities += further;
        done
    }

    /// Returns the load on all partitions.
    pub(crate) fn load(&self) -> ServiceLoad {
        self.state().load
    }

    /// Returns the load on a partition, in the tables of this name in all accounts.
    pub(crate) fn load_of(&self, table: &str, partition: &str) -> ServiceLoad {
        let partition = PartitionKey::new(partition);
        let mut sum = ServiceLoad::default();
        for account in self.state().accounts.values() {
            for (name, stored) in &account.tables {
                if let Some(partition) = stored
                    .partitions
                    .get(&partition)
                    .filter(|_| name.eq_ignore_ascii_case(table))
                {
                    sum.add(&partition.load);
                }
            }
        }
        sum
    }

    /// Returns the number of splits.
    pub(crate) fn splits(&self) -> u64 {
        let state = self.state();
        let tables = state.accounts.values().flat_map(|account| account.tables.values());
        tables.map(|table| table.ranges.splits).sum()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A limit on entities per second, as a token bucket.
///
/// It refills at a rate up to its capacity. A request for more than the capacity waits until the bucket is
/// full, and leaves a debt.
#[derive(Debug)]
struct Bucket {
    rate: f64,
    most: f64,
    tokens: f64,
    at: Instant,
}

impl Bucket {
    /// Creates a full bucket with the tokens of `burst`.
    fn full(per_second: u32, burst: Duration, now: Instant) -> Self {
        let rate = f64::from(per_second.max(1));
        let most = (rate * burst.as_secs_f64()).max(1.0);
        Self {
            rate,
            most,
            tokens: most,
            at: now,
        }
    }

    /// Returns `true` if `entities` can be taken now.
    fn allows(&mut self, entities: u64, now: Instant) -> bool {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.tokens = (self.tokens + passed * self.rate).min(self.most);
        self.at = now;
        let missing = (entities as f64).min(self.most) - self.tokens;
        // Sums of fractions may miss a whole number in their last digits.
        missing <= 1e-6
    }

    fn take(&mut self, entities: u64) {
        self.tokens -= entities as f64;
    }
}

/// A request whose turn has come.
#[derive(Debug)]
pub(crate) struct ServerTurn<'s> {
    stamp: &'s Stamp,
    demand: Option<Demand>,
    /// The rejection for lack of capacity.
    pub(crate) busy: Option<Busy>,
    back: Duration,
}

impl<'s> ServerTurn<'s> {
    /// Waits for the turn of a request. Without a demand no server processes it.
    pub(crate) async fn wait(stamp: &'s Stamp, demand: Option<Demand>, method: &Method) -> Self {
        let latency = stamp.latency(match &demand {
            Some(demand) => demand.work,
            None if method == Method::GET => Work::Read,
            None => Work::Write(0),
        });
        pass(latency / 2).await;
        let admitted = demand.as_ref().map(|demand| stamp.admit(demand, Instant::now()));
        let (busy, back) = match admitted {
            None => (None, latency / 2),
            Some(Ok(done)) => {
                until(done).await;
                (None, latency / 2)
            }
            // A rejected request is not replicated, so its response has the latency of a read.
            Some(Err(busy)) => (Some(busy), stamp.latency(Work::Read) / 2),
        };
        Self {
            stamp,
            demand,
            busy,
            back,
        }
    }

    /// Waits until the rows that a query examined are read and the response has arrived.
    pub(crate) async fn end(self, rows: u64) {
        if let (Some(demand), 1..) = (&self.demand, rows) {
            until(self.stamp.read(demand, rows, Instant::now())).await;
        }
        pass(self.back).await;
    }
}

async fn until(done: Instant) {
    pass(done.saturating_duration_since(Instant::now())).await;
}

/// Sleeps for `time`. Returns immediately for zero, without waiting for the timer's next tick.
async fn pass(time: Duration) {
    if !time.is_zero() {
        clock::sleep(time).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bucket_allows_its_rate_and_its_saved_burst() {
        let start = Instant::now();
        let mut bucket = Bucket::full(1_000, Duration::from_millis(500), start);
        let mut taken = 0;
        for millisecond in 0..10_000 {
            let now = start + Duration::from_millis(millisecond);
            while bucket.allows(100, now) {
                bucket.take(100);
                taken += 100;
            }
        }
        assert_eq!(taken, 500 + 9_900, "what it held, and 9.999 s in whole hundreds");
        let now = start + Duration::from_secs(10);
        assert!(bucket.allows(100, now));
        bucket.take(100);
        assert!(!bucket.allows(100, now + Duration::from_millis(99)));
        assert!(bucket.allows(100, now + Duration::from_millis(100)));
    }

    #[test]
    fn request_larger_than_the_bucket_leaves_a_debt() {
        let start = Instant::now();
        let mut bucket = Bucket::full(10, Duration::from_secs(1), start);
        assert!(bucket.allows(100, start));
        bucket.take(100);
        assert!(!bucket.allows(1, start + Duration::from_millis(9_099)));
        assert!(bucket.allows(1, start + Duration::from_millis(9_100)));
    }
}
