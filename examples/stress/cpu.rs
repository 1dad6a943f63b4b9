//! The CPU of a VM: modelled in virtual time, where a request costs nothing, otherwise the process's.
//!
//! The text of 2010 has no CPU times. Those here are fitted to its Figures 7, 10 and 11: a small VM writes batches no
//! faster from 15 threads on, reads no faster from 6 on, and has two thirds of the throughput of an XL VM with 30.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::service::Preset;
use crate::workload::VmSize;

/// The CPU time of requests.
#[derive(Clone, Copy, Debug)]
struct Costs {
    read: Duration,
    write: Duration,
    written_entity: Duration,
}

impl Costs {
    fn of(preset: Preset) -> Self {
        let micros = Duration::from_micros;
        match preset {
            Preset::In2010 => Self {
                read: micros(5_000),
                write: micros(2_000),
                written_entity: micros(375),
            },
            // azure-table itself: PERFORMANCE.md, "Beside the least code and another client".
            Preset::Today => Self {
                read: micros(20),
                write: micros(20),
                written_entity: micros(1),
            },
        }
    }
}

/// The cores of a VM, each of which does one thing after the other.
#[derive(Clone, Debug)]
pub(crate) struct ModelledCpu {
    costs: Costs,
    cores: Arc<Mutex<Cores>>,
}

#[derive(Debug)]
struct Cores {
    free_at: Vec<Instant>,
    used: Duration,
}

impl ModelledCpu {
    pub(crate) fn new(preset: Preset, size: VmSize) -> Self {
        let cores = Cores {
            free_at: vec![Instant::now(); size.cores()],
            used: Duration::ZERO,
        };
        Self {
            costs: Costs::of(preset),
            cores: Arc::new(Mutex::new(cores)),
        }
    }

    /// Uses the core that is free first, for one request.
    pub(crate) async fn spend(&self, is_read: bool, entities: u64) {
        let time = if is_read {
            self.costs.read
        } else {
            self.costs.write + self.costs.written_entity * u32::try_from(entities).unwrap_or(u32::MAX)
        };
        let end = self.with(|cores| {
            cores.used += time;
            let now = Instant::now();
            let core = cores.free_at.iter_mut().min()?;
            *core = (*core).max(now) + time;
            Some(*core)
        });
        if let Some(end) = end {
            sleep_until(end).await;
        }
    }

    /// Returns the CPU time so far, of which some may still lie ahead.
    pub(crate) fn used(&self) -> Duration {
        self.with(|cores| cores.used)
    }

    /// Returns the used share of all cores.
    pub(crate) fn share(&self, used: Duration, time: Duration) -> f64 {
        let all = self.with(|cores| cores.free_at.len()) as f64 * time.as_secs_f64();
        (used.as_secs_f64() / all).min(1.0)
    }

    fn with<R>(&self, work: impl FnOnce(&mut Cores) -> R) -> R {
        work(&mut self.cores.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
