//! Axes of sensors.

use bevy_math::{DMat3, DVec3};
use simpartner_model::Pose;

/// The sensor's frame in one that faces x with z up: rotated about z by an angle, z ahead and x to the left.
pub(super) fn x_ahead(angle: f64) -> Pose {
    let turn = DMat3::from_cols(DVec3::Y, DVec3::Z, DVec3::X);
    Pose::from_xyz_rpy(DVec3::ZERO, DVec3::new(0.0, 0.0, angle)).then(&Pose::from_matrix(turn, DVec3::ZERO))
}
