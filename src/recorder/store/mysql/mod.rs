//! MySQL and MariaDB: rows go in many a statement. Any number of servers may write to one database: runs are numbered by it, and
//! nothing locks a table.

pub(super) mod asking;
pub(super) mod failure;
mod value;

use std::str::FromStr;

use sqlx::{
    ConnectOptions, Connection, MySqlConnection, SqlStr,
    migrate::{MigrateError, Migrator},
    mysql::MySqlConnectOptions,
};

use super::{
    Access, LOCK_TIMEOUT, STATEMENTS,
    inserts::{Inserts, in_turn},
};
use crate::recorder::{
    cell::{Cell, Keys, Row, Value},
    table::Table,
};

/// Rows of the statements that insert.
const ROWS: [usize; 4] = [512, 64, 8, 1];

static MIGRATIONS: Migrator = sqlx::migrate!("migrations/mysql");

/// A connection to a database.
#[derive(Debug)]
pub(super) struct Link {
    connection: MySqlConnection,
    inserts: Vec<Inserts>,
}

impl Link {
    pub(super) async fn open(url: &str, access: Access) -> Result<Self, sqlx::Error> {
        let options =
            MySqlConnectOptions::from_str(url)?.statement_cache_capacity(STATEMENTS).disable_statement_logging();
        let mut connection = options.connect().await?;
        let seconds = LOCK_TIMEOUT.as_secs();
        // Rows of one run never stand between those of another, so there is no need for locks on gaps.
        let session = format!(
            "SET SESSION innodb_lock_wait_timeout = {seconds}, SESSION lock_wait_timeout = {seconds}; SET SESSION TRANSACTION \
             ISOLATION LEVEL READ COMMITTED, {}",
            if access == Access::Read { "READ ONLY" } else { "READ WRITE" }
        );
        sqlx::raw_sql(sqlx::AssertSqlSafe(session)).execute(&mut connection).await?;
        Ok(Self { connection, inserts: Table::ALL.map(|table| Inserts::new(table, &ROWS)).into() })
    }

    pub(super) async fn migrate(&mut self) -> Result<(), MigrateError> {
        // The lock that comes with the migrations waits without end, which MariaDB takes for not at all.
        let lock = "SELECT get_lock(left(concat('simpartner ', database()), 64), 30)";
        sqlx::query(lock).execute(&mut self.connection).await?;
        MIGRATIONS.run(&mut self.connection).await?;
        let unlock = "SELECT release_lock(left(concat('simpartner ', database()), 64))";
        sqlx::query(unlock).execute(&mut self.connection).await?;
        Ok(())
    }

    pub(super) async fn begin(&mut self) -> Result<(), sqlx::Error> {
        sqlx::raw_sql("START TRANSACTION").execute(&mut self.connection).await.map(drop)
    }

    pub(super) async fn commit(&mut self) -> Result<(), sqlx::Error> {
        sqlx::raw_sql("COMMIT").execute(&mut self.connection).await.map(drop)
    }

    pub(super) async fn insert(&mut self, table: Table, cells: &[Cell], keys: Keys) -> Result<(), sqlx::Error> {
        let queries = self.inserts[table as usize].of(cells).map(|(statement, cells)| {
            let query = sqlx::query(statement);
            cells.iter().fold(query, |query, cell| value::bind(query, keys.value(cell)))
        });
        in_turn(queries, async |query| query.execute(&mut self.connection).await.map(drop)).await
    }

    pub(super) async fn execute(&mut self, sql: SqlStr, values: &[Value<'_>]) -> Result<u64, sqlx::Error> {
        let query = values.iter().fold(sqlx::query(sql), |query, &value| value::bind(query, value));
        Ok(query.execute(&mut self.connection).await?.rows_affected())
    }

    pub(super) async fn rows(&mut self, sql: SqlStr, values: &[Value<'_>]) -> Result<Vec<Row>, sqlx::Error> {
        let query = values.iter().fold(sqlx::query(sql), |query, &value| value::bind(query, value));
        query.fetch_all(&mut self.connection).await?.iter().map(value::row).collect()
    }

    /// Writes every table anew without what is free in it.
    pub(super) async fn vacuum(&mut self) -> Result<(), sqlx::Error> {
        let tables = Table::ALL.map(Table::name).join(", ");
        // Made of constants of this room.
        let sql = sqlx::AssertSqlSafe(format!("OPTIMIZE TABLE {tables}"));
        sqlx::raw_sql(sql).fetch_all(&mut self.connection).await.map(drop)
    }

    pub(super) async fn close(self) -> Result<(), sqlx::Error> {
        self.connection.close().await
    }
}
