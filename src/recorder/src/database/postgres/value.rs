//! How values come out of PostgreSQL's rows.

use sqlx::{Row, TypeInfo, ValueRef, postgres::PgRow};

use crate::format::value::{ColumnType, Value};

/// The type of a column from its name.
pub(super) fn column_type(name: &str) -> Option<ColumnType> {
    match name {
        "BOOL" | "INT2" | "INT4" | "INT8" => Some(ColumnType::Integer),
        "FLOAT4" | "FLOAT8" | "NUMERIC" => Some(ColumnType::Real),
        "TEXT" | "VARCHAR" | "CHAR" | "NAME" => Some(ColumnType::Text),
        "BYTEA" => Some(ColumnType::Bytes),
        _ => None,
    }
}

/// A value in the binary form that statements with parameters give, of the types that this program's statements have.
pub(super) fn binary(row: &PgRow, column: usize) -> Result<Value, sqlx::Error> {
    let raw = row.try_get_raw(column)?;
    if raw.is_null() {
        return Ok(Value::Null);
    }
    match raw.type_info().name() {
        "INT8" => row.try_get(column).map(Value::Integer),
        "INT4" => row.try_get::<i32, _>(column).map(|integer| Value::Integer(integer.into())),
        "FLOAT8" => row.try_get(column).map(Value::Real),
        "BYTEA" => row.try_get(column).map(Value::Bytes),
        _ => row.try_get(column).map(Value::Text),
    }
}

/// A value in the form that a cursor gives, which is text for every type there is.
pub(super) fn text(row: &PgRow, column: usize) -> Result<Value, sqlx::Error> {
    let raw = row.try_get_raw(column)?;
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

/// Bytes in PostgreSQL's form: two digits each behind a backslash and an x.
fn bytes(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("\\x")?.as_bytes();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    digits.chunks(2).map(byte).collect()
}
