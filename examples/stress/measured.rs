//! The result of a point: counts, latencies and CPU. VMs are added up; processes send it as JSON.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The result of one or several VMs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Measured {
    /// Counted seconds.
    pub(crate) seconds: f64,
    pub(crate) accepted_requests: u64,
    pub(crate) accepted_entities: u64,
    /// Requests that were rejected for lack of capacity.
    pub(crate) rejected_requests: u64,
    pub(crate) rejected_entities: u64,
    /// Requests that failed for another reason.
    pub(crate) failed_requests: u64,
    pub(crate) failure: Option<String>,
    /// Latencies of accepted requests, in microseconds, as the caller sees them.
    #[serde(serialize_with = "write_latencies", deserialize_with = "read_latencies")]
    pub(crate) latencies: Histogram<u64>,
    /// The used share of the CPU: of a VM's cores where they are modelled, else of the machine's.
    pub(crate) cpu: f64,
    /// Requests that were sent, including warm-up and preparation.
    pub(crate) sent_requests: u64,
    pub(crate) sent_bytes: u64,
    /// A limit or Ctrl-C ended it early.
    pub(crate) is_cut: bool,
}

impl Measured {
    pub(crate) fn new(seconds: f64) -> Self {
        Self {
            seconds,
            accepted_requests: 0,
            accepted_entities: 0,
            rejected_requests: 0,
            rejected_entities: 0,
            failed_requests: 0,
            failure: None,
            latencies: latencies(),
            cpu: 0.0,
            sent_requests: 0,
            sent_bytes: 0,
            is_cut: false,
        }
    }

    pub(crate) fn accept(&mut self, entities: u64, latency: Duration) {
        self.accepted_requests += 1;
        self.accepted_entities += entities;
        record(
            &mut self.latencies,
            u64::try_from(latency.as_micros()).unwrap_or(u64::MAX),
            1,
        );
    }

    /// Adds another VM of the same time.
    pub(crate) fn add(&mut self, other: Self) {
        self.seconds = self.seconds.max(other.seconds);
        self.accepted_requests += other.accepted_requests;
        self.accepted_entities += other.accepted_entities;
        self.rejected_requests += other.rejected_requests;
        self.rejected_entities += other.rejected_entities;
        self.failed_requests += other.failed_requests;
        self.failure = self.failure.take().or(other.failure);
        // Both resize by themselves.
        self.latencies.add(&other.latencies).unwrap_or_default();
        self.cpu = self.cpu.max(other.cpu);
        self.sent_requests += other.sent_requests;
        self.sent_bytes += other.sent_bytes;
        self.is_cut |= other.is_cut;
    }

    pub(crate) fn entities_per_second(&self) -> f64 {
        self.accepted_entities as f64 / self.seconds
    }

    pub(crate) fn requests(&self) -> u64 {
        self.accepted_requests + self.rejected_requests + self.failed_requests
    }

    pub(crate) fn rejected_share(&self) -> f64 {
        self.rejected_requests as f64 / self.requests().max(1) as f64
    }

    pub(crate) fn mean_ms(&self) -> f64 {
        self.latencies.mean() / 1_000.0
    }

    pub(crate) fn quantile_ms(&self, quantile: f64) -> f64 {
        self.latencies.value_at_quantile(quantile) as f64 / 1_000.0
    }

    /// Returns the share of accepted requests that took less than `ms`.
    pub(crate) fn share_below(&self, ms: f64) -> f64 {
        let below = self.latencies.count_between(0, (ms * 1_000.0) as u64 - 1);
        below as f64 / self.latencies.len().max(1) as f64
    }
}

/// Records a value that is far below the most that a histogram can grow to.
fn record(latencies: &mut Histogram<u64>, micros: u64, count: u64) {
    latencies
        .record_n(micros.clamp(1, u64::from(u32::MAX)), count)
        .unwrap_or_default();
}

/// Four digits, from a microsecond on: a whole millisecond begins a bucket. It grows with its values.
fn latencies() -> Histogram<u64> {
    match Histogram::new(4) {
        Ok(histogram) => histogram,
        Err(_) => unreachable!("four digits are allowed"),
    }
}

fn write_latencies<S: Serializer>(latencies: &Histogram<u64>, to: S) -> Result<S::Ok, S::Error> {
    let pairs = latencies.iter_recorded();
    to.collect_seq(pairs.map(|step| (step.value_iterated_to(), step.count_at_value())))
}

fn read_latencies<'de, D: Deserializer<'de>>(from: D) -> Result<Histogram<u64>, D::Error> {
    let mut read = latencies();
    for (value, count) in Vec::<(u64, u64)>::deserialize(from)? {
        record(&mut read, value, count);
    }
    Ok(read)
}
