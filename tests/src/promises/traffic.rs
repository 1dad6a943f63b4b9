//! The requests of the tasks of an explored place, counted by an observer of each.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use azure_table::telemetry::{Event, Observer};

/// The traffic of the tasks of an explored place.
#[derive(Clone, Debug, Default)]
pub struct Meter(Arc<Mutex<Metered>>);

#[derive(Debug, Default)]
struct Metered {
    traffic: Traffic,
    /// The requests in flight of each task.
    in_flight: BTreeMap<String, usize>,
}

/// The requests of tasks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Traffic {
    /// The most tasks with a request in flight at the same time.
    pub callers: usize,
    /// The number of requests.
    pub requests: usize,
}

impl Traffic {
    /// Returns the larger of both numbers.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self {
            callers: self.callers.max(other.callers),
            requests: self.requests.max(other.requests),
        }
    }
}

impl Meter {
    /// Returns the traffic so far.
    pub fn traffic(&self) -> Traffic {
        self.0.lock().unwrap().traffic
    }

    pub(super) fn of(&self, task: &str) -> MeterOfTask {
        MeterOfTask {
            meter: self.clone(),
            task: task.to_owned(),
        }
    }
}

#[derive(Debug)]
pub(super) struct MeterOfTask {
    meter: Meter,
    task: String,
}

impl Observer for MeterOfTask {
    fn on_event(&self, event: &Event<'_>) {
        let mut metered = self.meter.0.lock().unwrap();
        let Metered { traffic, in_flight } = &mut *metered;
        let own = in_flight.entry(self.task.clone()).or_default();
        match event {
            Event::Sending(_) => {
                *own += 1;
                traffic.requests += 1;
                traffic.callers = traffic.callers.max(in_flight.values().filter(|own| **own > 0).count());
            }
            Event::Received(_) => *own -= 1,
            _ => {}
        }
    }
}
