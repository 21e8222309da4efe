//! Figures of a task's outcome, for tables.

use simpartner_grasp::task::{Measures, Outcome};

/// A named number of a task's outcome.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Name of the figure. Names of quality measures begin with `quality_`; those of measures after the lift also end
    /// with `_after`.
    pub name: String,
    /// Unit; empty for counts and other dimensionless numbers.
    pub unit: &'static str,
    /// Value; `None` if the task did not reach the state that determines it.
    pub value: Option<f64>,
}

/// Prefix of the names of quality measures.
pub(super) const QUALITY_PREFIX: &str = "quality_";

/// The figures of an outcome, in the order of a table's columns. The names are the same for every task.
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
            figure(&format!("{QUALITY_PREFIX}{name}{when}"), "", values.map(|values| values[index]))
        };
        all.extend(Measures::NAMES.iter().enumerate().map(measure));
    }
    all
}
