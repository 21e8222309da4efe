//! Many rows a statement: through sqlx a statement costs far more than a row, so that single-row inserts would not keep up
//! with 60 000 rows a second and these do so many times over.

use sqlx::{AssertSqlSafe, SqlSafeStr, SqlStr, Sqlite, SqliteConnection, query::Query};

use crate::recorder::rows::{Cell, Table};

/// Rows in a statement: as many as fit of the largest, then of the next. Three texts a table are prepared once and kept.
const ROWS: [usize; 3] = [64, 8, 1];

/// The insert statements of a table.
#[derive(Debug)]
pub(super) struct BulkInsert {
    columns: usize,
    statements: [SqlStr; ROWS.len()],
}

impl BulkInsert {
    pub(super) fn new(table: &Table) -> Self {
        let columns = table.columns.len();
        let row = format!("({})", vec!["?"; columns].join(","));
        let head = format!("INSERT INTO {} ({}) VALUES ", table.name, table.columns.join(","));
        // Made of constants of this room alone.
        let statement = |rows| AssertSqlSafe(head.clone() + &vec![row.as_str(); rows].join(",")).into_sql_str();
        Self { columns, statements: ROWS.map(statement) }
    }

    /// Inserts the rows that `cells` holds one after the other.
    pub(super) async fn execute(
        &self,
        connection: &mut SqliteConnection,
        mut cells: &[Cell],
    ) -> Result<(), sqlx::Error> {
        for (rows, statement) in ROWS.iter().zip(&self.statements) {
            let mut chunks = cells.chunks_exact(rows * self.columns);
            for chunk in &mut chunks {
                let query = chunk.iter().fold(sqlx::query(statement.clone()), bind);
                query.execute(&mut *connection).await?;
            }
            cells = chunks.remainder();
        }
        Ok(())
    }
}

type Statement<'q> = Query<'q, Sqlite, <Sqlite as sqlx::Database>::Arguments>;

fn bind<'q>(query: Statement<'q>, cell: &Cell) -> Statement<'q> {
    match cell {
        Cell::Null => query.bind(None::<i64>),
        Cell::Integer(integer) => query.bind(*integer),
        Cell::Real(real) => query.bind(*real),
        Cell::Text(text) => query.bind(text.clone()),
    }
}
