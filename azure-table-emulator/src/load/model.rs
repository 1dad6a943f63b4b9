//! The service model: the capacity of its servers, as constants and presets with their sources.
//!
//! Defines [`ServiceModel`] and [`RangeSplits`]. `load/range_server.rs` and `load/stamp.rs` apply them to requests.
//!
//! Source: "How to get the most out of Windows Azure Tables" (Windows Azure Storage Team, 2010), Figures 3, 4, 6, 8,
//! 9, 12, 13 and 15; "Scalability and performance targets for Table storage".

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::load::Work;

/// The upper limit of latencies, processing times and split times, so that all sums of them are valid points in time.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// The latencies and the capacity of an [`Emulator`](crate::Emulator). Feature `emulator`.
///
/// Without a model an emulator answers without a delay, whatever the load. With one
/// ([`service_model`](crate::Emulator::service_model)) a request for entities passes these steps, as in the
/// live service:
///
/// 1. half of the latency ([`write_latency`](Self::write_latency) with
///    [`write_latency_per_entity`](Self::write_latency_per_entity), or [`read_latency`](Self::read_latency)), ± 10 %;
/// 2. the limit of its account ([`account_entities_per_second`](Self::account_entities_per_second)) and of its
///    partition ([`partition_entities_per_second`](Self::partition_entities_per_second));
/// 3. the queue of its partition's server, which handles one request at a time. Each takes
///    [`time_per_request`](Self::time_per_request) and [`time_per_entity`](Self::time_per_entity), or
///    [`time_per_entity_read`](Self::time_per_entity_read) for reads. A request that would wait longer than
///    [`max_wait`](Self::max_wait) is rejected immediately, and a share of the requests even before that
///    ([`shedding`](Self::shedding), [`queue_chance`](Self::queue_chance));
/// 4. the other half of the latency, after the request has been applied.
///
/// A request that its caller cancels while it waits is not applied, but still uses its turn.
///
/// A rejected request is not applied. The response is 503 `ServerBusy`. At the account's limit its text is "Operations
/// per second is over the account limit." Cosmos DB responds with 429 `TooManyRequests`. Neither service names a time
/// to wait, so the client has to find its own pace. Requests about tables or the service take only their latency.
///
/// Unless [`splits`](Self::splits) are enabled, each partition has its own server, as in a live service after days of
/// steady load.
///
/// Latencies, processing times and split times longer than a day are shortened to a day.
///
/// Time is tokio's: with `#[tokio::test(start_paused = true)]` an hour passes as fast as its requests can be processed.
/// All random draws come from the [`seed`](Self::seed), so the same requests at the same times have the same outcomes.
///
/// ```
/// use std::time::Duration;
/// use azure_table::{DynamicEntity, Emulator, ErrorKind, NoRetry, TableServiceClient};
/// use azure_table::emulator::ServiceModel;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// # tokio::time::pause();
/// let model = ServiceModel::azure_storage().partition_entities_per_second(100).burst(Duration::from_millis(10));
/// let emulator = Emulator::new().service_model(model);
/// let blogs = TableServiceClient::from_transport(emulator.clone()).retry(NoRetry).dynamic_table("Blogs")?;
/// blogs.create_table().await?;
/// let (one, two) = (DynamicEntity::new("Channel9", "1"), DynamicEntity::new("Channel9", "2"));
/// let (first, second) = tokio::join!(blogs.insert(&one), blogs.insert(&two));
/// let rejected = first.and(second).unwrap_err();
/// assert_eq!((rejected.kind(), rejected.code()), (ErrorKind::Throttled, Some("ServerBusy")));
/// assert_eq!(emulator.load().throttled_requests, 1);
/// # Ok(())
/// # }
/// ```
///
/// Source: "How to get the most out of Windows Azure Tables" (2010); "Scalability and performance targets for Table
/// storage".
#[derive(Clone, Debug, PartialEq)]
#[must_use = "a model does nothing until an emulator has it"]
pub struct ServiceModel {
    pub(crate) write_latency: Duration,
    pub(crate) write_latency_per_entity: Duration,
    pub(crate) read_latency: Duration,
    pub(crate) time_per_request: Duration,
    pub(crate) time_per_entity: Duration,
    pub(crate) time_per_entity_read: Duration,
    pub(crate) max_wait: Duration,
    pub(crate) shedding: Option<Shedding>,
    pub(crate) queue_chance: Option<u32>,
    pub(crate) partition_rate: Option<u32>,
    pub(crate) account_rate: Option<u32>,
    pub(crate) burst: Duration,
    pub(crate) splits: Option<RangeSplits>,
    pub(crate) seed: u64,
}

/// The share of requests that is shed once the wait is longer than `from`, until it is no longer than `until`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shedding {
    pub(crate) share: f64,
    pub(crate) from: Duration,
    pub(crate) until: Duration,
}

impl ServiceModel {
    /// Creates a service with no latency and unlimited capacity. A test sets only the values that it needs.
    pub fn new() -> Self {
        Self {
            write_latency: Duration::ZERO,
            write_latency_per_entity: Duration::ZERO,
            read_latency: Duration::ZERO,
            time_per_request: Duration::ZERO,
            time_per_entity: Duration::ZERO,
            time_per_entity_read: Duration::ZERO,
            max_wait: Duration::MAX,
            shedding: None,
            queue_chance: None,
            partition_rate: None,
            account_rate: None,
            burst: Duration::from_secs(1),
            splits: None,
            seed: 0,
        }
    }

    /// Creates Azure Storage with its documented targets: 2,000 entities/s per partition and 20,000 entities/s per
    /// account, both with 1 s of burst.
    ///
    /// These two limits are documented, for entities of 1 KiB. No source has the other values, so we chose them:
    ///
    /// - a latency of 10 ms for writes and 5 ms for reads
    /// - 0.2 ms of server time per request, 0.2 ms per entity written and 0.02 ms per entity read
    /// - a maximum wait of 1 s
    ///
    /// A server then handles 2,500 inserts/s, or about 4,950 entities/s in batches of 100, so a partition reaches its
    /// own limit before its server's.
    ///
    /// Source: "Scalability and performance targets for Table storage".
    pub fn azure_storage() -> Self {
        Self::new()
            .write_latency(Duration::from_millis(10))
            .read_latency(Duration::from_millis(5))
            .time_per_request(Duration::from_micros(200))
            .time_per_entity(Duration::from_micros(200))
            .time_per_entity_read(Duration::from_micros(20))
            .max_wait(Duration::from_secs(1))
            .partition_entities_per_second(2_000)
            .account_entities_per_second(20_000)
    }

    /// Creates the service that the Storage Team measured in 2010, in a steady state.
    ///
    /// A partition handles 1,000 inserts/s, or about 2,400 entities/s in batches of 100. Its limit is its server's
    /// time, not a rate. An account has no rate limit either: one handled 17,000 entities/s without a rejection. (The
    /// targets of that time, 500 and 5,000 entities/s, promised less.)
    ///
    /// | constant | value | from |
    /// |---|--:|---|
    /// | latency of a write | 37 ms, and 5 ms per entity | Figures 3, 4 and 6; 30 workers at 600 inserts/s (Figure 8) |
    /// | latency of a read | 30 ms | Figure 3 |
    /// | time per request, entity | 0.6 ms, 0.405 ms | 1,000 inserts/s (Figure 8); 2,300-2,500 entities/s (Figure 15) |
    /// | time per entity read | 0.05 ms | chosen: reads are faster than inserts (Figure 9) |
    /// | shedding | 22 %, from 450 ms of wait down to 100 ms | Figure 15: rejections at 50 workers, at 30, none at 20 |
    /// | longest wait | 1 s | chosen: beyond the measured waits |
    /// | queue_chance | 1,500 requests | Figure 8: rejections with 75, 150 and 240 workers |
    ///
    /// Source: "How to get the most out of Windows Azure Tables" (2010), Figures 3, 4, 6, 8, 9 and 15.
    pub fn azure_storage_2010() -> Self {
        Self::new()
            .write_latency(Duration::from_millis(37))
            .write_latency_per_entity(Duration::from_millis(5))
            .read_latency(Duration::from_millis(30))
            .time_per_request(Duration::from_micros(600))
            .time_per_entity(Duration::from_micros(405))
            .time_per_entity_read(Duration::from_micros(50))
            .max_wait(Duration::from_secs(1))
            .shedding(0.22, Duration::from_millis(450), Duration::from_millis(100))
            .queue_chance(1_500)
    }

    /// Sets the mean round-trip latency of a write: network, front end and replication.
    ///
    /// The latency varies by ± 10 %. It uses none of the servers' capacity.
    pub fn write_latency(mut self, mean: Duration) -> Self {
        self.write_latency = mean.min(LONGEST);
        self
    }

    /// Sets the additional latency per entity of a write, such as each operation of a batch.
    ///
    /// It uses none of the servers' capacity either, so batches of other callers run meanwhile.
    pub fn write_latency_per_entity(mut self, mean: Duration) -> Self {
        self.write_latency_per_entity = mean.min(LONGEST);
        self
    }

    /// Sets the mean round-trip latency of a read, and of a rejected request.
    ///
    /// The latency varies by ± 10 %. Set it above zero if the clock is paused: otherwise a client that retries rejected
    /// requests without a wait would retry forever at the same instant.
    pub fn read_latency(mut self, mean: Duration) -> Self {
        self.read_latency = mean.min(LONGEST);
        self
    }

    /// Sets the server time per request, whatever its content: a batch is one request.
    pub fn time_per_request(mut self, time: Duration) -> Self {
        self.time_per_request = time.min(LONGEST);
        self
    }

    /// Sets the additional server time per entity written.
    pub fn time_per_entity(mut self, time: Duration) -> Self {
        self.time_per_entity = time.min(LONGEST);
        self
    }

    /// Sets the additional server time per entity read, or examined by a query.
    pub fn time_per_entity_read(mut self, time: Duration) -> Self {
        self.time_per_entity_read = time.min(LONGEST);
        self
    }

    /// Sets the maximum wait for a server. A request that would wait longer is rejected immediately.
    pub fn max_wait(mut self, wait: Duration) -> Self {
        self.max_wait = wait;
        self
    }

    /// Rejects a `share` of the requests, from 0 (none) to 1, while the queue is too long.
    ///
    /// Shedding begins once the wait is longer than `from`, and continues while it is longer than `until`. An
    /// overloaded server shortens its queue in this way before it accepts all requests again.
    pub fn shedding(mut self, share: f64, from: Duration, until: Duration) -> Self {
        self.shedding = (share > 0.0).then_some(Shedding { share, from, until });
        self
    }

    /// Rejects a request at random, with the probability (*n* / `requests`)³ while *n* requests wait. `None` disables
    /// this.
    pub fn queue_chance(mut self, requests: impl Into<Option<u32>>) -> Self {
        self.queue_chance = requests.into();
        self
    }

    /// Limits the entities per second of a partition; requests beyond it are rejected. The minimum is 1; `None` removes
    /// the limit.
    ///
    /// A query's rows count once the query has examined them. They reduce the rate for later requests.
    pub fn partition_entities_per_second(mut self, entities: impl Into<Option<u32>>) -> Self {
        self.partition_rate = entities.into();
        self
    }

    /// Limits the entities per second of an account, over all its partitions. Each location counts separately.
    pub fn account_entities_per_second(mut self, entities: impl Into<Option<u32>>) -> Self {
        self.account_rate = entities.into();
        self
    }

    /// Sets the time for which unused rate is saved: 1 s by default.
    ///
    /// The saved entities can arrive in one burst. A request with more entities is accepted once the full burst is
    /// saved.
    pub fn burst(mut self, time: Duration) -> Self {
        self.burst = time;
        self
    }

    /// Starts each table on one server, and splits its range when the load is too high.
    pub fn splits(mut self, splits: RangeSplits) -> Self {
        self.splits = Some(splits);
        self
    }

    /// Gives each partition its own server from the beginning.
    ///
    /// This is the default; [`splits`](Self::splits) changes it.
    pub fn without_splits(mut self) -> Self {
        self.splits = None;
        self
    }

    /// Sets the seed of all random draws. The default is 0.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Returns the mean latency of a request. A write without entities changes a table or the service.
    pub(crate) fn latency_of(&self, work: Work) -> Duration {
        match work {
            Work::Read => self.read_latency,
            Work::Write(entities) => {
                let entities = u32::try_from(entities).unwrap_or(u32::MAX);
                let further = self.write_latency_per_entity.saturating_mul(entities);
                self.write_latency.saturating_add(further).min(LONGEST)
            }
        }
    }

    /// Returns the server time of a request.
    pub(crate) fn time_of(&self, work: Work) -> Duration {
        let (each, entities) = match work {
            Work::Read => (self.time_per_entity_read, 1),
            Work::Write(entities) => (self.time_per_entity, entities),
        };
        let entities = u32::try_from(entities).unwrap_or(u32::MAX);
        self.time_per_request.saturating_add(each.saturating_mul(entities))
    }
}

impl Default for ServiceModel {
    /// Returns [`new`](Self::new).
    fn default() -> Self {
        Self::new()
    }
}

/// The splits of a table's ranges over servers as its load grows. Feature `emulator`.
///
/// A table begins as one range of partitions on one server. A server splits its range if it was busy for at least 90 %
/// of the time until the next decision. The part after the middle of that load moves to a new server. That part is
/// unavailable for a while, and requests for it are rejected.
///
/// A partition is never split. If each new partition key is the greatest one, the load stays on the last server,
/// whatever the splits before it.
///
/// Source: "How to get the most out of Windows Azure Tables" (2010); "Windows Azure Table" (2009).
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "it does nothing until a model has it"]
pub struct RangeSplits {
    pub(crate) decision: RangeInclusive<Duration>,
    pub(crate) away: RangeInclusive<Duration>,
}

impl RangeSplits {
    /// Creates splits with the times that the Storage Team published.
    ///
    /// A decision takes 5 to 10 minutes, and the range is unavailable for 10 to 20 s.
    pub fn new() -> Self {
        Self {
            decision: Duration::from_secs(300)..=Duration::from_secs(600),
            away: Duration::from_secs(10)..=Duration::from_secs(20),
        }
    }

    /// Sets the time for which a server's load is observed before each decision.
    pub fn decision(mut self, time: RangeInclusive<Duration>) -> Self {
        self.decision = time;
        self
    }

    /// Sets the time for which the moving part of a range is unavailable.
    pub fn unavailable(mut self, time: RangeInclusive<Duration>) -> Self {
        self.away = time;
        self
    }
}

impl Default for RangeSplits {
    /// Returns [`new`](Self::new).
    fn default() -> Self {
        Self::new()
    }
}

/// Draws a time of a range.
pub(crate) fn draw(range: &RangeInclusive<Duration>, random: &mut fastrand::Rng) -> Duration {
    let (least, most) = (LONGEST.min(*range.start()), LONGEST.min(*range.end()));
    least + most.saturating_sub(least).mul_f64(random.f64())
}
