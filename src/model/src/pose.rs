//! Position and orientation.

use bevy_math::{DMat3, DQuat, DVec3};

use crate::Norm;

/// A rigid transform from an inner frame to an outer one. Variables have names such as `outer_from_inner`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pose {
    /// Origin of the inner frame in the outer one, metres.
    pub translation: DVec3,
    /// Orientation of the inner frame in the outer one, a unit quaternion.
    pub rotation: DQuat,
}

impl Default for Pose {
    fn default() -> Self {
        Self::IDENTITY
    }
}

/// Cosine of the pitch below which roll and yaw, each computed alone, would differ from the rotation by more than 1e-14
/// rad.
const NEAR_UPRIGHT: f64 = 0.1;

impl Pose {
    /// The frame itself.
    pub const IDENTITY: Self = Self { translation: DVec3::ZERO, rotation: DQuat::IDENTITY };

    /// From a translation in metres and roll, pitch, yaw in radians about the fixed x, y and z axes, in that order, as
    /// URDF and SDF mean them: R = Rz(yaw) Ry(pitch) Rx(roll).
    pub fn from_xyz_rpy(translation: DVec3, rpy: DVec3) -> Self {
        let rotation = axis_angle(DVec3::Z, rpy.z) * axis_angle(DVec3::Y, rpy.y) * axis_angle(DVec3::X, rpy.x);
        Self { translation, rotation }
    }

    /// Roll, pitch and yaw of [`Pose::from_xyz_rpy`]; if roll and yaw turn about the same axis, yaw is 0.
    pub fn roll_pitch_yaw(&self) -> DVec3 {
        let turn = DMat3::from_quat(self.rotation);
        let (x, y, z) = (turn.x_axis, turn.y_axis, turn.z_axis);
        let level = libm::hypot(x.x, x.y);
        let pitch = libm::atan2(-x.z, level);
        // A right angle after rounding is below this.
        if level < 1e-14 {
            return DVec3::new(libm::atan2(-z.y, y.y), pitch, 0.0);
        }
        let roll = libm::atan2(y.z, z.z);
        if level > NEAR_UPRIGHT {
            return DVec3::new(roll, pitch, libm::atan2(x.y, x.x));
        }
        // Yaw compensates the rounding of roll: it is computed from the rotation without the roll.
        let (sine, cosine) = libm::sincos(roll);
        let across = y * cosine - z * sine;
        DVec3::new(roll, pitch, libm::atan2(-across.x, across.y))
    }

    /// From a rotation matrix, whose columns are the inner axes in the outer frame, and a translation in metres. The
    /// matrix must be a rotation; small deviations are removed by normalising the quaternion.
    pub fn from_matrix(rotation: DMat3, translation: DVec3) -> Self {
        Self { translation, rotation: DQuat::from_mat3(&rotation).normalized() }
    }

    /// `a_from_c` from `a_from_b` (self) and `b_from_c`.
    pub fn then(&self, inner: &Pose) -> Pose {
        Pose { translation: self.point(inner.translation), rotation: (self.rotation * inner.rotation).normalized() }
    }

    /// `inner_from_outer`.
    pub fn inverse(&self) -> Pose {
        let rotation = self.rotation.inverse();
        Pose { translation: -(rotation * self.translation), rotation }
    }

    /// Transforms a point from the inner frame to the outer one.
    pub fn point(&self, point: DVec3) -> DVec3 {
        self.rotation * point + self.translation
    }

    /// Transforms a direction from the inner frame to the outer one.
    pub fn direction(&self, direction: DVec3) -> DVec3 {
        self.rotation * direction
    }

    /// Position x, y, z and quaternion x, y, z, w, as in a step's record.
    pub fn to_array(&self) -> [f64; 7] {
        let (p, q) = (self.translation, self.rotation);
        [p.x, p.y, p.z, q.x, q.y, q.z, q.w]
    }

    /// From the numbers of [`to_array`](Self::to_array).
    pub fn from_array([x, y, z, qx, qy, qz, qw]: [f64; 7]) -> Self {
        Self { translation: DVec3::new(x, y, z), rotation: DQuat::from_xyzw(qx, qy, qz, qw) }
    }
}

/// The rotation by `angle` radians about a unit axis. Uses libm's sine, the same bits on every platform.
fn axis_angle(axis: DVec3, angle: f64) -> DQuat {
    let (sine, cosine) = libm::sincos(angle / 2.0);
    let v = axis * sine;
    DQuat::from_xyzw(v.x, v.y, v.z, cosine)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The angles are accurate near a vertical x axis, where roll and yaw turn about nearly the same axis, as
    /// elsewhere.
    #[test]
    fn roll_pitch_and_yaw_are_the_rotation_they_are_read_from() {
        let upright = std::f64::consts::FRAC_PI_2;
        for from_upright in [0.0, 1e-15, 5e-13, 2e-12, 1e-9, 1e-7, 1e-4, 0.009, 0.011, 0.5] {
            for (roll, yaw) in [(0.0, 0.0), (3.0, -1.2), (-1.571, 2.1), (0.3, upright - 1e-11)] {
                for pitch in [upright - from_upright, from_upright - upright] {
                    let pose = Pose::from_xyz_rpy(DVec3::ZERO, DVec3::new(roll, pitch, yaw));
                    let again = Pose::from_xyz_rpy(DVec3::ZERO, pose.roll_pitch_yaw());
                    let off = (pose.rotation.inverse() * again.rotation).xyz().length();
                    assert!(off < 2e-14, "{roll} {pitch} {yaw}: {off}");
                }
            }
        }
    }
}
