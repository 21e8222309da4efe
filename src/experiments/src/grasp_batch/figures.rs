//! The numbers of a row, for tables.

use simpartner_grasp::task::{Measures, Outcome};

/// A number of a row.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Its name, which begins with `quality_` for a measure before the lift, and for one after it ends with `_after`, too.
    pub name: String,
    /// Its unit; empty for a count and for what has none.
    pub unit: &'static str,
    /// `None` where the task did not come to it.
    pub value: Option<f64>,
}

/// The prefix of measures of quality.
pub(super) const QUALITY: &str = "quality_";

/// The numbers of what came of a task, in the order of the columns of a table, the same for every task.
pub fn figures(outcome: &Outcome) -> Vec<Figure> {
    let figure = |name: &str, unit, value| Figure { name: name.to_owned(), unit, value };
    let times = outcome.times;
    let units = ["m", "m", "m", "", "", "", ""];
    let pose = ["x", "y", "z", "qx", "qy", "qz", "qw"].into_iter().zip(units).zip(outcome.target);
    let mut all = vec![figure("number", "", Some(f64::from(outcome.status.number())))];
    all.extend(pose.map(|((name, unit), value)| figure(name, unit, Some(value))));
    all.extend([
        figure("approached", "s", times.approached),
        figure("grasped", "s", times.grasped),
        figure("ended", "s", Some(times.ended)),
        figure("steps", "", Some(times.steps as f64)),
        figure("slip", "m", outcome.slip),
        figure("lift_result", "", outcome.lift_result),
        figure("contacts", "", Some(outcome.contacts.len() as f64)),
        figure("contacts_after", "", Some(outcome.contacts_after.len() as f64)),
    ]);
    for (quality, when) in [(outcome.quality, ""), (outcome.quality_after, "_after")] {
        let values = quality.map(|quality| quality.values());
        let measure = |(index, name): (usize, &&str)| {
            figure(&format!("{QUALITY}{name}{when}"), "", values.map(|values| values[index]))
        };
        all.extend(Measures::NAMES.iter().enumerate().map(measure));
    }
    all
}
