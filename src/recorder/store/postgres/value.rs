//! How values go into PostgreSQL's statements and come out of its rows.

use std::sync::Arc;

use sqlx::{Column, Postgres, Row as _, TypeInfo, ValueRef, postgres::PgRow, query::Query};

use crate::recorder::cell::{Cell, Row, Value};

type Statement<'q> = Query<'q, Postgres, <Postgres as sqlx::Database>::Arguments>;

pub(super) fn bind<'q>(query: Statement<'q>, value: Value<'_>) -> Statement<'q> {
    match value {
        // The only columns that are ever set to NULL by a statement hold numbers.
        Value::Null => query.bind(None::<f64>),
        Value::Integer(integer) => query.bind(integer),
        Value::Real(real) => query.bind(real),
        Value::Text(text) => query.bind(text.to_owned()),
        Value::Bytes(bytes) => query.bind(bytes.to_owned()),
    }
}

/// The statement with numbered places, as PostgreSQL wants them. No statement of ours has a question mark in a text.
pub(super) fn numbered(sql: &str) -> String {
    let mut parts = sql.split('?');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for (place, part) in parts.enumerate() {
        text += &format!("${}{part}", place + 1);
    }
    text
}

pub(super) fn row(row: &PgRow) -> Result<Row, sqlx::Error> {
    let cell = |column: usize| {
        let value = row.try_get_raw(column)?;
        if value.is_null() {
            return Ok(Cell::Null);
        }
        match value.type_info().name() {
            "INT8" => row.try_get(column).map(Cell::Integer),
            "INT4" => row.try_get::<i32, _>(column).map(|integer| Cell::Integer(integer.into())),
            "FLOAT8" => row.try_get(column).map(Cell::Real),
            "BYTEA" => row.try_get::<Vec<u8>, _>(column).map(|bytes| Cell::Bytes(Arc::from(bytes))),
            _ => row.try_get::<String, _>(column).map(|text| Cell::Text(Arc::from(text))),
        }
    };
    row.columns().iter().map(|column| cell(column.ordinal())).collect::<Result<_, _>>().map(Row)
}

#[cfg(test)]
mod tests {
    #[test]
    fn places_are_numbered_in_their_order() {
        assert_eq!(
            super::numbered("UPDATE t SET a = ?, b = ? WHERE c = ?"),
            "UPDATE t SET a = $1, b = $2 WHERE c = $3"
        );
        assert_eq!(super::numbered("SELECT 1"), "SELECT 1");
    }
}
