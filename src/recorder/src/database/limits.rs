//! Time limits of calls to a database, and capacities.

use std::time::Duration;

/// Time limit of connecting to a server. Three attempts of TCP, after 0, 1 and 3 s, fit in.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Time limit of a statement. A batch takes milliseconds; a server that takes a thousand times longer is no longer
/// answering.
pub(super) const STATEMENT_TIMEOUT: Duration = Duration::from_secs(30);

/// Time without an answer after which a second connection asks the server whether it is still working on the statement.
/// Slow statements of a busy server take about as long. Each question costs the server one short connection.
pub(super) const PROBE_INTERVAL: Duration = Duration::from_secs(5);

/// Time limit for an answer to arrive once the server has said that it is not working on the statement.
pub(super) const LATE_ANSWER_TIMEOUT: Duration = Duration::from_secs(1);

/// Time for which a server keeps a transaction whose client is silent: longer than a client waits for a lock, and short
/// enough for the next client to wait for.
pub(super) const IDLE_TRANSACTION_TIMEOUT: Duration = Duration::from_secs(15);

/// Time limit of waiting for a lock of another program. Recorders hold a lock for the milliseconds of a batch.
pub(super) const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// Capacity of a connection's cache of prepared statements: room for the inserts of every table, four sizes each, and
/// for the statements of a run's start and end.
pub(super) const CACHED_STATEMENTS: usize = 200;
