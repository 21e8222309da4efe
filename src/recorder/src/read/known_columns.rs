//! Support of logs of earlier versions: columns that they lack read as NULL.

use crate::{
    database::{connection::Connection, error::RecorderError},
    format::value::Column,
};

/// SQL expressions of columns, separated by commas: the name of a known column, NULL for an unknown one.
pub(super) fn column_expressions(known: &[Column], wanted: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let is_known = |name: &str| known.iter().any(|column| column.name == name);
    // A name may be qualified by its table.
    let expression = |name: &str| match is_known(name) || name.split_once('.').is_some_and(|(_, name)| is_known(name)) {
        true => name.to_owned(),
        false => "NULL".to_owned(),
    };
    wanted.into_iter().map(|name| expression(name.as_ref())).collect::<Vec<_>>().join(", ")
}

/// The [`column_expressions`] of a table whose known columns are read from the database.
pub(super) async fn table_expressions(
    connection: &mut Connection,
    table: &str,
    wanted: &[&str],
) -> Result<String, RecorderError> {
    Ok(column_expressions(&connection.table_columns(table).await?, wanted))
}
