//! The tables of probes, by subject, and the lines that cannot be probed.

mod access;
mod batches;
mod cosmos;
mod entities;
mod queries;
mod requests;
mod service;
mod unprobed;

use crate::comparison::probe::{Line, Probe};

/// Returns all probes. The position of a probe is part of its names, on the service and on the emulator.
pub(crate) fn all() -> impl Iterator<Item = &'static Probe> {
    let tables = [
        entities::PROBES,
        queries::PROBES,
        requests::PROBES,
        batches::PROBES,
        access::PROBES,
        service::PROBES,
        cosmos::PROBES,
    ];
    tables.into_iter().flatten()
}

/// Returns the lines without a probe, with the reason.
pub(crate) fn unprobed() -> &'static [(Line, &'static str)] {
    unprobed::REASONS
}
