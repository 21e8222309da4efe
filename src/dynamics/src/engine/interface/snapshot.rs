//! The state as bytes: everything that a step starts from, and everything reported for the last one.

use bevy_math::DVec3;
use serde::{Deserialize, Serialize};
use simpartner_model::BodyId;

use crate::{
    ContactPoint, JointLoad, Servo, Snapshot, SnapshotError, Wrench,
    engine::{
        collision::Contact,
        constraints::loop_joint::{LoopJoint, LoopLoad, ROW_COUNT},
        soil::SavedSoil,
        state::tree_state::State,
        stepping::{check_memory::CheckMemory, world::Dynamics},
    },
};

#[derive(Serialize, Deserialize)]
pub(crate) struct Saved {
    /// Length of the last substep, s.
    pub(crate) h: f64,
    pub(crate) trees: Vec<State>,
    pub(crate) contacts: Vec<Contact>,
    /// Surface velocity of each shape, in its body's axes, m/s.
    pub(crate) surfaces: Vec<DVec3>,
    pub(crate) soil: SavedSoil,
    pub(crate) loop_joints: Vec<SavedLoopJoint>,
    pub(crate) check_memory: CheckMemory,
    /// Contact force, N, and torque, N m, on each body.
    pub(crate) wrenches: Vec<[DVec3; 2]>,
    /// Load of each joint.
    pub(crate) loads: Vec<LoopLoad>,
    /// Reported contact points.
    pub(crate) points: Vec<SavedPoint>,
}

/// A reported contact point: indices of the bodies; `[point, normal, force, torque]`; gap, m.
pub(crate) type SavedPoint = ([Option<usize>; 2], [DVec3; 4], f64);

#[derive(Serialize, Deserialize)]
pub(crate) struct SavedLoopJoint {
    motors: [Servo; 3],
    power_means: [f64; 3],
    coordinates: [f64; 3],
    impulses: [f64; ROW_COUNT],
}

impl Dynamics {
    /// The state as a snapshot.
    pub(crate) fn snapshot_bytes(&self) -> Snapshot {
        Snapshot(postcard::to_stdvec(&self.state_to_save()).expect("plain numbers always serialise"))
    }

    /// The state to be saved.
    pub(crate) fn state_to_save(&self) -> Saved {
        let loads = (0..self.model.joints.len()).map(|joint| {
            let joint = self.joint_state(joint);
            let JointLoad { stop, passive, reaction } = joint.load.unwrap_or_default();
            LoopLoad { effort: joint.effort, stop, passive, force: reaction.force, torque: reaction.torque }
        });
        let loop_joints = self.loop_joints.iter();
        Saved {
            h: self.scheme.h,
            trees: self.trees.iter().map(|tree| tree.state.clone()).collect(),
            contacts: self.collider.contacts.clone(),
            surfaces: self.collider.surface_velocities(),
            soil: self.collider.soil.save(),
            loop_joints: loop_joints
                .map(|&LoopJoint { motors, power_means, coordinates, impulses, .. }| SavedLoopJoint {
                    motors,
                    power_means,
                    coordinates,
                    impulses,
                })
                .collect(),
            check_memory: self.checks.memory().clone(),
            wrenches: self.wrenches.iter().map(|wrench| [wrench.force, wrench.torque]).collect(),
            loads: loads.collect(),
            points: self.contacts.iter().map(save_point).collect(),
        }
    }

    /// Restores a snapshot of this world.
    ///
    /// # Errors
    /// If the bytes cannot be read, or belong to another world.
    pub(crate) fn restore_snapshot(&mut self, snapshot: &Snapshot) -> Result<(), SnapshotError> {
        let saved: Saved = postcard::from_bytes(&snapshot.0).map_err(|error| SnapshotError(error.to_string()))?;
        let mut states = saved.trees.iter().zip(&self.trees);
        let fits = saved.trees.len() == self.trees.len()
            && saved.loop_joints.len() == self.loop_joints.len()
            && saved.surfaces.len() == self.collider.surface_velocities().len()
            && saved.wrenches.len() == self.wrenches.len()
            && self.collider.soil.is_compatible(&saved.soil)
            && saved.loads.len() == self.model.joints.len()
            && states.all(|(state, tree)| state.fits(&tree.state));
        if !fits {
            return Err(SnapshotError("it holds other bodies".into()));
        }
        self.restore_state(saved);
        Ok(())
    }

    /// Restores a state of this world.
    pub(crate) fn restore_state(&mut self, saved: Saved) {
        for (tree, state) in self.trees.iter_mut().zip(saved.trees) {
            tree.state = state;
            tree.update_kinematics(self.scheme.gravity);
        }
        (self.scheme.h, self.scheme.time_fraction) = (saved.h, saved.h / self.model.timestep);
        self.collider.outdate_rays();
        self.collider.restore_contacts(saved.contacts);
        self.collider.restore_surfaces(&saved.surfaces);
        self.collider.soil.restore(saved.soil);
        for (loop_joint, saved) in self.loop_joints.iter_mut().zip(saved.loop_joints) {
            (loop_joint.motors, loop_joint.coordinates) = (saved.motors, saved.coordinates);
            (loop_joint.power_means, loop_joint.impulses) = (saved.power_means, saved.impulses);
        }
        self.checks.restore_memory(saved.check_memory);
        self.loop_joints.iter_mut().for_each(|loop_joint| loop_joint.update_frames(&self.trees));
        for (wrench, [force, torque]) in self.wrenches.iter_mut().zip(saved.wrenches) {
            *wrench = Wrench { force, torque };
        }
        saved.loads.into_iter().enumerate().for_each(|(joint, load)| self.restore_load(joint, load));
        self.contacts.clear();
        self.contacts.extend(saved.points.into_iter().map(load_point));
    }
}

fn save_point(point: &ContactPoint) -> SavedPoint {
    let ContactPoint { bodies, point, normal, gap, wrench } = *point;
    (bodies.map(|body| body.map(BodyId::index)), [point, normal, wrench.force, wrench.torque], gap)
}

fn load_point((bodies, [point, normal, force, torque], gap): SavedPoint) -> ContactPoint {
    let bodies = bodies.map(|body| body.map(BodyId::new));
    ContactPoint { bodies, point, normal, gap, wrench: Wrench { force, torque } }
}
