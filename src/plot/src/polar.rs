//! Polar charts as SVG: rings for angles, sectors for azimuths, a colour for each cell, and a line around the safe
//! angles.

use std::{f64::consts::TAU, fmt::Write};

use super::escape;

/// Mark of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// Good, drawn in light green.
    Good,
    /// Bad, drawn in dark red.
    Bad,
    /// Undecided, drawn in yellow.
    Open,
}

/// A polar chart.
#[derive(Debug, Clone)]
pub struct Polar {
    /// Title of the chart.
    pub title: String,
    /// Lines of text below the chart.
    pub notes: Vec<String>,
    /// Angle at the rim, degrees.
    pub rim: f64,
    /// Rows from the middle outwards. Each has sectors from the top clockwise. The first row is the middle itself.
    pub cells: Vec<Vec<Mark>>,
    /// For each sector, the angle of the line around the safe angles, degrees.
    pub safe: Vec<f64>,
}

/// Radius of the rim, in units of the drawing.
const RIM_RADIUS: f64 = 230.0;
/// Margin around the rim for title and labels.
const RIM_MARGIN: f64 = 50.0;
/// Height of a line of text.
const LINE_HEIGHT: f64 = 18.0;

/// Style sheet of a chart.
const STYLE_SHEET: &str = "text{font:13px sans-serif;fill:#222}.title{font-weight:bold}.good{fill:#bfe3c4}.bad{fill:#b5443c}.open{fill:#f2e3a0}\
    .cell{stroke:#fff;stroke-width:.5}.ring{fill:none;stroke:#555;stroke-width:.5;stroke-dasharray:2 3}.safe{fill:none;stroke:#0b4f8a;stroke-width:2}";

impl Polar {
    /// The chart as an SVG file.
    pub fn svg(&self) -> String {
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = self.write_svg(&mut out);
        out
    }

    fn write_svg(&self, out: &mut String) -> std::fmt::Result {
        let middle = RIM_RADIUS + RIM_MARGIN;
        let (width, height) = (2.0 * middle, 2.0 * middle + LINE_HEIGHT * (self.notes.len() + 4) as f64);
        let title = escape(&self.title);
        write!(
            out,
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="{title}">"#
        )?;
        write!(out, r##"<style>{STYLE_SHEET}</style><rect width="{width}" height="{height}" fill="#fff"/>"##)?;
        write!(out, r#"<text class="title" x="{middle}" y="24" text-anchor="middle">{title}</text>"#)?;
        write!(out, r#"<g transform="translate({middle} {})">"#, middle + LINE_HEIGHT)?;
        self.write_cells(out)?;
        for ring in 1..=3 {
            let part = f64::from(ring) / 3.0;
            let radius = RIM_RADIUS * part;
            write!(out, r#"<circle class="ring" r="{radius:.1}"/>"#)?;
            write!(out, r#"<text x="3" y="{:.1}">{}°</text>"#, 14.0 - radius, (self.rim * part * 10.0).round() / 10.0)?;
        }
        for (degrees, anchor, shift) in
            [(0u32, "middle", -6.0), (90, "start", 4.0), (180, "middle", 16.0), (270, "end", 4.0)]
        {
            let (x, y) = polar_point(RIM_RADIUS + 4.0, f64::from(degrees).to_radians());
            write!(out, r#"<text x="{x:.1}" y="{:.1}" text-anchor="{anchor}">{degrees}°</text>"#, y + shift)?;
        }
        let points = self.safe.iter().enumerate().map(|(sector, tilt)| {
            let (x, y) = polar_point(
                RIM_RADIUS * (tilt / self.rim).clamp(0.0, 1.0),
                TAU * sector as f64 / self.safe.len() as f64,
            );
            format!("{x:.2},{y:.2}")
        });
        write!(out, r#"<polygon class="safe" points="{}"/></g>"#, points.collect::<Vec<_>>().join(" "))?;
        let legend = [
            "Outwards: tilt. Around: azimuth. Blue line: the tilt up to which an azimuth holds.",
            "Green: holds. Red: proved impossible. Yellow: on the edge.",
        ];
        let below = 2.0 * middle + LINE_HEIGHT;
        for (line, note) in legend.into_iter().chain(self.notes.iter().map(String::as_str)).enumerate() {
            write!(out, r#"<text x="16" y="{}">{}</text>"#, below + LINE_HEIGHT * line as f64 + 8.0, escape(note))?;
        }
        writeln!(out, "</svg>")
    }

    fn write_cells(&self, out: &mut String) -> std::fmt::Result {
        let rows = self.cells.len().max(2) - 1;
        // A row covers the angles nearest to its own; the row at the rim covers only half a step.
        let edge = |at: f64| RIM_RADIUS * (at / rows as f64).clamp(0.0, 1.0);
        for (row, cells) in self.cells.iter().enumerate() {
            let (inner, outer) = (edge(row as f64 - 0.5), edge(row as f64 + 0.5));
            let half = TAU / cells.len() as f64 / 2.0;
            for (sector, mark) in cells.iter().enumerate() {
                let azimuth = TAU * sector as f64 / cells.len() as f64;
                let [a, b] = [azimuth - half, azimuth + half];
                let ((ax, ay), (bx, by), (cx, cy), (dx, dy)) =
                    (polar_point(inner, a), polar_point(outer, a), polar_point(outer, b), polar_point(inner, b));
                let class = match mark {
                    Mark::Good => "good",
                    Mark::Bad => "bad",
                    Mark::Open => "open",
                };
                write!(
                    out,
                    r#"<path class="cell {class}" d="M{ax:.2} {ay:.2}L{bx:.2} {by:.2}A{outer:.2} {outer:.2} 0 0 1 {cx:.2} {cy:.2}L{dx:.2} {dy:.2}A{inner:.2} {inner:.2} 0 0 0 {ax:.2} {ay:.2}Z"/>"#
                )?;
            }
        }
        Ok(())
    }
}

/// The point at a distance from the middle and an azimuth, rad, clockwise from the top.
fn polar_point(radius: f64, azimuth: f64) -> (f64, f64) {
    let (sine, cosine) = libm::sincos(azimuth);
    (radius * sine, -radius * cosine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_is_a_path_of_its_mark_and_text_is_escaped() {
        let cells = vec![vec![Mark::Good; 4], vec![Mark::Good, Mark::Bad, Mark::Open, Mark::Bad]];
        let chart = Polar {
            title: "a < b".into(),
            notes: vec!["n & m".into()],
            rim: 30.0,
            cells,
            safe: vec![30.0, 10.0, 0.0, 5.0],
        };
        let svg = chart.svg();
        assert_eq!(svg.matches("class=\"cell good\"").count(), 5);
        assert_eq!(svg.matches("class=\"cell bad\"").count(), 2);
        assert_eq!(svg.matches("class=\"cell open\"").count(), 1);
        assert!(svg.contains("a &lt; b") && svg.contains("n &amp; m") && !svg.contains("NaN"));
    }
}
