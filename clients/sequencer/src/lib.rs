//! Plays a command sequence to a running server, as any client of its ports could.
//!
//! It depends on the protocol and the sequence format, not on the physics. Start at [`play::play`].

pub mod command;
mod devices;
pub mod play;
pub mod wire;
