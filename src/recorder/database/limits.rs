//! How long calls of a database may take.

use std::time::Duration;

/// How long a server may take to accept a connection: three attempts of TCP, which come after 0, 1 and 3 s, fit in.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a statement may take. A batch takes milliseconds; what takes a thousand times longer is a server that is not answering any
/// more.
pub(super) const STATEMENT_TIMEOUT: Duration = Duration::from_secs(30);

/// How long to wait for a lock of another program. Recorders hold one for the milliseconds of a batch.
pub(super) const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// Capacity of a connection's cache of prepared statements: room for the inserts of every table, four sizes each, and the statements of a
/// run's beginning and end.
pub(super) const CACHED_STATEMENTS: usize = 200;
