//! One picture for each figure: our curves, and what the text states beside them.

use std::error::Error;
use std::path::Path;

use crate::chart::{Line, Look, OURS, POST, Panel, draw as draw_chart};
use crate::figures::Shows;
use crate::outcome::{Curve, Outcome, Point};
use crate::report::heading;
use crate::service::{Place, Preset};

/// The columns of a histogram.
const BINS: usize = 40;

/// Draws a figure as SVG and PNG.
pub(crate) fn draw(outcome: &Outcome, place: Place, folder: &Path) -> Result<(), Box<dyn Error>> {
    let figure = &outcome.figure;
    let name = match figure.id.parse::<u8>() {
        Ok(number) => format!("figure-{number:02}"),
        Err(_) => figure.id.to_owned(),
    };
    let mut panels = match figure.shows {
        Shows::Latencies => vec![histogram(outcome)],
        Shows::MeanLatency => vec![panel(outcome, "mean latency in ms", |point| point.y(figure.shows))],
        Shows::LatencyPerEntity => vec![panel(outcome, "mean latency per entity in ms", |point| {
            point.y(figure.shows)
        })],
        Shows::Throughput => vec![panel(outcome, "entities per second", |point| point.y(figure.shows))],
        Shows::ThroughputAndRejections => {
            let mut accepted = panel(outcome, "entities per second", |point| point.y(figure.shows));
            let mut rejected = panel(outcome, "% of all requests", |point| {
                100.0 * point.measured.rejected_share()
            });
            accepted.title = "accepted".to_owned();
            rejected.title = "rejected".to_owned();
            vec![accepted, rejected]
        }
    };
    match place {
        Place::Model(Preset::In2010) => add_the_post(outcome, &mut panels),
        Place::Model(Preset::Today) => add_the_targets(outcome, &mut panels),
        _ => {}
    }
    draw_chart(folder, &name, [&heading(figure), &place.name()], &panels)
}

fn panel(outcome: &Outcome, y: &str, value: impl Fn(&Point) -> f64) -> Panel {
    let line = |(n, curve): (usize, &Curve)| Line {
        name: format!("ours: {}", curve.name),
        color: OURS[n % OURS.len()],
        look: Look::Line,
        // Wide enough to show behind a later curve that hides it.
        width: if n == 0 && outcome.curves.len() > 1 { 5 } else { 2 },
        points: curve.points.iter().map(|point| (point.x, value(point))).collect(),
    };
    Panel {
        title: String::new(),
        x: outcome.figure.x.to_owned(),
        y: y.to_owned(),
        lines: outcome.curves.iter().enumerate().map(line).collect(),
    }
}

/// The share of the requests in columns of latency, up to the slowest but one in 200.
fn histogram(outcome: &Outcome) -> Panel {
    let points = || {
        outcome
            .curves
            .iter()
            .flat_map(|curve| Some((curve.name, curve.points.first()?)))
    };
    let end = points().fold(1.0, |most: f64, (_, point)| most.max(point.measured.quantile_ms(0.995)));
    let width = (end * 1.2 / BINS as f64).max(1.0).ceil();
    let lines = points().enumerate().map(|(n, (name, point))| {
        let measured = &point.measured;
        let mut steps = Vec::new();
        for bin in 0..(end * 1.2 / width).ceil() as usize {
            let (from, to) = (bin as f64 * width, (bin + 1) as f64 * width);
            let share = measured.share_below(to) - if bin == 0 { 0.0 } else { measured.share_below(from) };
            steps.extend([(from, 100.0 * share), (to, 100.0 * share)]);
        }
        Line {
            name: format!(
                "ours: {name}, {} requests",
                crate::post::whole(measured.accepted_requests as f64)
            ),
            color: OURS[n % OURS.len()],
            look: Look::Plain,
            width: 2,
            points: steps,
        }
    });
    Panel {
        title: String::new(),
        x: format!("latency in ms, columns of {width} ms"),
        y: "% of the requests".to_owned(),
        lines: lines.collect(),
    }
}

/// The statements of the text: dots where it has numbers, dashed lines where it has a limit or a place.
fn add_the_post(outcome: &Outcome, panels: &mut [Panel]) {
    let [first, rest @ ..] = panels else { return };
    let dots = |name: &str, points: &[(f64, f64)]| line(name, Look::Marks, points.to_vec());
    match outcome.figure.id {
        "3" => {
            upright(first, 40.0, "the post: most gets are below 40 ms");
            upright(first, 50.0, "the post: most inserts are below 50 ms");
        }
        "4" => upright(first, 1_200.0, "the post: most batches are below 1.2 s"),
        "6" => upright(first, 20.0, "the post: the saving per entity peaks at 20"),
        "7" => upright(
            first,
            20.0,
            "the post: the gain peaks near 20; XL is a little more than 1.5 × small",
        ),
        "8" => {
            let accepted = [(2.0, 600.0), (5.0, 1_000.0)];
            first.lines.push(dots("the post: one partition", &accepted));
            let rejected = [(2.0, 0.0), (5.0, 0.000_4), (10.0, 0.03), (16.0, 0.2)];
            rest.iter_mut()
                .for_each(|panel| panel.lines.push(dots("the post: one partition", &rejected)));
        }
        "10" => upright(first, 15.0, "the post: the small VM is flat from 15 on, XL still rises"),
        "11" => upright(first, 6.0, "the post: flat from 6 on"),
        "12" | "13" => level(first, 17_000.0, "the post: up to 17,000/s"),
        "15" => {
            first.lines.push(dots("the post", &[(20.0, 2_300.0), (50.0, 2_500.0)]));
            let rejected = [(20.0, 0.0), (30.0, 11.0), (50.0, 22.0)];
            let name = "the post (11 % between 20 and 30)";
            rest.iter_mut()
                .for_each(|panel| panel.lines.push(dots(name, &rejected)));
        }
        _ => {}
    }
}

fn add_the_targets(outcome: &Outcome, panels: &mut [Panel]) {
    let Some(first) = panels.first_mut() else { return };
    match outcome.figure.id {
        "8" | "9" => {
            level(first, 2_000.0, "target of a partition");
            level(first, 20_000.0, "target of an account");
        }
        "15" | "mixed" => level(first, 2_000.0, "target of a partition"),
        "12" | "13" | "14" => level(first, 20_000.0, "target of an account"),
        _ => {}
    }
}

fn line(name: &str, look: Look, points: Vec<(f64, f64)>) -> Line {
    Line {
        name: name.to_owned(),
        color: POST,
        look,
        width: 2,
        points,
    }
}

/// A line from the x axis to the highest point.
fn upright(panel: &mut Panel, x: f64, name: &str) {
    let top = panel
        .lines
        .iter()
        .flat_map(|line| &line.points)
        .fold(0.0, |most: f64, point| most.max(point.1));
    panel.lines.push(line(name, Look::Dashed, vec![(x, 0.0), (x, top)]));
}

/// A line from the y axis to the last point.
fn level(panel: &mut Panel, y: f64, name: &str) {
    let right = panel
        .lines
        .iter()
        .flat_map(|line| &line.points)
        .fold(0.0, |most: f64, point| most.max(point.0));
    panel.lines.push(line(name, Look::Dashed, vec![(0.0, y), (right, y)]));
}
