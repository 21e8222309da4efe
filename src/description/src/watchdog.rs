//! Watchdogs of actuators.

use serde::{Deserialize, Serialize};

/// Watchdog of an actuator that has had a command and then none for a while.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Watchdog {
    /// Time limit, seconds of simulated time.
    pub timeout_s: f64,
    /// Reaction, until the next command.
    pub action: OnTimeout,
}

/// Reaction of a watchdog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum OnTimeout {
    /// Keep the position.
    Hold,
    /// Exert no effort.
    Zero,
    /// Brake to rest.
    Brake,
}

impl OnTimeout {
    /// The word in XML.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hold => "hold",
            Self::Zero => "zero",
            Self::Brake => "brake",
        }
    }
}
