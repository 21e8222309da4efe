//! Code shared by the drivers: parameters of statements, and rows of results.

use futures_util::{Stream, TryStreamExt};
use sqlx::{MySql, Postgres, SqlStr, Sqlite};

use crate::format::value::{Parameter, Row, Value};

/// A statement with its parameters.
pub(super) type Query<'q, DB> = sqlx::query::Query<'q, DB, <DB as sqlx::Database>::Arguments>;

/// A driver whose statements take a [`Parameter`].
pub(super) trait Bind: sqlx::Database {
    fn bind<'q>(query: Query<'q, Self>, parameter: Parameter<'_>) -> Query<'q, Self>;
}

macro_rules! bind {
    ($($driver:ty),*) => {$(
        impl Bind for $driver {
            fn bind<'q>(query: Query<'q, Self>, parameter: Parameter<'_>) -> Query<'q, Self> {
                match parameter {
                    // PostgreSQL needs a type for NULL. Text columns that may be NULL are set by nullif instead.
                    Parameter::Null => query.bind(None::<f64>),
                    Parameter::Integer(integer) => query.bind(integer),
                    Parameter::Real(real) => query.bind(real),
                    Parameter::Text(text) => query.bind(text.to_owned()),
                    Parameter::Bytes(bytes) => query.bind(bytes.to_owned()),
                }
            }
        }
    )*};
}

bind!(Sqlite, Postgres, MySql);

/// Builds a statement with a parameter for each of its question marks.
pub(super) fn with_parameters<'q, DB: Bind>(sql: SqlStr, parameters: &[Parameter<'_>]) -> Query<'q, DB> {
    parameters.iter().fold(sqlx::query(sql), |query, &parameter| DB::bind(query, parameter))
}

/// Decodes a row of a result. `value` decodes one of its columns.
pub(super) fn decode_row<R: sqlx::Row>(
    row: &R,
    value: impl Fn(&R, usize) -> Result<Value, sqlx::Error>,
) -> Result<Row, sqlx::Error> {
    (0..row.len()).map(|column| value(row, column)).collect::<Result<_, _>>().map(Row)
}

/// Calls `take` with each row of a stream until it returns false. `value` decodes one of the columns.
pub(super) async fn for_each_row<R: sqlx::Row>(
    mut rows: impl Stream<Item = Result<R, sqlx::Error>> + Unpin,
    value: impl Fn(&R, usize) -> Result<Value, sqlx::Error>,
    take: &mut dyn FnMut(&[Value]) -> bool,
) -> Result<(), sqlx::Error> {
    let mut values = Vec::new();
    while let Some(row) = rows.try_next().await? {
        values.clear();
        for column in 0..row.len() {
            values.push(value(&row, column)?);
        }
        if !take(&values) {
            break;
        }
    }
    Ok(())
}
