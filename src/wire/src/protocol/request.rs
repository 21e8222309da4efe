//! Requests of a session to the physics thread.

use crate::signal::{Acknowledgement, Command};

/// Request of a session to the physics thread, in the order of the client's messages.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// Commands that act in the same step: all of them or none.
    Commands(Vec<Command>),
    /// A lockstep member joins, or acknowledges a step with commands for the next one.
    Acknowledge(Acknowledgement, Vec<Command>),
}

/// Result of a request that was not refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepted {
    /// The request is in the queue.
    Queued,
    /// The client is a member of the lockstep from now on, and has to be sent the present step.
    Joined,
}
