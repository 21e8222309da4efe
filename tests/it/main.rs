//! The one integration test binary: each module is a room's promise, tested through the library's public face.

mod properties;
mod recorder;
