//! Load: how long the service takes, and what it has no room for.
//!
//! Owns what all of it speaks of: [`Demand`], the work that a request asks for, [`Busy`], its refusal for want of room,
//! and the counts of both. What the servers can do is `load/model.rs`, who has room `load/stamp.rs`, the queue of a
//! server `load/range_server.rs`. The demand of a request is read in `operations/entities.rs` and
//! `operations/batch.rs`.
//!
//! The way of a request is `dispatch.rs`: half of the latency, the queue, its turn, the other half. Its effect is made
//! in its turn, so a caller who hangs up before has changed nothing, and one who hangs up after has. An emulator
//! without a model does not come here.
//!
//! Time is tokio's, which a test may pause; the emulator's own clock only dates rows. Not imitated: the size of
//! entities (each counts as one of 1 KiB), ranges that are put together again, a query that needs several servers (the
//! one where it begins works for all).

mod bucket;
pub(crate) mod model;
mod range_server;
pub(crate) mod stamp;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::time::Duration;

use crate::model::ordinal;

/// Work on one partition.
#[derive(Debug)]
pub(crate) struct Demand {
    /// With the region: the copy in the second one has servers of its own.
    pub(crate) account: String,
    /// By the form of its name that counts.
    pub(crate) table: String,
    pub(crate) partition: PartitionKey,
    pub(crate) work: Work,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    Read,
    /// So many entities.
    Write(u64),
}

impl Work {
    pub(crate) fn entities(self) -> u64 {
        match self {
            Self::Read => 1,
            Self::Write(entities) => entities,
        }
    }
}

/// A PartitionKey, in the service's order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PartitionKey(Box<str>);

impl PartitionKey {
    pub(crate) fn new(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }
}

impl Ord for PartitionKey {
    fn cmp(&self, other: &Self) -> Ordering {
        ordinal::compare(&self.0, &other.0)
    }
}

impl PartialOrd for PartitionKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The limit that left no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    Account,
    /// A partition, or the server of its range.
    Server,
}

/// A refusal for want of room, and after what time there may be some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Busy {
    pub(crate) limit: Limit,
    pub(crate) wait: Duration,
}

impl Busy {
    pub(crate) fn account(wait: Duration) -> Self {
        let limit = Limit::Account;
        Self { limit, wait }
    }

    pub(crate) fn server(wait: Duration) -> Self {
        let limit = Limit::Server;
        Self { limit, wait }
    }
}

/// What a service, or a partition of it, was asked for and did. Feature `emulator`.
///
/// Only reads and writes of entities count, and only where there is a [`ServiceModel`](crate::emulator::ServiceModel).
/// A batch is one request of as many entities as it has operations; a query that is accepted counts the rows that it
/// looked at, one that is refused a single one.
///
/// See [`Emulator::load`](crate::Emulator::load).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServiceLoad {
    /// Requests that got their turn, whatever came of them.
    pub accepted_requests: u64,
    /// The entities in them.
    pub accepted_entities: u64,
    /// Requests that were answered 503 or 429, for want of room.
    pub throttled_requests: u64,
    /// The entities in them.
    pub throttled_entities: u64,
}

impl ServiceLoad {
    /// The refused share of all requests, from 0 to 1; 0 if there were none.
    pub fn throttled_share(&self) -> f64 {
        let all = self.accepted_requests + self.throttled_requests;
        if all == 0 {
            return 0.0;
        }
        self.throttled_requests as f64 / all as f64
    }

    /// What came since an earlier count.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            accepted_requests: self.accepted_requests.saturating_sub(earlier.accepted_requests),
            accepted_entities: self.accepted_entities.saturating_sub(earlier.accepted_entities),
            throttled_requests: self.throttled_requests.saturating_sub(earlier.throttled_requests),
            throttled_entities: self.throttled_entities.saturating_sub(earlier.throttled_entities),
        }
    }

    pub(crate) fn accept(&mut self, entities: u64) {
        self.accepted_requests += 1;
        self.accepted_entities += entities;
    }

    pub(crate) fn refuse(&mut self, entities: u64) {
        self.throttled_requests += 1;
        self.throttled_entities += entities;
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.accepted_requests += other.accepted_requests;
        self.accepted_entities += other.accepted_entities;
        self.throttled_requests += other.throttled_requests;
        self.throttled_entities += other.throttled_entities;
    }
}
