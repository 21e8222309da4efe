//! How long calls of a database may take.

use std::time::Duration;

/// How long a server may take to accept a connection: three attempts of TCP, which come after 0, 1 and 3 s, fit in.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a statement may take. A batch takes milliseconds; what takes a thousand times longer is a server that is not answering any
/// more.
pub(super) const STATEMENT_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a server may be silent before another connection asks it whether it is still working on the statement. Slow statements of a busy
/// server take about as long; each question costs the server one short connection.
pub(super) const PROBE_INTERVAL: Duration = Duration::from_secs(5);

/// How long an answer may take to arrive once the server has said that it is not working on it.
pub(super) const LATE_ANSWER: Duration = Duration::from_secs(1);

/// How long a server keeps a transaction whose client does not answer. Longer than a client waits for a lock, and short enough for the
/// next one to wait for.
pub(super) const IDLE_TRANSACTION_TIMEOUT: Duration = Duration::from_secs(15);

/// How long to wait for a lock of another program. Recorders hold one for the milliseconds of a batch.
pub(super) const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// Capacity of a connection's cache of prepared statements: room for the inserts of every table, four sizes each, and the statements of a
/// run's beginning and end.
pub(super) const CACHED_STATEMENTS: usize = 200;
