//! What the server's command line and those of its clients share: [`output`], the one way in which they print, and
//! [`ServerArguments`], the flags that name a server.

pub mod output;
mod server;

pub use server::{DEFAULT_SERVER, ServerArguments};
