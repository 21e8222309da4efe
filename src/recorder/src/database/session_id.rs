//! Identities of sessions on database servers.

/// Identity of a session on its database server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Session {
    /// PostgreSQL: the application name, which no other session has.
    Postgres(String),
    /// MySQL and MariaDB: the number of the session, and the host and port of its client. A restarted server counts
    /// from one again, so the number alone is not unique.
    MySql {
        /// Number of the session.
        id: u64,
        /// Host and port of the client, such as `127.0.0.1:49152`; without a port for a socket.
        host: String,
    },
}
