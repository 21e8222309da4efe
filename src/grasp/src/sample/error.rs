//! Errors of sampling.

use thiserror::Error;

/// Largest number of poses that are drawn until one passes the filters.
pub(super) const MAX_ATTEMPTS: usize = 100_000;

/// Errors of sampling.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SampleError {
    /// The object has no collision shape, or its shape has no surface area.
    #[error("the object has no surface to draw points from")]
    NoSurface,
    /// The shape cannot be intersected with rays.
    #[error("the object: {0}")]
    Shape(String),
    /// No pose passes the filters.
    #[error(
        "of {MAX_ATTEMPTS} poses in a row none passed the filters of <sampling>: let it have a wider opening, more friction, or larger angles"
    )]
    Filters,
}
