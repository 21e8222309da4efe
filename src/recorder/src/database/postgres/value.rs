//! Decodes values of PostgreSQL's rows.

use sqlx::{Row, TypeInfo, ValueRef, postgres::PgRow};

use crate::format::value::{ColumnType, Value};

/// Type of a column, by the name of its type in PostgreSQL.
pub(super) fn column_type(name: &str) -> Option<ColumnType> {
    match name {
        "BOOL" | "INT2" | "INT4" | "INT8" => Some(ColumnType::Integer),
        "FLOAT4" | "FLOAT8" | "NUMERIC" => Some(ColumnType::Real),
        "TEXT" | "VARCHAR" | "CHAR" | "NAME" => Some(ColumnType::Text),
        "BYTEA" => Some(ColumnType::Bytes),
        _ => None,
    }
}

/// Decodes a value in binary form, as statements with parameters return it. It knows the types that occur in this
/// program's statements.
pub(super) fn decode_binary(row: &PgRow, column: usize) -> Result<Value, sqlx::Error> {
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

/// Decodes a value in text form, as a cursor returns it for every type.
pub(super) fn decode_text(row: &PgRow, column: usize) -> Result<Value, sqlx::Error> {
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
        "BYTEA" => parse_hex(text).map(Value::Bytes),
        _ => None,
    };
    Ok(value.unwrap_or_else(|| Value::Text(text.to_owned())))
}

/// Parses bytes in PostgreSQL's text form: a backslash and an x, then two hexadecimal digits for each byte.
fn parse_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("\\x")?.as_bytes();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    digits.chunks(2).map(byte).collect()
}
