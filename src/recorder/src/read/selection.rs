//! Which rows of a table are asked for.

use crate::format::{ids::rows_of, schema::Table};

/// Which rows of which table of a run, in their order.
#[derive(Debug, Clone)]
pub struct Selection {
    /// The table.
    pub table: &'static Table,
    /// The run.
    pub run: i64,
    /// The first and the last step, of tables that have steps.
    pub steps: Option<(u64, u64)>,
    /// Only steps that are multiples of this, of tables whose rows belong to steps.
    pub every: u64,
    /// Only rows that have one of these numbers in this column.
    pub among: Option<(&'static str, Vec<i64>)>,
    /// Only so many of them.
    pub most: Option<u64>,
}

impl Selection {
    /// All rows of a run.
    pub fn all(table: &'static Table, run: i64) -> Self {
        Self { table, run, steps: None, every: 1, among: None, most: None }
    }

    /// The expression for a column. Every table whose rows belong to steps has a `step`, which follows from the simulationRowID.
    pub(super) fn expression(&self, column: &str) -> String {
        match column {
            "step" if self.table.has_rows_of_steps() => format!("simulationRowID - {}", rows_of(self.run).0),
            name => name.to_owned(),
        }
    }

    /// The query for these expressions of the selected rows.
    pub(super) fn query(&self, expressions: &str) -> String {
        let Table { name, order, .. } = *self.table;
        let limit = self.most.map_or(String::new(), |most| format!(" LIMIT {most}"));
        format!("SELECT {expressions} FROM {name} WHERE {} ORDER BY {order}{limit}", self.condition())
    }

    /// The condition that holds for the selected rows.
    pub(super) fn condition(&self) -> String {
        let mut all = self.table.belongs_to(self.run, "");
        let (first, _) = rows_of(self.run);
        let row = |step: u64| first.saturating_add(i64::try_from(step).unwrap_or(i64::MAX));
        match self.steps {
            Some((from, to)) if self.table.has_rows_of_steps() => {
                all += &format!(" AND simulationRowID BETWEEN {} AND {}", row(from), row(to));
            }
            Some((from, to)) if self.table.has_steps() => all += &format!(" AND step BETWEEN {from} AND {to}"),
            _ => {}
        }
        if self.table.has_rows_of_steps() && self.every > 1 {
            all += &format!(" AND (simulationRowID - {first}) % {} = 0", self.every);
        }
        if let Some((column, numbers)) = &self.among {
            let numbers: Vec<String> = numbers.iter().map(i64::to_string).collect();
            all += &format!(" AND {column} IN ({})", numbers.join(","));
        }
        all
    }

    /// The query for the step of the `count`-th selected row of `simulationRow`.
    pub(super) fn query_for_step(&self, count: u64) -> String {
        format!(
            "SELECT simulationRowID - {} FROM simulationRow WHERE {} ORDER BY simulationRowID LIMIT 1 OFFSET {}",
            rows_of(self.run).0,
            self.condition(),
            count.saturating_sub(1)
        )
    }
}
