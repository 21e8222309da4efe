//! Many rows in one statement, for databases that take rows by INSERT. A statement costs far more than a row (in sqlx on SQLite; on a server
//! a round trip), so single-row inserts do not keep up with 60 000 rows a second, and these do many times over.

use sqlx::{AssertSqlSafe, Executor, IntoArguments, SqlSafeStr, SqlStr};

use super::query::Bind;
use crate::format::{cell::Cell, ids::RunIds, schema::TableId};

/// The insert statements of all tables. Their texts are made when a table is first written, and kept.
#[derive(Debug)]
pub(super) struct Inserts {
    /// How many rows a statement takes: the most first, and one last.
    sizes: &'static [usize],
    tables: [Option<TableInserts>; TableId::COUNT],
}

/// The insert statements of a table, from the one with the most rows to that with one.
#[derive(Debug)]
struct TableInserts {
    columns: usize,
    statements: Vec<(usize, SqlStr)>,
}

impl Inserts {
    pub(super) fn new(sizes: &'static [usize]) -> Self {
        Self { sizes, tables: Default::default() }
    }

    /// Inserts the rows that `cells` holds one after the other. Each statement is prepared while the database works on the one before.
    pub(super) async fn insert<DB: Bind>(
        &mut self,
        connection: &mut DB::Connection,
        table: TableId,
        cells: &[Cell],
        ids: RunIds,
    ) -> Result<(), sqlx::Error>
    where
        for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
        DB::Arguments: IntoArguments<DB>,
    {
        let inserts = self.tables[table as usize].get_or_insert_with(|| TableInserts::new(table, self.sizes));
        let mut queries = inserts.split(cells).map(|(statement, cells)| {
            cells.iter().fold(sqlx::query(statement), |query, cell| DB::bind(query, cell.parameter(ids)))
        });
        let mut next = queries.next();
        while let Some(query) = next {
            let (done, following) = tokio::join!(query.execute(&mut *connection), async { queries.next() });
            done?;
            next = following;
        }
        Ok(())
    }
}

impl TableInserts {
    fn new(table: TableId, sizes: &[usize]) -> Self {
        // Made of constants of this program alone.
        let statement = |&rows: &usize| (rows, AssertSqlSafe(table.insert_statement(rows)).into_sql_str());
        Self { columns: table.width(), statements: sizes.iter().map(statement).collect() }
    }

    /// The statements that insert these rows, each with its cells: as many of the largest as fit, then of the next.
    fn split<'a>(&'a self, mut cells: &'a [Cell]) -> impl Iterator<Item = (SqlStr, &'a [Cell])> {
        std::iter::from_fn(move || {
            let fits = |(rows, _): &&(usize, SqlStr)| cells.len() >= rows * self.columns;
            let (rows, statement) = self.statements.iter().find(fits)?;
            let (these, rest) = cells.split_at(rows * self.columns);
            cells = rest;
            Some((statement.clone(), these))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_in_one_statement_and_the_largest_come_first() {
        let table = TableId::DeviceField;
        let cells: Vec<Cell> = (0..21 * table.width() as u64).map(Cell::from).collect();
        let inserts = TableInserts::new(table, &[8, 2, 1]);
        let counts: Vec<usize> = inserts.split(&cells).map(|(_, cells)| cells.len() / table.width()).collect();
        assert_eq!(counts, [8, 8, 2, 2, 1]);
        assert_eq!(inserts.split(&cells).flat_map(|(_, cells)| cells).cloned().collect::<Vec<_>>(), cells);
        assert_eq!(inserts.split(&[]).count(), 0);
    }
}
