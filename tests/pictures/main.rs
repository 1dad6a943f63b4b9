//! Draws the pictures of the documentation.
//!
//! `cargo run -p azure-table-tests --example pictures` writes
//! `azure-table/docs/pictures/saturated_partition.svg`: ways to
//! write rows into one partition of the emulator's service model, on a paused clock. It prints the same figures as a
//! table.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program for the command line that says what failed by panicking"
)]

#[path = "../simulation/chart.rs"]
mod chart;
mod ways;

use std::error::Error;

use azure_table_tests::house::root;
use chart::{Axis, OURS, Panel, REFUSED, Series, TOLD, draw};
use plotters::style::RGBColor;
use ways::{LIMIT, SECONDS, Second, Way};

const FILE: &str = "azure-table/docs/pictures/saturated_partition.svg";
const GREEN: RGBColor = RGBColor(0x2e, 0x8b, 0x57);

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()?;
    let mut measured = Vec::new();
    println!("{SECONDS} s | rows stored | requests | rejected");
    for way in Way::ALL {
        let seconds = runtime.block_on(way.run());
        let sum = |of: fn(&Second) -> f64| seconds.iter().map(of).sum::<f64>();
        println!(
            "{} | {} | {} | {}",
            way.name(),
            sum(|second| second.rows),
            sum(|second| second.requests),
            sum(|second| second.rejected)
        );
        measured.push((way, seconds));
    }
    let limit = Series {
        name: "limit: 2,000 rows/s, 1 s of burst",
        color: TOLD,
        has_line: true,
        radius: 0,
        points: vec![(0.0, LIMIT), (SECONDS as f64, LIMIT * (SECONDS as f64 + 1.0))],
    };
    let rows = lines(&measured, |second| second.rows);
    let rows = panel("rows stored", rows.into_iter().chain([limit]).collect(), true);
    let requests = panel("requests sent", lines(&measured, |second| second.requests), true);
    let title = "A saturated partition: the same rows by fewer requests";
    draw(&root().join(FILE), title, &[rows, requests])?;
    println!("{FILE} is written");
    Ok(())
}

/// The sum of a figure up to each second, as a line for each way.
fn lines(measured: &[(Way, Vec<Second>)], of: impl Fn(&Second) -> f64) -> Vec<Series> {
    let line = |(way, seconds): &(Way, Vec<Second>)| {
        let mut sum = 0.0;
        let points = seconds.iter().enumerate().map(|(n, second)| {
            sum += of(second);
            (n as f64 + 1.0, sum)
        });
        Series {
            name: way.name(),
            color: match way {
                Way::Loop => RGBColor(0x77, 0x77, 0x77),
                Way::Tasks => REFUSED,
                Way::Grouped => GREEN,
                Way::Bulk => OURS,
            },
            has_line: true,
            radius: 2,
            points: [(0.0, 0.0)].into_iter().chain(points).collect(),
        }
    };
    measured.iter().map(line).collect()
}

fn panel(title: &str, series: Vec<Series>, is_legend_above: bool) -> Panel {
    let most = series.iter().flat_map(|series| &series.points).map(|point| point.1);
    let most = most.fold(1.0, f64::max);
    Panel {
        title: title.to_owned(),
        x: Axis {
            name: "time in seconds",
            end: SECONDS as f64,
            decimals: 0,
        },
        y: Axis {
            name: "",
            end: most * 1.5,
            decimals: 0,
        },
        series,
        is_legend_above,
    }
}
