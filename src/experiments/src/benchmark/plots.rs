//! Plots of a report: how far objects are from their places over time.

use super::report::{Report, Row};
use simpartner_plot::{Document, Line, Plot};

/// The file of a report, with a plot for each case.
pub fn document(report: &Report) -> Document {
    let plots = report.rows.iter().map(plot).collect();
    Document { title: "Grasp benchmark: how far objects move in the hand".into(), plots }
}

fn plot(row: &Row) -> Plot {
    let title = format!("{}, friction {}, {} ms", row.title, row.friction, 1e3 * row.timestep_s);
    let mut plot = Plot::new(title, "time in s", "way in mm").logarithmic();
    for (index, outcome) in row.outcomes.iter().enumerate() {
        let points = outcome.figures.curve.iter().map(|(time, way)| (*time, 1e3 * way)).collect();
        plot.add(outcome.engine.clone(), Line::Measured(index), points);
    }
    plot
}
