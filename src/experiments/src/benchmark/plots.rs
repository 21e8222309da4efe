//! Plots of a report: displacement of the objects in the hand over time.

use super::report::{Report, Row};
use simpartner_plot::{Document, Line, Plot};

/// Document with a plot for each case of a report.
pub fn document(report: &Report) -> Document {
    let plots = report.rows.iter().map(case_plot).collect();
    Document { title: "Grasp benchmark: how far objects move in the hand".into(), plots }
}

fn case_plot(row: &Row) -> Plot {
    let title = format!("{}, friction {}, {} ms", row.title, row.friction, 1e3 * row.timestep_s);
    let mut plot = Plot::new(title, "time in s", "way in mm").logarithmic();
    for (index, outcome) in row.outcomes.iter().enumerate() {
        let points = outcome.figures.curve.iter().map(|(time, way)| (*time, 1e3 * way)).collect();
        plot.add(outcome.engine.clone(), Line::Measured(index), points);
    }
    plot
}
