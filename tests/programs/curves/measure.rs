//! CPU time, allocations and the peak of the heap, on a runtime of this thread.
//!
//! The sizes alternate, and the minimum of each counts: other programs on the machine only add to it. Allocations and
//! peaks are counted in a separate run. A reallocation counts as a new allocation, so a peak includes the old and the
//! new one.

use cpu_time::ThreadTime;
use tokio::runtime::{Builder, Runtime};

use crate::curve::{Bar, Curve, GROWTH};

/// The minimum CPU time of one measurement in nanoseconds. Other programs then affect short and long ones alike.
const LEAST: f64 = 100e6;

/// Measures a dimension at each of its sizes.
#[derive(Debug)]
pub(crate) struct Sweep {
    runtime: Runtime,
    /// Omits the largest size.
    pub(crate) is_quick: bool,
}

/// The costs at one size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    pub(crate) size: usize,
    /// CPU time in nanoseconds per unit.
    pub(crate) cpu: f64,
    /// Allocations per unit.
    pub(crate) allocations: f64,
    /// The largest number of heap bytes.
    pub(crate) peak: f64,
    pub(crate) units: f64,
}

impl Sweep {
    pub(crate) fn new(is_quick: bool) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        Self { runtime, is_quick }
    }

    pub(crate) fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }

    /// Returns the measured sizes.
    pub(crate) fn sizes<'a>(&self, sizes: &'a [usize]) -> &'a [usize] {
        &sizes[..sizes.len() - usize::from(self.is_quick)]
    }

    /// Measures `run`, which returns its number of units, at each size. `setup` is not measured.
    pub(crate) fn measure<S>(
        &self,
        sizes: &[usize],
        mut setup: impl AsyncFnMut(usize) -> S,
        mut run: impl AsyncFnMut(&mut S, usize) -> usize,
    ) -> Vec<Cost> {
        let mut all = Vec::new();
        for &size in self.sizes(sizes) {
            let mut state = self.block_on(setup(size));
            // Fills caches, and warms up.
            let units = self.block_on(run(&mut state, size)) as f64;
            let counted = allocation_counter::measure(|| {
                self.block_on(run(&mut state, size));
            });
            let started = ThreadTime::now();
            self.block_on(run(&mut state, size));
            let once = started.elapsed().as_nanos() as f64;
            let cost = Cost {
                size,
                cpu: once / units,
                allocations: counted.count_total as f64 / units,
                peak: counted.bytes_max as f64,
                units,
            };
            all.push((state, once, cost));
        }
        let rounds = if self.is_quick { 2 } else { 5 };
        for _ in 0..rounds {
            for (state, once, cost) in &mut all {
                let repetitions = (LEAST / *once).ceil().clamp(1.0, 100_000.0) as usize;
                let started = ThreadTime::now();
                for _ in 0..repetitions {
                    self.block_on(run(state, cost.size));
                }
                let elapsed = started.elapsed().as_nanos() as f64;
                cost.cpu = cost.cpu.min(elapsed / (repetitions as f64 * cost.units));
            }
        }
        all.into_iter().map(|(_, _, cost)| cost).collect()
    }

    /// Measures code that needs no runtime.
    pub(crate) fn measure_sync<S>(
        &self,
        sizes: &[usize],
        mut setup: impl FnMut(usize) -> S,
        mut run: impl FnMut(&mut S, usize) -> usize,
    ) -> Vec<Cost> {
        self.measure(sizes, async |size| setup(size), async |state, size| run(state, size))
    }
}

/// Returns a value of each cost by its size.
pub(crate) fn points(costs: &[Cost], value: impl Fn(&Cost) -> f64) -> Vec<(f64, f64)> {
    costs.iter().map(|cost| (cost.size as f64, value(cost))).collect()
}

/// Returns the curve of CPU time per unit.
pub(crate) fn cpu(measure: &'static str, axis: &'static str, costs: &[Cost]) -> Curve {
    Curve::new(measure, axis, points(costs, |cost| cost.cpu), Bar::Growth(GROWTH))
}

/// Returns the curve of allocations per unit.
pub(crate) fn allocations(measure: &'static str, axis: &'static str, costs: &[Cost]) -> Curve {
    Curve::new(
        measure,
        axis,
        points(costs, |cost| cost.allocations),
        Bar::Growth(GROWTH),
    )
}

/// Returns the curve of the heap's peak in KiB, whatever the number of units.
pub(crate) fn peak(axis: &'static str, costs: &[Cost], bar: Bar) -> Curve {
    Curve::new("peak heap, KiB", axis, points(costs, |cost| cost.peak / 1024.0), bar)
}

/// Returns the curve of the heap's peak in bytes per unit.
pub(crate) fn peak_per_unit(measure: &'static str, axis: &'static str, costs: &[Cost]) -> Curve {
    let points = points(costs, |cost| cost.peak / cost.units);
    Curve::new(measure, axis, points, Bar::Growth(GROWTH))
}
