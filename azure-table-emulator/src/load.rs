//! Load: the latency of the modelled service and its capacity.
//!
//! Defines the types that its files share: [`Demand`], the work that a request needs; [`Busy`], a rejection for lack of
//! capacity; and [`ServiceLoad`], the counts of accepted and rejected work. The constants of the servers are in
//! `load/model.rs`, the decision about capacity in `load/stamp.rs`, the queue of a server in `load/range_server.rs`.
//! `operations/entities.rs` and `operations/batch.rs` compute the demand of a request.
//!
//! `load/stamp.rs` takes a request through the latency and the queue. The request is authorized when it arrives, and
//! applied in its turn. If the caller disconnects before the turn, nothing changes; after it, the change stays. An
//! emulator without a model does not use this module.
//!
//! Time is tokio's, which a test may pause; the emulator's own clock is used only for Timestamps. Not modelled:
//!
//! - the size of entities: each counts as one of 1 KiB
//! - merges of ranges
//! - queries over several servers: the server where the query begins does all of the work

pub(crate) mod model;
mod range_server;
pub(crate) mod stamp;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;

use azure_table_wire::value::ordinal;

/// Work on one partition.
#[derive(Debug)]
pub(crate) struct Demand {
    /// The account and its location: the secondary has separate servers.
    pub(crate) account: String,
    /// The table, by the compared form of its name.
    pub(crate) table: String,
    pub(crate) partition: PartitionKey,
    pub(crate) work: Work,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    Read,
    /// The number of entities.
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

/// A rejection for lack of capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Busy {
    Account,
    /// A partition, or the server of its range.
    Server,
}

/// The accepted and throttled load of a service or a partition. Feature `emulator`.
///
/// Only reads and writes of entities count, and only with a [`ServiceModel`](crate::ServiceModel). A batch
/// counts as one request with one entity per operation. An accepted query counts the rows that it examined, a throttled
/// one a single row.
///
/// See [`Emulator::load`](crate::Emulator::load).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServiceLoad {
    /// The requests that were processed, whatever their outcome.
    pub accepted_requests: u64,
    /// The entities in the accepted requests.
    pub accepted_entities: u64,
    /// The requests answered with 503 or 429 for lack of capacity.
    pub throttled_requests: u64,
    /// The entities in the throttled requests.
    pub throttled_entities: u64,
}

impl ServiceLoad {
    /// Returns the throttled share of all requests, from 0 to 1. Returns 0 without requests.
    pub fn throttled_share(&self) -> f64 {
        let all = self.accepted_requests + self.throttled_requests;
        if all == 0 {
            return 0.0;
        }
        self.throttled_requests as f64 / all as f64
    }

    /// Returns the load since an earlier count.
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

    pub(crate) fn reject(&mut self, entities: u64) {
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
