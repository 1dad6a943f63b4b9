//! A bulk that adapts its rate.

use std::time::Duration;

use azure_table::emulator::{ServiceLoad, ServiceModel};
use azure_table::{DynamicEntity, Emulator, TableServiceClient};
use tokio::time::Instant;

use crate::load::check::{Check, Unit};

/// The least used share of a limit, and the largest share of rejected requests.
const LEAST_OF_LIMIT: f64 = 0.95;
const MAX_REJECTED: f64 = 0.01;

/// A bulk of inserts, and the limit that it meets.
#[derive(Clone, Debug)]
pub struct ManyWrites {
    /// The name in the lines of tables.
    pub name: &'static str,
    /// The model of the service.
    pub model: ServiceModel,
    /// The number of entities.
    pub entities: usize,
    /// The number of partitions, one after the other.
    pub partitions: usize,
    /// The number of batches of a partition in flight.
    pub in_flight: usize,
    /// The limit in entities per second.
    pub limit: f64,
    /// The burst that the limit allows before the first request, in entities.
    pub saved: f64,
}

impl ManyWrites {
    /// One partition of today, with its documented limit.
    pub fn one_partition_of_today(entities: usize) -> Self {
        Self {
            name: "bulk, today, one partition",
            model: ServiceModel::azure_storage(),
            entities,
            partitions: 1,
            in_flight: 4,
            limit: 2_000.0,
            saved: 2_000.0,
        }
    }

    /// One partition of 2010, whose limit is a server that is always busy: 100 entities in 41.1 ms. A batch takes
    /// 0.58 s, so that the default of 4 in flight reaches 690 entities/s.
    pub fn one_partition_of_2010(entities: usize) -> Self {
        Self {
            name: "bulk, 2010, one partition",
            model: ServiceModel::azure_storage_2010(),
            entities,
            partitions: 1,
            in_flight: 16,
            limit: 100.0 / 0.0411,
            saved: 0.0,
        }
    }

    /// Many partitions of today, none of them near its own limit: the account's limit applies.
    pub fn account_of_today(entities: usize) -> Self {
        Self {
            name: "bulk, today, 1,000 partitions",
            model: ServiceModel::azure_storage(),
            entities,
            partitions: 1_000,
            in_flight: 4,
            limit: 20_000.0,
            saved: 20_000.0,
        }
    }

    /// Writes all entities.
    ///
    /// # Panics
    /// An entity is not written, or the bulk and the service count different rejections.
    pub async fn run(&self) -> BulkRun {
        let at_once = Emulator::new();
        let truth = TableServiceClient::from_transport(at_once.clone())
            .dynamic_table("Things")
            .unwrap();
        truth.create_table().await.unwrap();
        let emulator = at_once.service_model(self.model.clone());
        let service = TableServiceClient::from_transport(emulator.clone());
        let table = service.dynamic_table("Things").unwrap();
        let partitions = self.partitions;
        let rows =
            (0..self.entities).map(move |n| DynamicEntity::new(format!("p{:04}", n % partitions), format!("{n:07}")));
        // Batches are full with this many pending operations.
        let bulk = table
            .bulk()
            .partition_concurrency(self.in_flight)
            .max_pending(self.entities.min(100 * partitions.max(self.in_flight)));
        let started = Instant::now();
        let report = bulk.insert(rows).await.unwrap();
        let elapsed = started.elapsed();
        let load = emulator.load();
        assert_eq!(report.applied() as usize, self.entities);
        assert_eq!(report.throttled(), load.throttled_requests);
        BulkRun { elapsed, load }
    }

    /// Returns the results and their bars. The entities of the initial burst are not counted for the bulk.
    pub fn checks(&self, run: &BulkRun) -> Vec<Check> {
        let rate = Check {
            what: format!("{}: entities", self.name),
            unit: Unit::Rate,
            measured: (self.entities as f64 - self.saved) / run.elapsed.as_secs_f64(),
            reference: Some(self.limit),
            bar: LEAST_OF_LIMIT * self.limit..=f64::INFINITY,
        };
        let rejected = Check {
            what: format!("{}: requests refused", self.name),
            unit: Unit::Share,
            measured: run.load.throttled_share(),
            reference: None,
            bar: 0.0..=MAX_REJECTED,
        };
        vec![rate, rejected]
    }
}

/// The result of a bulk.
#[derive(Clone, Debug)]
pub struct BulkRun {
    /// The duration.
    pub elapsed: Duration,
    /// The counts of the service.
    pub load: ServiceLoad,
}
