//! Bridges the combined port of a robot to a serial line, for a microcontroller that steers it. Start at [`bridge`].

pub mod bridge;
pub mod line;
pub mod server;
pub mod times;
