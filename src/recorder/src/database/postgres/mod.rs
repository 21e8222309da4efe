//! Driver of PostgreSQL. Rows are inserted by binary COPY, and a commit returns when they are on the disk. Any number
//! of simulation servers may write to one database, because the database numbers the runs, and no statement locks a
//! table.

mod copy;
mod copy_out;
mod errors;
mod value;

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    str::FromStr,
};

use sqlx::{
    AssertSqlSafe, Column as _, ConnectOptions, Connection as _, Executor, PgConnection, Postgres, Row as _,
    SqlSafeStr, SqlStr, Statement, TypeInfo, migrate::MigrateError, postgres::PgConnectOptions,
};

pub(super) use errors::ERROR_CODES;

use self::copy_out::Encoding;
use super::{
    driver::{Access, Dialect},
    limits::{CACHED_STATEMENTS, IDLE_TRANSACTION_TIMEOUT, LOCK_TIMEOUT, STATEMENT_TIMEOUT},
    migrations,
    query::{self, with_parameters},
    scan::RowSender,
    session_id::Session,
};
use crate::format::{
    cell::Cell,
    ids::RunIds,
    schema::TableId,
    value::{Column, Parameter, Row, Value},
};

/// Number of rows that a cursor fetches at a time: enough that the round trip costs little per row, few enough to need
/// little memory.
const ROWS_PER_FETCH: usize = 1000;

/// Times in seconds, and number of attempts, at which the server checks whether the client of a silent connection still
/// exists: after 5 s, then every 2 s, three times. Then the server ends the session, which frees its locks for other
/// clients.
const KEEPALIVES: [(&str, &str); 3] =
    [("tcp_keepalives_idle", "5"), ("tcp_keepalives_interval", "2"), ("tcp_keepalives_count", "3")];

/// A connection to a database of a server.
#[derive(Debug)]
pub(super) struct Connection {
    connection: PgConnection,
    /// The application name, which no other session has.
    name: String,
}

impl Connection {
    pub(super) async fn open(url: &str, access: Access) -> Result<Self, sqlx::Error> {
        let milliseconds = |time: std::time::Duration| time.as_millis().to_string();
        // The standard library's seeds are random.
        let name = format!("simpartner {:016x}", RandomState::new().build_hasher().finish());
        let options = PgConnectOptions::from_str(url)?
            .application_name(&name)
            .statement_cache_capacity(CACHED_STATEMENTS)
            .options([("lock_timeout", milliseconds(LOCK_TIMEOUT))])
            .options(KEEPALIVES)
            .disable_statement_logging();
        let options = match access {
            Access::Write => options.options([
                ("statement_timeout", milliseconds(STATEMENT_TIMEOUT)),
                ("idle_in_transaction_session_timeout", milliseconds(IDLE_TRANSACTION_TIMEOUT)),
                ("tcp_user_timeout", milliseconds(IDLE_TRANSACTION_TIMEOUT)),
                // A commit survives a crash of the server, even where its own setting is laxer.
                ("synchronous_commit", "on".to_owned()),
                ("default_transaction_read_only", "off".to_owned()),
            ]),
            Access::Read => options.options([
                ("default_transaction_read_only", "on".to_owned()),
                // Numbers are printed with enough digits to read back to the same number.
                ("extra_float_digits", "3".to_owned()),
            ]),
        };
        let mut connection = options.connect().await?;
        if access == Access::Read {
            sqlx::raw_sql("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY").execute(&mut connection).await?;
        }
        Ok(Self { connection, name })
    }

    pub(super) fn session(&self) -> Session {
        Session::Postgres(self.name.clone())
    }

    /// True if the server is working for the session of this name, and not waiting for its client.
    pub(super) async fn is_working(&mut self, name: &str) -> Result<bool, sqlx::Error> {
        let sql = "SELECT count(*) > 0 FROM pg_stat_activity \
                   WHERE application_name = $1 AND state = 'active' AND wait_event_type IS DISTINCT FROM 'Client'";
        sqlx::query_scalar(sql).bind(name).fetch_one(&mut self.connection).await
    }

    /// Ends the session of this name, if it still exists.
    pub(super) async fn end_session(&mut self, name: &str) -> Result<(), sqlx::Error> {
        let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1";
        sqlx::query(sql).bind(name).execute(&mut self.connection).await.map(drop)
    }

    pub(super) async fn migrate(&mut self) -> Result<(), MigrateError> {
        migrations::POSTGRES_MIGRATOR.run(&mut self.connection).await
    }

    pub(super) async fn begin(&mut self) -> Result<(), sqlx::Error> {
        sqlx::raw_sql("BEGIN").execute(&mut self.connection).await.map(drop)
    }

    pub(super) async fn commit(&mut self) -> Result<(), sqlx::Error> {
        sqlx::raw_sql("COMMIT").execute(&mut self.connection).await.map(drop)
    }

    pub(super) async fn insert(&mut self, table: TableId, cells: &[Cell], ids: RunIds) -> Result<(), sqlx::Error> {
        copy::copy_in(&mut self.connection, table, cells, ids).await
    }

    pub(super) async fn execute(&mut self, sql: SqlStr, parameters: &[Parameter<'_>]) -> Result<u64, sqlx::Error> {
        let query = with_parameters::<Postgres>(number_parameters(sql.as_str()), parameters);
        Ok(query.execute(&mut self.connection).await?.rows_affected())
    }

    pub(super) async fn rows(&mut self, sql: SqlStr, parameters: &[Parameter<'_>]) -> Result<Vec<Row>, sqlx::Error> {
        let query = with_parameters::<Postgres>(number_parameters(sql.as_str()), parameters);
        let rows = query.fetch_all(&mut self.connection).await?;
        rows.iter().map(|row| query::decode_row(row, value::decode_binary)).collect()
    }

    pub(super) async fn dialect(&mut self) -> Result<Dialect, sqlx::Error> {
        let sql = "SELECT quote_ident(current_schema())";
        let schema: String = sqlx::query_scalar(sql).fetch_one(&mut self.connection).await?;
        Ok(Dialect { schema: format!("{schema}."), with_keywords: "AS NOT MATERIALIZED", is_case_sensitive: false })
    }

    /// Reads the columns of a query's result within a savepoint, because an error would otherwise end the transaction.
    pub(super) async fn columns(&mut self, sql: &str) -> Result<Vec<Column>, sqlx::Error> {
        sqlx::raw_sql("SAVEPOINT columns").execute(&mut self.connection).await?;
        let prepared = self.connection.prepare(AssertSqlSafe(sql.to_owned()).into_sql_str()).await;
        let column = |column: &sqlx::postgres::PgColumn| Column {
            name: column.name().to_owned(),
            column_type: value::column_type(column.type_info().name()),
        };
        let columns = prepared.map(|statement| statement.columns().iter().map(column).collect());
        let end = if columns.is_ok() { "RELEASE SAVEPOINT columns" } else { "ROLLBACK TO SAVEPOINT columns" };
        sqlx::raw_sql(end).execute(&mut self.connection).await?;
        columns
    }

    /// Sends the rows of a query to another thread.
    pub(super) async fn scan(&mut self, sql: &str, rows: &mut RowSender) -> Result<(), sqlx::Error> {
        let statement = self.connection.prepare(AssertSqlSafe(sql.to_owned()).into_sql_str()).await?;
        let encoding = |column: &sqlx::postgres::PgColumn| Encoding::of_type(column.type_info().name());
        if let Some(columns) = statement.columns().iter().map(encoding).collect::<Option<Vec<_>>>() {
            return copy_out::copy_out(&mut self.connection, sql, &columns, rows).await;
        }
        self.for_each_row(sql, &mut |row| rows.push_row(row)).await?;
        rows.flush();
        Ok(())
    }

    /// Reads the rows by a cursor. A cursor accepts only queries, and keeps only the rows fetched last in memory.
    pub(super) async fn for_each_row(
        &mut self,
        sql: &str,
        take: &mut dyn FnMut(&[Value]) -> bool,
    ) -> Result<(), sqlx::Error> {
        let declared = AssertSqlSafe(format!("DECLARE answer NO SCROLL CURSOR FOR {sql}"));
        sqlx::query(declared).persistent(false).execute(&mut self.connection).await?;
        let fetch = AssertSqlSafe(format!("FETCH FORWARD {ROWS_PER_FETCH} FROM answer")).into_sql_str();
        let mut values = Vec::new();
        'fetches: loop {
            let rows = sqlx::raw_sql(fetch.clone()).fetch_all(&mut self.connection).await?;
            for row in &rows {
                values.clear();
                for column in 0..row.len() {
                    values.push(value::decode_text(row, column)?);
                }
                if !take(&values) {
                    break 'fetches;
                }
            }
            if rows.len() < ROWS_PER_FETCH {
                break;
            }
        }
        sqlx::raw_sql("CLOSE answer").execute(&mut self.connection).await.map(drop)
    }

    /// Renews the statistics of every table, from a sample of its rows.
    pub(super) async fn analyze(&mut self) -> Result<(), sqlx::Error> {
        // The statement consists of constants of this program.
        let sql = AssertSqlSafe(format!("ANALYZE {}", TableId::ALL.map(TableId::name).join(", ")));
        sqlx::raw_sql(sql).execute(&mut self.connection).await.map(drop)
    }

    /// Rewrites every table without free space.
    pub(super) async fn vacuum(&mut self) -> Result<(), sqlx::Error> {
        sqlx::raw_sql("SET statement_timeout = 0").execute(&mut self.connection).await?;
        for table in TableId::ALL {
            // The statement consists of constants of this program.
            let sql = AssertSqlSafe(format!("VACUUM (FULL, ANALYZE) {}", table.name()));
            sqlx::raw_sql(sql).execute(&mut self.connection).await?;
        }
        Ok(())
    }

    pub(super) async fn close(self) -> Result<(), sqlx::Error> {
        self.connection.close().await
    }
}

/// Replaces the question marks of a statement by numbered parameters, which PostgreSQL needs. No statement of this
/// program has a question mark in a text.
fn number_parameters(sql: &str) -> SqlStr {
    let mut parts = sql.split('?');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for (index, part) in parts.enumerate() {
        text += &format!("${}{part}", index + 1);
    }
    AssertSqlSafe(text).into_sql_str()
}

#[cfg(test)]
mod tests {
    #[test]
    fn parameters_are_numbered_in_their_order() {
        let numbered = |sql: &str| super::number_parameters(sql).as_str().to_owned();
        assert_eq!(numbered("UPDATE t SET a = ?, b = ? WHERE c = ?"), "UPDATE t SET a = $1, b = $2 WHERE c = $3");
        assert_eq!(numbered("SELECT 1"), "SELECT 1");
    }
}
