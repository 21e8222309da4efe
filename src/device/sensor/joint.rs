//! Sensors on joints: encoders and load cells.

use bevy_math::DVec3;
use simpartner_description::{Frame, World};
use simpartner_dynamics::{Engine, JointLoad};
use simpartner_model::{BodyId, JointId};

use super::probe::Probe;

/// Coordinates and rates of a joint's axes.
pub(super) fn read_state(joint: JointId, engine: &dyn Engine, reading: &mut Vec<f64>) {
    let state = engine.joint(joint);
    reading.extend(state.position.into_iter().chain(state.rate));
}

/// The force and torque that a joint transmits from parent to child.
#[derive(Debug, Clone, Copy)]
pub(super) struct LoadCell {
    joint: JointId,
    /// The body in whose axes it reads; `None` for those of the world.
    axes: Option<BodyId>,
}

impl LoadCell {
    pub(super) fn new(world: &World, joint: JointId, frame: Frame) -> Self {
        let axes = match frame {
            Frame::World => None,
            Frame::Parent => Some(world.mechanism.joint(joint).parent),
            Frame::Child | Frame::Sensor => Some(world.mechanism.joint(joint).child),
        };
        Self { joint, axes }
    }
}

impl Probe for LoadCell {
    /// Force, and torque about the anchor. An engine that does not compute them was refused when the simulation was built.
    fn read(&self, engine: &dyn Engine, reading: &mut Vec<f64>) {
        let JointLoad { reaction, .. } = engine.joint(self.joint).load.unwrap_or_default();
        let turned = |vector: DVec3| match self.axes {
            Some(body) => engine.body(body).pose.rotation.inverse() * vector,
            None => vector,
        };
        reading.extend(turned(reaction.force).to_array().into_iter().chain(turned(reaction.torque).to_array()));
    }
}
