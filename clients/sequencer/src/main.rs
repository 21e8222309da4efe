//! Plays a command sequence to a server.

fn main() {}
