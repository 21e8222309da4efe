//! Asking MySQL or MariaDB: a transaction that cannot write, of prepared statements, which are one query each.

use std::str::FromStr;

use sqlx::{
    AssertSqlSafe, Column as _, ConnectOptions, Executor, MySqlConnection, Row, SqlSafeStr, Statement, TypeInfo,
    ValueRef, mysql::MySqlConnectOptions, mysql::MySqlRow,
};

use super::super::{LOCK_TIMEOUT, asking::hear};
use crate::recorder::inquiry::{Column, Dialect, Kind, Told, Value};

/// A connection that cannot write.
#[derive(Debug)]
pub(in crate::recorder) struct Asking {
    connection: MySqlConnection,
    schema: String,
    tells_case: bool,
}

impl Asking {
    /// Connects, and holds the present state still.
    pub(in crate::recorder) async fn open(url: &str) -> Result<Self, sqlx::Error> {
        let mut connection = MySqlConnectOptions::from_str(url)?.disable_statement_logging().connect().await?;
        let session = format!(
            "SET SESSION lock_wait_timeout = {}; SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY; \
             START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
            LOCK_TIMEOUT.as_secs()
        );
        sqlx::raw_sql(AssertSqlSafe(session)).execute(&mut connection).await?;
        let about = sqlx::query("SELECT database(), @@lower_case_table_names").fetch_one(&mut connection).await?;
        let schema = about.try_get_unchecked(0)?;
        let tells_case = about.try_get_unchecked::<i64, _>(1)? == 0;
        Ok(Self { connection, schema, tells_case })
    }

    /// How a query is to be written.
    pub(in crate::recorder) fn dialect(&self) -> Dialect {
        let schema = format!("`{}`.", self.schema.replace('`', "``"));
        Dialect { schema, introduces: "AS", tells_case: self.tells_case }
    }

    /// The columns of an answer.
    pub(in crate::recorder) async fn columns(&mut self, sql: &str) -> Result<Vec<Column>, sqlx::Error> {
        let statement = self.connection.prepare(AssertSqlSafe(sql.to_owned()).into_sql_str()).await?;
        Ok(statement.columns().iter().map(column).collect())
    }

    /// Goes through the rows of an answer until `take` has enough.
    pub(in crate::recorder) async fn rows(
        &mut self,
        sql: &str,
        take: &mut dyn FnMut(&[Value]) -> bool,
    ) -> Result<(), sqlx::Error> {
        let rows = sqlx::query(AssertSqlSafe(sql.to_owned())).persistent(false).fetch(&mut self.connection);
        hear(rows, value, take).await
    }
}

/// What the database says of a query, and where.
pub(in crate::recorder) fn words(error: &sqlx::Error) -> Option<(String, Told)> {
    let error = error.as_database_error()?;
    // Faults of the query itself, and of the data it met; the others are the server's.
    let class = error.code()?.get(..2)?.to_owned();
    if !["21", "22", "25", "42"].contains(&class.as_str()) {
        return None;
    }
    Some((error.message().to_owned(), told(error.message())))
}

/// Whether the table that was asked for is not there.
pub(in crate::recorder) fn is_missing_table(error: &sqlx::Error) -> bool {
    error.as_database_error().and_then(|error| error.code()).is_some_and(|code| code == "42S02")
}

/// The text or the word that a message names: `near 'FORM pose' at line 1`, `Unknown column 'z' in 'SELECT'`.
fn told(message: &str) -> Told {
    if let Some((_, rest)) = message.split_once("near '") {
        return rest.rsplit_once("' at line").map_or(Told::Nowhere, |(text, _)| Told::From(text.to_owned()));
    }
    let word = message.split_once("Unknown column '").or(message.split_once("Column '"));
    let word = word.and_then(|(_, rest)| Some(rest.split_once('\'')?.0));
    word.map_or(Told::Nowhere, |word| Told::Word(word.to_owned()))
}

fn column(column: &sqlx::mysql::MySqlColumn) -> Column {
    let kind = match column.type_info().name() {
        "DOUBLE" | "FLOAT" | "DECIMAL" => Some(Kind::Real),
        // A text that is compared by its bytes is told as bytes.
        name if name.contains("CHAR") || name.contains("TEXT") || name.contains("BLOB") || name.contains("BINARY") => {
            Some(Kind::Text)
        }
        "BOOLEAN" => Some(Kind::Integer),
        name if name.contains("INT") => Some(Kind::Integer),
        _ => None,
    };
    Column { name: column.name().to_owned(), kind }
}

fn value(row: &MySqlRow, index: usize) -> Result<Value, sqlx::Error> {
    let raw = row.try_get_raw(index)?;
    if raw.is_null() {
        return Ok(Value::Null);
    }
    let info = raw.type_info();
    Ok(match info.name() {
        "DOUBLE" => Value::Real(row.try_get_unchecked(index)?),
        "FLOAT" => Value::Real(row.try_get_unchecked::<f32, _>(index)?.into()),
        "DECIMAL" => {
            let text: String = row.try_get_unchecked(index)?;
            let integer = text.parse().map(Value::Integer).ok();
            integer.or_else(|| text.parse().map(Value::Real).ok()).unwrap_or(Value::Text(text))
        }
        "BINARY" | "VARBINARY" | "BLOB" | "TINYBLOB" | "MEDIUMBLOB" | "LONGBLOB" => {
            // A text that is compared by its bytes is told as bytes.
            let bytes: Vec<u8> = row.try_get_unchecked(index)?;
            String::from_utf8(bytes).map_or_else(|error| Value::Bytes(error.into_bytes()), Value::Text)
        }
        name @ ("DATE" | "TIME" | "DATETIME" | "TIMESTAMP") => {
            let text = format!("column {} is a {name}; write cast(.. AS CHAR)", index + 1);
            return Err(sqlx::Error::Decode(text.into()));
        }
        "BOOLEAN" => Value::Integer(row.try_get_unchecked(index)?),
        name if name.ends_with("UNSIGNED") => {
            let number: u64 = row.try_get_unchecked(index)?;
            i64::try_from(number).map_or(Value::Real(number as f64), Value::Integer)
        }
        name if name.contains("INT") => Value::Integer(row.try_get_unchecked(index)?),
        _ => Value::Text(row.try_get_unchecked(index)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_that_a_message_names_is_found() {
        let message = "You have an error in your SQL syntax; check the manual for the right syntax to use near 'FORM pose' at line 1";
        assert_eq!(told(message), Told::From("FORM pose".into()));
        assert_eq!(told("Unknown column 'height' in 'SELECT'"), Told::Word("height".into()));
    }
}
