//! What the servers of an emulator took and refused.

/// What a service, or a partition of it, was asked for and did. Feature `emulator`.
///
/// Only reads and writes of entities count, and only where there is a [`ServiceModel`](crate::ServiceModel). A batch is one
/// request of as many entities as it has operations; a query that is accepted counts the rows that it looked at, one that is
/// refused a single one.
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
    pub refused_requests: u64,
    /// The entities in them.
    pub refused_entities: u64,
}

impl ServiceLoad {
    /// The refused share of all requests, from 0 to 1; 0 if there were none.
    pub fn refused_share(&self) -> f64 {
        let all = self.accepted_requests + self.refused_requests;
        if all == 0 {
            return 0.0;
        }
        self.refused_requests as f64 / all as f64
    }

    /// What came since an earlier count.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            accepted_requests: self.accepted_requests.saturating_sub(earlier.accepted_requests),
            accepted_entities: self.accepted_entities.saturating_sub(earlier.accepted_entities),
            refused_requests: self.refused_requests.saturating_sub(earlier.refused_requests),
            refused_entities: self.refused_entities.saturating_sub(earlier.refused_entities),
        }
    }

    pub(crate) fn accept(&mut self, entities: u64) {
        self.accepted_requests += 1;
        self.accepted_entities += entities;
    }

    pub(crate) fn refuse(&mut self, entities: u64) {
        self.refused_requests += 1;
        self.refused_entities += entities;
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.accepted_requests += other.accepted_requests;
        self.accepted_entities += other.accepted_entities;
        self.refused_requests += other.refused_requests;
        self.refused_entities += other.refused_entities;
    }
}
