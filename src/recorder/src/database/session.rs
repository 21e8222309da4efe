//! Observes sessions on database servers through a second connection.
//!
//! A connection can die without notice to either side: a cable is pulled, a router forgets the connection, a machine is
//! suspended. The session on the server then lives on, for two hours by default, and keeps its locks. The drivers set
//! no TCP timeouts. So a second connection asks the server whether the session is working, and ends the session once
//! its connection has been given up.

use std::time::Duration;

use super::{
    address::Database,
    driver::Access,
    limits::{CONNECT_TIMEOUT, LATE_ANSWER_TIMEOUT, PROBE_INTERVAL},
    mysql, postgres,
    session_id::Session,
};

impl Session {
    /// True if the server is working on a statement of this session, or about to answer; `None` if the server does not
    /// say.
    async fn is_working(&self, database: &Database) -> Option<bool> {
        let answer = async {
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
        tokio::time::timeout(CONNECT_TIMEOUT, answer).await.ok()?.ok()
    }
}

/// Waits for the answer to a call. While the server is silent, another connection asks it about the session of the
/// call.
///
/// # Errors
/// When the server is not working on the call and its answer does not arrive. The error is the time waited before the
/// last question.
pub(super) async fn wait_with_probes<T>(
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
            return tokio::time::timeout(LATE_ANSWER_TIMEOUT, call).await.map_err(|_| PROBE_INTERVAL);
        }
    }
}
