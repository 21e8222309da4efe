//! Text files taken apart: bytes as characters, XML and VRML97 as trees, numbers, and problems with their place in a
//! file.
//!
//! The readers of all formats stand on this module. It knows none of them.

pub(crate) mod diagnostic;
pub(crate) mod encoding;
pub(crate) mod file;
pub(crate) mod numbers;
pub(crate) mod tree;
pub(crate) mod vrml;
