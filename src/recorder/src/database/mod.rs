//! The databases that hold logs: SQLite, PostgreSQL, MySQL and MariaDB.
//!
//! [`connection::Connection`] is a connection to any of them, to write or to read. The folders `sqlite`, `postgres` and `mysql` have what
//! each does in its own way: the driver's connection with its migrations, `value` (how values go in and come out) and `errors` (what
//! its codes mean). Statements, tables and rows are the same for all of them and come from `format`.

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
