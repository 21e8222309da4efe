//! The identity of a session on its database server.

/// Identity of a session on its server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Session {
    /// PostgreSQL: the name of its application, which no other session has.
    Postgres(String),
    /// MySQL and MariaDB: its number, and the host and port of its client, since a server that starts again counts from one.
    MySql {
        /// Its number.
        id: u64,
        /// Host and port, `127.0.0.1:49152`; of a socket without a port.
        host: String,
    },
}
