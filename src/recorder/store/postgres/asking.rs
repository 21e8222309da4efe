//! Asking PostgreSQL: a transaction that cannot write, and a cursor, which takes nothing but a query and keeps no more of the
//! answer here than a portion.

use std::str::FromStr;

use sqlx::{
    AssertSqlSafe, Column as _, ConnectOptions, Executor, PgConnection, Row, SqlSafeStr, Statement, TypeInfo, ValueRef,
    postgres::{PgConnectOptions, PgDatabaseError, PgErrorPosition, PgRow},
};

use super::super::LOCK_TIMEOUT;
use crate::recorder::inquiry::{Column, Dialect, Kind, Told, Value};

/// Rows that are fetched at a time.
const PORTION: usize = 1000;

/// A connection that cannot write.
#[derive(Debug)]
pub(in crate::recorder) struct Asking {
    connection: PgConnection,
    schema: String,
}

impl Asking {
    /// Connects, and holds the present state still.
    pub(in crate::recorder) async fn open(url: &str) -> Result<Self, sqlx::Error> {
        let options = PgConnectOptions::from_str(url)?.application_name("simpartner").options([
            ("lock_timeout", LOCK_TIMEOUT.as_millis().to_string()),
            ("default_transaction_read_only", "on".to_owned()),
            // As many digits as bring the same number back.
            ("extra_float_digits", "3".to_owned()),
        ]);
        let mut connection = options.disable_statement_logging().connect().await?;
        sqlx::raw_sql("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY").execute(&mut connection).await?;
        let schema = sqlx::query_scalar("SELECT quote_ident(current_schema())").fetch_one(&mut connection).await?;
        Ok(Self { connection, schema })
    }

    /// How a query is to be written.
    pub(in crate::recorder) fn dialect(&self) -> Dialect {
        let schema = format!("{}.", self.schema);
        Dialect { schema, introduces: "AS NOT MATERIALIZED", tells_case: false }
    }

    /// The columns of an answer.
    pub(in crate::recorder) async fn columns(&mut self, sql: &str) -> Result<Vec<Column>, sqlx::Error> {
        // A failure would be the end of the transaction.
        sqlx::raw_sql("SAVEPOINT asked").execute(&mut self.connection).await?;
        let prepared = self.connection.prepare(AssertSqlSafe(sql.to_owned()).into_sql_str()).await;
        let columns = prepared.map(|statement| statement.columns().iter().map(column).collect());
        let end = if columns.is_ok() { "RELEASE SAVEPOINT asked" } else { "ROLLBACK TO SAVEPOINT asked" };
        sqlx::raw_sql(end).execute(&mut self.connection).await?;
        columns
    }

    /// Goes through the rows of an answer until `take` has enough.
    pub(in crate::recorder) async fn rows(
        &mut self,
        sql: &str,
        take: &mut dyn FnMut(&[Value]) -> bool,
    ) -> Result<(), sqlx::Error> {
        let declared = AssertSqlSafe(format!("DECLARE answer NO SCROLL CURSOR FOR {sql}"));
        sqlx::query(declared).persistent(false).execute(&mut self.connection).await?;
        let fetch = AssertSqlSafe(format!("FETCH FORWARD {PORTION} FROM answer")).into_sql_str();
        let mut values = Vec::new();
        'portions: loop {
            let rows = sqlx::raw_sql(fetch.clone()).fetch_all(&mut self.connection).await?;
            for row in &rows {
                values.clear();
                for index in 0..row.len() {
                    values.push(value(row, index)?);
                }
                if !take(&values) {
                    break 'portions;
                }
            }
            if rows.len() < PORTION {
                break;
            }
        }
        sqlx::raw_sql("CLOSE answer").execute(&mut self.connection).await.map(drop)
    }
}

/// What the database says of a query, and where.
pub(in crate::recorder) fn words(error: &sqlx::Error) -> Option<(String, Told)> {
    let error = error.as_database_error()?.try_downcast_ref::<PgDatabaseError>()?;
    // Faults of the query itself, and of the data it met; the others are the server's.
    let class = error.code().get(..2)?;
    if !["0A", "21", "22", "25", "2F", "34", "38", "39", "42", "P0"].contains(&class) {
        return None;
    }
    let told = match error.position() {
        Some(PgErrorPosition::Original(character)) => Told::Character(character),
        _ => Told::Nowhere,
    };
    let hint = error.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
    Some((error.message().to_owned() + &hint, told))
}

/// Whether the table that was asked for is not there.
pub(in crate::recorder) fn is_missing_table(error: &sqlx::Error) -> bool {
    error.as_database_error().and_then(|error| error.code()).is_some_and(|code| code == "42P01")
}

fn column(column: &sqlx::postgres::PgColumn) -> Column {
    let kind = match column.type_info().name() {
        "BOOL" | "INT2" | "INT4" | "INT8" => Some(Kind::Integer),
        "FLOAT4" | "FLOAT8" | "NUMERIC" => Some(Kind::Real),
        "TEXT" | "VARCHAR" | "CHAR" | "NAME" => Some(Kind::Text),
        "BYTEA" => Some(Kind::Bytes),
        _ => None,
    };
    Column { name: column.name().to_owned(), kind }
}

/// Bytes as PostgreSQL tells them: two digits each behind a backslash and an x.
fn bytes(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("\\x")?.as_bytes();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    digits.chunks(2).map(byte).collect()
}

/// A value in the form that a cursor gives it, which is text for every type there is.
fn value(row: &PgRow, index: usize) -> Result<Value, sqlx::Error> {
    let raw = row.try_get_raw(index)?;
    if raw.is_null() {
        return Ok(Value::Null);
    }
    let text = raw.as_str().map_err(sqlx::Error::Decode)?;
    let integer = || text.parse().map(Value::Integer).ok();
    let real = || text.parse().map(Value::Real).ok();
    let value = match raw.type_info().name() {
        "BOOL" => Some(Value::Integer(i64::from(text == "t"))),
        "INT2" | "INT4" | "INT8" => integer(),
        "FLOAT4" | "FLOAT8" => real(),
        "NUMERIC" => integer().or_else(real),
        "BYTEA" => bytes(text).map(Value::Bytes),
        _ => None,
    };
    Ok(value.unwrap_or_else(|| Value::Text(text.to_owned())))
}
