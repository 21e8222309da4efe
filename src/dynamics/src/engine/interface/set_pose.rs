//! Sets the pose and twist of a body between two steps. This is no motion: no force moves the body, and no energy is
//! accounted for.
//!
//! All bodies that joints connect to it move along as one rigid piece, velocities included. Then the difference to the
//! requested twist is added as a rigid motion, so joint coordinates and their rates stay as they are:
//!
//! ```text
//! T = X' X⁻¹                      from the old pose of the body to the new one; R: the rotation of T
//! w_root' = w' + R (w_root - w)   w, v: angular velocity, and velocity of the centre of mass
//! v_root' = v' + R (v_root - v) + (w' - R w) x (c_root' - c')
//! ```
//!
//! Warm starts belong to the old pose, so they are discarded: contacts with their impulses, impulses of stops and loop
//! joints, the last velocity change. Bodies that it touched wake up, because it may have supported them.

use bevy_math::DVec3;
use simpartner_model::{BodyId, Norm, Pose};

use crate::{
    BodyState,
    engine::{
        collision::Contact,
        constraints::loop_joint::ROW_COUNT,
        state::{kinematics::read_body, tree::Tree},
        stepping::world::Dynamics,
    },
};

impl Tree {
    /// Discards all warm starts.
    fn forget_last_step(&mut self) {
        self.wake();
        let state = &mut self.state;
        state.last_dv.fill(0.0);
        state.holding_efforts.fill(0.0);
        state.saturation.fill(0);
        state.power_means.fill(0.0);
        state.row_impulses.fill([0.0; 4]);
    }
}

impl Dynamics {
    /// Reason why the pose of a body cannot be set; `None` if it can.
    pub(crate) fn pose_override_obstacle(&self, body: BodyId) -> Option<&'static str> {
        let place = &self.model.bodies[body.index()];
        (!self.trees[place.tree].is_floating()).then_some("it is static, or joints tie it to something that is")
    }

    /// Sets the pose of a floating body, the velocity of its centre of mass, m/s, and its angular velocity, rad/s. The
    /// bodies connected to it move along.
    pub(crate) fn set_state(&mut self, body: BodyId, pose: &Pose, linear: DVec3, angular: DVec3) {
        let place = self.model.bodies[body.index()];
        let tree = &mut self.trees[place.tree];
        let BodyState { pose: old_pose, linear_velocity: old_linear, angular_velocity: old_angular, .. } =
            read_body(tree, &place);
        let turn = (pose.rotation * old_pose.rotation.inverse()).normalized();
        let moved = |point: DVec3| pose.translation + turn * (point - old_pose.translation);
        let centre = moved(tree.work.links[place.link].position);
        let root = Tree::root_motion(&tree.state.v);
        let state = &mut tree.state;
        state.root_position = moved(state.root_position);
        state.root_rotation = (turn * state.root_rotation).normalized();
        let extra_spin = angular - turn * old_angular;
        let root_linear = linear + turn * (root.linear() - old_linear) + extra_spin.cross(state.root_position - centre);
        let root_angular = angular + turn * (root.angular() - old_angular);
        state.v[..3].copy_from_slice(root_linear.as_ref());
        state.v[3..6].copy_from_slice(root_angular.as_ref());
        tree.forget_last_step();
        tree.update_kinematics(self.scheme.gravity);
        self.collider.outdate_rays();
        self.forget_neighbours(place.tree);
        self.update_loop_joints_of(place.tree);
    }

    /// Updates the frames of the loop joints of a tree.
    fn update_loop_joints_of(&mut self, tree: usize) {
        for loop_joint in
            self.loop_joints.iter_mut().filter(|loop_joint| loop_joint.a.tree == tree || loop_joint.b.tree == tree)
        {
            loop_joint.update_frames(&self.trees);
        }
    }

    /// Removes the contacts of a tree and the warm starts of its loop joints, and wakes what it touched.
    fn forget_neighbours(&mut self, tree: usize) {
        let touches = |contact: &Contact| contact.sides().any(|side| side.tree == tree);
        for side in self.collider.contacts.iter().filter(|contact| touches(contact)).flat_map(Contact::sides) {
            self.trees[side.tree].wake();
        }
        self.collider.contacts.retain(|contact| !touches(contact));
        self.collider.reset_soil_patches(tree);
        for loop_joint in
            self.loop_joints.iter_mut().filter(|loop_joint| loop_joint.a.tree == tree || loop_joint.b.tree == tree)
        {
            (loop_joint.impulses, loop_joint.power_means) = ([0.0; ROW_COUNT], [0.0; 3]);
        }
    }
}
