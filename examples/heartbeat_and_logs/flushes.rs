//! Four instances that log a line each second and flush 50 lines at a time. One of them dies.

use azure_table::key::Bucket;
use azure_table::{DateTime, Result};

use crate::SECOND;
use crate::rows::{Heartbeat, Line};

const INSTANCES: [(&str, u16); 4] = [("billing", 1), ("web", 1), ("web", 2), ("web", 3)];

/// The starts of the flushes. The lines of the fourth one are of two days.
const STARTS: [&str; 6] = [
    "20T09:00:00",
    "20T15:00:00",
    "21T09:00:00",
    "21T23:59:40",
    "22T09:00:00",
    "22T15:00:00",
];

/// The lines that an instance writes together, and its sign of life.
pub(crate) struct Flush {
    pub(crate) lines: Vec<Line>,
    pub(crate) heartbeat: Heartbeat,
}

/// Returns the flushes of all instances, one instance after the other.
pub(crate) fn flushes() -> Result<Vec<Flush>> {
    let mut flushes = Vec::new();
    for (component, instance) in INSTANCES {
        for start in STARTS {
            let dies = (component, instance, start) == ("web", 2, "22T09:00:00");
            let start = november(start)?;
            let heartbeat = Heartbeat {
                component: component.into(),
                instance,
                at: start + if dies { 49 } else { 60 } * SECOND,
            };
            let lines = lines(component, instance, start, dies);
            flushes.push(Flush { lines, heartbeat });
            if dies {
                break;
            }
        }
    }
    Ok(flushes)
}

fn lines(component: &str, instance: u16, start: DateTime, dies: bool) -> Vec<Line> {
    // One bucket for all: the lines of a day are one batch.
    let bucket = Bucket::random();
    let line = |second| {
        let (is_error, text) = match second {
            48 if dies => (true, "out of memory".into()),
            49 if dies => (true, "the process ends".into()),
            20 if instance == 3 => (true, "no answer from billing 1".into()),
            _ => (false, format!("request {second}")),
        };
        let (component, at) = (component.into(), start + second * SECOND);
        Line {
            component,
            instance,
            bucket,
            at,
            is_error,
            text,
        }
    };
    (0..50).map(line).collect()
}

/// Returns a time of the month: its day, `T`, the time of the day.
pub(crate) fn november(time: &str) -> Result<DateTime> {
    Ok(format!("2026-11-{time}Z").parse::<DateTime>()?)
}
