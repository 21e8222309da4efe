//! Accelerometers: what moves a mass in a box that moves.

use bevy_math::{DQuat, DVec3};
use simpartner_dynamics::Engine;

use super::seat::Seat;

/// Specific force at a place on a body.
///
/// f = R_mᵀ ((v_n - v_(n-1)) / h - g): the acceleration of the mount over the last step less gravity, in the sensor's axes in
/// the middle of the step, R_m, half way between those before and after it. So a body that spins evenly reads its
/// centripetal acceleration, less by the share (omega h)² / 24 that the mean over an arc is shorter than the value in its
/// middle, and nothing along its path.
#[derive(Debug, Clone)]
pub(super) struct Accelerometer {
    seat: Seat,
    gravity: DVec3,
    timestep: f64,
    velocity: DVec3,
    rotation: DQuat,
    reading: DVec3,
}

impl Accelerometer {
    pub(super) fn new(seat: Seat, gravity: DVec3, timestep: f64) -> Self {
        let (velocity, rotation, reading) = (DVec3::ZERO, DQuat::IDENTITY, DVec3::ZERO);
        Self { seat, gravity, timestep, velocity, rotation, reading }
    }

    pub(super) fn seat(&self) -> &Seat {
        &self.seat
    }

    /// Specific force over the last step, sensor axes, m/s².
    pub(super) fn reading(&self) -> DVec3 {
        self.reading
    }

    /// Looks at the state before the first step.
    pub(super) fn start(&mut self, engine: &dyn Engine) {
        self.velocity = self.seat.velocity(engine);
        self.rotation = self.seat.pose(engine).rotation;
        self.reading = self.rotation.inverse() * -self.gravity;
    }

    /// Looks at the state after a step.
    pub(super) fn follow(&mut self, engine: &dyn Engine) {
        let velocity = self.seat.velocity(engine);
        let rotation = self.seat.pose(engine).rotation;
        let force = (velocity - self.velocity) / self.timestep - self.gravity;
        // The two quaternions are near each other, or near each other's negative, which is the same rotation.
        let near = if rotation.dot(self.rotation) < 0.0 { -self.rotation } else { self.rotation };
        let middle = (rotation + near).normalize();
        (self.velocity, self.rotation, self.reading) = (velocity, rotation, middle.inverse() * force);
    }

    /// What it carries from step to step: velocity, rotation and reading.
    pub(super) fn memory(&self) -> [f64; 10] {
        let (v, q, f) = (self.velocity, self.rotation, self.reading);
        [v.x, v.y, v.z, q.x, q.y, q.z, q.w, f.x, f.y, f.z]
    }

    /// Takes that up again.
    pub(super) fn recall(&mut self, memory: [f64; 10]) {
        let [vx, vy, vz, qx, qy, qz, qw, fx, fy, fz] = memory;
        (self.velocity, self.reading) = (DVec3::new(vx, vy, vz), DVec3::new(fx, fy, fz));
        self.rotation = DQuat::from_xyzw(qx, qy, qz, qw);
    }
}
