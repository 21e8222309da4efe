//! Many rows a statement: each is a way to the server and back, and would cost far more than its row.

use sqlx::{AssertSqlSafe, MySqlConnection, SqlSafeStr, SqlStr};

use super::value::bind;
use crate::recorder::{
    cell::{Cell, Keys},
    table::Table,
};

/// Rows in a statement: as many as fit of the largest, then of the next. The texts are prepared once and kept.
const ROWS: [usize; 4] = [512, 64, 8, 1];

/// The insert statements of a table.
#[derive(Debug)]
pub(super) struct BulkInsert {
    columns: usize,
    statements: [SqlStr; ROWS.len()],
}

impl BulkInsert {
    pub(super) fn new(table: Table) -> Self {
        // Made of constants of this program alone.
        let statement = |rows| AssertSqlSafe(table.insert(rows)).into_sql_str();
        Self { columns: table.width(), statements: ROWS.map(statement) }
    }

    /// Inserts the rows that `cells` holds one after the other.
    pub(super) async fn execute(
        &self,
        connection: &mut MySqlConnection,
        mut cells: &[Cell],
        keys: Keys,
    ) -> Result<(), sqlx::Error> {
        for (rows, statement) in ROWS.iter().zip(&self.statements) {
            let mut chunks = cells.chunks_exact(rows * self.columns);
            for chunk in &mut chunks {
                let query = sqlx::query(statement.clone());
                let query = chunk.iter().fold(query, |query, cell| bind(query, keys.value(cell)));
                query.execute(&mut *connection).await?;
            }
            cells = chunks.remainder();
        }
        Ok(())
    }
}
