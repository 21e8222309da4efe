//! Logged runs repeated: a run made again from its log alone and compared with it, and a fork that continues one differently.
//!
//! A log holds the model, the properties, the seed and every command with the step it acted in; the simulation is deterministic,
//! so this is enough to make every step again, bit for bit. The functions here return reports, jobs and typed errors, and print
//! nothing. Start at [`Replay::open`], then [`Replay::run`] or [`fork`].

mod error;
mod fork;
mod log;
mod repeat;
mod ruts;

pub use error::ReplayError;
pub use fork::{ForkCommands, ForkOptions, fork};
pub use repeat::{Mismatch, Replay, ReplayReport};
pub use ruts::RutRelief;
