//! The number of a client.

/// Who sent a command: a connection's number, or 0 for a sequence played inside the process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub u64);
