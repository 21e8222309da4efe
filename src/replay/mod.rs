//! Replays and forks of logged runs. A replay repeats a run from its log alone and compares every step with the log; a
//! fork continues a run differently from one of its steps.
//!
//! A log holds the model, the properties, the seed, and every command with the step in which it took effect. The
//! simulation is deterministic, so this is enough to repeat every step bit for bit. The functions return reports, jobs
//! and typed errors, and print nothing. Start at [`Replay::open`], then [`Replay::run`] or [`fork`].

mod error;
mod fork;
mod images;
mod log;
mod repeat;
mod ruts;

pub use error::ReplayError;
pub use fork::{ForkCommands, ForkOptions, fork};
pub use repeat::{Mismatch, Replay, ReplayReport, recorded_seed};
pub use ruts::RutRelief;
