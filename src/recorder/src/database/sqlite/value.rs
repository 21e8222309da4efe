//! Decodes values of SQLite's rows.

use sqlx::{Decode, Row, Sqlite, Type, TypeInfo, ValueRef, error::BoxDynError, sqlite::SqliteRow};

use crate::format::value::{ColumnType, Value};

/// Type of a column, by the name of its type in SQLite.
pub(super) fn column_type(name: &str) -> Option<ColumnType> {
    match name {
        "INTEGER" | "BOOLEAN" => Some(ColumnType::Integer),
        "REAL" => Some(ColumnType::Real),
        "TEXT" => Some(ColumnType::Text),
        "BLOB" => Some(ColumnType::Bytes),
        _ => None,
    }
}

/// The value of a column.
pub(super) fn decode_value(row: &SqliteRow, column: usize) -> Result<Value, sqlx::Error> {
    let mut value = Value::Null;
    decode_into(row, column, &mut value)?;
    Ok(value)
}

/// Decodes the value of a column into `value`. The memory of a text is reused.
pub(super) fn decode_into(row: &SqliteRow, column: usize, value: &mut Value) -> Result<(), sqlx::Error> {
    let raw = row.try_get_raw(column)?;
    // NULL is checked first, because it has the type of its column.
    if raw.is_null() {
        *value = Value::Null;
        return Ok(());
    }
    // SQLite has a type for each value. Numbers are checked first, because nearly all values of a log are numbers.
    let info = raw.type_info();
    let failed = |error: BoxDynError| sqlx::Error::ColumnDecode { index: column.to_string(), source: error };
    if *info == <f64 as Type<Sqlite>>::type_info() {
        *value = Value::Real(Decode::<Sqlite>::decode(raw).map_err(failed)?);
    } else if *info == <i64 as Type<Sqlite>>::type_info() {
        *value = Value::Integer(Decode::<Sqlite>::decode(raw).map_err(failed)?);
    } else {
        let is_bytes = column_type(info.name()) == Some(ColumnType::Bytes);
        let bytes: &[u8] = Decode::<Sqlite>::decode(raw).map_err(failed)?;
        match (std::str::from_utf8(bytes), value) {
            (Ok(text), Value::Text(kept)) if !is_bytes => text.clone_into(kept),
            (Ok(text), value) if !is_bytes => *value = Value::Text(text.to_owned()),
            // SQLite accepts any bytes as a text, so a text may not be UTF-8.
            (_, value) => *value = Value::Bytes(bytes.to_owned()),
        }
    }
    Ok(())
}
