//! Inserts many rows with one statement, for databases that take rows by INSERT. A statement costs far more than a row,
//! because of sqlx on SQLite and because of the round trip on a server. Single-row inserts therefore do not reach
//! 60 000 rows a second; inserts of many rows exceed that many times over.

use sqlx::{AssertSqlSafe, Executor, IntoArguments, SqlSafeStr, SqlStr};

use super::query::Bind;
use crate::format::{cell::Cell, ids::RunIds, schema::TableId};

/// The insert statements of all tables. The texts are made when a table is first written, and kept.
#[derive(Debug)]
pub(super) struct Inserts {
    /// Numbers of rows of the statements, in descending order. The last is 1.
    sizes: &'static [usize],
    tables: [Option<TableInserts>; TableId::COUNT],
}

/// The insert statements of a table, with their numbers of rows, in descending order.
#[derive(Debug)]
struct TableInserts {
    columns: usize,
    statements: Vec<(usize, SqlStr)>,
}

impl Inserts {
    pub(super) fn new(sizes: &'static [usize]) -> Self {
        Self { sizes, tables: Default::default() }
    }

    /// Inserts rows, which follow each other in `cells`. Each statement is prepared while the database works on the
    /// previous one.
    pub(super) async fn insert_rows<DB: Bind>(
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
        let mut queries = inserts.split_rows(cells).map(|(statement, cells)| {
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
        // The statement consists of constants of this program.
        let statement = |&rows: &usize| (rows, AssertSqlSafe(table.insert_statement(rows)).into_sql_str());
        Self { columns: table.width(), statements: sizes.iter().map(statement).collect() }
    }

    /// The statements that insert these rows, each with its cells: as many of the largest statement as fit, then of the
    /// next smaller one.
    fn split_rows<'a>(&'a self, mut cells: &'a [Cell]) -> impl Iterator<Item = (SqlStr, &'a [Cell])> {
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
        let counts: Vec<usize> = inserts.split_rows(&cells).map(|(_, cells)| cells.len() / table.width()).collect();
        assert_eq!(counts, [8, 8, 2, 2, 1]);
        assert_eq!(inserts.split_rows(&cells).flat_map(|(_, cells)| cells).cloned().collect::<Vec<_>>(), cells);
        assert_eq!(inserts.split_rows(&[]).count(), 0);
    }
}
