//! Driver of MySQL and MariaDB. Each statement inserts many rows. Any number of simulation servers may write to one
//! database, because the database numbers the runs, and no statement locks a table.

mod errors;
mod value;

use std::str::FromStr;

use futures_util::TryStreamExt;
use sqlx::{
    AssertSqlSafe, Column as _, ConnectOptions, Connection as _, Executor, MySql, MySqlConnection, Row as _,
    SqlSafeStr, SqlStr, Statement, TypeInfo, migrate::MigrateError, mysql::MySqlConnectOptions,
};

pub(super) use errors::ERROR_CODES;

use super::{
    driver::{Access, Dialect},
    inserts::Inserts,
    limits::{CACHED_STATEMENTS, IDLE_TRANSACTION_TIMEOUT, LOCK_TIMEOUT},
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

/// Numbers of rows of the insert statements, each an eighth of the one before, so that a batch needs few statements.
/// The largest statement has at most 17 408 parameters (34 columns of `body`); the protocol counts parameters with
/// 16 bits.
const ROWS_PER_INSERT: [usize; 4] = [512, 64, 8, 1];

/// Upper bound of the size of a statement without its values, in bytes.
const PACKET_OVERHEAD: u64 = 1 << 16;

/// A connection to a database of a server.
#[derive(Debug)]
pub(super) struct Connection {
    connection: MySqlConnection,
    inserts: Inserts,
    /// Statements of one row each, for large rows.
    single_inserts: Box<Inserts>,
    /// Largest size of a statement that the server accepts, and of a row that it returns, in bytes.
    max_packet: u64,
    /// Number of the session, and host and port of its client.
    session: (u64, String),
}

impl Connection {
    pub(super) async fn open(url: &str, access: Access) -> Result<Self, sqlx::Error> {
        let options = MySqlConnectOptions::from_str(url)?.statement_cache_capacity(CACHED_STATEMENTS);
        let mut connection = options.disable_statement_logging().connect().await?;
        let seconds = LOCK_TIMEOUT.as_secs();
        // MariaDB executes the comment. MySQL ignores it, because it has no such limit.
        let locks = format!(
            "SET SESSION innodb_lock_wait_timeout = {seconds}, SESSION lock_wait_timeout = {seconds} \
             /*M! , SESSION idle_transaction_timeout = {} */",
            IDLE_TRANSACTION_TIMEOUT.as_secs()
        );
        let transactions = match access {
            // Rows of one run never lie between rows of another, so gap locks are not needed.
            Access::Write => "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE",
            Access::Read => {
                "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY; \
                 START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"
            }
        };
        sqlx::raw_sql(AssertSqlSafe(format!("{locks}; {transactions}"))).execute(&mut connection).await?;
        let max_packet: i64 =
            sqlx::query_scalar("SELECT CAST(@@max_allowed_packet AS SIGNED)").fetch_one(&mut connection).await?;
        let session = "SELECT ID, HOST FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID()";
        let session = sqlx::query(session).fetch_one(&mut connection).await?;
        let session = (session.try_get_unchecked::<i64, _>(0)?.unsigned_abs(), session.try_get_unchecked(1)?);
        let (inserts, single_inserts) = (Inserts::new(&ROWS_PER_INSERT), Box::new(Inserts::new(&[1])));
        Ok(Self { connection, inserts, single_inserts, max_packet: max_packet.unsigned_abs(), session })
    }

    pub(super) fn session(&self) -> Session {
        let (id, host) = self.session.clone();
        Session::MySql { id, host }
    }

    /// True if the server is working for a session, and not waiting for its client.
    pub(super) async fn is_working(&mut self, id: u64, host: &str) -> Result<bool, sqlx::Error> {
        let sql = "SELECT CAST(COUNT(*) AS SIGNED) FROM information_schema.PROCESSLIST WHERE ID = ? AND HOST = ? \
                   AND COMMAND <> 'Sleep' AND COALESCE(STATE, '') NOT IN ('Reading from net', 'Writing to net')";
        let working: i64 = sqlx::query_scalar(sql).bind(id).bind(host).fetch_one(&mut self.connection).await?;
        Ok(working > 0)
    }

    /// Ends a session, if it still exists.
    pub(super) async fn end_session(&mut self, id: u64, host: &str) -> Result<(), sqlx::Error> {
        let sql = "SELECT CAST(COUNT(*) AS SIGNED) FROM information_schema.PROCESSLIST WHERE ID = ? AND HOST = ?";
        let living: i64 = sqlx::query_scalar(sql).bind(id).bind(host).fetch_one(&mut self.connection).await?;
        if living > 0 {
            // KILL takes no parameters.
            sqlx::raw_sql(AssertSqlSafe(format!("KILL {id}"))).execute(&mut self.connection).await?;
        }
        Ok(())
    }

    /// Applies the migrations under a lock with a time limit. The driver's own lock asks for an unlimited wait, which
    /// MariaDB takes as no wait at all.
    pub(super) async fn migrate(&mut self) -> Result<(), MigrateError> {
        let lock = "SELECT get_lock(left(concat('simpartner ', database()), 64), 30)";
        sqlx::query(lock).execute(&mut self.connection).await?;
        migrations::MYSQL_MIGRATOR.run(&mut self.connection).await?;
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

    pub(super) async fn insert(&mut self, table: TableId, cells: &[Cell], ids: RunIds) -> Result<(), sqlx::Error> {
        let most = self.max_packet.saturating_sub(PACKET_OVERHEAD);
        // The server ends the connection after a statement that is too large, which would look like a server that is
        // away.
        let rows = cells.chunks(table.width()).map(|row| row.iter().map(Cell::size_bytes).sum::<u64>());
        let largest = rows.max().unwrap_or(0);
        if largest > most {
            let allowed = self.max_packet;
            let what = format!("a row of {} has {largest} bytes, max_allowed_packet is {allowed} bytes", table.name());
            return Err(sqlx::Error::InvalidArgument(what));
        }
        let fits_together = largest.saturating_mul(ROWS_PER_INSERT[0] as u64) <= most;
        let inserts = if fits_together { &mut self.inserts } else { &mut *self.single_inserts };
        inserts.insert_rows::<MySql>(&mut self.connection, table, cells, ids).await
    }

    pub(super) async fn execute(&mut self, sql: SqlStr, parameters: &[Parameter<'_>]) -> Result<u64, sqlx::Error> {
        let query = with_parameters::<MySql>(sql, parameters);
        Ok(query.execute(&mut self.connection).await?.rows_affected())
    }

    pub(super) async fn rows(&mut self, sql: SqlStr, parameters: &[Parameter<'_>]) -> Result<Vec<Row>, sqlx::Error> {
        let rows = with_parameters::<MySql>(sql, parameters).fetch_all(&mut self.connection).await?;
        rows.iter().map(|row| query::decode_row(row, value::decode_value)).collect()
    }

    pub(super) async fn dialect(&mut self) -> Result<Dialect, sqlx::Error> {
        let sql = "SELECT database(), @@lower_case_table_names";
        let row = sqlx::query(sql).fetch_one(&mut self.connection).await?;
        let schema: String = row.try_get_unchecked(0)?;
        Ok(Dialect {
            schema: format!("`{}`.", schema.replace('`', "``")),
            with_keywords: "AS",
            is_case_sensitive: row.try_get_unchecked::<i64, _>(1)? == 0,
        })
    }

    pub(super) async fn columns(&mut self, sql: &str) -> Result<Vec<Column>, sqlx::Error> {
        let statement = self.connection.prepare(AssertSqlSafe(sql.to_owned()).into_sql_str()).await?;
        let column = |column: &sqlx::mysql::MySqlColumn| Column {
            name: column.name().to_owned(),
            column_type: value::column_type(column.type_info().name()),
        };
        Ok(statement.columns().iter().map(column).collect())
    }

    /// Sends the rows of a query to another thread.
    pub(super) async fn scan(&mut self, sql: &str, rows: &mut RowSender) -> Result<(), sqlx::Error> {
        let mut found = sqlx::query(AssertSqlSafe(sql.to_owned())).persistent(false).fetch(&mut self.connection);
        while let Some(row) = found.try_next().await? {
            for (column, place) in rows.next_row(row.len()).iter_mut().enumerate() {
                *place = value::decode_value(&row, column)?;
            }
            if !rows.end_row() {
                return Ok(());
            }
        }
        rows.flush();
        Ok(())
    }

    pub(super) async fn for_each_row(
        &mut self,
        sql: &str,
        take: &mut dyn FnMut(&[Value]) -> bool,
    ) -> Result<(), sqlx::Error> {
        let rows = sqlx::query(AssertSqlSafe(sql.to_owned())).persistent(false).fetch(&mut self.connection);
        query::for_each_row(rows, value::decode_value, take).await
    }

    /// Rewrites every table without free space.
    pub(super) async fn vacuum(&mut self) -> Result<(), sqlx::Error> {
        let tables = TableId::ALL.map(TableId::name).join(", ");
        // The statement consists of constants of this program.
        let sql = AssertSqlSafe(format!("OPTIMIZE TABLE {tables}"));
        sqlx::raw_sql(sql).fetch_all(&mut self.connection).await.map(drop)
    }

    pub(super) async fn close(self) -> Result<(), sqlx::Error> {
        self.connection.close().await
    }
}
