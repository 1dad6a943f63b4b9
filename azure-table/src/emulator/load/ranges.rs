//! The range servers of a table: which one has a partition, and when a range is cut in two.
//!
//! Without splits each partition has a server of its own, as after days of steady load. With them a table begins on one
//! server. What a server does in its turn is `server.rs`.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use crate::emulator::load::model::ServiceModel;
use crate::emulator::load::server::RangeServer;
use crate::model::clock::Instant;
use crate::model::ordinal;

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
