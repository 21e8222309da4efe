//! The data dictionary, which describes the tables, views and columns of a log. `simpartner schema log` prints it.

use std::fmt::Write as _;

use super::{
    TABLES,
    table::{Table, TableKind},
};

const HEADER: &str = "\
# The log

This page lists the tables, views and columns of a log. They are the same in SQLite, PostgreSQL, MySQL and MariaDB.
`simpartner schema log` prints this page. [Record runs and query them](../how-to/record-query.md) shows how to ask a log.

Names in camelCase come from the thesis. SQL ignores upper and lower case in names. MySQL and MariaDB on Linux do not, but
`simpartner query` corrects the case for you. Units are SI and radians. Vectors are in world axes, with y up, unless a column
says otherwise. A number that is not finite is NULL.

**Start with the views with names.** They contain names and times, so most questions need no join. The tables behind them, and
the tables of the model, come after. [Questions to a log](../how-to/questions.md) has 22 examples.

**Joins.** Rows of two views belong to the same step if their `simulationRowID` is the same. This key is unique over all runs.
`simpartner query` shows one run, and within one run `step` and `time` join as well. The time of each join grows linearly with
the number of rows.

**Sums over time.** `dt` is the simulated time since the previous logged step. `sum(x * dt)` is an integral over time, and
`sum(x * dt) / sum(dt)` a mean over time, also in a thinned log. A robot or object at rest has no rows, so its `dt` does not
count the time at rest. `log.detail = \"full\"` logs rest as well.

**Which rows there are.** With `log.detail = \"full\"` every logged step has a row for each body and joint. With the default,
`economical`, a robot has rows in a step if one of its bodies or joints changed, and an object if it changed. Every 100th step
has all rows. After `log.thin_after_s` only one step in `log.thin_to_every_n_steps` is logged. If a body or joint has no row in
a step, its state is that of its previous row.

**Mathematics.** `sqrt`, `pow`, `sin`, `cos`, `atan2`, `exp`, `ln`, `abs` and `floor` are the same on every database. `log` is
not: its base is ten on SQLite and PostgreSQL, and e on MySQL and MariaDB. None has `hypot`: write `sqrt(x * x + z * z)`. An
SQLite that was built without mathematical functions refuses `motionLog` and `wheelLog`. No other view needs them.
";

/// Text of the book's page `reference/log.md`.
pub fn dictionary() -> String {
    let mut text = HEADER.to_owned();
    for (title, is_named) in [("Views with names", true), ("Tables, and the views of the thesis", false)] {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n## {title}\n");
        for table in TABLES.iter().filter(|table| table.is_named_view() == is_named) {
            let doc = match table.kind {
                TableKind::SensorView => {
                    format!(
                        "Readings of each {}, a row for each reading. [World and robot files](format.md#sensor) has frames and ranges.",
                        table.doc
                    )
                }
                _ => table.doc.to_owned(),
            };
            let _ = write!(text, "\n### {}\n\n{doc}\n\n| column | unit | meaning |\n|---|---|---|\n", table.name);
            for columns in table.columns {
                let _ = writeln!(text, "| {} | {} | {} |", columns.names, columns.unit, columns.doc);
            }
        }
    }
    text
}

impl Table {
    /// Unit of a column; `None` if the table has no such column.
    pub fn unit(&self, column: &str) -> Option<&'static str> {
        self.columns().find(|(name, _)| *name == column).map(|(_, columns)| columns.unit())
    }
}
