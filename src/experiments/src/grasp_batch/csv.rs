//! Rows of a batch as comma-separated values for other programs.

use std::fmt::Write;

use simpartner_grasp::task::{Outcome, Status};
use simpartner_model::Pose;

use super::{
    Row,
    figures::{Figure, QUALITY_PREFIX, figures},
};

/// A table with a line for each row, after a line with names. A figure that a task did not reach is an empty cell.
pub fn csv(rows: &[Row]) -> String {
    let mut text = String::from("task,status");
    for Figure { name, unit, .. } in figures(&Outcome::of(Status::Filtered, &Pose::IDENTITY)) {
        let name = name.strip_prefix(QUALITY_PREFIX).unwrap_or(&name);
        text.extend([",", name, if unit.is_empty() { "" } else { "_" }, unit]);
    }
    text.push_str(",cause\n");
    for Row { task, outcome } in rows {
        let number = |figure: Figure| figure.value.map(|value| value.to_string()).unwrap_or_default();
        let mut cells = vec![task.to_string(), outcome.status.name().to_owned()];
        cells.extend(figures(outcome).into_iter().map(number));
        let cause = outcome.cause.as_deref().unwrap_or_default().replace('"', "\"\"");
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{},\"{cause}\"", cells.join(","));
    }
    text
}
