//! How values come out of SQLite's rows.

use sqlx::{Row, TypeInfo, ValueRef, sqlite::SqliteRow};

use crate::recorder::format::value::{ColumnType, Value};

/// The type of a column from its name.
pub(super) fn column_type(name: &str) -> Option<ColumnType> {
    match name {
        "INTEGER" | "BOOLEAN" => Some(ColumnType::Integer),
        "REAL" => Some(ColumnType::Real),
        "TEXT" => Some(ColumnType::Text),
        "BLOB" => Some(ColumnType::Bytes),
        _ => None,
    }
}

pub(super) fn value(row: &SqliteRow, column: usize) -> Result<Value, sqlx::Error> {
    let raw = row.try_get_raw(column)?;
    if raw.is_null() {
        return Ok(Value::Null);
    }
    Ok(match column_type(raw.type_info().name()) {
        Some(ColumnType::Integer) => Value::Integer(row.try_get_unchecked(column)?),
        Some(ColumnType::Real) => Value::Real(row.try_get_unchecked(column)?),
        Some(ColumnType::Bytes) => Value::Bytes(row.try_get_unchecked(column)?),
        // SQLite stores any bytes as a text.
        Some(ColumnType::Text) | None => match String::from_utf8(row.try_get_unchecked(column)?) {
            Ok(text) => Value::Text(text),
            Err(error) => Value::Bytes(error.into_bytes()),
        },
    })
}
