//! Line plots as SVG. A single plot ([`Plot`]) takes its colours from the page around it, so that it is legible in
//! light and dark themes. A [`Document`] has several plots, and can also be written as a bitmap. Polar charts
//! ([`Polar`]) are files of their own.

mod document;
#[cfg(feature = "png")]
mod picture;
mod polar;

use std::fmt::Write;

pub use document::{Document, LINES};
#[cfg(feature = "png")]
pub use picture::PictureError;
pub use polar::{Mark, Polar};

/// Width of a plot, in units of the drawing: two plots side by side fit a page of 1200.
const PLOT_WIDTH: f64 = 560.0;
/// Height of a plot with a legend of one line.
const PLOT_HEIGHT: f64 = 310.0;

/// Left margin of the axes, for the labels of the ticks and the rotated name of the axis.
const LEFT_MARGIN: f64 = 74.0;
/// Right margin of the axes, for half of the last label.
const RIGHT_MARGIN: f64 = 16.0;
/// Top margin of the axes, for title and legend.
const TOP_MARGIN: f64 = 44.0;
/// Bottom margin of the axes, for the labels and the name of the axis.
const BOTTOM_MARGIN: f64 = 50.0;

/// Height of a line of the legend: its text of 12 and a gap.
const LEGEND_LINE_HEIGHT: f64 = 17.0;

/// Largest number of points of a line that are drawn. The plot is not wide enough to show more.
const MAX_POINTS: usize = 600;

/// Largest number of scattered points that are drawn: some hundred kilobytes of a picture.
const MAX_SCATTERED: usize = 5000;

/// Style and meaning of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line {
    /// Theory: dashed.
    Reference,
    /// The thesis's figure or law: dotted.
    Thesis,
    /// Measurement: solid, in the palette's colour with this number.
    Measured(usize),
    /// Measurement at few places: points in the palette's colour with this number, joined by a line.
    Marked(usize),
    /// Measurement of many cases: small points in the palette's colour with this number, without a line.
    Scattered(usize),
}

/// One line of a plot.
#[derive(Debug, Clone)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// Style of the line.
    pub line: Line,
    /// Points, horizontal and vertical.
    pub points: Vec<(f64, f64)>,
}

/// A plot of lines over two axes.
#[derive(Debug, Clone)]
pub struct Plot {
    /// Title of the plot.
    pub title: String,
    /// Name and unit of the horizontal axis.
    pub x: String,
    /// Name and unit of the vertical axis.
    pub y: String,
    /// True if the vertical axis is logarithmic. Values that are not above zero are then left out.
    pub logarithmic: bool,
    /// True if both axes have the same scale.
    pub to_scale: bool,
    /// Lines of the plot.
    pub series: Vec<Series>,
}

impl Plot {
    /// An empty plot.
    pub fn new(title: impl Into<String>, x: &str, y: &str) -> Self {
        Self { title: title.into(), x: x.into(), y: y.into(), logarithmic: false, to_scale: false, series: Vec::new() }
    }

    /// Makes the vertical axis logarithmic.
    pub fn logarithmic(self) -> Self {
        Self { logarithmic: true, ..self }
    }

    /// Gives both axes the same scale.
    pub fn to_scale(self) -> Self {
        Self { to_scale: true, ..self }
    }

    /// Adds a line and returns the plot.
    pub fn line(mut self, name: impl Into<String>, line: Line, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        self.add(name, line, points.into_iter().collect());
        self
    }

    /// Adds a line.
    pub fn add(&mut self, name: impl Into<String>, line: Line, points: Vec<(f64, f64)>) {
        self.series.push(Series { name: name.into(), line, points });
    }

    /// The plot as an `svg` element. Colours and fonts come from classes of the page's style.
    pub fn svg(&self) -> String {
        let title = escape(&self.title);
        let head = format!(
            r#"<svg class="plot" viewBox="0 0 {PLOT_WIDTH} {}" role="img" aria-label="{title}">"#,
            self.height()
        );
        head + &self.svg_content() + "</svg>"
    }

    /// Content of the `svg` element.
    fn svg_content(&self) -> String {
        let (across, up) = self.axes();
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = self.write_content(&across, &up, &mut out);
        out
    }

    /// Height of the legend's lines after the first, by which the axes move down.
    fn extra_legend_height(&self) -> f64 {
        LEGEND_LINE_HEIGHT * self.legend_places().last().map_or(0.0, |(_, line)| *line as f64)
    }

    fn height(&self) -> f64 {
        PLOT_HEIGHT + self.extra_legend_height()
    }

    /// The points of a line that are drawn. A long line is reduced to the lowest and the highest point of each chunk,
    /// so that no peak is lost. Scattered points are all returned.
    fn drawn_points(&self, series: &Series) -> Vec<(f64, f64)> {
        let fits = |&&(x, y): &&(f64, f64)| x.is_finite() && y.is_finite() && (!self.logarithmic || y > 0.0);
        let points: Vec<(f64, f64)> = series.points.iter().filter(fits).copied().collect();
        if points.len() <= MAX_POINTS || matches!(series.line, Line::Scattered(_)) {
            return points;
        }
        let (first, last) = (points[0], points[points.len() - 1]);
        let mut kept = vec![first];
        for chunk in points.chunks(points.len().div_ceil(MAX_POINTS / 2)) {
            let by_height = |a: &usize, b: &usize| chunk[*a].1.total_cmp(&chunk[*b].1);
            let ends = (0..chunk.len()).min_by(by_height).zip((0..chunk.len()).max_by(by_height));
            let Some((low, high)) = ends else { continue };
            kept.extend([chunk[low.min(high)], chunk[low.max(high)]]);
        }
        kept.push(last);
        kept
    }

    /// The horizontal and the vertical axis.
    fn axes(&self) -> (Axis, Axis) {
        let all: Vec<(f64, f64)> = self.series.iter().flat_map(|series| self.drawn_points(series)).collect();
        let span = |values: &mut dyn Iterator<Item = f64>| {
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
        };
        let x = span(&mut all.iter().map(|point| point.0));
        let y = span(&mut all.iter().map(|point| point.1));
        let (width, height) = (PLOT_WIDTH - LEFT_MARGIN - RIGHT_MARGIN, PLOT_HEIGHT - TOP_MARGIN - BOTTOM_MARGIN);
        if self.to_scale {
            let metre = ((x.1 - x.0) / width).max((y.1 - y.0) / height) * 1.06;
            let around = |span: (f64, f64), length: f64| {
                let middle = (span.0 + span.1) / 2.0;
                Axis { low: middle - metre * length / 2.0, high: middle + metre * length / 2.0, logarithmic: false }
            };
            return (around(x, width), around(y, height));
        }
        let up = if self.logarithmic { Axis::decades(y) } else { Axis::linear(y) };
        // The axis begins at zero if the first sample is just after zero.
        let low = if x.0 > 0.0 && x.0 < 0.05 * x.1 { 0.0 } else { x.0 };
        (Axis { low, high: if x.1 > low { x.1 } else { low + 1.0 }, logarithmic: false }, up)
    }

    /// Writes title, axes, lines and legend.
    fn write_content(&self, across: &Axis, up: &Axis, out: &mut String) -> std::fmt::Result {
        let legend = self.legend_places();
        let more = self.extra_legend_height();
        let (left, right) = (LEFT_MARGIN, PLOT_WIDTH - RIGHT_MARGIN);
        let (top, bottom) = (TOP_MARGIN + more, PLOT_HEIGHT + more - BOTTOM_MARGIN);
        let place =
            |(x, y): (f64, f64)| (left + across.fraction(x) * (right - left), bottom - up.fraction(y) * (bottom - top));
        let title = escape(&self.title);
        write!(out, r#"<text class="title" x="{left}" y="15">{title}</text>"#)?;
        for tick in up.ticks(6) {
            let y = place((across.low, tick)).1;
            write!(out, r#"<line class="grid" x1="{left}" x2="{right}" y1="{y:.1}" y2="{y:.1}"/>"#)?;
            let label = up.label(tick);
            write!(
                out,
                r#"<text class="tick" x="{}" y="{:.1}" text-anchor="end">{label}</text>"#,
                left - 7.0,
                y + 4.0
            )?;
        }
        for tick in across.ticks(9) {
            let x = place((tick, up.low)).0;
            write!(out, r#"<line class="grid" x1="{x:.1}" x2="{x:.1}" y1="{top}" y2="{bottom}"/>"#)?;
            let label = across.label(tick);
            write!(out, r#"<text class="tick" x="{x:.1}" y="{}" text-anchor="middle">{label}</text>"#, bottom + 17.0)?;
        }
        write!(out, r#"<path class="frame" d="M{left} {top}V{bottom}H{right}"/>"#)?;
        let (middle, level, x, y) = ((left + right) / 2.0, (top + bottom) / 2.0, escape(&self.x), escape(&self.y));
        write!(
            out,
            r#"<text class="axis" x="{middle}" y="{}" text-anchor="middle">{x}</text>"#,
            bottom + BOTTOM_MARGIN - 10.0
        )?;
        write!(
            out,
            r#"<text class="axis" transform="translate(14 {level}) rotate(-90)" text-anchor="middle">{y}</text>"#
        )?;
        // Theory is drawn on top, so that it stays visible where the measurement meets it.
        let (ours, theory): (Vec<_>, Vec<_>) =
            self.series.iter().partition(|series| !matches!(series.line, Line::Reference | Line::Thesis));
        for series in ours.into_iter().chain(theory) {
            self.write_series(series, place, out)?;
        }
        for (series, (x, line)) in self.series.iter().zip(&legend) {
            let (y, class, name) =
                (30.0 + LEGEND_LINE_HEIGHT * *line as f64, css_class(series.line), escape(&series.name));
            write!(out, r#"<line class="{class}" x1="{x}" x2="{}" y1="{y}" y2="{y}"/>"#, x + 24.0)?;
            write!(out, r#"<text class="legend" x="{}" y="{}">{name}</text>"#, x + 30.0, y + 4.0)?;
        }
        Ok(())
    }

    /// Position of each entry of the legend: its distance from the left, and the number of the legend's line.
    fn legend_places(&self) -> Vec<(f64, usize)> {
        let (mut x, mut line) = (LEFT_MARGIN, 0);
        let each = self.series.iter().map(|series| {
            // 6.4 is the mean width of a letter of this size, 30 that of the sample line.
            let width = 30.0 + 6.4 * series.name.chars().count() as f64;
            if x > LEFT_MARGIN && x + width > PLOT_WIDTH - RIGHT_MARGIN {
                (x, line) = (LEFT_MARGIN, line + 1);
            }
            let place = (x, line);
            x += width + 18.0;
            place
        });
        each.collect()
    }

    fn write_series(
        &self,
        series: &Series,
        place: impl Fn((f64, f64)) -> (f64, f64),
        out: &mut String,
    ) -> std::fmt::Result {
        let points: Vec<(f64, f64)> = self.drawn_points(series).into_iter().map(&place).collect();
        if let Line::Scattered(_) = series.line {
            for (x, y) in points.iter().step_by(points.len().div_ceil(MAX_SCATTERED).max(1)) {
                write!(out, r#"<circle class="{}" cx="{x:.1}" cy="{y:.1}" r="1.5"/>"#, css_class(series.line))?;
            }
            return Ok(());
        }
        write!(out, r#"<polyline class="{}" points=""#, css_class(series.line))?;
        for (x, y) in &points {
            write!(out, "{x:.1},{y:.1} ")?;
        }
        write!(out, r#""><title>{}</title></polyline>"#, escape(&series.name))?;
        if matches!(series.line, Line::Marked(_)) {
            for (x, y) in &points {
                write!(out, r#"<circle class="{}" cx="{x:.1}" cy="{y:.1}" r="3.5"/>"#, css_class(series.line))?;
            }
        }
        Ok(())
    }
}

/// Class of a line in the style sheet.
fn css_class(line: Line) -> String {
    match line {
        Line::Reference => "reference".into(),
        Line::Thesis => "thesis".into(),
        Line::Measured(colour) | Line::Marked(colour) | Line::Scattered(colour) => {
            format!("measured m{}", colour % LINES)
        }
    }
}

/// Escapes the characters of a text that have a meaning in XML. Characters that XML cannot represent, and other control
/// characters, become the replacement character.
pub fn escape(text: &str) -> String {
    let refused = |c: char| c.is_control() && !matches!(c, '\t' | '\n') || matches!(c, '\u{fffe}' | '\u{ffff}');
    let text = text.replace(refused, "\u{fffd}");
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The range of numbers that an axis shows.
struct Axis {
    low: f64,
    high: f64,
    logarithmic: bool,
}

impl Axis {
    /// A linear axis for values in a range, with a small margin.
    fn linear((low, high): (f64, f64)) -> Self {
        if !low.is_finite() {
            return Self { low: 0.0, high: 1.0, logarithmic: false };
        }
        // A constant is drawn in the middle, with a scale on which its rounding is invisible.
        let margin = match high.abs() {
            0.0 if low == 0.0 => 1.0,
            size if high - low > 1e-12 * size => 0.06 * (high - low),
            size => 0.5 * size.max(1e-12),
        };
        Self { low: low - margin, high: high + margin, logarithmic: false }
    }

    /// A logarithmic axis for values in a range, between powers of ten.
    fn decades((low, high): (f64, f64)) -> Self {
        if !low.is_finite() {
            return Self { low: 0.1, high: 1.0, logarithmic: true };
        }
        let (low, high) = (low.log10().floor(), high.log10().ceil());
        Self { low: 10f64.powf(low), high: 10f64.powf(high.max(low + 1.0)), logarithmic: true }
    }

    /// Position of a value along the axis, 0 to 1.
    fn fraction(&self, value: f64) -> f64 {
        if self.logarithmic {
            (value.log10() - self.low.log10()) / (self.high.log10() - self.low.log10())
        } else {
            (value - self.low) / (self.high - self.low)
        }
    }

    /// Round values on the axis, about `wanted` of them.
    fn ticks(&self, wanted: usize) -> Vec<f64> {
        if self.logarithmic {
            let (low, high) = (self.low.log10().round() as i32, self.high.log10().round() as i32);
            let stride = (high - low).unsigned_abs().div_ceil(wanted as u32).max(1);
            return (low..=high).step_by(stride as usize).map(|power| 10f64.powi(power)).collect();
        }
        let step = self.tick_step(wanted);
        let first = (self.low / step - 1e-9).ceil() as i64;
        let last = (self.high / step + 1e-9).floor() as i64;
        (first..=last).map(|index| index as f64 * step).collect()
    }

    /// Interval of the ticks: 1, 2 or 5 times a power of ten.
    fn tick_step(&self, wanted: usize) -> f64 {
        let raw = (self.high - self.low) / wanted as f64;
        let power = 10f64.powf(raw.log10().floor());
        let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| factor * power >= raw * 0.999).unwrap_or(10.0);
        factor * power
    }

    /// Label of a tick.
    fn label(&self, value: f64) -> String {
        if self.logarithmic {
            return format!("{value:.0e}");
        }
        let step = self.tick_step(6);
        match self.low.abs().max(self.high.abs()) {
            largest if !(1e-3..1e5).contains(&largest) => format!("{value:.1e}"),
            _ => format!("{value:.*}", (-step.log10().floor()).clamp(0.0, 9.0) as usize),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_within_the_axis() {
        let axis = Axis { low: 0.0, high: 10.0, logarithmic: false };
        assert_eq!(axis.ticks(5), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        let axis = Axis::decades((3e-12, 0.04));
        assert_eq!((axis.low, axis.high), (1e-12, 0.1));
        assert!(axis.ticks(6).len() <= 7);
    }

    #[test]
    fn a_plot_holds_its_lines_and_nothing_that_is_no_number() {
        let points = vec![(0.0, 1.0), (1.0, f64::NAN), (2.0, 3.0)];
        let svg = Plot::new("a < b", "t in s", "y in m").line("theory", Line::Reference, points).svg();
        assert!(svg.contains("a &lt; b") && !svg.contains("NaN"));
        assert!(svg.contains(r#"<polyline class="reference""#));
    }

    #[test]
    fn no_text_spoils_the_document() {
        assert_eq!(
            escape("a\0b\u{1b}[31m\u{9b}\u{ffff}<&\">"),
            "a\u{fffd}b\u{fffd}[31m\u{fffd}\u{fffd}&lt;&amp;&quot;&gt;"
        );
    }

    #[test]
    fn a_logarithmic_plot_leaves_zeros_out() {
        let plot =
            Plot::new("p", "x", "y").logarithmic().line("l", Line::Measured(0), [(0.0, 0.0), (1.0, 1e-3), (2.0, 1.0)]);
        assert_eq!(plot.drawn_points(&plot.series[0]).len(), 2);
    }

    #[test]
    fn no_peak_of_a_long_line_is_lost() {
        let points = (0..100_000).map(|index| (f64::from(index), if index == 54_321 { 9.0 } else { 0.0 }));
        let plot = Plot::new("p", "x", "y").line("l", Line::Measured(0), points);
        let shown = plot.drawn_points(&plot.series[0]);
        assert!(shown.len() <= MAX_POINTS + 2 && shown.contains(&(54_321.0, 9.0)));
        assert!(shown.is_sorted_by(|a, b| a.0 <= b.0));
    }
}
