//! Plots one above the other in a file of their own that contains its style, so that any viewer shows it.

use super::{Plot, WIDTH, escape};

/// How many lines can be told apart by their colours: one for each colour of the palette.
pub const LINES: usize = 8;

/// Height above the first plot for the title of all: its text of 15, and as much around it.
const TITLE: f64 = 34.0;

/// Gap below a plot.
const GAP: f64 = 8.0;

/// Pixels of a bitmap, or of a screen, for a unit of the drawing: text of 12 units is then legible on paper.
const SCALE: f64 = 2.0;

/// Colours that can be told apart on white, also by readers with a colour vision deficiency: they differ in lightness as well.
const COLOURS: [&str; LINES] = ["#0b6fb3", "#c2560c", "#2e7d4f", "#7a4fb0", "#a88400", "#b8327a", "#148f94", "#6d6257"];

const STYLE: &str = "\
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
    /// The title of all.
    pub title: String,
    /// The plots, from top to bottom.
    pub plots: Vec<Plot>,
}

impl Document {
    /// The file.
    pub fn svg(&self) -> String {
        let height = TITLE + self.plots.iter().map(|plot| plot.height() + GAP).sum::<f64>();
        let colours = COLOURS.iter().enumerate().map(|(index, colour)| format!(".m{index} {{ stroke: {colour}; }}\n"));
        let title = escape(&self.title);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{}\" height=\"{}\" \
             role=\"img\" aria-label=\"{title}\">\n<style>\n{STYLE}{}</style>\n\
             <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\n\
             <text class=\"head\" x=\"14\" y=\"22\">{title}</text>\n",
            WIDTH * SCALE,
            height * SCALE,
            colours.collect::<String>(),
        );
        let mut below = TITLE;
        for plot in &self.plots {
            out += &format!("<g transform=\"translate(0 {below})\">{}</g>\n", plot.drawn());
            below += plot.height() + GAP;
        }
        out + "</svg>\n"
    }
}
