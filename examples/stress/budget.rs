//! The limits of a run on an account: requests and an estimate of their cost.

use std::fmt;

use crate::workload::Workload;

/// The requests that may be sent, and those that were.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    /// `None` where requests are free.
    most: Option<u64>,
    sent: u64,
    /// Of 10,000 requests, in dollars.
    price: f64,
}

impl Budget {
    pub(crate) fn free() -> Self {
        Self {
            most: None,
            sent: 0,
            price: 0.0,
        }
    }

    /// Ends at the first of both limits.
    pub(crate) fn of_account(max_requests: u64, max_cost: f64, price: f64) -> Self {
        let affordable = if price > 0.0 {
            (max_cost / price * 10_000.0) as u64
        } else {
            u64::MAX
        };
        Self {
            // The table is created and deleted.
            most: Some(max_requests.min(affordable).saturating_sub(2)),
            sent: 0,
            price,
        }
    }

    /// Returns the number of requests that are left.
    pub(crate) fn left(&self) -> u64 {
        self.most.map_or(u64::MAX, |most| most.saturating_sub(self.sent))
    }

    pub(crate) fn spend(&mut self, requests: u64) {
        self.sent += requests;
    }

    pub(crate) fn cost(&self, requests: u64) -> f64 {
        requests as f64 / 10_000.0 * self.price
    }

    /// States the limits of a run before it starts.
    pub(crate) fn plan<'a>(&self, workloads: impl Iterator<Item = &'a Workload>) -> Plan {
        let most = self.most.map_or(u64::MAX, |most| most + 2);
        let (mut requests, mut batch, mut seconds) = (0.0, 1, 0.0);
        for workload in workloads {
            batch = batch.max(workload.batch);
            seconds += workload.duration();
            requests += expected(workload);
        }
        Plan {
            most_requests: most,
            most_entities: most.saturating_mul(batch),
            most_cost: self.cost(most),
            expected_requests: requests.min(most as f64) as u64,
            seconds,
        }
    }

    /// States what was spent.
    pub(crate) fn summary(&self) -> String {
        format!("{} requests, about {:.4} USD", self.sent + 2, self.cost(self.sent + 2))
    }
}

/// The requests of a workload, by latencies that are low for an account: 5 ms, and 0.2 ms per written entity.
fn expected(workload: &Workload) -> f64 {
    let latency = 0.005 + 0.000_2 * workload.batch as f64;
    let closed = workload.workers() as f64 / latency;
    let prepared = if workload.reads() {
        workload.workers() as f64 * (workload.rows as f64 / 100.0).ceil()
    } else {
        0.0
    };
    workload.rate.map_or(closed, |rate| rate.min(closed)) * workload.duration() + prepared
}

/// The limits of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    most_requests: u64,
    most_entities: u64,
    most_cost: f64,
    expected_requests: u64,
    seconds: f64,
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "limits     at most {} requests with {} entities, {:.4} USD by --price; about {} requests are expected",
            self.most_requests, self.most_entities, self.most_cost, self.expected_requests
        )?;
        write!(
            f,
            "           {:.0} s of load; rows are stored until the end, when the table is deleted",
            self.seconds
        )
    }
}
