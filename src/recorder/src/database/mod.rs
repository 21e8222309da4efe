//! The databases of logs: SQLite, PostgreSQL, MySQL and MariaDB.
//!
//! [`connection::Connection`] is a connection to any of them, for writing or for reading. The folders `sqlite`,
//! `postgres` and `mysql` hold the parts that differ: the driver's connection, `value` (decoding of values) and
//! `errors` (interpretation of error codes). Statements, tables and rows are the same for all databases and come from
//! `format`.

pub(super) mod address;
pub(super) mod connection;
pub(super) mod driver;
pub(super) mod error;
mod inserts;
mod limits;
pub(super) mod masked;
mod migrations;
mod mysql;
mod postgres;
mod query;
pub(super) mod query_position;
pub(super) mod scan;
pub(super) mod session;
pub(super) mod session_id;
mod sqlite;
