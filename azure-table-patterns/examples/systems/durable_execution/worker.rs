//! A worker, and its share of the queues.

use std::collections::BTreeMap;
use std::time::Duration;

use azure_table::{Result, TableClient, TableEntity};
use azure_table_patterns::{Lease, LeaseEntry, Leases};

/// The PartitionKey of the queues.
const QUEUES: &str = "queues";

/// A process that owns some of the queues. Its name is unique, also among workers that have crashed.
#[derive(Debug)]
pub struct Worker {
    name: String,
    leases: Leases,
    queues: BTreeMap<String, Queue>,
    is_stopping: bool,
}

/// A queue of this worker.
#[derive(Debug)]
struct Queue {
    lease: Lease,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    /// Messages are taken from the queue.
    Open,
    /// Messages are not taken any more, and some are still in work.
    Draining,
    /// No message is in work.
    Drained,
}

impl Worker {
    /// Creates a worker that owns nothing. Each lease ends after `time` unless it is renewed.
    pub fn new<E: TableEntity>(queues: &TableClient<E>, name: &str, time: Duration) -> Self {
        Self {
            name: name.to_owned(),
            leases: Leases::new(queues, time),
            queues: BTreeMap::new(),
            is_stopping: false,
        }
    }

    /// Creates the queues `queue-00`, `queue-01` and so on, unless they exist.
    pub async fn create_queues(&self, number: usize) -> Result<()> {
        for queue in 0..number {
            self.leases.create(QUEUES, &format!("queue-{queue:02}")).await?;
        }
        Ok(())
    }

    /// Returns the queues that no other worker has at this moment. Finish messages only of these.
    pub fn owned(&self) -> impl Iterator<Item = &str> {
        let valid = self.queues.iter().filter(|(_, queue)| queue.lease.is_valid());
        valid.map(|(name, _)| name.as_str())
    }

    /// Returns the queues from which to take messages: those owned, without those to be handed over.
    pub fn open(&self) -> impl Iterator<Item = &str> {
        self.owned().filter(|name| self.queues[*name].state == State::Open)
    }

    /// Returns the [token](Lease::token) of an owned queue.
    pub fn token(&self, queue: &str) -> Option<i64> {
        self.queues.get(queue).map(|queue| queue.lease.token())
    }

    /// Notes that no message of a queue is in work. If it is not [open](Self::open), the next round releases it.
    pub fn drained(&mut self, queue: &str) {
        if let Some(queue) = self
            .queues
            .get_mut(queue)
            .filter(|queue| queue.state == State::Draining)
        {
            queue.state = State::Drained;
        }
    }

    /// Hands over all queues from the next round on.
    pub fn stop(&mut self) {
        self.is_stopping = true;
    }

    /// Runs one round: renews the own queues, releases those that others requested, takes free ones, and requests
    /// some if another worker has more.
    ///
    /// Call it at least three times per duration of a lease, and each second while a queue is handed over.
    ///
    /// # Errors
    /// The first error in doubt, or else the first of a request. The round continues with the other queues.
    pub async fn balance(&mut self) -> Result<()> {
        let entries = self.leases.list(QUEUES).await?;
        let mut result = Ok(());
        for entry in &entries {
            let settled = if self.queues.contains_key(entry.row_key()) {
                self.keep(entry).await
            } else {
                self.take(entry).await
            };
            result = more_serious(result, settled);
        }
        if !self.is_stopping {
            result = more_serious(result, self.request_share(&entries).await);
        }
        result
    }

    /// Renews the lease of an own queue, or releases it.
    async fn keep(&mut self, entry: &LeaseEntry) -> Result<()> {
        let Some(queue) = self.queues.get_mut(entry.row_key()) else {
            return Ok(());
        };
        let is_own = queue.lease.observe(entry);
        let is_wanted = self.is_stopping || queue.lease.next_holder().is_some();
        if is_own && is_wanted && queue.state == State::Drained {
            let queue = self.queues.remove(entry.row_key());
            return match queue {
                Some(queue) => queue.lease.release().await,
                None => Ok(()),
            };
        }
        if is_wanted && queue.state == State::Open {
            queue.state = State::Draining;
        }
        match is_own && queue.lease.renew().await? {
            true => {}
            false => drop(self.queues.remove(entry.row_key())),
        }
        Ok(())
    }

    /// Takes a queue that is free, or that this worker had before it was restarted.
    async fn take(&mut self, entry: &LeaseEntry) -> Result<()> {
        if self.is_stopping {
            return Ok(());
        }
        let lease = if entry.holder() == Some(&self.name) {
            self.leases.resume(entry, &self.name).await?
        } else {
            self.leases.acquire_entry(entry, &self.name).await?
        };
        if let Some(lease) = lease {
            let queue = Queue {
                lease,
                state: State::Open,
            };
            self.queues.insert(entry.row_key().to_owned(), queue);
        }
        Ok(())
    }

    /// Requests queues from the workers with the most, as long as they have at least two more than this one.
    async fn request_share(&self, entries: &[LeaseEntry]) -> Result<()> {
        // The shares after all requests are granted.
        let mut shares: BTreeMap<&str, usize> = BTreeMap::from([(self.name.as_str(), 0)]);
        for entry in entries {
            if let Some(owner) = self.next_owner(entry) {
                *shares.entry(owner).or_default() += 1;
            }
        }
        let is_candidate = |entry: &&LeaseEntry| {
            !self.queues.contains_key(entry.row_key()) && entry.holder().is_some() && entry.next_holder().is_none()
        };
        let mut candidates: Vec<&LeaseEntry> = entries.iter().filter(is_candidate).collect();
        let share = |shares: &BTreeMap<&str, usize>, entry: &LeaseEntry| shares[entry.holder().unwrap_or_default()];
        while let Some(most) = (0..candidates.len()).max_by_key(|&index| share(&shares, candidates[index])) {
            let entry = candidates.swap_remove(most);
            if share(&shares, entry) < shares[self.name.as_str()] + 2 {
                break;
            }
            if self.leases.request(entry, &self.name).await? {
                for (owner, change) in [(entry.holder().unwrap_or_default(), -1), (&self.name, 1)] {
                    let share = shares.entry(owner).or_default();
                    *share = share.saturating_add_signed(change);
                }
            }
        }
        Ok(())
    }

    /// Returns the worker that has the queue once it is handed over.
    fn next_owner<'a>(&'a self, entry: &'a LeaseEntry) -> Option<&'a str> {
        match self.queues.get(entry.row_key()) {
            Some(queue) => Some(queue.lease.next_holder().unwrap_or(&self.name)),
            None => entry.next_holder().or(entry.holder()),
        }
    }
}

/// Returns the result to report of two: an error in doubt, or else the first error.
fn more_serious(first: Result<()>, next: Result<()>) -> Result<()> {
    match (&first, &next) {
        (Err(certain), Err(other)) if other.may_have_applied() && !certain.may_have_applied() => next,
        _ => first.and(next),
    }
}
