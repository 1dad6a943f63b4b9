//! Charts: axes, lines, marks, and a legend below them, on any backend of plotters. Their content is `picture.rs`.

use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use plotters::coord::Shift;
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::register_font;
use plotters::style::text_anchor::{HPos, Pos, VPos};

const FONT: &str = "sans-serif";
/// DejaVu Sans, so that pictures need no font of the system. `font/LICENSE.txt` says which part.
const FONT_FILE: &[u8] = include_bytes!("font/DejaVuSans-subset.ttf");

/// The width of a picture in pixels. A page shows it without scaling, so that its text can be read.
const WIDTH: u32 = 800;
/// The height of the axes, without the legend.
const PANEL: u32 = 440;
const TITLE: u32 = 76;
const LEGEND_ROW: u32 = 24;

const INK: RGBColor = RGBColor(0x22, 0x22, 0x22);
/// The colors of our curves, in their order.
pub(crate) const OURS: [RGBColor; 3] = [
    RGBColor(0x1f, 0x5f, 0xa8),
    RGBColor(0x2e, 0x8b, 0x57),
    RGBColor(0x8e, 0x24, 0x6f),
];
/// The color of what the text states.
pub(crate) const POST: RGBColor = RGBColor(0xd3, 0x5a, 0x1a);

/// The look of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// A line with dots.
    Line,
    /// A line without dots.
    Plain,
    /// A dashed line.
    Dashed,
    /// A dashed line with large dots.
    Marks,
}

/// One curve.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) color: RGBColor,
    pub(crate) look: Look,
    /// Of the stroke, in pixels.
    pub(crate) width: u32,
    pub(crate) points: Vec<(f64, f64)>,
}

/// One diagram.
#[derive(Clone, Debug)]
pub(crate) struct Panel {
    pub(crate) title: String,
    pub(crate) x: String,
    pub(crate) y: String,
    pub(crate) lines: Vec<Line>,
}

/// Writes panels side by side as `NAME.svg` and `NAME.png`, below a title of two lines.
pub(crate) fn draw(folder: &Path, name: &str, title: [&str; 2], panels: &[Panel]) -> Result<(), Box<dyn Error>> {
    if register_font(FONT, FontStyle::Normal, FONT_FILE).is_err() {
        return Err("the font DejaVuSans-subset.ttf cannot be read".into());
    }
    let rows = panels.iter().map(|panel| panel.lines.len()).max().unwrap_or_default() as u32;
    let size = (WIDTH, PANEL + TITLE + LEGEND_ROW * rows);
    let svg = folder.join(format!("{name}.svg"));
    draw_all(SVGBackend::new(&svg, size).into_drawing_area(), title, panels)?;

    let mut pixels = vec![0; (size.0 * size.1 * 3) as usize];
    draw_all(
        BitMapBackend::with_buffer(&mut pixels, size).into_drawing_area(),
        title,
        panels,
    )?;
    let file = BufWriter::new(File::create(folder.join(format!("{name}.png")))?);
    let mut encoder = png::Encoder::new(file, size.0, size.1);
    encoder.set_color(png::ColorType::Rgb);
    encoder.write_header()?.write_image_data(&pixels)?;
    Ok(())
}

fn draw_all<B: DrawingBackend>(
    root: DrawingArea<B, Shift>,
    title: [&str; 2],
    panels: &[Panel],
) -> Result<(), Box<dyn Error>>
where
    B::ErrorType: 'static,
{
    root.fill(&WHITE)?;
    let below = root
        .margin(14, 6, 0, 0)
        .titled(title[0], (FONT, 19).into_font().color(&INK))?
        .titled(title[1], (FONT, 15).into_font().color(&INK))?;
    for (panel, area) in panels.iter().zip(below.split_evenly((1, panels.len()))) {
        let height = area.dim_in_pixel().1 - LEGEND_ROW * panel.lines.len() as u32 - 6;
        let (plot, legend) = area.split_vertically(height);
        draw_panel(panel, &plot)?;
        draw_legend(panel, &legend)?;
    }
    root.present()?;
    Ok(())
}

fn draw_panel<B: DrawingBackend>(panel: &Panel, area: &DrawingArea<B, Shift>) -> Result<(), Box<dyn Error>>
where
    B::ErrorType: 'static,
{
    let points = || panel.lines.iter().flat_map(|line| &line.points);
    let right = points().fold(0.0, |most: f64, point| most.max(point.0)).max(1e-6);
    // Where all is zero the axis ends at 1.
    let top = points().fold(0.0, |most: f64, point| most.max(point.1)) * 1.1;
    let top = if top > 0.0 { top } else { 1.0 };
    let mut builder = ChartBuilder::on(area);
    builder
        .margin(10)
        .margin_right(28)
        .x_label_area_size(48)
        .y_label_area_size(78);
    if !panel.title.is_empty() {
        builder.caption(&panel.title, (FONT, 16).into_font().color(&INK));
    }
    let mut chart = builder.build_cartesian_2d(0.0..right * 1.03, 0.0..top)?;
    chart
        .configure_mesh()
        .x_desc(&panel.x)
        .y_desc(&panel.y)
        .x_labels(9)
        .y_labels(8)
        .x_label_formatter(&|x| number(*x, right))
        .y_label_formatter(&|y| number(*y, top))
        .axis_desc_style((FONT, 15).into_font().color(&INK))
        .label_style((FONT, 13).into_font().color(&INK))
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.12))
        .draw()?;
    for line in &panel.lines {
        let style = line.color.stroke_width(line.width);
        let path = line.points.iter().copied();
        match line.look {
            Look::Line | Look::Plain => {
                chart.draw_series(LineSeries::new(path, style))?;
            }
            Look::Dashed | Look::Marks => {
                chart.draw_series([DashedPathElement::new(path, 7, 5, style)])?;
            }
        }
        if let Some(radius) = radius(line.look) {
            let dots = line
                .points
                .iter()
                .map(|point| Circle::new(*point, radius, line.color.filled()));
            chart.draw_series(dots)?;
        }
    }
    Ok(())
}

fn radius(look: Look) -> Option<i32> {
    match look {
        Look::Line => Some(4),
        Look::Marks => Some(6),
        Look::Plain | Look::Dashed => None,
    }
}

/// A row for each curve, below the axes, where no curve is.
fn draw_legend<B: DrawingBackend>(panel: &Panel, area: &DrawingArea<B, Shift>) -> Result<(), Box<dyn Error>>
where
    B::ErrorType: 'static,
{
    let text = TextStyle::from((FONT, 14).into_font())
        .color(&INK)
        .pos(Pos::new(HPos::Left, VPos::Center));
    for (row, line) in panel.lines.iter().enumerate() {
        let y = (LEGEND_ROW * row as u32 + LEGEND_ROW / 2) as i32;
        let (left, right) = (88, 128);
        let style = line.color.stroke_width(line.width);
        match line.look {
            Look::Line | Look::Plain => area.draw(&PathElement::new(vec![(left, y), (right, y)], style))?,
            Look::Dashed | Look::Marks => {
                area.draw(&DashedPathElement::new([(left, y), (right, y)], 7, 5, style))?;
            }
        }
        if let Some(radius) = radius(line.look) {
            area.draw(&Circle::new(((left + right) / 2, y), radius, line.color.filled()))?;
        }
        area.draw(&Text::new(line.name.clone(), (right + 10, y), text.clone()))?;
    }
    Ok(())
}

/// Returns the label of an axis, with as many digits as its end needs.
fn number(value: f64, end: f64) -> String {
    match end {
        ..0.05 => format!("{value:.3}"),
        0.05..0.8 => format!("{value:.2}"),
        0.8..8.0 => format!("{value:.1}"),
        _ => crate::post::whole(value),
    }
}
