//! Code that the command lines of the server and of its clients share: [`output`], through which they print, and
//! [`ServerArguments`], the flags that name a server.

pub mod output;
mod server;

pub use server::{DEFAULT_SERVER, ServerArguments};
