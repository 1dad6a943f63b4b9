//! The service model: what its servers can do, as constants and presets with their sources.
//!
//! Owns [`ServiceModel`] and [`RangeSplits`]. What they mean for a request is `load/range_server.rs` and
//! `load/bucket.rs`.
//!
//! Source: "How to get the most out of Windows Azure Tables" (Windows Azure Storage Team, 2010), Figures 3, 4, 8, 9,
//! 12, 13 and 15; "Scalability and performance targets for Table storage".

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::emulator::load::Work;

/// No time of a model is longer, so that all sums of them are points in time.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// How long an [`Emulator`](crate::Emulator) takes and how much it has room for. Feature `emulator`.
///
/// Without a model an emulator answers at once, whatever it is asked. With one
/// ([`with_service_model`](crate::Emulator::with_service_model)) a request for entities passes, as in the live service
///
/// 1. half of the latency ([`write_latency`](Self::write_latency), [`read_latency`](Self::read_latency)), ± 10 %;
/// 2. the limit of its account ([`account_entities_per_second`](Self::account_entities_per_second)) and of its partition
///    ([`partition_entities_per_second`](Self::partition_entities_per_second));
/// 3. the queue of the server that has its partition, which does one thing after the other: each takes
///    [`time_per_request`](Self::time_per_request) and [`time_per_entity`](Self::time_per_entity), for reads
///    [`time_per_entity_read`](Self::time_per_entity_read). What would wait longer than
///    [`max_wait`](Self::max_wait) is refused at once, a share of the requests before that
///    ([`shedding`](Self::shedding), [`queue_chance`](Self::queue_chance));
/// 4. the other half of the latency, when it has been applied.
///
/// A request that is given up while it waits is not applied, though its turn passes. What is refused is not applied:
/// 503 `ServerBusy`, with "Operations per second is over the account limit." where it is the account's limit, and
/// without a time to wait; as Cosmos DB 429 `TooManyRequests` with `x-ms-retry-after-ms`. What is about tables or the
/// service takes its latency alone.
///
/// Each partition has a server of its own, as after days of steady load, unless ranges are to be split
/// ([`splits`](Self::splits)).
///
/// No latency, time of work or time of a split is longer than a day; what is set longer is a day.
///
/// Time is tokio's: with `#[tokio::test(start_paused = true)]` an hour of it takes as long as its requests do. All
/// chance comes from the [`seed`](Self::seed), so that the same requests at the same times have the same fate.
///
/// ```
/// use std::time::Duration;
/// use azure_table::{DynamicEntity, Emulator, ErrorKind, NoRetry, TableServiceClient};
/// use azure_table::emulator::ServiceModel;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// # tokio::time::pause();
/// let model = ServiceModel::today().partition_entities_per_second(100).burst(Duration::from_millis(10));
/// let emulator = Emulator::new().with_service_model(model);
/// let blogs = TableServiceClient::on(emulator.clone()).retry(NoRetry).dynamic_table("Blogs")?;
/// blogs.create_table().await?;
/// let (one, two) = (DynamicEntity::new("Channel9", "1"), DynamicEntity::new("Channel9", "2"));
/// let (first, second) = tokio::join!(blogs.insert(&one), blogs.insert(&two));
/// let refused = first.and(second).unwrap_err();
/// assert_eq!((refused.kind(), refused.code()), (ErrorKind::Throttled, Some("ServerBusy")));
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

/// Which share is refused from which wait on, until the queue is down to another.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shedding {
    pub(crate) share: f64,
    pub(crate) from: Duration,
    pub(crate) until: Duration,
}

impl ServiceModel {
    /// A service that takes no time and has room for everything, to set what a test is about.
    pub fn new() -> Self {
        Self {
            write_latency: Duration::ZERO,
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

    /// The service of today: 2,000 entities/s a partition, 20,000 entities/s an account, both saved for 1 s.
    ///
    /// These two are documented, for entities of 1 KiB. All else is chosen, in the absence of a source: a latency of 10
    /// ms for writes and 5 ms for reads; servers that take 0.2 ms a request, 0.2 ms an entity written and 0.02 ms an
    /// entity read (2,500 inserts or about 4,950 entities in batches of 100 per second), so that the limit of a
    /// partition is met before its server's; a longest wait of 1 s.
    ///
    /// Source: "Scalability and performance targets for Table storage".
    pub fn today() -> Self {
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

    /// The service that the Storage Team measured in 2010, warmed up and steady.
    ///
    /// A partition takes 1,000 inserts/s, or about 2,400 entities/s in batches of 100, and no rate but its server's
    /// time is its limit; so it is for an account, which was seen to take 17,000 entities/s and not to refuse any. (The
    /// targets of that time, 500 and 5,000 entities/s, were promises below that.)
    ///
    /// | constant | value | from |
    /// |---|--:|---|
    /// | latency of writes, of reads | 42 ms, 34 ms | Figure 3; 30 workers at 600 inserts/s (Figure 8) |
    /// | time per request, per entity written | 0.6 ms, 0.405 ms | 1,000 inserts/s (Figure 8); 2,300 to 2,500 entities/s (Figure 15) |
    /// | time per entity read | 0.05 ms | chosen: reads are faster than inserts (Figure 9) |
    /// | shedding | 22 %, from 950 ms of wait down to 600 ms | Figure 15: refused at 50 workers, at 30, none at 20 |
    /// | longest wait | 1.5 s | chosen: beyond what was measured |
    /// | queue_chance | 1,500 requests | Figure 8: refused of 75, 150 and 240 workers |
    ///
    /// Source: "How to get the most out of Windows Azure Tables" (2010), Figures 3, 8, 9 and 15.
    pub fn in_2010() -> Self {
        Self::new()
            .write_latency(Duration::from_millis(42))
            .read_latency(Duration::from_millis(34))
            .time_per_request(Duration::from_micros(600))
            .time_per_entity(Duration::from_micros(405))
            .time_per_entity_read(Duration::from_micros(50))
            .max_wait(Duration::from_millis(1_500))
            .shedding(0.22, Duration::from_millis(950), Duration::from_millis(600))
            .queue_chance(1_500)
    }

    /// The time on the way of a write, there and back together: the network, the front end, the copies. It takes
    /// nothing of what the servers can do. ± 10 %.
    pub fn write_latency(mut self, mean: Duration) -> Self {
        self.write_latency = mean.min(LONGEST);
        self
    }

    /// The same for a read, and for what is refused. Under a paused clock let it not be zero: a client that repeats
    /// refused requests without a wait would do so forever at one instant.
    pub fn read_latency(mut self, mean: Duration) -> Self {
        self.read_latency = mean.min(LONGEST);
        self
    }

    /// How long a server works on a request, whatever is in it: a batch is one request.
    pub fn time_per_request(mut self, time: Duration) -> Self {
        self.time_per_request = time.min(LONGEST);
        self
    }

    /// How much longer it works for each entity that is written.
    pub fn time_per_entity(mut self, time: Duration) -> Self {
        self.time_per_entity = time.min(LONGEST);
        self
    }

    /// How much longer it works for each entity that is read, or looked at by a query.
    pub fn time_per_entity_read(mut self, time: Duration) -> Self {
        self.time_per_entity_read = time.min(LONGEST);
        self
    }

    /// How long a request may wait for a server: one that would wait longer is refused at once.
    pub fn max_wait(mut self, wait: Duration) -> Self {
        self.max_wait = wait;
        self
    }

    /// Refuses a `share` of requests, from 0 (none) to 1, once the wait is longer than `from` and as long as it is
    /// longer than `until`: an overloaded server lets its queue go down before it takes all again.
    pub fn shedding(mut self, share: f64, from: Duration, until: Duration) -> Self {
        self.shedding = (share > 0.0).then_some(Shedding { share, from, until });
        self
    }

    /// Refuses a request by chance, with the probability (*n* / `requests`)³ where *n* requests wait. `None`: never.
    pub fn queue_chance(mut self, requests: impl Into<Option<u32>>) -> Self {
        self.queue_chance = requests.into();
        self
    }

    /// How many entities per second may be asked of a partition; more are refused. At least 1; `None`: any number.
    ///
    /// A query counts the rows that it looks at, when it has: they are missing to those that come after.
    pub fn partition_entities_per_second(mut self, entities: impl Into<Option<u32>>) -> Self {
        self.partition_rate = entities.into();
        self
    }

    /// The same for all partitions of an account together, each region by itself.
    pub fn account_entities_per_second(mut self, entities: impl Into<Option<u32>>) -> Self {
        self.account_rate = entities.into();
        self
    }

    /// For how long these rates are saved while they are not used: 1 s, unless it is said. So many entities can come at
    /// once, and no fewer than a single request has.
    pub fn burst(mut self, time: Duration) -> Self {
        self.burst = time;
        self
    }

    /// Lets a table begin on one server, and cuts its range in two where the load is too much for it.
    pub fn splits(mut self, splits: RangeSplits) -> Self {
        self.splits = Some(splits);
        self
    }

    /// Gives each partition a server of its own, from the beginning. This is so unless [`splits`](Self::splits) says
    /// otherwise.
    pub fn without_splits(mut self) -> Self {
        self.splits = None;
        self
    }

    /// Where chance begins: 0, unless it is said.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// How long a server works.
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
    /// [`new`](Self::new).
    fn default() -> Self {
        Self::new()
    }
}

/// How the ranges of a table are split over servers as its load grows. Feature `emulator`.
///
/// A table begins as one range of partitions, on one server. A server that worked at least 90 % of the time until the
/// next decision gives the part of its range from the middle of that load on to a new server; this part is away for a
/// while, and requests for it are refused. A partition is never cut, and where each new partition is the greatest the
/// load is always on the last server, whatever is cut off before it.
///
/// Source: "How to get the most out of Windows Azure Tables" (2010); "Windows Azure Table" (2009).
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "it does nothing until a model has it"]
pub struct RangeSplits {
    decision: RangeInclusive<Duration>,
    away: RangeInclusive<Duration>,
}

impl RangeSplits {
    /// As the Storage Team told: it takes 5 to 10 minutes to decide, and the range is away for 10 to 20 s.
    pub fn new() -> Self {
        Self {
            decision: Duration::from_secs(300)..=Duration::from_secs(600),
            away: Duration::from_secs(10)..=Duration::from_secs(20),
        }
    }

    /// For how long a server's load is watched before it is decided.
    pub fn decision(mut self, time: RangeInclusive<Duration>) -> Self {
        self.decision = time;
        self
    }

    /// For how long the part of a range that moves is away.
    pub fn unavailable(mut self, time: RangeInclusive<Duration>) -> Self {
        self.away = time;
        self
    }

    pub(crate) fn draw_decision(&self, random: &mut fastrand::Rng) -> Duration {
        draw(&self.decision, random)
    }

    pub(crate) fn draw_away(&self, random: &mut fastrand::Rng) -> Duration {
        draw(&self.away, random)
    }
}

impl Default for RangeSplits {
    /// [`new`](Self::new).
    fn default() -> Self {
        Self::new()
    }
}

fn draw(range: &RangeInclusive<Duration>, random: &mut fastrand::Rng) -> Duration {
    let (least, most) = (LONGEST.min(*range.start()), LONGEST.min(*range.end()));
    least + most.saturating_sub(least).mul_f64(random.f64())
}
