//! Many rows a statement, for databases that take rows by INSERT: a statement costs far more than a row (through sqlx on SQLite,
//! and on a server the way there and back), so that single-row inserts would not keep up with 60 000 rows a second and
//! these do so many times over.

use sqlx::{AssertSqlSafe, SqlSafeStr, SqlStr};

use crate::recorder::{cell::Cell, table::Table};

/// The insert statements of a table, from the one of the most rows to that of one; their texts are prepared once and kept.
#[derive(Debug)]
pub(super) struct Inserts {
    columns: usize,
    statements: Vec<(usize, SqlStr)>,
}

impl Inserts {
    /// `rows` says how many rows the statements take: the most first, and one last.
    pub(super) fn new(table: Table, rows: &[usize]) -> Self {
        // Made of constants of this program alone.
        let statement = |&rows: &usize| (rows, AssertSqlSafe(table.insert(rows)).into_sql_str());
        Self { columns: table.width(), statements: rows.iter().map(statement).collect() }
    }

    /// The statements that insert the rows that `cells` holds one after the other, each with its cells: as many rows as fit of
    /// the largest, then of the next.
    pub(super) fn of<'a>(&'a self, mut cells: &'a [Cell]) -> impl Iterator<Item = (SqlStr, &'a [Cell])> {
        std::iter::from_fn(move || {
            let fits = |(rows, _): &&(usize, SqlStr)| cells.len() >= rows * self.columns;
            let (rows, statement) = self.statements.iter().find(fits)?;
            let (these, rest) = cells.split_at(rows * self.columns);
            cells = rest;
            Some((statement.clone(), these))
        })
    }
}

/// Has the queries executed one after the other, each made while the database works on the one before.
pub(super) async fn in_turn<Q>(
    mut queries: impl Iterator<Item = Q>,
    mut execute: impl AsyncFnMut(Q) -> Result<(), sqlx::Error>,
) -> Result<(), sqlx::Error> {
    let mut next = queries.next();
    while let Some(query) = next {
        let (done, following) = tokio::join!(execute(query), async { queries.next() });
        done?;
        next = following;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_in_one_statement_and_the_largest_come_first() {
        let table = Table::DeviceField;
        let cells: Vec<Cell> = (0..21 * table.width() as u64).map(Cell::from).collect();
        let inserts = Inserts::new(table, &[8, 2, 1]);
        let counts: Vec<usize> = inserts.of(&cells).map(|(_, cells)| cells.len() / table.width()).collect();
        assert_eq!(counts, [8, 8, 2, 2, 1]);
        assert_eq!(inserts.of(&cells).flat_map(|(_, cells)| cells).cloned().collect::<Vec<_>>(), cells);
        assert_eq!(inserts.of(&[]).count(), 0);
    }
}
