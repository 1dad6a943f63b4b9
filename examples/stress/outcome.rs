//! The measured points of a figure, as curves.

use crate::figures::{Figure, Shows};
use crate::measured::Measured;
use crate::verdict::Verdict;
use crate::workload::Workload;

#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) figure: Figure,
    pub(crate) curves: Vec<Curve>,
}

#[derive(Clone, Debug)]
pub(crate) struct Curve {
    pub(crate) name: &'static str,
    pub(crate) points: Vec<Point>,
}

#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) workload: Workload,
    pub(crate) measured: Measured,
    pub(crate) verdict: Verdict,
}

impl Point {
    /// Returns the quantity of the figure.
    pub(crate) fn y(&self, shows: Shows) -> f64 {
        match shows {
            Shows::Latencies | Shows::MeanLatency => self.measured.mean_ms(),
            Shows::LatencyPerEntity => self.measured.mean_ms() / self.workload.batch as f64,
            Shows::Throughput | Shows::ThroughputAndRejections => self.measured.entities_per_second(),
        }
    }
}

impl Outcome {
    pub(crate) fn curve(&self, name: &str) -> Option<&Curve> {
        self.curves.iter().find(|curve| curve.name == name)
    }

    /// Returns the point of a curve.
    pub(crate) fn at(&self, curve: &str, x: f64) -> Option<&Point> {
        self.curve(curve)?.at(x)
    }

    /// Returns the quantity of the figure at a point.
    pub(crate) fn y(&self, curve: &str, x: f64) -> Option<f64> {
        self.at(curve, x).map(|point| point.y(self.figure.shows))
    }

    /// Returns a curve as coordinates.
    pub(crate) fn line(&self, curve: &str) -> Option<Vec<(f64, f64)>> {
        Some(self.curve(curve)?.line(self.figure.shows))
    }
}

impl Curve {
    pub(crate) fn at(&self, x: f64) -> Option<&Point> {
        self.points.iter().find(|point| point.x == x)
    }

    pub(crate) fn line(&self, shows: Shows) -> Vec<(f64, f64)> {
        self.points.iter().map(|point| (point.x, point.y(shows))).collect()
    }
}
