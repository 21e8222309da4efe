//! Sensors of forces: load cells in joints, and contact forces on a body. The forces are means over a step.
//!
//! Readings in the axes of a body use the body's rotation in the middle of the step, since that is the instant to which
//! a mean belongs. With the axes at the end of the step, a force F that turns with a body at the rate omega would have
//! an error of F omega h / 2.

use bevy_math::{DQuat, DVec3};
use simpartner_dynamics::{Engine, Wrench};
use simpartner_model::{BodyId, JointId, Pose};

use super::probe::{Probe, ProbeState};

/// Rotations of a body or sensor at the end and in the middle of a step.
#[derive(Debug, Clone, Copy)]
pub(super) struct StepRotation {
    /// Rotation at the end of the step.
    now: DQuat,
    /// Rotation half way between those before and after the step.
    pub(super) middle: DQuat,
}

impl StepRotation {
    /// The rotations before the first step.
    pub(super) fn at_rest(rotation: DQuat) -> Self {
        Self { now: rotation, middle: rotation }
    }

    /// Updates the rotations after a step.
    pub(super) fn update(&mut self, rotation: DQuat) {
        // The two quaternions are close, or one is close to the negative of the other, which is the same rotation.
        let before = if rotation.dot(self.now) < 0.0 { -self.now } else { self.now };
        (self.now, self.middle) = (rotation, (rotation + before).normalize());
    }

    pub(super) fn to_arrays(self) -> [[f64; 4]; 2] {
        [self.now.to_array(), self.middle.to_array()]
    }

    pub(super) fn from_arrays([now, middle]: [[f64; 4]; 2]) -> Self {
        Self { now: DQuat::from_array(now), middle: DQuat::from_array(middle) }
    }
}

/// Source of the measured wrench.
#[derive(Debug, Clone, Copy)]
pub(super) enum Source {
    /// The wrench that a joint transmits from parent to child; torque about its anchor. An engine that does not compute
    /// it was refused when the simulation was built.
    Joint(JointId),
    /// The sum of all contacts of a body; torque about its centre of mass.
    Contacts(BodyId),
}

/// A sensor of force, N, and torque, N m.
#[derive(Debug, Clone, Copy)]
pub(super) struct LoadCell {
    source: Source,
    /// The body in whose axes the sensor reads, and `body_from_sensor`; `None` for world axes.
    axes: Option<(BodyId, Pose)>,
    turning: StepRotation,
}

impl LoadCell {
    pub(super) fn new(source: Source, axes: Option<(BodyId, Pose)>) -> Self {
        Self { source, axes, turning: StepRotation::at_rest(DQuat::IDENTITY) }
    }

    fn rotation(&self, engine: &dyn Engine) -> DQuat {
        self.axes.map_or(DQuat::IDENTITY, |(body, pose)| engine.body(body).pose.rotation * pose.rotation)
    }
}

impl Probe for LoadCell {
    fn read(&self, engine: &dyn Engine, reading: &mut Vec<f64>) {
        let Wrench { force, torque } = match self.source {
            Source::Joint(joint) => engine.joint(joint).load.unwrap_or_default().reaction,
            Source::Contacts(body) => {
                let state = engine.body(body);
                Wrench { force: state.force, torque: state.torque }
            }
        };
        let turned = |vector: DVec3| (self.turning.middle.inverse() * vector).to_array();
        reading.extend(turned(force).into_iter().chain(turned(torque)));
    }

    fn initialize(&mut self, engine: &dyn Engine) {
        self.turning = StepRotation::at_rest(self.rotation(engine));
    }

    fn update(&mut self, engine: &dyn Engine) {
        self.turning.update(self.rotation(engine));
    }

    fn state(&self) -> ProbeState {
        ProbeState::Turning(self.turning.to_arrays())
    }

    fn restore(&mut self, state: &ProbeState) -> bool {
        let &ProbeState::Turning(arrays) = state else { return false };
        self.turning = StepRotation::from_arrays(arrays);
        true
    }
}
