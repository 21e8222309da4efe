//! Asking an SQLite file: opened read-only, and told besides that nothing may be written.

use std::path::Path;

use sqlx::{
    AssertSqlSafe, Column as _, ConnectOptions, Executor, Row, SqlSafeStr, SqliteConnection, Statement, TypeInfo,
    ValueRef, sqlite::SqliteConnectOptions, sqlite::SqliteRow,
};

use super::super::{LOCK_TIMEOUT, asking::hear};
use crate::recorder::inquiry::{Column, Kind, Told, Value};

/// Rows that the driver's thread may be ahead of whoever hears them. With its default of 50 the two wake each other for nearly
/// every row, which took an export longer than all else.
const ROWS_AHEAD: usize = 4096;

/// A connection that cannot write.
#[derive(Debug)]
pub(in crate::recorder) struct Asking {
    connection: SqliteConnection,
}

impl Asking {
    /// Opens a file, and holds its present state still.
    pub(in crate::recorder) async fn open(path: &Path) -> Result<Self, sqlx::Error> {
        let options = SqliteConnectOptions::new().filename(path).read_only(true).busy_timeout(LOCK_TIMEOUT);
        let options = options.pragma("query_only", "ON").row_buffer_size(ROWS_AHEAD).disable_statement_logging();
        let mut connection = options.connect().await?;
        sqlx::query("BEGIN").execute(&mut connection).await?;
        // The snapshot is that of the first reading.
        sqlx::query("SELECT 1 FROM sqlite_master").fetch_optional(&mut connection).await?;
        Ok(Self { connection })
    }

    /// The columns of an answer.
    pub(in crate::recorder) async fn columns(&mut self, sql: &str) -> Result<Vec<Column>, sqlx::Error> {
        let statement = self.connection.prepare(AssertSqlSafe(sql.to_owned()).into_sql_str()).await?;
        let column = |column: &sqlx::sqlite::SqliteColumn| {
            let kind = match column.type_info().name() {
                "INTEGER" | "BOOLEAN" => Some(Kind::Integer),
                "REAL" => Some(Kind::Real),
                "TEXT" => Some(Kind::Text),
                "BLOB" => Some(Kind::Bytes),
                _ => None,
            };
            Column { name: column.name().to_owned(), kind }
        };
        Ok(statement.columns().iter().map(column).collect())
    }

    /// Goes through the rows of an answer until `take` has enough.
    pub(in crate::recorder) async fn rows(
        &mut self,
        sql: &str,
        take: &mut dyn FnMut(&[Value]) -> bool,
    ) -> Result<(), sqlx::Error> {
        // Whatever it says, this connection writes nothing.
        let rows = sqlx::query(AssertSqlSafe(sql.to_owned())).persistent(false).fetch(&mut self.connection);
        hear(rows, value, take).await
    }
}

/// What the database says of a query, and where.
pub(in crate::recorder) fn words(error: &sqlx::Error) -> Option<(String, Told)> {
    let error = error.as_database_error()?;
    // SQLITE_ERROR is what it says of a query that it does not understand; SQLITE_READONLY of one that writes.
    match error.code()?.parse::<u32>().ok()? & 0xff {
        1 => Some((error.message().to_owned(), told(error.message()))),
        8 => Some(("it would write, and a query may only read".to_owned(), Told::Nowhere)),
        _ => None,
    }
}

/// Whether the table that was asked for is not there.
pub(in crate::recorder) fn is_missing_table(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|error| error.message().starts_with("no such table"))
}

fn value(row: &SqliteRow, index: usize) -> Result<Value, sqlx::Error> {
    let raw = row.try_get_raw(index)?;
    Ok(match (raw.is_null(), raw.type_info().name()) {
        (true, _) => Value::Null,
        (_, "INTEGER") => Value::Integer(row.try_get_unchecked(index)?),
        (_, "REAL") => Value::Real(row.try_get_unchecked(index)?),
        (_, "BLOB") => Value::Bytes(row.try_get_unchecked(index)?),
        // SQLite stores any bytes as a text.
        _ => match String::from_utf8(row.try_get_unchecked(index)?) {
            Ok(text) => Value::Text(text),
            Err(error) => Value::Bytes(error.into_bytes()),
        },
    })
}

/// The word that a message names: `near "FORM": syntax error`, `no such column: z`.
fn told(message: &str) -> Told {
    let quoted = message.split_once("near \"").or(message.split_once("token: \"")).map(|(_, rest)| rest);
    let word = match quoted {
        Some(rest) => rest.rsplit_once('"').map(|(word, _)| word),
        None => message.split_once("no such ").or(message.split_once("ambiguous ")).and_then(|(_, rest)| {
            let (_, name) = rest.split_once(": ")?;
            Some(name.split([' ', '(']).next().unwrap_or(name))
        }),
    };
    word.map_or(Told::Nowhere, |word| Told::Word(word.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_of_a_message_is_found() {
        let word = |word: &str| Told::Word(word.into());
        assert_eq!(told("near \"FORM\": syntax error"), word("FORM"));
        assert_eq!(told("no such column: p.z"), word("p.z"));
        assert_eq!(told("unrecognized token: \"'abc\""), word("'abc"));
        assert_eq!(told("incomplete input"), Told::Nowhere);
    }
}
