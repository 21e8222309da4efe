//! The laws by which an actuator drives its joint.

use serde::{Deserialize, Serialize};
use simpartner_description::{Law, MotorLimits, PidGains};
use simpartner_dynamics::{JointState, Motor};

/// Until its first command an actuator holds the initial pose with at most this on each axis, N m or N (thesis 3.7.3).
const HOLDING_EFFORT: f64 = 1000.0;

/// An actuator's law with its last command.
#[derive(Debug, Clone)]
pub(super) struct Driver {
    law: Law,
    limits: Option<MotorLimits>,
    /// Of all but an effort controller, three maximum efforts come first.
    state: Vec<f64>,
    /// The integrals of an angle controller's errors.
    integral: [f64; 3],
    holding: bool,
}

/// What it carries from step to step.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Memory {
    state: Vec<f64>,
    integral: [f64; 3],
    holding: bool,
}

impl Driver {
    pub(super) fn new(spec: &simpartner_description::Actuator) -> Self {
        let mut state = vec![HOLDING_EFFORT; 3];
        match spec.law {
            Law::Velocity | Law::Position => state.extend([0.0; 3]),
            Law::Angle(PidGains { proportional, integral, derivative }) => {
                state.extend([0.0, 0.0, 0.0, proportional, integral, derivative]);
            }
            Law::Effort => state.fill(0.0),
        }
        Self { law: spec.law, limits: spec.motor, state, integral: [0.0; 3], holding: true }
    }

    pub(super) fn state(&self) -> &[f64] {
        &self.state
    }

    pub(super) fn memory(&self) -> Memory {
        Memory { state: self.state.clone(), integral: self.integral, holding: self.holding }
    }

    /// Takes that up again. False if it is of another kind of actuator.
    pub(super) fn recall(&mut self, memory: Memory) -> bool {
        let fits = memory.state.len() == self.state.len();
        if fits {
            (self.state, self.integral, self.holding) = (memory.state, memory.integral, memory.holding);
        }
        fits
    }

    /// Takes all numbers, or the last of them, which leave the maximum efforts as they are.
    pub(super) fn command(&mut self, values: &[f64]) {
        if let Some(kept) = self.state.len().checked_sub(values.len()) {
            self.state[kept..].copy_from_slice(values);
            self.holding = false;
        }
    }

    /// The most that an axis may exert: what the last command allows; an effort controller holds and brakes with what it holds
    /// the initial pose with.
    pub(super) fn max_effort(&self, axis: usize) -> f64 {
        if self.law == Law::Effort { HOLDING_EFFORT } else { self.state[axis] }
    }

    /// What drives an axis in the step to come.
    pub(super) fn motor(&mut self, axis: usize, measured: &JointState, timestep: f64) -> Motor {
        let max_effort = self.max_effort(axis);
        if self.holding {
            return Motor::Position { target: 0.0, max_effort };
        }
        match self.law {
            Law::Velocity => Motor::Velocity { target: self.state[axis + 3], max_effort },
            Law::Position => Motor::Position { target: self.state[axis + 3], max_effort },
            Law::Effort => Motor::Effort(self.state[axis]),
            Law::Angle(_) => Motor::Velocity { target: self.angle_control(axis, measured, timestep), max_effort },
        }
    }

    /// The same motor within what it is able to at the rate that the joint has before the step:
    ///
    /// driving: efficiency T_s (1 - |q'| / w_0), not below 0; driven: T_s / efficiency
    ///
    /// with T_s the stall effort and w_0 the no-load rate. It drives where it pushes the way the joint goes.
    pub(super) fn limited(&self, motor: Motor, axis: usize, measured: &JointState) -> Motor {
        let Some(MotorLimits { stall_effort, no_load_rate, efficiency }) = self.limits else { return motor };
        let rate = measured.rate[axis];
        let drives = motor.unlimited_effort(measured.position[axis], rate) * rate >= 0.0;
        motor.limited(match drives {
            true => efficiency * stall_effort * (1.0 - rate.abs() / no_load_rate).max(0.0),
            false => stall_effort / efficiency,
        })
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
