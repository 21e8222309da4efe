//! The common part of the cameras of all formats.

use bevy_math::DQuat;
use simpartner_model::Pose;

use super::model::Part;

/// Rate of a camera whose file has none, Hz. A camera without a rate would make an image in each step.
pub(super) const DEFAULT_RATE: f64 = 30.0;
/// Largest number of columns and of rows of an image, as in `schema/devices.rs`.
const MAX_SIDE: f64 = 4096.0;
/// The largest field of view that a pinhole is given, rad: within the limit there, which is below half a turn.
pub(super) const MAX_FIELD_OF_VIEW: f64 = 3.139;
/// The smallest, as there.
pub(super) const MIN_FIELD_OF_VIEW: f64 = 0.001;

/// Number of columns and rows of an image, if a camera can have it.
pub(super) fn image_size([width, height]: [f64; 2]) -> Option<[u32; 2]> {
    let fits = |side: f64| side.fract() == 0.0 && (1.0..=MAX_SIDE).contains(&side);
    (fits(width) && fits(height)).then_some([width as u32, height as u32])
}

/// The attributes of an image's size.
pub(super) fn size_attributes([width, height]: [u32; 2]) -> Vec<(&'static str, String)> {
    vec![("width", width.to_string()), ("height", height.to_string())]
}

/// A lens with these attributes; none of its own is a pinhole.
pub(super) fn lens(model: &str, numbers: Vec<(&'static str, f64)>) -> Part {
    let numbers = numbers.into_iter().map(|(name, value)| (name, value.to_string()));
    ("lens", [("model", model.to_owned())].into_iter().chain(numbers).collect())
}

/// The frame of our cameras (z forwards, y up) in that of a camera of OpenGL (z backwards, y up): half a turn about y.
pub(super) const FROM_OPENGL: Pose =
    Pose { translation: bevy_math::DVec3::ZERO, rotation: DQuat::from_xyzw(0.0, 1.0, 0.0, 0.0) };
