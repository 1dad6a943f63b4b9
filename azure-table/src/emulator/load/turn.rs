//! The time that a request spends at the servers.
//!
//! A request passes half of the latency, the queue, its turn, and the other half of the latency.

use std::time::Duration;

use azure_table_core::model::clock::{self, Instant};
use http::Method;

use crate::emulator::load::stamp::Stamp;
use crate::emulator::load::{Busy, Demand, Work};

/// A request whose turn has come.
#[derive(Debug)]
pub(crate) struct Turn<'s> {
    stamp: &'s Stamp,
    demand: Option<Demand>,
    /// The rejection for lack of capacity.
    pub(crate) busy: Option<Busy>,
    back: Duration,
}

impl<'s> Turn<'s> {
    /// Waits for the turn of a request. Without a demand no server processes it.
    pub(crate) async fn wait(stamp: &'s Stamp, demand: Option<Demand>, method: &Method) -> Self {
        let latency = stamp.latency(match &demand {
            Some(demand) => demand.work,
            None if method == Method::GET => Work::Read,
            None => Work::Write(0),
        });
        pass(latency / 2).await;
        let admitted = demand.as_ref().map(|demand| stamp.admit(demand, Instant::now()));
        let (busy, back) = match admitted {
            None => (None, latency / 2),
            Some(Ok(done)) => {
                until(done).await;
                (None, latency / 2)
            }
            // A rejected request is not replicated.
            Some(Err(busy)) => (Some(busy), stamp.latency(Work::Read) / 2),
        };
        Self {
            stamp,
            demand,
            busy,
            back,
        }
    }

    /// Waits until the rows that a query examined are read and the response has arrived.
    pub(crate) async fn end(self, rows: u64) {
        if let (Some(demand), 1..) = (&self.demand, rows) {
            until(self.stamp.read(demand, rows, Instant::now())).await;
        }
        pass(self.back).await;
    }
}

async fn until(done: Instant) {
    pass(done.saturating_duration_since(Instant::now())).await;
}

/// A zero time skips the wait, even for the timer's next tick.
async fn pass(time: Duration) {
    if !time.is_zero() {
        clock::sleep(time).await;
    }
}
