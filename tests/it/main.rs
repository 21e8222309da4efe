//! The one integration test binary: each module is a room's promise, tested through the library's public face.

mod physics;
mod properties;
mod protocol;
mod realtime;
mod recorder;
mod scene;
mod server;
mod sim;
mod tidy;
