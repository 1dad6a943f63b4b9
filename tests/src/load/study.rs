//! The closed loops of the study of 2010, and its figures.
//!
//! The set-up is that of the study: one partition, synchronous workers, no retries, 3 s pause after a rejection,
//! counted in a steady state. Rows have only keys, because the model counts entities and not bytes.
//!
//! Source: "How to get the most out of Windows Azure Tables" (Windows Azure Storage Team, 2010), Figures 8 and 15.

use std::ops::RangeInclusive;
use std::time::Duration;

use azure_table::DynamicEntity;
use azure_table::emulator::{ServiceLoad, ServiceModel};

use crate::load::{Check, ClosedLoop, Unit, table};

/// The tolerance of a counted share, in standard deviations.
const CHANCE: f64 = 2.5;

/// A figure of the study: one kind of request, and the results by the number of workers.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// The name.
    pub name: &'static str,
    /// The kind of request.
    pub what: &'static str,
    /// A note on the rejected shares of the study, if needed.
    pub note: &'static str,
    /// Entities of a request.
    pub entities: usize,
    /// The numbers of workers, one point each.
    pub points: &'static [Point],
    /// The factor by which the rate may differ from the study.
    pub rate_factor: f64,
    /// The tolerance of a share.
    pub share: Tolerance,
}

/// The results of the study for one number of workers.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// The number of workers.
    pub workers: usize,
    /// Accepted entities per second.
    pub accepted: Told,
    /// The rejected share of all requests.
    pub refused: Told,
}

/// A value of the study.
#[derive(Clone, Copy, Debug)]
pub enum Told {
    /// This value.
    Value(f64),
    /// No value, but the neighbouring points imply this range.
    Between(f64, f64),
}

impl Told {
    /// Returns the value, if the study has one.
    pub fn value(self) -> Option<f64> {
        match self {
            Self::Value(value) => Some(value),
            Self::Between(..) => None,
        }
    }

    /// Returns the range of the value.
    fn limits(self) -> (f64, f64) {
        match self {
            Self::Value(value) => (value, value),
            Self::Between(least, most) => (least, most),
        }
    }
}

/// The tolerance of a share.
#[derive(Clone, Copy, Debug)]
pub enum Tolerance {
    /// This part of the whole.
    Points(f64),
    /// This factor, up or down.
    Factor(f64),
}

use Told::{Between, Value};

/// Inserts, 15 workers per machine. From 75 workers on, the only rate of the study is 1,000/s.
pub const FIGURE_8: Figure = Figure {
    name: "Figure 8",
    what: "single inserts",
    note: "",
    entities: 1,
    points: &[
        Point::new(30, Value(600.0), Value(0.0)),
        Point::new(75, Value(1_000.0), Value(0.000_004)),
        Point::new(150, Between(1_000.0, 1_000.0), Value(0.000_3)),
        Point::new(240, Between(1_000.0, 1_000.0), Value(0.002)),
    ],
    rate_factor: 1.2,
    share: Tolerance::Factor(1.5),
};

/// Batches of 100, 10 workers per machine. The study reports about 11 % between 20 and 30 workers. A sequential server
/// processes as much with 20 waiting as with 30, so the value counts for 30.
pub const FIGURE_15: Figure = Figure {
    name: "Figure 15",
    what: "batches of 100 inserts",
    note: " (the study: 11 % between 20 and 30 workers)",
    entities: 100,
    points: &[
        Point::new(10, Between(0.0, 2_500.0), Between(0.0, 0.0)),
        Point::new(15, Between(0.0, 2_500.0), Between(0.0, 0.0)),
        Point::new(20, Value(2_300.0), Value(0.0)),
        Point::new(25, Between(2_300.0, 2_500.0), Between(0.0, 0.11)),
        Point::new(30, Between(2_300.0, 2_500.0), Value(0.11)),
        Point::new(35, Between(2_300.0, 2_500.0), Between(0.11, 0.22)),
        Point::new(40, Between(2_300.0, 2_500.0), Between(0.11, 0.22)),
        Point::new(45, Between(2_300.0, 2_500.0), Between(0.11, 0.22)),
        Point::new(50, Value(2_500.0), Value(0.22)),
    ],
    rate_factor: 1.07,
    share: Tolerance::Points(0.015),
};

impl Point {
    const fn new(workers: usize, accepted: Told, refused: Told) -> Self {
        Self {
            workers,
            accepted,
            refused,
        }
    }
}

/// A row of a worker, in the only partition.
pub fn row(worker: usize, n: usize) -> DynamicEntity {
    DynamicEntity::new("p", format!("{worker:03}_{n:08}"))
}

/// Runs the study's workers, for this many seconds after the service is in a steady state.
pub fn closed_loop(workers: usize, seconds: u64) -> ClosedLoop {
    ClosedLoop {
        workers,
        pause: Duration::from_secs(3),
        warm_up: Duration::from_secs(5),
        time: Duration::from_secs(seconds),
    }
}

impl Figure {
    /// Runs this many workers on the preset of 2010.
    ///
    /// # Panics
    /// A request fails for another reason than throttling.
    pub async fn run(&self, workers: usize, seconds: u64) -> Measured {
        let (emulator, table) = table(ServiceModel::in_2010()).await;
        let entities = self.entities;
        let load = closed_loop(workers, seconds)
            .run(&emulator, move |worker, n| {
                let mut batch = (entities > 1).then(|| table.batch());
                for index in n * entities..(n + 1) * entities {
                    if let Some(batch) = &mut batch {
                        batch.insert(&row(worker, index)).unwrap();
                    }
                }
                let table = table.clone();
                async move {
                    match batch {
                        Some(batch) => batch.submit().await.map(drop),
                        None => table.insert(&row(worker, n)).await.map(drop),
                    }
                }
            })
            .await;
        Measured { load, seconds }
    }

    /// Returns both figures of a point, and their bars.
    pub fn checks(&self, point: &Point, measured: &Measured) -> Vec<Check> {
        let what = |of: &str| format!("{}, {} workers: {of}", self.name, point.workers);
        let (least, most) = point.accepted.limits();
        let rate = Check {
            what: what("entities"),
            unit: Unit::Rate,
            measured: measured.entities_per_second(),
            told: point.accepted.value(),
            bar: least / self.rate_factor..=most * self.rate_factor,
        };
        let requests = measured.load.accepted_requests + measured.load.throttled_requests;
        let (least, most) = point.refused.limits();
        let share = Check {
            what: what("requests refused"),
            unit: Unit::Share,
            measured: measured.load.throttled_share(),
            told: point.refused.value(),
            bar: *self.share.around(least, requests).start()..=*self.share.around(most, requests).end(),
        };
        vec![rate, share]
    }
}

impl Tolerance {
    /// Returns the range of a share counted over this many requests. Without a value of the study, two of a thousand
    /// count as almost none.
    fn around(self, share: f64, requests: u64) -> RangeInclusive<f64> {
        const ALMOST_NONE: f64 = 0.002;
        if share == 0.0 {
            return 0.0..=match self {
                Self::Points(_) => ALMOST_NONE,
                Self::Factor(_) => 0.0,
            };
        }
        let chance = CHANCE * (share * (1.0 - share) / requests as f64).sqrt();
        let (less, more) = match self {
            Self::Points(points) => (points, points),
            Self::Factor(factor) => (share - share / factor, share * factor - share),
        };
        (share - less.max(chance)).max(0.0)..=share + more.max(chance)
    }
}

/// The counts.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// The counts of the service.
    pub load: ServiceLoad,
    /// The number of seconds.
    pub seconds: u64,
}

impl Measured {
    /// The accepted entities.
    pub fn entities_per_second(&self) -> f64 {
        self.load.accepted_entities as f64 / self.seconds as f64
    }
}
