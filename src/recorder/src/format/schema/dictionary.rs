//! The data dictionary: what the tables, views and columns of a log mean, as `simpartner schema log` prints it.

use std::fmt::Write as _;

use super::{
    TABLES,
    table::{Table, TableKind},
};

const HEADER: &str = "\
# The log

What the tables, views and columns of a log mean, the same in SQLite, PostgreSQL, MySQL and MariaDB. `simpartner schema log`
prints this file; a test compares it with the database. [Analyse runs](../how-to/analyse.md) shows queries.

Names in camelCase are those of the thesis; SQL ignores their case (MySQL and MariaDB on Linux do not, but `simpartner query`
corrects the case for you). Lengths are metres, angles radians, everything else SI; vectors are in world axes, y up, unless a column
says otherwise. A number that is not finite is NULL.

**Start with the views with names**: they have the names of things and the times in them, so that no join is needed. The tables
that they are made of, and those that describe the model, come after. [Questions to a log](../how-to/questions.md) has the most frequent questions.

**Joins.** Rows of two views belong to the same step where `simulationRowID` is the same: that is the key, unique over all runs. Within
a run, which is what `simpartner query` shows, `step` and `time` do as well. Each takes a time that grows with the rows.

**Sums over time.** `dt` is the simulated time since the logged step before: `sum(x * dt)` is an integral and `sum(x * dt) / sum(dt)` a
mean over time, whether the log is thinned out or not. Steps in which a robot or an object did not change, and so has no row, are in no
`dt` of its rows; `log.detail = \"full\"` logs them.

**Which rows there are.** `log.detail = \"full\"` logs every body and joint in each logged step. The default, `economical`, logs a
robot's bodies and joints in a step only if one of them differs from its row before, and an object only if it does; every 100th
step has all rows. After `log.thin_after_s` one step in `log.thin_to_every_n_steps` is logged. So the state of a body or joint that
has no row in a step is that of its last row before.

**Mathematics.** `sqrt`, `pow`, `sin`, `cos`, `atan2`, `exp`, `ln`, `abs` and `floor` are the same on every database. `log` is not: it
is to the base of ten on SQLite and PostgreSQL, and natural on MySQL and MariaDB. None has `hypot`: write `sqrt(x * x + z * z)`.
An SQLite that was built without mathematical functions refuses `motionLog` and `wheelLog`; no other view needs them.
";

/// The text of the book's page `reference/log.md`.
pub fn dictionary() -> String {
    let mut text = HEADER.to_owned();
    for (title, is_named) in [("Views with names", true), ("Tables, and the views of the thesis", false)] {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n## {title}\n");
        for table in TABLES.iter().filter(|table| table.is_named_view() == is_named) {
            let doc = match table.kind {
                TableKind::SensorView => {
                    format!(
                        "Readings of each {}; [World and robot files](format.md#sensor) has its unit, frame and range.",
                        table.doc
                    )
                }
                _ => table.doc.to_owned(),
            };
            let _ = write!(text, "\n### {}\n\n{doc}\n\n| column | unit | |\n|---|---|---|\n", table.name);
            for columns in table.columns {
                let _ = writeln!(text, "| {} | {} | {} |", columns.names, columns.unit, columns.doc);
            }
        }
    }
    text
}

impl Table {
    /// The unit of a column; none if the table has no such column.
    pub fn unit(&self, column: &str) -> Option<&'static str> {
        self.columns().find(|(name, _)| *name == column).map(|(_, columns)| columns.unit())
    }
}
