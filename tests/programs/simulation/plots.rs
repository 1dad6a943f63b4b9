//! Which curves the plots show.

use std::error::Error;
use std::path::Path;

use azure_table_tests::load::{BulkRun, ManyWrites};

use crate::chart::{Axis, OURS, Panel, REJECTED, Series, TOLD, draw};

/// How much room there is above the highest point.
const HEADROOM: f64 = 1.15;

/// Bulks, each in a panel: the rate from second to second.
pub(crate) fn bulks(runs: &[(&ManyWrites, BulkRun)], file: &Path) -> Result<(), Box<dyn Error>> {
    let panels: Vec<_> = runs.iter().map(|(writes, run)| by_time(writes, run)).collect();
    draw(file, "A bulk that finds out how fast it may write", &panels)
}

fn by_time(writes: &ManyWrites, run: &BulkRun) -> Panel {
    let (mut accepted, mut rejected) = (Vec::new(), Vec::new());
    for (n, second) in run.seconds.iter().enumerate() {
        let point = (n as f64 + 0.5, second.accepted_entities as f64);
        accepted.push(point);
        rejected.extend((second.throttled_requests > 0).then_some(point));
    }
    let end = run.elapsed.as_secs_f64();
    let limit = vec![(0.0, writes.limit), (end, writes.limit)];
    let (_, most) = most(accepted.iter().chain(&limit));
    let share = 100.0 * run.load.throttled_share();
    Panel {
        title: format!("{}; {share:.2} % of the requests refused", writes.name),
        x: Axis {
            name: "time in seconds",
            end,
            decimals: 0,
        },
        y: Axis {
            name: "entities per second",
            end: most * HEADROOM,
            decimals: 0,
        },
        series: vec![
            Series {
                name: "limit",
                color: TOLD,
                has_line: true,
                radius: 0,
                points: limit,
            },
            Series {
                name: "accepted",
                color: OURS,
                has_line: true,
                radius: 0,
                points: accepted,
            },
            Series {
                name: "a second with a refusal",
                color: REJECTED,
                has_line: false,
                radius: 5,
                points: rejected,
            },
        ],
    }
}

/// The greatest of both coordinates.
fn most<'a>(points: impl Iterator<Item = &'a (f64, f64)>) -> (f64, f64) {
    points.fold((0.0, 0.0), |most, point| (point.0.max(most.0), point.1.max(most.1)))
}
