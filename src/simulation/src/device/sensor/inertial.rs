//! Accelerometers: specific force at a mount point.

use bevy_math::{DQuat, DVec3};
use simpartner_dynamics::Engine;

use super::{
    load::Turning,
    mount_point::MountPoint,
    probe::{Probe, ProbeState},
};

/// Specific force at a point of a body.
///
/// f = R_mᵀ ((v_n - v_(n-1)) / h - g): the acceleration of the mount over the last step less gravity, in the sensor's axes in
/// the middle of the step, R_m, half way between those before and after it. So a body that spins evenly reads its
/// centripetal acceleration, less by the share (omega h)² / 24 that the mean over an arc is shorter than the value in its
/// middle, and nothing along its path.
#[derive(Debug, Clone)]
pub(super) struct Accelerometer {
    mount: MountPoint,
    gravity: DVec3,
    timestep: f64,
    velocity: DVec3,
    turning: Turning,
    reading: DVec3,
}

impl Accelerometer {
    pub(super) fn new(mount: MountPoint, gravity: DVec3, timestep: f64) -> Self {
        let (velocity, turning, reading) = (DVec3::ZERO, Turning::at(DQuat::IDENTITY), DVec3::ZERO);
        Self { mount, gravity, timestep, velocity, turning, reading }
    }
}

impl Probe for Accelerometer {
    fn read(&self, _: &dyn Engine, reading: &mut Vec<f64>) {
        reading.extend(self.reading.to_array());
    }

    fn start(&mut self, engine: &dyn Engine) {
        self.velocity = self.mount.velocity(engine);
        self.turning = Turning::at(self.mount.pose(engine).rotation);
        self.reading = self.turning.middle.inverse() * -self.gravity;
    }

    fn follow(&mut self, engine: &dyn Engine) {
        let velocity = self.mount.velocity(engine);
        self.turning.follow(self.mount.pose(engine).rotation);
        let force = (velocity - self.velocity) / self.timestep - self.gravity;
        (self.velocity, self.reading) = (velocity, self.turning.middle.inverse() * force);
    }

    fn state(&self) -> ProbeState {
        ProbeState::Motion([self.velocity, self.reading].map(|vector| vector.to_array()), self.turning.to_arrays())
    }

    fn restore(&mut self, state: &ProbeState) -> bool {
        let &ProbeState::Motion([velocity, reading], turning) = state else { return false };
        (self.velocity, self.reading) = (velocity.into(), reading.into());
        self.turning = Turning::from_arrays(turning);
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
        reading.extend(accelerometer.mount.spin(engine).to_array());
        accelerometer.read(engine, reading);
    }

    fn start(&mut self, engine: &dyn Engine) {
        self.0.start(engine);
    }

    fn follow(&mut self, engine: &dyn Engine) {
        self.0.follow(engine);
    }

    fn state(&self) -> ProbeState {
        self.0.state()
    }

    fn restore(&mut self, state: &ProbeState) -> bool {
        self.0.restore(state)
    }
}
