//! PostgreSQL: rows go in by binary COPY, and a commit waits until they are on the disk. Any number of servers may write to one
//! database: runs are numbered by it, and nothing locks a table.

pub(super) mod asking;
mod copy;
pub(super) mod failure;
mod value;

use std::str::FromStr;

use sqlx::{
    AssertSqlSafe, ConnectOptions, Connection, PgConnection, SqlStr,
    migrate::{MigrateError, Migrator},
    postgres::PgConnectOptions,
};

use super::{Access, LOCK_TIMEOUT, STATEMENT_TIMEOUT, STATEMENTS};
use crate::recorder::{
    cell::{Cell, Keys, Row, Value},
    table::Table,
};

static MIGRATIONS: Migrator = sqlx::migrate!("migrations/postgres");

/// A connection to a database.
#[derive(Debug)]
pub(super) struct Link {
    connection: PgConnection,
}

impl Link {
    pub(super) async fn open(url: &str, access: Access) -> Result<Self, sqlx::Error> {
        let milliseconds = |time: std::time::Duration| time.as_millis().to_string();
        let options = PgConnectOptions::from_str(url)?
            .application_name("simpartner")
            .statement_cache_capacity(STATEMENTS)
            .options([
                ("statement_timeout", milliseconds(STATEMENT_TIMEOUT)),
                ("lock_timeout", milliseconds(LOCK_TIMEOUT)),
                // A commit is kept whatever happens to the server, also where its settings are laxer.
                ("synchronous_commit", "on".to_owned()),
                ("default_transaction_read_only", if access == Access::Read { "on" } else { "off" }.to_owned()),
            ])
            .disable_statement_logging();
        Ok(Self { connection: options.connect().await? })
    }

    pub(super) async fn migrate(&mut self) -> Result<(), MigrateError> {
        MIGRATIONS.run(&mut self.connection).await
    }

    pub(super) async fn begin(&mut self) -> Result<(), sqlx::Error> {
        sqlx::raw_sql("BEGIN").execute(&mut self.connection).await.map(drop)
    }

    pub(super) async fn commit(&mut self) -> Result<(), sqlx::Error> {
        sqlx::raw_sql("COMMIT").execute(&mut self.connection).await.map(drop)
    }

    pub(super) async fn insert(&mut self, table: Table, cells: &[Cell], keys: Keys) -> Result<(), sqlx::Error> {
        copy::copy(&mut self.connection, table, cells, keys).await
    }

    pub(super) async fn execute(&mut self, sql: SqlStr, values: &[Value<'_>]) -> Result<u64, sqlx::Error> {
        let query = sqlx::query(AssertSqlSafe(value::numbered(sql.as_str())));
        let query = values.iter().fold(query, |query, &value| value::bind(query, value));
        Ok(query.execute(&mut self.connection).await?.rows_affected())
    }

    pub(super) async fn rows(&mut self, sql: SqlStr, values: &[Value<'_>]) -> Result<Vec<Row>, sqlx::Error> {
        let query = sqlx::query(AssertSqlSafe(value::numbered(sql.as_str())));
        let query = values.iter().fold(query, |query, &value| value::bind(query, value));
        query.fetch_all(&mut self.connection).await?.iter().map(value::row).collect()
    }

    /// Writes every table anew without what is free in it.
    pub(super) async fn vacuum(&mut self) -> Result<(), sqlx::Error> {
        sqlx::raw_sql("SET statement_timeout = 0").execute(&mut self.connection).await?;
        for table in Table::ALL {
            // Made of constants of this room.
            let sql = AssertSqlSafe(format!("VACUUM (FULL, ANALYZE) {}", table.name()));
            sqlx::raw_sql(sql).execute(&mut self.connection).await?;
        }
        Ok(())
    }

    pub(super) async fn close(self) -> Result<(), sqlx::Error> {
        self.connection.close().await
    }
}
