//! Panels with axes, lines and marks, as SVG. What is in them is `plots.rs`.

use std::error::Error;
use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

/// Our measurements.
pub(crate) const OURS: RGBColor = RGBColor(0x1f, 0x5f, 0xa8);
/// A limit.
pub(crate) const TOLD: RGBColor = RGBColor(0xd8, 0x6a, 0x2b);
/// Rejected requests.
pub(crate) const REJECTED: RGBColor = RGBColor(0x8e, 0x24, 0x6f);

const PANEL: (u32, u32) = (640, 440);
const TITLE: u32 = 56;
const FONT: &str = "sans-serif";

/// Points that belong together; drawn in their order, one above the other.
#[derive(Debug)]
pub(crate) struct Series {
    pub(crate) name: &'static str,
    pub(crate) color: RGBColor,
    pub(crate) has_line: bool,
    /// Of the marks, in pixels; 0 for none.
    pub(crate) radius: i32,
    pub(crate) points: Vec<(f64, f64)>,
}

/// One diagram.
#[derive(Debug)]
pub(crate) struct Panel {
    pub(crate) title: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) series: Vec<Series>,
}

/// It begins at 0.
#[derive(Debug)]
pub(crate) struct Axis {
    /// With the unit.
    pub(crate) name: &'static str,
    pub(crate) end: f64,
    pub(crate) decimals: usize,
}

/// Writes panels side by side.
pub(crate) fn draw(file: &Path, title: &str, panels: &[Panel]) -> Result<(), Box<dyn Error>> {
    let size = (PANEL.0 * u32::try_from(panels.len())?, PANEL.1 + TITLE);
    let root = SVGBackend::new(file, size).into_drawing_area();
    root.fill(&WHITE)?;
    let below = root.margin(12, 0, 0, 0).titled(title, (FONT, 21))?;
    for (panel, area) in panels.iter().zip(below.split_evenly((1, panels.len()))) {
        draw_panel(panel, &area)?;
    }
    root.present()?;
    Ok(())
}

fn draw_panel(panel: &Panel, area: &DrawingArea<SVGBackend<'_>, Shift>) -> Result<(), Box<dyn Error>> {
    let mut chart = ChartBuilder::on(area)
        .caption(&panel.title, (FONT, 16))
        .margin(12)
        .margin_right(24)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d(0.0..panel.x.end, 0.0..panel.y.end)?;
    chart
        .configure_mesh()
        .x_desc(panel.x.name)
        .y_desc(panel.y.name)
        .x_label_formatter(&|x| number(*x, panel.x.decimals))
        .y_label_formatter(&|y| number(*y, panel.y.decimals))
        .axis_desc_style((FONT, 15))
        .label_style((FONT, 13))
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.12))
        .draw()?;
    for series in &panel.series {
        let (style, radius, has_line) = (series.color.stroke_width(2), series.radius, series.has_line);
        let marks = series.points.iter().filter(|_| radius > 0);
        chart.draw_series(marks.map(|point| Circle::new(*point, radius, style.filled())))?;
        let line = series.points.iter().copied().filter(|_| has_line);
        let drawn = chart.draw_series(LineSeries::new(line, style))?;
        drawn.label(series.name).legend(move |(x, y)| {
            let end = if has_line { x + 18 } else { x };
            EmptyElement::at((x, y))
                + PathElement::new(vec![(0, 0), (end - x, 0)], style)
                + Circle::new((9, 0), radius, style.filled())
        });
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerRight)
        .margin(14)
        .background_style(WHITE.mix(0.85))
        .border_style(BLACK.mix(0.3))
        .label_font((FONT, 14))
        .draw()?;
    Ok(())
}

/// With the thousands apart.
fn number(value: f64, decimals: usize) -> String {
    let whole = value.round() as u64;
    match decimals {
        0 if whole >= 1_000 => format!("{},{:03}", whole / 1_000, whole % 1_000),
        _ => format!("{value:.decimals$}"),
    }
}
