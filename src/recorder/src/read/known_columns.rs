//! Logs of earlier versions, which lack some of the columns: these read as NULL.

use crate::{
    database::{connection::Connection, error::RecorderError},
    format::value::Column,
};

/// Expressions for columns of a table, separated by commas: NULL for a column that the table does not have.
pub(super) fn expressions(known: &[Column], wanted: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let is_known = |name: &str| known.iter().any(|column| column.name == name);
    // A name may be qualified by its table.
    let expression = |name: &str| match is_known(name) || name.split_once('.').is_some_and(|(_, name)| is_known(name)) {
        true => name.to_owned(),
        false => "NULL".to_owned(),
    };
    wanted.into_iter().map(|name| expression(name.as_ref())).collect::<Vec<_>>().join(", ")
}

/// The same, for a table of which the columns have to be asked for.
pub(super) async fn of_table(
    connection: &mut Connection,
    table: &str,
    wanted: &[&str],
) -> Result<String, RecorderError> {
    Ok(expressions(&connection.table_columns(table).await?, wanted))
}
