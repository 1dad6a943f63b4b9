//! Which curves the plots show.

use std::error::Error;
use std::path::Path;

use azure_table_tests::load::study::{Figure, Measured, Point, Told};
use azure_table_tests::load::{BulkRun, ManyWrites};

use crate::chart::{Axis, OURS, Panel, REFUSED, Series, TOLD, draw};

/// How much room there is above the highest point.
const HEADROOM: f64 = 1.15;

/// A figure of the study: the rate and the refused share by the number of workers, ours and its.
pub(crate) fn figure(figure: &Figure, measured: &[Measured], file: &Path) -> Result<(), Box<dyn Error>> {
    let accepted = by_workers(figure, |n, point| (measured[n].entities_per_second(), point.accepted));
    let accepted = Panel {
        title: "accepted".to_owned(),
        y: Axis {
            name: "entities per second",
            ..accepted.y
        },
        ..accepted
    };
    let in_percent = |told: Told| {
        told.value()
            .map_or(Told::Between(0.0, 0.0), |value| Told::Value(100.0 * value))
    };
    let refused = by_workers(figure, |n, point| {
        (100.0 * measured[n].load.throttled_share(), in_percent(point.refused))
    });
    let refused = Panel {
        title: format!("refused{}", figure.note),
        y: Axis {
            name: "% of all requests",
            decimals: if refused.y.end > 5.0 { 0 } else { 2 },
            ..refused.y
        },
        is_legend_above: true,
        ..refused
    };
    let title = format!(
        "{}: {} into one partition, 3 s pause after a refusal",
        figure.name, figure.what
    );
    draw(file, &title, &[accepted, refused])
}

/// `of` gives our value of a point, and the study's.
fn by_workers(figure: &Figure, of: impl Fn(usize, &Point) -> (f64, Told)) -> Panel {
    let (mut ours, mut told) = (Vec::new(), Vec::new());
    for (n, point) in figure.points.iter().enumerate() {
        let (workers, (here, there)) = (point.workers as f64, of(n, point));
        ours.push((workers, here));
        told.extend(there.value().map(|value| (workers, value)));
    }
    let (workers, most) = most(ours.iter().chain(&told));
    Panel {
        title: String::new(),
        x: Axis {
            name: "workers",
            end: workers * 1.04,
            decimals: 0,
        },
        y: Axis {
            name: "",
            end: most * HEADROOM,
            decimals: 0,
        },
        series: vec![
            Series {
                name: "the study",
                color: TOLD,
                has_line: false,
                radius: 7,
                points: told,
            },
            Series {
                name: "emulator, preset 2010",
                color: OURS,
                has_line: true,
                radius: 3,
                points: ours,
            },
        ],
        is_legend_above: false,
    }
}

/// Bulks, each in a panel: the rate from second to second.
pub(crate) fn bulks(runs: &[(&ManyWrites, BulkRun)], file: &Path) -> Result<(), Box<dyn Error>> {
    let panels: Vec<_> = runs.iter().map(|(writes, run)| by_time(writes, run)).collect();
    draw(file, "A bulk that finds out how fast it may write", &panels)
}

fn by_time(writes: &ManyWrites, run: &BulkRun) -> Panel {
    let (mut accepted, mut refused) = (Vec::new(), Vec::new());
    for (n, second) in run.seconds.iter().enumerate() {
        let point = (n as f64 + 0.5, second.accepted_entities as f64);
        accepted.push(point);
        refused.extend((second.throttled_requests > 0).then_some(point));
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
                color: REFUSED,
                has_line: false,
                radius: 5,
                points: refused,
            },
        ],
        is_legend_above: false,
    }
}

/// The greatest of both coordinates.
fn most<'a>(points: impl Iterator<Item = &'a (f64, f64)>) -> (f64, f64) {
    points.fold((0.0, 0.0), |most, point| (point.0.max(most.0), point.1.max(most.1)))
}
