//! Rows as a table for other programs.

use std::fmt::Write;

use simpartner_grasp::task::Measures;

use super::Row;

/// A table with a line for each row, and a first one with names. What a task did not come to is empty.
pub fn csv(rows: &[Row]) -> String {
    let mut text = String::from(
        "task,status,number,x_m,y_m,z_m,qx,qy,qz,qw,approached_s,grasped_s,ended_s,steps,slip_m,lift_result,contacts,contacts_after",
    );
    for when in ["", "_after"] {
        Measures::NAMES.iter().for_each(|name| text.extend([",", name, when]));
    }
    text.push_str(",cause\n");
    for Row { task, outcome } in rows {
        let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
        let times = outcome.times;
        let mut cells = vec![task.to_string(), outcome.status.name().to_owned(), outcome.status.number().to_string()];
        cells.extend(outcome.target.map(|value| value.to_string()));
        cells.extend([
            number(times.approached),
            number(times.grasped),
            times.ended.to_string(),
            times.steps.to_string(),
        ]);
        cells.extend([number(outcome.slip), number(outcome.lift_result)]);
        cells.extend([outcome.contacts.len(), outcome.contacts_after.len()].map(|count| count.to_string()));
        for quality in [outcome.quality, outcome.quality_after] {
            let values = quality.map(|quality| quality.values());
            cells.extend((0..Measures::NAMES.len()).map(|k| number(values.map(|values| values[k]))));
        }
        let cause = outcome.cause.as_deref().unwrap_or_default().replace('"', "\"\"");
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{},\"{cause}\"", cells.join(","));
    }
    text
}
