//! Shapes and grounds, which all engines of the same model can share.

use std::sync::Arc;

use super::{ground::Ground, outline::Outline};
use crate::parry::shape::SharedShape;

/// The parts of a built world that never change.
pub(crate) struct SharedParts {
    /// Each shape with its outline, in the order of bodies and of the parts of their shapes.
    pub(crate) shapes: Vec<(SharedShape, Outline)>,
    pub(crate) grounds: Arc<[Ground]>,
}
