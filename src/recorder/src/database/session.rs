//! Sessions of database servers as seen from another connection.
//!
//! A connection can die without either side being told: a cable is pulled, a router forgets it, a machine is suspended. Its session on the
//! server then lives on, for two hours by default, and keeps its locks. The drivers set no timeouts of TCP, so a second connection asks the
//! server what the session is doing, and ends it once its connection has been given up.

use std::time::Duration;

use super::{
    address::Database,
    driver::Access,
    limits::{CONNECT_TIMEOUT, LATE_ANSWER, PROBE_INTERVAL},
    mysql, postgres,
    session_id::Session,
};

impl Session {
    /// Whether the server is working on a statement of this session, or is about to answer; `None` if it does not say.
    async fn is_working(&self, database: &Database) -> Option<bool> {
        let asked = async {
            match (database, self) {
                (Database::Postgres(address), Self::Postgres(name)) => {
                    let mut connection = postgres::Connection::open(&address.url(), Access::Read).await?;
                    connection.is_working(name).await
                }
                (Database::MySql(address), Self::MySql { id, host }) => {
                    let mut connection = mysql::Connection::open(&address.url(), Access::Read).await?;
                    connection.is_working(*id, host).await
                }
                _ => unreachable!("the session of {database} is {self:?}"),
            }
        };
        tokio::time::timeout(CONNECT_TIMEOUT, asked).await.ok()?.ok()
    }
}

/// Waits for the answer to a call. While the server is silent, another connection asks it about the session of the call.
///
/// # Errors
/// The time after which it was seen that the server is not working on the call, and its answer does not arrive.
pub(super) async fn answer<T>(
    database: &Database,
    session: &Session,
    call: impl Future<Output = T>,
) -> Result<T, Duration> {
    let mut call = std::pin::pin!(call);
    loop {
        if let Ok(answer) = tokio::time::timeout(PROBE_INTERVAL, &mut call).await {
            return Ok(answer);
        }
        let is_working = tokio::select! {
            biased;
            answer = &mut call => return Ok(answer),
            is_working = session.is_working(database) => is_working,
        };
        if is_working == Some(false) {
            return tokio::time::timeout(LATE_ANSWER, call).await.map_err(|_| PROBE_INTERVAL);
        }
    }
}
