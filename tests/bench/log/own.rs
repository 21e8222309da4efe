//! Databases to measure, and the fastest simple way of each to insert the same rows: SQLite by prepared multi-row
//! inserts in one transaction, PostgreSQL by `psql` and COPY, MariaDB by its client and multi-row inserts.

use std::{
    fs::File,
    process::{Command, Stdio},
    time::Instant,
};

use simpartner::recorder::Database;
use sqlx::{AssertSqlSafe, Column, Connection, Row, SqliteConnection, TypeInfo, ValueRef, sqlite::SqliteRow};

/// The tables of steps.
const TABLES: [&str; 4] = ["simulationRow", "body_state", "jointPose", "sensorReading"];

/// Rows in a statement.
const ROWS: usize = 64;

/// A database that is dropped at the end.
pub(crate) struct Place {
    pub(crate) name: &'static str,
    pub(crate) database: Database,
    url: String,
    folder: tempfile::TempDir,
}

/// A file, and a database on each server that is running.
pub(crate) fn places() -> Vec<Place> {
    ["SQLite", "PostgreSQL", "MariaDB"].into_iter().filter_map(Place::new).collect()
}

fn server(name: &str) -> (String, String) {
    let admin = match name {
        "PostgreSQL" => {
            std::env::var("SIMPARTNER_TEST_POSTGRES").unwrap_or("postgres://postgres@127.0.0.1:5432/postgres".into())
        }
        _ => std::env::var("SIMPARTNER_TEST_MYSQL").unwrap_or("mysql://root@127.0.0.1:3306/mysql".into()),
    };
    let own = format!("{}/simpartner_bench_{}", &admin[..admin.rfind('/').unwrap_or(admin.len())], std::process::id());
    (admin, own)
}

impl Place {
    fn new(name: &'static str) -> Option<Self> {
        let folder = tempfile::tempdir().ok()?;
        let url = match name {
            "SQLite" => format!("sqlite:{}", folder.path().join("log.db").display()),
            _ => {
                let (admin, own) = server(name);
                let create = format!("CREATE DATABASE {}", own.rsplit('/').next()?);
                if let Err(why) = client(name, &admin, &["-e", &create], None) {
                    println!("skipped: {name}: {why}");
                    return None;
                }
                own
            }
        };
        Some(Self { name, database: Database::parse(&url).ok()?, url, folder })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Time that the database's own bulk load takes for the rows of the log, s.
    pub(crate) fn own_way(&self) -> Result<f64, String> {
        match self.name {
            "SQLite" => {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                let runtime = runtime.map_err(|error| error.to_string())?;
                runtime.block_on(self.multi_row_inserts()).map_err(|error| error.to_string())
            }
            "PostgreSQL" => self.copy(),
            _ => self.client_inserts(),
        }
    }

    async fn multi_row_inserts(&self) -> Result<f64, sqlx::Error> {
        let mut from = SqliteConnection::connect(&self.url).await?;
        let to = format!("sqlite:{}?mode=rwc", self.folder.path().join("own.db").display());
        let mut to = SqliteConnection::connect(&to).await?;
        sqlx::raw_sql("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL").execute(&mut to).await?;
        let mut tables = Vec::new();
        for table in TABLES {
            let schema = format!("SELECT sql FROM sqlite_master WHERE name = '{table}'");
            let schema: String = sqlx::query_scalar(AssertSqlSafe(schema)).fetch_one(&mut from).await?;
            sqlx::raw_sql(AssertSqlSafe(schema)).execute(&mut to).await?;
            let rows = sqlx::query(AssertSqlSafe(format!("SELECT * FROM {table}"))).fetch_all(&mut from).await?;
            let rows = rows.iter().map(cells).collect::<Result<Vec<_>, _>>()?;
            tables.push((table, rows));
        }
        let start = Instant::now();
        let mut transaction = to.begin().await?;
        for (table, rows) in &tables {
            for chunk in rows.chunks(ROWS) {
                let row = format!("({})", vec!["?"; chunk[0].len()].join(","));
                let text = format!("INSERT INTO {table} VALUES {}", vec![row.as_str(); chunk.len()].join(","));
                let query = chunk.iter().flatten().fold(sqlx::query(AssertSqlSafe(text)), |query, cell| match cell {
                    Cell::Null => query.bind(None::<i64>),
                    Cell::Integer(integer) => query.bind(*integer),
                    Cell::Real(real) => query.bind(*real),
                    Cell::Text(text) => query.bind(text.clone()),
                });
                query.execute(&mut *transaction).await?;
            }
        }
        transaction.commit().await?;
        Ok(start.elapsed().as_secs_f64())
    }

    fn copy(&self) -> Result<f64, String> {
        let mut seconds = 0.0;
        for table in TABLES {
            let file = self.folder.path().join(table).display().to_string();
            client(
                self.name,
                &self.url,
                &["-e", &format!("CREATE TABLE own_{table} (LIKE {table} INCLUDING ALL)")],
                None,
            )?;
            client(self.name, &self.url, &["-e", &format!("\\copy {table} to '{file}' with (format binary)")], None)?;
            let start = Instant::now();
            client(
                self.name,
                &self.url,
                &["-e", &format!("\\copy own_{table} from '{file}' with (format binary)")],
                None,
            )?;
            seconds += start.elapsed().as_secs_f64();
        }
        Ok(seconds)
    }

    fn client_inserts(&self) -> Result<f64, String> {
        let mut seconds = 0.0;
        for table in TABLES {
            let file = self.folder.path().join(table);
            client(self.name, &self.url, &["-e", &format!("CREATE TABLE own_{table} LIKE {table}")], None)?;
            let mut dump = Command::new("mariadb-dump");
            dump.args(connection(&self.url)).args([
                "--skip-opt",
                "--extended-insert",
                "--no-create-info",
                "--hex-blob",
            ]);
            dump.args([self.url.rsplit('/').next().unwrap_or_default(), table]);
            let inserts = dump.output().map_err(|error| error.to_string())?.stdout;
            let inserts = String::from_utf8(inserts).map_err(|error| error.to_string())?;
            let inserts = inserts.replace(&format!("INSERT INTO `{table}`"), &format!("INSERT INTO `own_{table}`"));
            std::fs::write(&file, format!("SET autocommit = 0;\n{inserts}\nCOMMIT;\n"))
                .map_err(|error| error.to_string())?;
            let start = Instant::now();
            client(self.name, &self.url, &[], Some(File::open(&file).map_err(|error| error.to_string())?))?;
            seconds += start.elapsed().as_secs_f64();
        }
        Ok(seconds)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.name != "SQLite" {
            let (admin, own) = server(self.name);
            let _ = client(
                self.name,
                &admin,
                &["-e", &format!("DROP DATABASE {}", own.rsplit('/').next().unwrap_or_default())],
                None,
            );
        }
    }
}

/// Calls the server's own client; `-e` precedes a statement in both.
fn client(name: &str, url: &str, arguments: &[&str], input: Option<File>) -> Result<(), String> {
    let mut command = match name {
        "PostgreSQL" => {
            let mut command = Command::new("psql");
            command.args(["-q", "-v", "ON_ERROR_STOP=1", url]);
            command.args(arguments.iter().map(|&argument| if argument == "-e" { "-c" } else { argument }));
            command
        }
        _ => {
            let mut command = Command::new("mariadb");
            command.args(connection(url)).arg(url.rsplit('/').next().unwrap_or_default()).args(arguments);
            command
        }
    };
    command.stdin(input.map_or_else(Stdio::null, Stdio::from));
    let output = command.output().map_err(|error| error.to_string())?;
    output.status.success().then_some(()).ok_or_else(|| String::from_utf8_lossy(&output.stderr).trim().to_owned())
}

/// User, password, host and port of a URL as the client wants them.
fn connection(url: &str) -> Vec<String> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let rest = rest.split('/').next().unwrap_or_default();
    let (user, host) = rest.rsplit_once('@').unwrap_or(("root", rest));
    let (user, password) = user.split_once(':').unwrap_or((user, ""));
    let (host, port) = host.split_once(':').unwrap_or((host, "3306"));
    let mut arguments = vec![format!("-u{user}"), format!("-h{host}"), format!("-P{port}")];
    if !password.is_empty() {
        arguments.push(format!("-p{password}"));
    }
    arguments
}

enum Cell {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
}

fn cells(row: &SqliteRow) -> Result<Vec<Cell>, sqlx::Error> {
    let cell = |column: usize| {
        let value = row.try_get_raw(column)?;
        if value.is_null() {
            return Ok(Cell::Null);
        }
        Ok(match value.type_info().name() {
            "INTEGER" => Cell::Integer(row.try_get(column)?),
            "REAL" => Cell::Real(row.try_get(column)?),
            _ => Cell::Text(row.try_get(column)?),
        })
    };
    row.columns().iter().map(|column| cell(column.ordinal())).collect()
}
