//! What a request asks of the servers behind the front end: where, and how much.
//!
//! A query is at the place where it begins. How many rows it looks at is known when it is done, and counted then.

use crate::emulator::load::ranges::PartitionKey;
use crate::emulator::operations::batch;
use crate::emulator::operations::call::{Call, Caller, Request, Verb};
use crate::emulator::operations::query;
use crate::emulator::request::address::Resource;
use crate::emulator::request::body;
use crate::emulator::rules::refusal::{Refusal, Result};

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

impl Demand {
    /// What a request asks for; an error where it does not get as far as that.
    pub(crate) fn of(caller: Caller<'_>, request: &Request<'_>) -> Result<Self> {
        if caller.site.resource(request.path)? == Resource::Batch {
            return batch::demand(caller, request);
        }
        Self::of_call(&Call::parse(caller, request)?)
    }

    /// What an operation asks for by itself.
    pub(crate) fn of_call(call: &Call<'_>) -> Result<Self> {
        let site = call.site();
        let (table, partition, work) = match (&call.resource, call.verb) {
            (Resource::Entity(table, id), Verb::Get) => (table, id.partition_key.clone(), Work::Read),
            (Resource::Entity(table, id), _) => (table, id.partition_key.clone(), Work::Write(1)),
            (Resource::Entities(table), Verb::Get) => (table, query::first_partition(call)?, Work::Read),
            (Resource::Entities(table), Verb::Post) => {
                let (id, _) = body::insert(call.json()?, site.rules)?;
                (table, id.partition_key, Work::Write(1))
            }
            _ => return Err(Refusal::METHOD_NOT_ALLOWED),
        };
        let region = if site.is_secondary { "-secondary" } else { "" };
        Ok(Self {
            account: format!("{}{region}", site.account),
            table: site.rules.table_key(table),
            partition: PartitionKey::new(partition),
            work,
        })
    }
}
