//! Actuators: what their commands mean, and the law by which they drive a joint.

use crate::{
    model::{self, Law, PidGains},
    physics::{Engine, JointState, Motor},
    signal::JointId,
};

/// Until its first command an actuator holds the initial pose with at most this on each axis, N m or N (thesis 3.7.3).
const HOLDING_EFFORT: f64 = 1000.0;

/// An actuator of a running simulation. Its state is its last command.
pub(super) struct Actuator {
    joint: JointId,
    law: Law,
    /// Of all but an effort controller, three maximum efforts come first.
    state: Vec<f64>,
    /// The integrals of an angle controller's errors.
    integral: [f64; 3],
    holding: bool,
}

impl Actuator {
    pub(super) fn new(spec: &model::Actuator) -> Self {
        let mut state = vec![HOLDING_EFFORT; 3];
        match spec.law {
            Law::Velocity | Law::Position => state.extend([0.0; 3]),
            Law::Angle(PidGains { proportional, integral, derivative }) => {
                state.extend([0.0, 0.0, 0.0, proportional, integral, derivative]);
            }
            Law::Effort => state.fill(0.0),
        }
        Self { joint: spec.joint, law: spec.law, state, integral: [0.0; 3], holding: true }
    }

    pub(super) fn state(&self) -> &[f64] {
        &self.state
    }

    /// The integrals, and whether it holds.
    pub(super) fn memory(&self, memory: &mut Vec<u64>) {
        memory.extend(self.integral.map(f64::to_bits));
        memory.push(u64::from(self.holding));
    }

    /// Takes all numbers, or the last of them, which leave the maximum efforts as they are.
    pub(super) fn command(&mut self, values: &[f64]) {
        if let Some(kept) = self.state.len().checked_sub(values.len()) {
            self.state[kept..].copy_from_slice(values);
            self.holding = false;
        }
    }

    /// Sets the motors for the step to come.
    pub(super) fn drive(&mut self, engine: &mut dyn Engine, timestep: f64) {
        let measured = engine.joint(self.joint);
        for axis in 0..3 {
            let motor = self.motor(axis, &measured, timestep);
            engine.drive(self.joint, axis, motor);
        }
    }

    fn motor(&mut self, axis: usize, measured: &JointState, timestep: f64) -> Motor {
        if self.holding {
            let max_effort = if self.law == Law::Effort { HOLDING_EFFORT } else { self.state[axis] };
            return Motor::Position { target: 0.0, max_effort };
        }
        match self.law {
            Law::Velocity => Motor::Velocity { target: self.state[axis + 3], max_effort: self.state[axis] },
            Law::Position => Motor::Position { target: self.state[axis + 3], max_effort: self.state[axis] },
            Law::Effort => Motor::Effort(self.state[axis]),
            Law::Angle(_) => {
                Motor::Velocity { target: self.angle_control(axis, measured, timestep), max_effort: self.state[axis] }
            }
        }
    }

    /// The rate at which an angle controller turns its axis:
    ///
    /// rate = P e + I ∫e dt - D q', with e = target - q
    ///
    /// The derivative is that of the measurement, so that a new target gives no kick. While the motor is at its bound and the
    /// error asks for more, the integral does not grow (anti-windup).
    fn angle_control(&mut self, axis: usize, measured: &JointState, timestep: f64) -> f64 {
        let (max_effort, target) = (self.state[axis], self.state[axis + 3]);
        let [proportional, integral, derivative] = [self.state[6], self.state[7], self.state[8]];
        let error = target - measured.position[axis];
        let rate = proportional * error + integral * self.integral[axis] - derivative * measured.rate[axis];
        let is_saturated = measured.effort[axis].abs() >= max_effort;
        if !(is_saturated && error * (rate - measured.rate[axis]) > 0.0) {
            self.integral[axis] += error * timestep;
        }
        rate
    }
}
