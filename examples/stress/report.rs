//! Tables in the terminal, and points as JSON.

use std::io::Write;

use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};
use serde_json::json;

use crate::figures::{Figure, limits};
use crate::outcome::{Outcome, Point};
use crate::post::{FACTOR, Judgement, Reading, percent, whole};
use crate::service::{Done, Place, Preset};
use crate::verdict::Verdict;

/// A line below the header, none between rows.
const LINES: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// Prints the points of a figure.
pub(crate) fn figure(outcome: &Outcome, place: Place) {
    println!("\n{}", heading(&outcome.figure));
    for limit in limits(outcome.figure.id, place) {
        println!("  {limit}");
    }
    let mut table = table(&[
        "",
        outcome.figure.x,
        "entities/s",
        "requests/s",
        "mean ms",
        "p50",
        "p99",
        "rejected",
        "CPU",
        "bound",
    ]);
    for curve in &outcome.curves {
        for point in &curve.points {
            table.add_row(row(curve.name, point));
        }
    }
    align(&mut table, 1..9);
    println!("{table}");
    for point in outcome.curves.iter().flat_map(|curve| &curve.points) {
        if let Some(failure) = &point.measured.failure {
            println!(
                "  {} requests failed, such as: {failure}",
                point.measured.failed_requests
            );
        }
    }
}

pub(crate) fn heading(figure: &Figure) -> String {
    match figure.id.parse::<u8>() {
        Ok(number) => format!("Figure {number}: {}", figure.title),
        Err(_) => format!("{}: {}", figure.id, figure.title),
    }
}

fn row(curve: &str, point: &Point) -> Vec<String> {
    let measured = &point.measured;
    let bound = match point.verdict {
        Verdict::ServiceBound => format!("service-bound, {} rejected", percent(measured.rejected_share())),
        other => other.to_string(),
    };
    vec![
        curve.to_owned(),
        whole(point.x),
        whole(measured.entities_per_second()),
        whole(measured.accepted_requests as f64 / measured.seconds),
        ms(measured.mean_ms()),
        ms(measured.quantile_ms(0.5)),
        ms(measured.quantile_ms(0.99)),
        percent(measured.rejected_share()),
        format!("{:.0} %", 100.0 * measured.cpu),
        if measured.is_cut {
            format!("{bound}, cut short")
        } else {
            bound
        },
    ]
}

fn ms(value: f64) -> String {
    if value < 10.0 {
        format!("{value:.2}")
    } else {
        format!("{value:.1}")
    }
}

/// Prints the table of the text's statements. Returns the number of those that differ too much.
pub(crate) fn readings(readings: &[Reading], preset: Preset) -> usize {
    let (against, theirs) = match preset {
        Preset::In2010 => ("The text of 2010 and the model of 2010", "the post"),
        Preset::Today => ("The documented targets and the model of today", "target"),
    };
    println!("\n{against}, figure by figure");
    let mut table = table(&["figure", "reading", theirs, "ours", "ratio", ""]);
    for reading in readings {
        let judgement = match reading.judgement {
            Judgement::Within => format!("within {FACTOR} ×"),
            Judgement::Holds => "holds".to_owned(),
            Judgement::Chance(requests) => format!("by chance, of {} requests", whole(requests as f64)),
            Judgement::Reason(why) => why.to_owned(),
            Judgement::Unstated => "no number in the text".to_owned(),
            Judgement::Outside => "OUTSIDE".to_owned(),
        };
        table.add_row([
            reading.figure.to_owned(),
            reading.what.clone(),
            reading.post.clone(),
            reading.ours.clone(),
            reading.ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}")),
            judgement,
        ]);
    }
    align(&mut table, 4..5);
    println!("{table}");
    readings
        .iter()
        .filter(|reading| reading.judgement == Judgement::Outside)
        .count()
}

/// Prints the figures with their points, and what cannot be shown.
pub(crate) fn list(figures: &[Figure], place: Place) {
    let mut table = table(&["figure", "runs", "x axis", "points"]);
    for figure in figures {
        let points = figure.series.iter().map(|series| {
            let x: Vec<_> = series.points.iter().map(|(x, _)| whole(*x)).collect();
            format!("{}: {}", series.name, x.join(" "))
        });
        let points: Vec<_> = points.collect();
        table.add_row([figure.id, figure.title, figure.x, &points.join("\n")]);
    }
    println!(
        "{table}\n\nThe figures of the post are pictures: beside ours stand the numbers and places that its text states."
    );
    println!("Not shown, or not as in the post, on the {}:", place.name());
    for figure in figures {
        for limit in limits(figure.id, place) {
            println!("  {:<10}  {limit}", figure.id);
        }
    }
}

/// Writes each point as a line of JSON.
pub(crate) fn write_json(outcomes: &[Outcome], place: Place, to: &mut dyn Write) -> Done<()> {
    for outcome in outcomes {
        for curve in &outcome.curves {
            for point in &curve.points {
                let measured = &point.measured;
                let line = json!({
                    "figure": outcome.figure.id,
                    "on": place.name(),
                    "curve": curve.name,
                    "x": point.x,
                    "entitiesPerSecond": measured.entities_per_second(),
                    "acceptedRequests": measured.accepted_requests,
                    "rejectedRequests": measured.rejected_requests,
                    "failedRequests": measured.failed_requests,
                    "rejectedShare": measured.rejected_share(),
                    "seconds": measured.seconds,
                    "meanMilliseconds": measured.mean_ms(),
                    "p50Milliseconds": measured.quantile_ms(0.5),
                    "p99Milliseconds": measured.quantile_ms(0.99),
                    "cpu": measured.cpu,
                    "bound": point.verdict.to_string(),
                    "isCut": measured.is_cut,
                });
                writeln!(to, "{line}")?;
            }
        }
    }
    Ok(())
}

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(LINES).set_header(header);
    table
}

/// Numbers stand on the right.
fn align(table: &mut Table, columns: std::ops::Range<usize>) {
    for column in columns {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}
