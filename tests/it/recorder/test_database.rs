//! Databases for tests: always a file, and one on each running server. `SIMPARTNER_TEST_POSTGRES` and
//! `SIMPARTNER_TEST_MYSQL` name servers other than those on this machine.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use simpartner::recorder::Database;
use sqlx::{
    AssertSqlSafe, Column, Connection, MySqlConnection, PgConnection, Row, SqliteConnection, TypeInfo, ValueRef,
};

use crate::needs::{Need, met};

/// A database for one test, which is dropped with it.
pub(crate) struct TestDatabase {
    pub(super) database: Database,
    pub(crate) url: String,
    admin: Admin,
}

enum Admin {
    Folder { _kept: tempfile::TempDir },
    Server { url: String, name: String },
}

/// A value of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Null,
    Number(f64),
    Text(String),
}

static NUMBER: AtomicU32 = AtomicU32::new(0);

/// Runs a future to its end.
pub(super) fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// Requirement of a test on a server of a scheme.
pub(super) fn need(scheme: &str) -> Need {
    match scheme {
        "postgres" => Need::Postgres,
        _ => Need::Mysql,
    }
}

fn server(scheme: &str) -> String {
    match scheme {
        "postgres" => {
            std::env::var("SIMPARTNER_TEST_POSTGRES").unwrap_or("postgres://postgres@127.0.0.1:5432/postgres".into())
        }
        _ => std::env::var("SIMPARTNER_TEST_MYSQL").unwrap_or("mysql://root@127.0.0.1:3306/mysql".into()),
    }
}

impl TestDatabase {
    pub(super) fn file() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("log.db").display());
        Self { database: Database::parse(&url).unwrap(), url, admin: Admin::Folder { _kept: folder } }
    }

    /// `None` if there is no such server: the test is then skipped.
    pub(crate) fn on(scheme: &str) -> Option<Self> {
        let admin = server(scheme);
        let name = format!("simpartner_test_{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let made = wait(async {
            tokio::time::timeout(Duration::from_secs(60), execute(&admin, format!("CREATE DATABASE {name}"))).await
        });
        let made = made.map_err(|late| late.to_string()).and_then(|made| made.map_err(|error| error.to_string()));
        met(need(scheme), made.map_err(|why| format!("{admin} cannot be used: {why}")))?;
        let url = format!("{}/{name}", &admin[..admin.rfind('/').unwrap()]);
        let database = Database::parse(&url).unwrap();
        Some(Self { database, url, admin: Admin::Server { url: admin, name } })
    }

    /// A file, and a database on each server that is running.
    pub(super) fn all() -> Vec<Self> {
        [Some(Self::file()), Self::on("postgres"), Self::on("mysql")].into_iter().flatten().collect()
    }

    pub(super) fn name(&self) -> &str {
        self.url.split(':').next().unwrap()
    }

    /// The rows of an answer.
    pub(super) fn rows(&self, sql: &str) -> Vec<Vec<Value>> {
        wait(rows(&self.url, sql)).unwrap_or_else(|error| panic!("{}: {sql}: {error}", self.name()))
    }

    /// One number.
    pub(crate) fn number(&self, sql: &str) -> i64 {
        match self.rows(sql).first().and_then(|row| row.first()) {
            Some(Value::Number(number)) => *number as i64,
            other => panic!("{}: {sql}: {other:?}", self.name()),
        }
    }

    pub(super) fn execute(&self, sql: &str) {
        wait(execute(&self.url, sql.to_owned())).unwrap_or_else(|error| panic!("{}: {sql}: {error}", self.name()));
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        if let Admin::Server { url, name } = &self.admin {
            let force = if url.starts_with("postgres") { " WITH (FORCE)" } else { "" };
            // A failed test reports more important errors.
            let _ = wait(execute(url, format!("DROP DATABASE {name}{force}")));
        }
    }
}

pub(super) async fn execute(url: &str, sql: String) -> Result<(), sqlx::Error> {
    let sql = sqlx::raw_sql(AssertSqlSafe(sql));
    match url.split(':').next() {
        Some("postgres") => sql.execute(&mut PgConnection::connect(url).await?).await.map(drop),
        Some("mysql") => sql.execute(&mut MySqlConnection::connect(url).await?).await.map(drop),
        _ => sql.execute(&mut SqliteConnection::connect(url).await?).await.map(drop),
    }
}

macro_rules! values {
    ($row:expr) => {
        $row.columns()
            .iter()
            .map(|column| {
                let value = $row.try_get_raw(column.ordinal())?;
                if value.is_null() {
                    return Ok(Value::Null);
                }
                let at = column.ordinal();
                Ok(match value.type_info().name() {
                    "REAL" | "FLOAT8" | "DOUBLE" => Value::Number($row.try_get(at)?),
                    name if name.contains("INT") => Value::Number($row.try_get_unchecked::<i64, _>(at)? as f64),
                    _ => Value::Text($row.try_get_unchecked(at)?),
                })
            })
            .collect::<Result<Vec<_>, sqlx::Error>>()
    };
}

pub(super) async fn rows(url: &str, sql: &str) -> Result<Vec<Vec<Value>>, sqlx::Error> {
    let query = AssertSqlSafe(sql);
    match url.split(':').next() {
        Some("postgres") => {
            let mut connection = PgConnection::connect(url).await?;
            sqlx::query(query).fetch_all(&mut connection).await?.iter().map(|row| values!(row)).collect()
        }
        Some("mysql") => {
            let mut connection = MySqlConnection::connect(url).await?;
            sqlx::query(query).fetch_all(&mut connection).await?.iter().map(|row| values!(row)).collect()
        }
        _ => {
            let mut connection = SqliteConnection::connect(url).await?;
            sqlx::query(query).fetch_all(&mut connection).await?.iter().map(|row| values!(row)).collect()
        }
    }
}
