//! How values go into SQLite's statements and come out of its rows.

use std::sync::Arc;

use sqlx::{Column, Row as _, Sqlite, TypeInfo, ValueRef, query::Query, sqlite::SqliteRow};

use crate::recorder::cell::{Cell, Row, Value};

/// A statement on its way.
pub(super) type Statement<'q> = Query<'q, Sqlite, <Sqlite as sqlx::Database>::Arguments>;

pub(super) fn bind<'q>(query: Statement<'q>, value: Value<'_>) -> Statement<'q> {
    match value {
        Value::Null => query.bind(None::<i64>),
        Value::Integer(integer) => query.bind(integer),
        Value::Real(real) => query.bind(real),
        Value::Text(text) => query.bind(text.to_owned()),
        Value::Bytes(bytes) => query.bind(bytes.to_owned()),
    }
}

pub(super) fn row(row: &SqliteRow) -> Result<Row, sqlx::Error> {
    let cell = |column: usize| {
        let value = row.try_get_raw(column)?;
        if value.is_null() {
            return Ok(Cell::Null);
        }
        match value.type_info().name() {
            "INTEGER" | "BOOLEAN" => row.try_get_unchecked(column).map(Cell::Integer),
            "REAL" => row.try_get_unchecked(column).map(Cell::Real),
            "BLOB" => row.try_get_unchecked::<Vec<u8>, _>(column).map(|bytes| Cell::Bytes(Arc::from(bytes))),
            // SQLite stores any bytes as a text.
            _ => row.try_get_unchecked::<Vec<u8>, _>(column).map(|bytes| match String::from_utf8(bytes) {
                Ok(text) => Cell::Text(Arc::from(text)),
                Err(error) => Cell::Bytes(Arc::from(error.into_bytes())),
            }),
        }
    };
    row.columns().iter().map(|column| cell(column.ordinal())).collect::<Result<_, _>>().map(Row)
}
