//! Plays a command sequence to a running server, as any client of its ports could.
//!
//! It knows the wire and the sequence format, nothing of the physics. Start at [`play::play`].

pub mod command;
mod devices;
pub mod play;
pub mod wire;
