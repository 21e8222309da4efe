//! Accelerometers: specific force at a mount point.

use bevy_math::{DQuat, DVec3};
use simpartner_dynamics::Engine;

use super::{
    load::StepRotation,
    mount_point::MountPoint,
    probe::{Probe, ProbeState},
};

/// Specific force at a point of a body.
///
/// f = R_mᵀ ((v_n - v_(n-1)) / h - g): the acceleration of the mount over the last step of length h, less gravity. R_m
/// are the sensor's axes in the middle of the step, half way between those before and after it. A body that spins at a
/// constant rate therefore reads its centripetal acceleration and nothing along its path. The reading is too small by
/// the relative error (omega h)² / 24, because the mean over an arc is shorter than the value in its middle.
#[derive(Debug, Clone)]
pub(super) struct Accelerometer {
    mount: MountPoint,
    /// World axes, m/s².
    gravity: DVec3,
    /// Seconds.
    timestep: f64,
    /// Velocity of the mount after the last step, world axes, m/s.
    velocity: DVec3,
    turning: StepRotation,
    /// Specific force over the last step, sensor axes, m/s².
    reading: DVec3,
}

impl Accelerometer {
    pub(super) fn new(mount: MountPoint, gravity: DVec3, timestep: f64) -> Self {
        let (velocity, turning, reading) = (DVec3::ZERO, StepRotation::at_rest(DQuat::IDENTITY), DVec3::ZERO);
        Self { mount, gravity, timestep, velocity, turning, reading }
    }
}

impl Probe for Accelerometer {
    fn read(&self, _: &dyn Engine, reading: &mut Vec<f64>) {
        reading.extend(self.reading.to_array());
    }

    fn initialize(&mut self, engine: &dyn Engine) {
        self.velocity = self.mount.velocity(engine);
        self.turning = StepRotation::at_rest(self.mount.pose(engine).rotation);
        self.reading = self.turning.middle.inverse() * -self.gravity;
    }

    fn update(&mut self, engine: &dyn Engine) {
        let velocity = self.mount.velocity(engine);
        self.turning.update(self.mount.pose(engine).rotation);
        let force = (velocity - self.velocity) / self.timestep - self.gravity;
        (self.velocity, self.reading) = (velocity, self.turning.middle.inverse() * force);
    }

    fn state(&self) -> ProbeState {
        ProbeState::Motion([self.velocity, self.reading].map(|vector| vector.to_array()), self.turning.to_arrays())
    }

    fn restore(&mut self, state: &ProbeState) -> bool {
        let &ProbeState::Motion([velocity, reading], turning) = state else { return false };
        (self.velocity, self.reading) = (velocity.into(), reading.into());
        self.turning = StepRotation::from_arrays(turning);
        true
    }
}

/// Orientation, angular velocity and specific force at one mount point.
#[derive(Debug, Clone)]
pub(super) struct InertialUnit(pub(super) Accelerometer);

impl Probe for InertialUnit {
    fn read(&self, engine: &dyn Engine, reading: &mut Vec<f64>) {
        let Self(accelerometer) = self;
        reading.extend(&accelerometer.mount.pose(engine).to_array()[3..]);
        reading.extend(accelerometer.mount.angular_velocity(engine).to_array());
        accelerometer.read(engine, reading);
    }

    fn initialize(&mut self, engine: &dyn Engine) {
        self.0.initialize(engine);
    }

    fn update(&mut self, engine: &dyn Engine) {
        self.0.update(engine);
    }

    fn state(&self) -> ProbeState {
        self.0.state()
    }

    fn restore(&mut self, state: &ProbeState) -> bool {
        self.0.restore(state)
    }
}
