//! A polar chart as SVG: rings of angles, sectors of azimuths, each cell marked, and a line around what is safe.

use std::{f64::consts::TAU, fmt::Write};

use super::escape;

/// How a cell is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// Filled light.
    Good,
    /// Filled dark.
    Bad,
    /// Hatched by its outline alone.
    Open,
}

/// A polar chart.
#[derive(Debug, Clone)]
pub struct Polar {
    /// Its title.
    pub title: String,
    /// Lines of text below it.
    pub notes: Vec<String>,
    /// The angle at the rim, degrees.
    pub rim: f64,
    /// Rows from the middle outwards, of sectors that begin at the top and go clockwise. The first row is the middle.
    pub cells: Vec<Vec<Mark>>,
    /// Of each sector, the angle of the line around what is safe, degrees.
    pub safe: Vec<f64>,
}

/// Radius of the rim, and margins for the title, labels and notes.
const RADIUS: f64 = 230.0;
const MARGIN: f64 = 50.0;
const LINE: f64 = 18.0;

const STYLE: &str = "text{font:13px sans-serif;fill:#222}.title{font-weight:bold}.good{fill:#bfe3c4}.bad{fill:#b5443c}.open{fill:#f2e3a0}\
    .cell{stroke:#fff;stroke-width:.5}.ring{fill:none;stroke:#555;stroke-width:.5;stroke-dasharray:2 3}.safe{fill:none;stroke:#0b4f8a;stroke-width:2}";

impl Polar {
    /// The chart as a file.
    pub fn svg(&self) -> String {
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        let middle = RADIUS + MARGIN;
        let (width, height) = (2.0 * middle, 2.0 * middle + LINE * (self.notes.len() + 4) as f64);
        let title = escape(&self.title);
        write!(
            out,
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="{title}">"#
        )?;
        write!(out, r##"<style>{STYLE}</style><rect width="{width}" height="{height}" fill="#fff"/>"##)?;
        write!(out, r#"<text class="title" x="{middle}" y="24" text-anchor="middle">{title}</text>"#)?;
        write!(out, r#"<g transform="translate({middle} {})">"#, middle + LINE)?;
        self.write_cells(out)?;
        for ring in 1..=3 {
            let part = f64::from(ring) / 3.0;
            let radius = RADIUS * part;
            write!(out, r#"<circle class="ring" r="{radius:.1}"/>"#)?;
            write!(out, r#"<text x="3" y="{:.1}">{}°</text>"#, 14.0 - radius, (self.rim * part * 10.0).round() / 10.0)?;
        }
        for (degrees, anchor, shift) in
            [(0u32, "middle", -6.0), (90, "start", 4.0), (180, "middle", 16.0), (270, "end", 4.0)]
        {
            let (x, y) = at(RADIUS + 4.0, f64::from(degrees).to_radians());
            write!(out, r#"<text x="{x:.1}" y="{:.1}" text-anchor="{anchor}">{degrees}°</text>"#, y + shift)?;
        }
        let points = self.safe.iter().enumerate().map(|(sector, tilt)| {
            let (x, y) = at(RADIUS * (tilt / self.rim).clamp(0.0, 1.0), TAU * sector as f64 / self.safe.len() as f64);
            format!("{x:.2},{y:.2}")
        });
        write!(out, r#"<polygon class="safe" points="{}"/></g>"#, points.collect::<Vec<_>>().join(" "))?;
        let legend = [
            "Outwards: tilt. Around: azimuth. Blue line: the tilt up to which an azimuth holds.",
            "Green: holds. Red: proved impossible. Yellow: on the edge.",
        ];
        let below = 2.0 * middle + LINE;
        for (line, note) in legend.into_iter().chain(self.notes.iter().map(String::as_str)).enumerate() {
            write!(out, r#"<text x="16" y="{}">{}</text>"#, below + LINE * line as f64 + 8.0, escape(note))?;
        }
        writeln!(out, "</svg>")
    }

    fn write_cells(&self, out: &mut String) -> std::fmt::Result {
        let rows = self.cells.len().max(2) - 1;
        // A row stands for the angles nearest to its own; the rim's has half a step alone.
        let edge = |at: f64| RADIUS * (at / rows as f64).clamp(0.0, 1.0);
        for (row, cells) in self.cells.iter().enumerate() {
            let (inner, outer) = (edge(row as f64 - 0.5), edge(row as f64 + 0.5));
            let half = TAU / cells.len() as f64 / 2.0;
            for (sector, mark) in cells.iter().enumerate() {
                let azimuth = TAU * sector as f64 / cells.len() as f64;
                let [a, b] = [azimuth - half, azimuth + half];
                let ((ax, ay), (bx, by), (cx, cy), (dx, dy)) = (at(inner, a), at(outer, a), at(outer, b), at(inner, b));
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

/// A point at a distance and an azimuth, which goes clockwise from the top.
fn at(radius: f64, azimuth: f64) -> (f64, f64) {
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
