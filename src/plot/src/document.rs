//! Files with plots one above another. Each file contains its style, so that any viewer shows it.

use super::{PLOT_WIDTH, Plot, escape};

/// Number of lines that can be distinguished by colour: the size of the palette.
pub const LINES: usize = 8;

/// Height of the document's title above the first plot, in units of the drawing: its text of 15, and as much around it.
const TITLE_HEIGHT: f64 = 34.0;

/// Gap below a plot, in units of the drawing.
const PLOT_GAP: f64 = 8.0;

/// Pixels per unit of the drawing. Text of 12 units is then legible on paper.
const PIXELS_PER_UNIT: f64 = 2.0;

/// Palette of colours that can be distinguished on white. They also differ in lightness, for readers with a colour
/// vision deficiency.
const LINE_COLOURS: [&str; LINES] =
    ["#0b6fb3", "#c2560c", "#2e7d4f", "#7a4fb0", "#a88400", "#b8327a", "#148f94", "#6d6257"];

/// Style sheet of a document.
const STYLE_SHEET: &str = "\
text { font-family: 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', sans-serif; font-size: 12px; fill: #1d2329; }
.head { font-size: 15px; font-weight: 600; }
.title { font-size: 13.5px; font-weight: 600; }
.tick, .axis { fill: #5d6872; }
.grid { stroke: #e4e7e9; stroke-width: 1; }
.frame { fill: none; stroke: #5d6872; stroke-width: 1; }
polyline { fill: none; stroke-linejoin: round; }
circle { fill: #ffffff; }
.measured { stroke-width: 1.6; }
";

/// Plots of one file.
#[derive(Debug, Clone)]
pub struct Document {
    /// Title of the document.
    pub title: String,
    /// The plots, from top to bottom.
    pub plots: Vec<Plot>,
}

impl Document {
    /// The document as an SVG file.
    pub fn svg(&self) -> String {
        let height = TITLE_HEIGHT + self.plots.iter().map(|plot| plot.height() + PLOT_GAP).sum::<f64>();
        let colours =
            LINE_COLOURS.iter().enumerate().map(|(index, colour)| format!(".m{index} {{ stroke: {colour}; }}\n"));
        let title = escape(&self.title);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {PLOT_WIDTH} {height}\" width=\"{}\" height=\"{}\" \
             role=\"img\" aria-label=\"{title}\">\n<style>\n{STYLE_SHEET}{}</style>\n\
             <rect width=\"{PLOT_WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\n\
             <text class=\"head\" x=\"14\" y=\"22\">{title}</text>\n",
            PLOT_WIDTH * PIXELS_PER_UNIT,
            height * PIXELS_PER_UNIT,
            colours.collect::<String>(),
        );
        let mut below = TITLE_HEIGHT;
        for plot in &self.plots {
            out += &format!("<g transform=\"translate(0 {below})\">{}</g>\n", plot.svg_content());
            below += plot.height() + PLOT_GAP;
        }
        out + "</svg>\n"
    }
}
