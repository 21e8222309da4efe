//! World, robot and sequence files: XML text to the resolved [`crate::model`].
//!
//! It knows nothing of physics, devices and sockets. Start at [`Diagnostics`]: what a file that does not load answers.

mod diagnostic;

pub use diagnostic::{Diagnostic, Diagnostics};
