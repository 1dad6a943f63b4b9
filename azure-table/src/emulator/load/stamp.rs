//! The servers of an emulator, of all accounts: their capacity and their load.
//!
//! A request passes the limit of its account, then that of its partition, then the queue of its range server. If one
//! rejects it, it uses none of them. All random numbers come from one seed, in the order of the requests.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use azure_table_core::model::clock::Instant;

use crate::emulator::load::bucket::Bucket;
use crate::emulator::load::model::ServiceModel;
use crate::emulator::load::range_server::Ranges;
use crate::emulator::load::{Busy, Demand, PartitionKey, ServiceLoad, Work};

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

#[derive(Debug, Default)]
struct Account {
    bucket: Option<Bucket>,
    tables: HashMap<String, Table>,
}

#[derive(Debug, Default)]
struct Table {
    partitions: HashMap<PartitionKey, Partition>,
    ranges: Ranges,
}

#[derive(Debug, Default)]
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
        let account = match self.accounts.entry(demand.account.clone()) {
            Entry::Occupied(account) => account.into_mut(),
            Entry::Vacant(place) => place.insert(Account {
                bucket: full(model.account_rate),
                tables: HashMap::new(),
            }),
        };
        let table = account.tables.entry(demand.table.clone()).or_default();
        let partition = match table.partitions.entry(demand.partition.clone()) {
            Entry::Occupied(partition) => partition.into_mut(),
            Entry::Vacant(place) => place.insert(Partition {
                bucket: full(model.partition_rate),
                load: ServiceLoad::default(),
            }),
        };
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
        let wait = |bucket: &mut Option<Bucket>| bucket.as_mut().and_then(|bucket| bucket.wait(entities, now));
        if let Some(wait) = wait(self.account) {
            return Err(Busy::account(wait));
        }
        if let Some(wait) = wait(&mut self.partition.bucket) {
            return Err(Busy::server(wait));
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

    /// Draws the time of a request and its response outside the servers.
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
                Err(_) => load.refuse(entities),
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
