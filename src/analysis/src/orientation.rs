//! Computes with orientations in the form of the log: axis and angle.

use bevy_math::{DQuat, DVec3};

/// Unit quaternion of a rotation, given by the unit axis x, y, z and the angle in radians.
pub(super) fn to_quaternion(axis_angle: [f64; 4]) -> DQuat {
    let [x, y, z, angle] = axis_angle;
    let (sine, cosine) = libm::sincos(angle / 2.0);
    let axis = DVec3::new(x, y, z) * sine;
    DQuat::from_xyzw(axis.x, axis.y, axis.z, cosine)
}

/// Angle between two orientations, 0 to pi, rad. It is computed by an arc tangent, which is accurate for small angles;
/// an arc cosine is not.
pub(super) fn angle_between(a: [f64; 4], b: [f64; 4]) -> f64 {
    if a == b {
        return 0.0;
    }
    let turn = to_quaternion(a).inverse() * to_quaternion(b);
    2.0 * libm::atan2(turn.xyz().length(), turn.w.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_angle_between_two_is_that_of_the_turn() {
        for angle in [1e-9, 0.3, 3.0] {
            let found = angle_between([0.0, 1.0, 0.0, 0.1], [0.0, 1.0, 0.0, 0.1 + angle]);
            assert!((found / angle - 1.0).abs() < 1e-6, "{found} for {angle}");
        }
        // An axis and its opposite: 2 radians one way are 4.28 the other.
        assert!((angle_between([1.0, 0.0, 0.0, 1.0], [-1.0, 0.0, 0.0, 1.0]) - 2.0).abs() < 1e-15);
    }
}
