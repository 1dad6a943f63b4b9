//! The facts, by area.

mod access;
mod batches;
mod conditions;
mod cosmos_batches;
mod cosmos_entities;
mod cosmos_queries;
mod cosmos_tables;
mod entities;
mod errors;
mod filters;
mod keys;
mod paging;
mod policies;
mod queries;
mod service;
mod sources;
mod tables;
mod types;

use crate::fact::Fact;

/// Returns all facts. The position of a fact is part of its names.
pub(crate) fn all() -> impl Iterator<Item = &'static Fact> {
    let areas = [
        tables::FACTS,
        entities::FACTS,
        keys::FACTS,
        types::FACTS,
        queries::FACTS,
        filters::FACTS,
        paging::FACTS,
        batches::FACTS,
        conditions::FACTS,
        errors::FACTS,
        access::FACTS,
        policies::FACTS,
        service::FACTS,
        cosmos_tables::FACTS,
        cosmos_entities::FACTS,
        cosmos_queries::FACTS,
        cosmos_batches::FACTS,
    ];
    areas.into_iter().flatten()
}
