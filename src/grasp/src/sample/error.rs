//! Errors of sampling.

use thiserror::Error;

/// Poses that the filters may turn down before one is given up.
pub(super) const ATTEMPTS: usize = 100_000;

/// Errors of sampling.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SampleError {
    /// The object has nothing that could be touched.
    #[error("the object has no surface to draw points from")]
    NoSurface,
    /// A shape that no ray meets.
    #[error("the object: {0}")]
    Shape(String),
    /// Nothing passes.
    #[error(
        "of {ATTEMPTS} poses in a row none passed the filters of <sampling>: let it have a wider opening, more friction, or larger angles"
    )]
    Filters,
}
