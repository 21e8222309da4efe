//! Messages between a server and its clients, without sockets: [`protocol`] turns bytes into requests and records into
//! answers, [`signal`] is the vocabulary of both sides.
//!
//! A client links this crate instead of the server.

pub mod near;
pub mod pattern;
pub mod ports_file;
pub mod protocol;
pub mod signal;
