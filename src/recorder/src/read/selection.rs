//! Selection of rows of a table, and its SQL.

use crate::format::{ids::rows_of, schema::Table};

/// Rows of a run in a table, in the table's order.
#[derive(Debug, Clone)]
pub struct Selection {
    /// The table.
    pub table: &'static Table,
    /// Number of the run.
    pub run: i64,
    /// First and last step; has no effect for tables without steps.
    pub steps: Option<(u64, u64)>,
    /// Spacing of the selected steps: only rows of multiples of this step; has no effect for tables without rows of
    /// steps.
    pub every: u64,
    /// Filter of rows: a column, and the numbers that it may have.
    pub among: Option<(&'static str, Vec<i64>)>,
    /// Largest number of rows.
    pub most: Option<u64>,
}

impl Selection {
    /// All rows of a run.
    pub fn all(table: &'static Table, run: i64) -> Self {
        Self { table, run, steps: None, every: 1, among: None, most: None }
    }

    /// SQL expression of a column. Every table whose rows belong to steps also has a column `step`, computed from the
    /// simulationRowID.
    pub(super) fn expression(&self, column: &str) -> String {
        match column {
            "step" if self.table.has_rows_of_steps() => format!("simulationRowID - {}", rows_of(self.run).0),
            name => name.to_owned(),
        }
    }

    /// Query of these expressions for the selected rows.
    pub(super) fn query(&self, expressions: &str) -> String {
        let Table { name, order, .. } = *self.table;
        let limit = self.most.map_or(String::new(), |most| format!(" LIMIT {most}"));
        format!("SELECT {expressions} FROM {name} WHERE {} ORDER BY {order}{limit}", self.condition())
    }

    /// SQL condition of the selected rows.
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

    /// Query of the step of the `count`-th selected row of `simulationRow`.
    pub(super) fn query_for_step(&self, count: u64) -> String {
        format!(
            "SELECT simulationRowID - {} FROM simulationRow WHERE {} ORDER BY simulationRowID LIMIT 1 OFFSET {}",
            rows_of(self.run).0,
            self.condition(),
            count.saturating_sub(1)
        )
    }
}
