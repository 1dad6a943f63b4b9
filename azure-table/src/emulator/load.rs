//! How long the service takes, and what it has no room for.
//!
//! Owns the way of a request through an emulator that has a [`ServiceModel`]: half of the latency, the queue of its range
//! server, its turn, the other half. Its effect is made in its turn, so whoever hangs up before has changed nothing, and
//! whoever hangs up after has. What the servers can do is `model.rs`, what a request asks of them `demand.rs`, who has room
//! `stamp.rs`, in what words it is refused `busy.rs`. An emulator without a model does not come here.
//!
//! Time is tokio's, which a test may pause; the emulator's own clock only dates rows.
//! Not confirmed: that refusals of a partition and of its server read the same; that a batch is refused as a whole.
//! Not imitated: the size of entities (each counts as one of 1 KiB), ranges that are put together again, a query that needs
//! several servers (the one where it begins works for all).

mod bucket;
mod busy;
mod count;
mod demand;
mod model;
mod ranges;
mod server;
mod stamp;
#[cfg(test)]
mod tests;

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response};

use crate::emulator::Emulator;
use crate::emulator::dispatch;
use crate::model::clock::{self, Instant};

pub(crate) use crate::emulator::load::busy::Busy;
pub use crate::emulator::load::count::ServiceLoad;
pub(crate) use crate::emulator::load::demand::{Demand, Work};
pub use crate::emulator::load::model::{RangeSplits, ServiceModel};
pub(crate) use crate::emulator::load::stamp::Stamp;

/// Answers a request when the servers come to it.
pub(crate) async fn answer(emulator: &Emulator, stamp: &Stamp, request: Request<Bytes>) -> Response<Bytes> {
    let latency = stamp.latency(request.method() == Method::GET);
    let (head, body) = request.into_parts();
    let demand = dispatch::demand(emulator, &head, &body);
    let request = Request::from_parts(head, body);
    pass(latency / 2).await;
    let admitted = demand.as_ref().map(|demand| stamp.admit(demand, Instant::now()));
    let (busy, back) = match admitted {
        None => (None, latency / 2),
        Some(Ok(done)) => {
            until(done).await;
            (None, latency / 2)
        }
        // What is refused is copied nowhere.
        Some(Err(busy)) => (Some(busy), stamp.latency(true) / 2),
    };
    let (response, rows) = dispatch::respond(emulator, request, busy.as_ref()).await;
    if let (Some(demand), 1..) = (&demand, rows) {
        until(stamp.read(demand, rows, Instant::now())).await;
    }
    pass(back).await;
    response
}

async fn until(done: Instant) {
    pass(done.saturating_duration_since(Instant::now())).await;
}

/// Without time there is no wait, not even for the timer's next tick.
async fn pass(time: Duration) {
    if !time.is_zero() {
        clock::sleep(time).await;
    }
}
