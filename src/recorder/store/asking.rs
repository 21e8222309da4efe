//! Asking any of the three databases: links that cannot write and hold one state still, and what each has of its own about
//! a query.

use futures_util::{Stream, TryStreamExt};
use sqlx::Row;

use super::{CONNECT_TIMEOUT, Trouble, mysql, postgres, sqlite, within};
use crate::recorder::{
    Database, RecorderError,
    inquiry::{Column, Dialect, Told, Value},
};

/// A link that cannot write.
#[derive(Debug)]
pub(in crate::recorder) struct Asking {
    database: Database,
    link: Link,
}

#[derive(Debug)]
enum Link {
    Sqlite(sqlite::asking::Asking),
    Postgres(postgres::asking::Asking),
    MySql(mysql::asking::Asking),
}

impl Asking {
    /// Opens a database that is there.
    pub(in crate::recorder) async fn open(database: &Database) -> Result<Self, RecorderError> {
        let link = match database {
            Database::Sqlite(path) if !path.exists() => {
                return Err(RecorderError::NoDatabase { database: database.clone() });
            }
            Database::Sqlite(path) => {
                within(CONNECT_TIMEOUT, Box::pin(sqlite::asking::Asking::open(path))).await.map(Link::Sqlite)
            }
            Database::Postgres(address) => {
                within(CONNECT_TIMEOUT, Box::pin(postgres::asking::Asking::open(address.url())))
                    .await
                    .map(Link::Postgres)
            }
            Database::MySql(address) => {
                within(CONNECT_TIMEOUT, Box::pin(mysql::asking::Asking::open(address.url()))).await.map(Link::MySql)
            }
        };
        let link = link.map_err(|trouble| trouble.of(database))?;
        Ok(Self { database: database.clone(), link })
    }

    /// How a query is to be written.
    pub(in crate::recorder) fn dialect(&self) -> Dialect {
        match &self.link {
            Link::Sqlite(_) => Dialect { schema: "main.".into(), introduces: "AS", tells_case: false },
            Link::Postgres(link) => link.dialect(),
            Link::MySql(link) => link.dialect(),
        }
    }

    /// The columns of an answer.
    pub(in crate::recorder) async fn columns(&mut self, sql: &str) -> Result<Vec<Column>, sqlx::Error> {
        match &mut self.link {
            Link::Sqlite(link) => link.columns(sql).await,
            Link::Postgres(link) => link.columns(sql).await,
            Link::MySql(link) => link.columns(sql).await,
        }
    }

    /// Goes through the rows of an answer until `take` has enough.
    pub(in crate::recorder) async fn rows(
        &mut self,
        sql: &str,
        take: &mut dyn FnMut(&[Value]) -> bool,
    ) -> Result<(), sqlx::Error> {
        match &mut self.link {
            Link::Sqlite(link) => link.rows(sql, take).await,
            Link::Postgres(link) => link.rows(sql, take).await,
            Link::MySql(link) => link.rows(sql, take).await,
        }
    }

    /// What the database says of a query, and where; nothing if the fault is not the query's.
    pub(in crate::recorder) fn words(&self, error: &sqlx::Error) -> Option<(String, Told)> {
        match &self.link {
            Link::Sqlite(_) => sqlite::asking::words(error),
            Link::Postgres(_) => postgres::asking::words(error),
            Link::MySql(_) => mysql::asking::words(error),
        }
    }

    /// Whether the table that was asked for is not there.
    pub(in crate::recorder) fn is_missing_table(&self, error: &sqlx::Error) -> bool {
        match &self.link {
            Link::Sqlite(_) => sqlite::asking::is_missing_table(error),
            Link::Postgres(_) => postgres::asking::is_missing_table(error),
            Link::MySql(_) => mysql::asking::is_missing_table(error),
        }
    }

    /// Any other failure.
    pub(in crate::recorder) fn failed(&self, error: sqlx::Error) -> RecorderError {
        Trouble::Said(error).of(&self.database)
    }
}

/// Hands on the rows of a stream, value by value, until `take` has enough.
pub(super) async fn hear<R: Row>(
    mut rows: impl Stream<Item = Result<R, sqlx::Error>> + Unpin,
    value: impl Fn(&R, usize) -> Result<Value, sqlx::Error>,
    take: &mut dyn FnMut(&[Value]) -> bool,
) -> Result<(), sqlx::Error> {
    let mut values = Vec::new();
    while let Some(row) = rows.try_next().await? {
        values.clear();
        for index in 0..row.len() {
            values.push(value(&row, index)?);
        }
        if !take(&values) {
            break;
        }
    }
    Ok(())
}
