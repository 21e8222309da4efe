//! The number of a client.

/// Sender of a command: the number of a connection, or 0 for a sequence played inside the process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub u64);
