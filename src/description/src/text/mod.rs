//! Parsing of text files: character encodings, XML and VRML97 as trees, numbers, and problems with their position in a
//! file.
//!
//! The readers of all formats depend on this module. It does not depend on them.

pub(crate) mod diagnostic;
pub(crate) mod encoding;
pub(crate) mod file;
pub(crate) mod numbers;
pub(crate) mod tree;
pub(crate) mod vrml;
