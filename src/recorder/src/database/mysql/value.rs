//! Decodes values of MySQL's rows.

use sqlx::{Row, TypeInfo, ValueRef, mysql::MySqlRow};

use crate::format::value::{ColumnType, Value};

/// Type of a column, by the name of its type in MySQL. Binary types count as text, because texts that are compared by
/// their bytes have a binary type.
pub(super) fn column_type(name: &str) -> Option<ColumnType> {
    match name {
        "DOUBLE" | "FLOAT" | "DECIMAL" => Some(ColumnType::Real),
        name if ["CHAR", "TEXT", "BLOB", "BINARY"].iter().any(|part| name.contains(part)) => Some(ColumnType::Text),
        name if name == "BOOLEAN" || name.contains("INT") => Some(ColumnType::Integer),
        _ => None,
    }
}

/// The value of a column.
pub(super) fn decode_value(row: &MySqlRow, column: usize) -> Result<Value, sqlx::Error> {
    let raw = row.try_get_raw(column)?;
    if raw.is_null() {
        return Ok(Value::Null);
    }
    let info = raw.type_info();
    Ok(match info.name() {
        "DOUBLE" => Value::Real(row.try_get_unchecked(column)?),
        "FLOAT" => Value::Real(row.try_get_unchecked::<f32, _>(column)?.into()),
        "DECIMAL" => {
            let text: String = row.try_get_unchecked(column)?;
            let integer = text.parse().map(Value::Integer).ok();
            integer.or_else(|| text.parse().map(Value::Real).ok()).unwrap_or(Value::Text(text))
        }
        name @ ("DATE" | "TIME" | "DATETIME" | "TIMESTAMP") => {
            let text = format!("column {} is a {name}; write cast(.. AS CHAR)", column + 1);
            return Err(sqlx::Error::Decode(text.into()));
        }
        name if name.ends_with("UNSIGNED") => {
            let number: u64 = row.try_get_unchecked(column)?;
            i64::try_from(number).map_or(Value::Real(number as f64), Value::Integer)
        }
        name if column_type(name) == Some(ColumnType::Integer) => Value::Integer(row.try_get_unchecked(column)?),
        _ => {
            let bytes: Vec<u8> = row.try_get_unchecked(column)?;
            String::from_utf8(bytes).map_or_else(|error| Value::Bytes(error.into_bytes()), Value::Text)
        }
    })
}
