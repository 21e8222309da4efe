//! Requests of a session to the physics thread.

use crate::signal::{Acknowledgement, Command};

/// What a session asks of the physics thread, in the order in which the client sent it.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// Commands that act in the same step: all of them or none.
    Commands(Vec<Command>),
    /// A member of the lockstep joins, or has seen a step and commands this for the next one.
    Acknowledge(Acknowledgement, Vec<Command>),
}

/// What became of a request that was not refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepted {
    /// It is on its way.
    Queued,
    /// The client is a member of the lockstep from now on, and has to be sent the present step.
    Joined,
}
