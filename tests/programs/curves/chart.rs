//! The plots: a panel for each curve, with its bar, as SVG.

use std::error::Error;
use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

use crate::curve::{Curve, number};

const MEASURED: RGBColor = RGBColor(0x1f, 0x5f, 0xa8);
const BAR: RGBColor = RGBColor(0xd8, 0x6a, 0x2b);
const PANEL: (u32, u32) = (420, 280);
const COLUMNS: usize = 3;
const TITLE: u32 = 44;
const FONT: &str = "sans-serif";
/// The room above the highest point.
const HEADROOM: f64 = 1.15;

/// Writes the curves of a group, each with the name of its dimension.
pub(crate) fn draw(file: &Path, group: &str, curves: &[(&str, Curve)]) -> Result<(), Box<dyn Error>> {
    let columns = curves.len().min(COLUMNS);
    let rows = curves.len().div_ceil(columns);
    let (width, height) = (PANEL.0 * u32::try_from(columns)?, PANEL.1 * u32::try_from(rows)?);
    let root = SVGBackend::new(file, (width, height + TITLE)).into_drawing_area();
    root.fill(&WHITE)?;
    let title = format!("{group}: cost by size, and the bar");
    let below = root.margin(10, 0, 0, 0).titled(&title, (FONT, 20))?;
    for ((dimension, curve), area) in curves.iter().zip(below.split_evenly((rows, columns))) {
        panel(dimension, curve, &area)?;
    }
    root.present()?;
    Ok(())
}

fn panel(dimension: &str, curve: &Curve, area: &DrawingArea<SVGBackend<'_>, Shift>) -> Result<(), Box<dyn Error>> {
    let (first, last) = (curve.points[0].0, curve.points[curve.points.len() - 1].0);
    let most = curve.points.iter().map(|(_, cost)| *cost).fold(0.0, f64::max);
    // A limit far above all points would press them to the bottom.
    let drawn = curve.limit().filter(|limit| *limit <= most * 4.0);
    let top = drawn.unwrap_or_default().max(most) * HEADROOM;
    let caption = match (drawn, curve.limit()) {
        (None, Some(limit)) => format!("{dimension} (bar {})", number(limit)),
        _ => dimension.to_owned(),
    };
    let mut chart = ChartBuilder::on(area)
        .caption(caption, (FONT, 14))
        .margin(8)
        .margin_right(22)
        .x_label_area_size(36)
        .y_label_area_size(66)
        .build_cartesian_2d(
            (first..last.max(first * 1.01)).log_scale(),
            0.0..top.max(f64::MIN_POSITIVE),
        )?;
    chart
        .configure_mesh()
        .x_desc(curve.axis)
        .y_desc(curve.measure)
        .x_label_formatter(&|x| number(*x))
        .y_label_formatter(&|y| number(*y))
        .x_labels(6)
        .y_labels(6)
        .axis_desc_style((FONT, 12))
        .label_style((FONT, 11))
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.12))
        .draw()?;
    if let Some(limit) = drawn {
        let style = BAR.stroke_width(1);
        chart.draw_series(LineSeries::new([(first, limit), (last, limit)], style))?;
    }
    let style = MEASURED.stroke_width(2);
    chart.draw_series(curve.points.iter().map(|point| Circle::new(*point, 3, style.filled())))?;
    chart.draw_series(LineSeries::new(curve.points.iter().copied(), style))?;
    Ok(())
}
