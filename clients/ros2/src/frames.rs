//! Frames: ours have y up, those of ROS have z up (REP 103 and 105). All that crosses over is turned here and nowhere
//! else.
//!
//! | axes | x forward | y left | z up | of |
//! |---|---|---|---|---|
//! | [`Axes::YUp`] | our x | our -z | our y | the world, which becomes `map`, and robots in our own format |
//! | [`Axes::ZUp`] | x | y | z | robots from URDF, whose links keep their frames |
//! | [`Axes::Rays`] | our z | our x | our y | sensors that look along their z axis |
//!
//! The optical frames of cameras ([`Axes::Optical`]) have z forward, x right and y down.

use bevy_math::{DQuat, DVec3};
use std::f64::consts::FRAC_1_SQRT_2;

/// Rotation from a frame of SimPartner to one of ROS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Axes {
    /// x forward, y up, z right.
    YUp,
    /// x forward, y left, z up: as ROS has it.
    ZUp,
    /// z forward, x left, y up.
    Rays,
    /// The same, of which the frame in ROS is the optical frame of a camera.
    Optical,
}

impl Axes {
    /// A vector in the turned frame.
    pub fn vector(self, ours: DVec3) -> DVec3 {
        match self {
            Self::YUp => DVec3::new(ours.x, -ours.z, ours.y),
            Self::ZUp => ours,
            Self::Rays => DVec3::new(ours.z, ours.x, ours.y),
            Self::Optical => DVec3::new(-ours.x, -ours.y, ours.z),
        }
    }

    /// Inverse of [`Axes::vector`].
    pub fn vector_back(self, ros: DVec3) -> DVec3 {
        match self {
            Self::YUp => DVec3::new(ros.x, ros.z, -ros.y),
            Self::ZUp => ros,
            Self::Rays => DVec3::new(ros.y, ros.z, ros.x),
            Self::Optical => DVec3::new(-ros.x, -ros.y, ros.z),
        }
    }

    /// The rotation that [`Axes::vector`] is, `ros_from_ours`.
    pub fn rotation(self) -> DQuat {
        match self {
            Self::YUp => DQuat::from_xyzw(FRAC_1_SQRT_2, 0.0, 0.0, FRAC_1_SQRT_2),
            Self::ZUp => DQuat::IDENTITY,
            Self::Rays => DQuat::from_xyzw(0.5, 0.5, 0.5, 0.5),
            Self::Optical => DQuat::from_xyzw(0.0, 0.0, 1.0, 0.0),
        }
    }
}

/// A place and an orientation, `outer_from_inner`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pose {
    /// Origin of the inner frame in the outer one, metres.
    pub position: DVec3,
    /// Rotation from the inner frame's axes to the outer one's.
    pub rotation: DQuat,
}

impl Pose {
    /// The identity.
    pub const IDENTITY: Self = Self { position: DVec3::ZERO, rotation: DQuat::IDENTITY };

    /// The same pose between the turned frames.
    pub fn turned(self, outer: Axes, inner: Axes) -> Self {
        let rotation = outer.rotation() * self.rotation * inner.rotation().inverse();
        Self { position: outer.vector(self.position), rotation: rotation.normalize() }
    }

    /// Inverse of [`Pose::turned`]. The length of the quaternion is kept.
    pub fn turned_back(self, outer: Axes, inner: Axes) -> Self {
        let rotation = outer.rotation().inverse() * self.rotation * inner.rotation();
        Self { position: outer.vector_back(self.position), rotation }
    }

    /// `outer_from_inner` of `outer_from_middle` and `middle_from_inner`.
    pub fn then(self, inner: Self) -> Self {
        Self {
            position: self.position + self.rotation * inner.position,
            rotation: (self.rotation * inner.rotation).normalize(),
        }
    }

    /// `inner_from_outer`.
    pub fn inverse(self) -> Self {
        let rotation = self.rotation.inverse();
        Self { position: rotation * -self.position, rotation }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Axes; 4] = [Axes::YUp, Axes::ZUp, Axes::Rays, Axes::Optical];

    #[track_caller]
    fn check(got: DVec3, expected: [f64; 3]) {
        assert!((got - DVec3::from_array(expected)).length() < 1e-15, "{got} {expected:?}");
    }

    #[test]
    fn up_is_z_and_forward_is_x() {
        check(Axes::YUp.vector(DVec3::Y), [0.0, 0.0, 1.0]);
        check(Axes::YUp.vector(DVec3::X), [1.0, 0.0, 0.0]);
        // Right of a robot that faces x with y up is z; REP 103 has y to the left.
        check(Axes::YUp.vector(DVec3::Z), [0.0, -1.0, 0.0]);
        check(Axes::Rays.vector(DVec3::Z), [1.0, 0.0, 0.0]);
        check(Axes::Rays.vector(DVec3::Y), [0.0, 0.0, 1.0]);
    }

    #[test]
    fn an_optical_frame_looks_along_z_with_y_down() {
        check(Axes::Optical.vector(DVec3::Z), [0.0, 0.0, 1.0]);
        check(Axes::Optical.vector(DVec3::Y), [0.0, -1.0, 0.0]);
        // Left of the sensor is its x; right of an image is x.
        check(Axes::Optical.vector(DVec3::X), [-1.0, 0.0, 0.0]);
        // From the frame with x forward it is the rotation of REP 103, roll and yaw of -90 degrees.
        let optical = Pose::IDENTITY.turned(Axes::Rays, Axes::Optical).rotation;
        let expected = DQuat::from_xyzw(-0.5, 0.5, -0.5, 0.5);
        assert!(optical.dot(expected).abs() > 1.0 - 1e-15, "{optical}");
    }

    #[test]
    fn the_quaternions_turn_as_the_vectors_do() {
        for axes in ALL {
            for unit in [DVec3::X, DVec3::Y, DVec3::Z] {
                check(axes.rotation() * unit, axes.vector(unit).to_array());
            }
            // Right-handed stays right-handed.
            check(axes.vector(DVec3::X).cross(axes.vector(DVec3::Y)), axes.vector(DVec3::Z).to_array());
        }
    }

    #[test]
    fn a_link_of_a_urdf_that_stands_upright_has_the_identity_in_map() {
        // The importer uprights a link by turning its z axis to the y axis of the world.
        let upright = Pose { position: DVec3::new(1.0, 2.0, 3.0), rotation: Axes::YUp.rotation().inverse() };
        let link = upright.turned(Axes::YUp, Axes::ZUp);
        check(link.position, [1.0, -3.0, 2.0]);
        assert!(link.rotation.abs_diff_eq(DQuat::IDENTITY, 1e-15), "{}", link.rotation);
        // And so has a body of our own format that is not turned.
        let plain = Pose::IDENTITY.turned(Axes::YUp, Axes::YUp);
        assert!(plain.rotation.abs_diff_eq(DQuat::IDENTITY, 1e-15));
        // A turn to the left about our y axis is a turn about z.
        let left = Pose { rotation: DQuat::from_rotation_y(0.5), ..Pose::IDENTITY }.turned(Axes::YUp, Axes::YUp);
        assert!(left.rotation.abs_diff_eq(DQuat::from_rotation_z(0.5), 1e-15), "{}", left.rotation);
    }

    #[test]
    fn turning_keeps_what_a_pose_does_to_points() {
        let pose = |a: f64| Pose {
            position: DVec3::new(a, 2.0 - a, 0.3 * a),
            rotation: DQuat::from_euler(bevy_math::EulerRot::XYZ, a, 0.4 - a, 2.0 * a),
        };
        let point = DVec3::new(0.3, -1.2, 4.5);
        for outer in ALL {
            for inner in ALL {
                let ours = pose(0.7).position + pose(0.7).rotation * point;
                let ros = pose(0.7).turned(outer, inner);
                let turned = ros.position + ros.rotation * inner.vector(point);
                assert!((turned - outer.vector(ours)).length() < 1e-14);
                let back = ros.turned_back(outer, inner);
                assert!((back.position - pose(0.7).position).length() < 1e-15);
                assert!(back.rotation.dot(pose(0.7).rotation).abs() > 1.0 - 1e-14);
                // Turning a chain equals chaining the turned poses.
                let chain = pose(0.7).then(pose(-1.1)).turned(outer, inner);
                let other = pose(0.7).turned(outer, Axes::Rays).then(pose(-1.1).turned(Axes::Rays, inner));
                assert!((chain.position - other.position).length() < 1e-14);
                assert!(chain.rotation.dot(other.rotation).abs() > 1.0 - 1e-14);
            }
        }
        let back = pose(1.3).then(pose(1.3).inverse());
        assert!(back.position.length() < 1e-14 && back.rotation.dot(DQuat::IDENTITY).abs() > 1.0 - 1e-14);
    }
}
