//! Sensors of forces, which are means over a step: load cells in joints, and what presses on a body.
//!
//! They read in the axes that turn with a body as these stood in the middle of the step, since that is the instant that a mean belongs
//! to. In the axes at its end a force of F that turns with a body at the rate omega would be off by F omega h / 2.

use bevy_math::{DQuat, DVec3};
use simpartner_dynamics::{Engine, Wrench};
use simpartner_model::{BodyId, JointId, Pose};

use super::probe::{Probe, ProbeState};

/// How something is turned at the end of a step, and how it was in the middle of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turning {
    now: DQuat,
    /// Half way between the rotations before and after the step.
    pub(super) middle: DQuat,
}

impl Turning {
    /// At rest, before the first step.
    pub(super) fn at(rotation: DQuat) -> Self {
        Self { now: rotation, middle: rotation }
    }

    /// Takes up the rotation after a step.
    pub(super) fn follow(&mut self, rotation: DQuat) {
        // The two quaternions are near each other, or near each other's negative, which is the same rotation.
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

/// What exerts the force.
#[derive(Debug, Clone, Copy)]
pub(super) enum Source {
    /// What a joint transmits from parent to child; torque about its anchor. An engine that does not compute it was refused when the
    /// simulation was built.
    Joint(JointId),
    /// All contacts of a body; torque about its centre of mass.
    Contacts(BodyId),
}

/// A sensor of a force and a torque.
#[derive(Debug, Clone, Copy)]
pub(super) struct LoadCell {
    source: Source,
    /// The body in whose axes it reads, and `body_from_sensor`; `None` for those of the world.
    axes: Option<(BodyId, Pose)>,
    turning: Turning,
}

impl LoadCell {
    pub(super) fn new(source: Source, axes: Option<(BodyId, Pose)>) -> Self {
        Self { source, axes, turning: Turning::at(DQuat::IDENTITY) }
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

    fn start(&mut self, engine: &dyn Engine) {
        self.turning = Turning::at(self.rotation(engine));
    }

    fn follow(&mut self, engine: &dyn Engine) {
        self.turning.follow(self.rotation(engine));
    }

    fn state(&self) -> ProbeState {
        ProbeState::Turning(self.turning.to_arrays())
    }

    fn restore(&mut self, state: &ProbeState) -> bool {
        let &ProbeState::Turning(arrays) = state else { return false };
        self.turning = Turning::from_arrays(arrays);
        true
    }
}
