//! Orientations as the log has them: axis and angle.

use bevy_math::{DQuat, DVec3};

/// The rotation of an axis x, y, z and an angle in radians.
pub(super) fn quaternion(axis_angle: [f64; 4]) -> DQuat {
    let [x, y, z, angle] = axis_angle;
    let (sine, cosine) = libm::sincos(angle / 2.0);
    let axis = DVec3::new(x, y, z) * sine;
    DQuat::from_xyzw(axis.x, axis.y, axis.z, cosine)
}

/// The angle from one orientation to the other, 0 to pi. The arc tangent is exact for small angles, an arc cosine is not.
pub(super) fn between(a: [f64; 4], b: [f64; 4]) -> f64 {
    if a == b {
        return 0.0;
    }
    let turn = quaternion(a).inverse() * quaternion(b);
    2.0 * libm::atan2(turn.xyz().length(), turn.w.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_angle_between_two_is_that_of_the_turn() {
        for angle in [1e-9, 0.3, 3.0] {
            let found = between([0.0, 1.0, 0.0, 0.1], [0.0, 1.0, 0.0, 0.1 + angle]);
            assert!((found / angle - 1.0).abs() < 1e-6, "{found} for {angle}");
        }
        // An axis and its opposite: 2 radians one way are 4.28 the other.
        assert!((between([1.0, 0.0, 0.0, 1.0], [-1.0, 0.0, 0.0, 1.0]) - 2.0).abs() < 1e-15);
    }
}
