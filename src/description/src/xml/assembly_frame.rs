//! The frame that a placed assembly is read in.

use bevy_math::{DMat3, DQuat, DVec3};
use simpartner_model::Pose;

/// Transforms the content of an assembly to the frame of its file: first mirrored, then moved.
///
/// A mirror changes the signs of coordinates. The rotation R of a frame becomes S R S with the diagonal matrix S of the
/// signs, which is a rotation again; so shapes, which are described in the frames of their bodies, must be mirrored
/// themselves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Frame {
    pose: Pose,
    /// The diagonal of S: each 1 or -1.
    signs: DVec3,
}

impl Default for Frame {
    fn default() -> Self {
        Self { pose: Pose::IDENTITY, signs: DVec3::ONE }
    }
}

impl Frame {
    /// The frame of an assembly within this one, with its pose mirrored.
    pub(super) fn placed(&self, pose: &Pose, signs: DVec3) -> Self {
        Self { pose: self.pose.then(pose), signs: self.signs * signs }
    }

    /// True if the frame is mirrored.
    pub(super) fn is_mirrored(&self) -> bool {
        self.signs.x * self.signs.y * self.signs.z < 0.0
    }

    /// A vector in a body's frame, mirrored.
    pub(super) fn mirror(&self, vector: DVec3) -> DVec3 {
        // Sums keep zeros without a sign.
        self.signs * vector + DVec3::ZERO
    }

    /// The same for an angular velocity, which has a sense of turning instead of a direction.
    pub(super) fn mirror_turning(&self, vector: DVec3) -> DVec3 {
        let sense = self.signs.x * self.signs.y * self.signs.z;
        self.mirror(vector) * sense + DVec3::ZERO
    }

    /// A pose within a body or an assembly, mirrored.
    pub(super) fn mirror_pose(&self, pose: &Pose) -> Pose {
        let turning = self.mirror_turning(pose.rotation.xyz());
        Pose {
            translation: self.mirror(pose.translation),
            rotation: DQuat::from_xyzw(turning.x, turning.y, turning.z, pose.rotation.w),
        }
    }

    /// An inertia tensor, mirrored.
    pub(super) fn mirror_tensor(&self, tensor: &DMat3) -> DMat3 {
        let column = |index: usize| self.mirror(tensor.col(index)) * self.signs[index] + DVec3::ZERO;
        DMat3::from_cols(column(0), column(1), column(2))
    }

    /// A pose that has been mirrored, moved to its place.
    pub(super) fn place(&self, pose: &Pose) -> Pose {
        if self.pose == Pose::IDENTITY { *pose } else { self.pose.then(pose) }
    }

    /// A point of the assembly, in the file's frame.
    pub(super) fn point(&self, point: DVec3) -> DVec3 {
        self.pose.point(self.mirror(point))
    }

    /// The direction of a joint's axis, which a mirror does not change.
    pub(super) fn axis(&self, direction: DVec3) -> DVec3 {
        self.pose.direction(direction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S R S computed with matrices equals the rotation from the signs of the quaternion's components.
    #[test]
    fn a_mirrored_rotation_is_the_matrix_product() {
        let pose = Pose::from_xyz_rpy(DVec3::new(1.0, 2.0, 3.0), DVec3::new(0.3, -0.7, 1.9));
        for signs in [DVec3::new(-1.0, 1.0, 1.0), DVec3::new(1.0, 1.0, -1.0), DVec3::new(-1.0, 1.0, -1.0)] {
            let frame = Frame::default().placed(&Pose::IDENTITY, signs);
            let mirrored = frame.mirror_pose(&pose);
            let mirror = DMat3::from_diagonal(signs);
            let expected = mirror * DMat3::from_quat(pose.rotation) * mirror;
            assert!(DMat3::from_quat(mirrored.rotation).abs_diff_eq(expected, 1e-15));
            assert_eq!(mirrored.translation, mirror * pose.translation);
            let turning = DVec3::new(0.1, 0.2, 0.3);
            // The velocity of a mirrored point is the mirrored velocity of the point.
            let (point, omega) = (DVec3::new(1.0, -2.0, 0.5), frame.mirror_turning(turning));
            assert!((omega.cross(mirror * point) - mirror * turning.cross(point)).length() < 1e-15);
        }
    }
}
