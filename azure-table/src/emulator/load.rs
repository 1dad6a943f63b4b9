//! Load: how long the service takes, and what it has no room for.
//!
//! Owns the arithmetic of an emulator that has a [`ServiceModel`](crate::ServiceModel): what the servers can do is `load/model.rs`, who
//! has room `load/stamp.rs`, the queue of a server `load/range_server.rs`. The way of a request through it is `dispatch.rs`: half of the
//! latency, the queue, its turn, the other half. Its effect is made in its turn, so a caller who hangs up before has changed nothing,
//! and one who hangs up after has. An emulator without a model does not come here.
//!
//! Time is tokio's, which a test may pause; the emulator's own clock only dates rows.
//! Not imitated: the size of entities (each counts as one of 1 KiB), ranges that are put together again, a query that needs
//! several servers (the one where it begins works for all).

mod bucket;
pub(crate) mod demand;
pub(crate) mod model;
mod range_server;
pub(crate) mod stamp;
#[cfg(test)]
mod tests;
