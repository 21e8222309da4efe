//! An element of our own format: as written, with its entry in the schema and the frame that it is read in.

use super::{assembly_frame::Frame, schema::Element};
use crate::text::tree;

/// An element of a file that the reader takes apart.
pub(super) type Node = tree::Node<Context>;

/// The reader's context of an element.
#[derive(Debug, Clone, Default)]
pub(super) struct Context {
    /// Its entry in the schema, once that has been looked up.
    pub(super) element: Option<&'static Element>,
    /// Frame of the assembly that it is placed in, or of the file.
    pub(super) frame: Frame,
}
