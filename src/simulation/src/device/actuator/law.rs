//! The laws by which an actuator drives its joint.

use bevy_math::DVec3;
use serde::{Deserialize, Serialize};
use simpartner_description::{Frame, Law, MotorLimits, PidGains, Push};
use simpartner_dynamics::{JointState, Motor, Wrench};
use simpartner_wire::signal::set_fields;

/// Until its first command an actuator holds the initial pose with at most this on each axis, N m or N (thesis 3.7.3).
const HOLDING_EFFORT: f64 = 1000.0;

/// An actuator's law with its last command.
#[derive(Debug, Clone)]
pub(super) struct Driver {
    law: Law,
    limits: Option<MotorLimits>,
    /// The last command, or the default before it. Three maximum efforts come first, where the law has any.
    setting: Vec<f64>,
    /// The coordinates that it holds until its first command.
    initial: [f64; 3],
    /// The integrals of an angle controller's errors.
    integral: [f64; 3],
    holding: bool,
}

/// Its state between steps.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct DriverState {
    setting: Vec<f64>,
    integral: [f64; 3],
    holding: bool,
}

impl Driver {
    /// Holds the initial pose, which a joint has at these coordinates.
    pub(super) fn new(spec: &simpartner_description::Actuator, initial: [f64; 3]) -> Self {
        let mut setting = vec![HOLDING_EFFORT; 3];
        match spec.law {
            Law::Velocity => setting.extend([0.0; 3]),
            Law::Position => setting.extend(initial),
            Law::Angle(PidGains { proportional, integral, derivative }) => {
                setting.extend(initial);
                setting.extend([proportional, integral, derivative]);
            }
            Law::Effort => setting.fill(0.0),
            Law::Surface(velocity) => setting = velocity.to_array().to_vec(),
            Law::Force(push) => setting = [push.force.to_array(), push.torque.to_array()].concat(),
        }
        Self { law: spec.law, limits: spec.motor, setting, initial, integral: [0.0; 3], holding: true }
    }

    pub(super) fn setting(&self) -> &[f64] {
        &self.setting
    }

    pub(super) fn state(&self) -> DriverState {
        DriverState { setting: self.setting.clone(), integral: self.integral, holding: self.holding }
    }

    /// Goes on from such a state. False if it is of another kind of actuator.
    pub(super) fn restore(&mut self, state: DriverState) -> bool {
        let fits = state.setting.len() == self.setting.len();
        if fits {
            (self.setting, self.integral, self.holding) = (state.setting, state.integral, state.holding);
        }
        fits
    }

    /// Takes all numbers, or the last of them, which leave the maximum efforts as they are.
    pub(super) fn command(&mut self, values: &[f64]) {
        if set_fields(&mut self.setting, values) {
            self.holding = false;
        }
    }

    /// The maximum effort of an axis: what the last command allows. An effort controller, whose command has none, holds and brakes
    /// with the effort that holds the initial pose.
    pub(super) fn max_effort(&self, axis: usize) -> f64 {
        if matches!(self.law, Law::Effort | Law::Force(_) | Law::Surface(_)) {
            HOLDING_EFFORT
        } else {
            self.setting[axis]
        }
    }

    /// The force and the torque that it pushes a body with, and their axes; `None` if it drives something else.
    pub(super) fn push(&self) -> Option<(Wrench, Frame)> {
        let Law::Force(Push { frame, .. }) = self.law else { return None };
        let of = |first: usize| DVec3::from_slice(&self.setting[first..]);
        Some((Wrench { force: of(0), torque: of(3) }, frame))
    }

    /// The velocity of its body's surface, in the body's axes; `None` if it drives something else.
    pub(super) fn surface_velocity(&self) -> Option<DVec3> {
        matches!(self.law, Law::Surface(_)).then(|| DVec3::from_slice(&self.setting))
    }

    /// What drives an axis in the step to come.
    pub(super) fn motor(&mut self, axis: usize, measured: &JointState, timestep: f64) -> Motor {
        let max_effort = self.max_effort(axis);
        if self.holding {
            return Motor::Position { target: self.initial[axis], max_effort };
        }
        match self.law {
            Law::Velocity => Motor::Velocity { target: self.setting[axis + 3], max_effort },
            Law::Position => Motor::Position { target: self.setting[axis + 3], max_effort },
            Law::Effort => Motor::Effort(self.setting[axis]),
            Law::Force(_) | Law::Surface(_) => Motor::Off,
            Law::Angle(_) => Motor::Velocity { target: self.angle_control(axis, measured, timestep), max_effort },
        }
    }

    /// The motor limited to what it is able to exert at the joint's rate before the step:
    ///
    /// driving: efficiency T_s (1 - |q'| / w_0), not below 0; driven: T_s / efficiency
    ///
    /// with T_s the stall effort and w_0 the no-load rate. It drives if its effort has the direction of the joint's rate.
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
        let (max_effort, target) = (self.setting[axis], self.setting[axis + 3]);
        let [proportional, integral, derivative] = [self.setting[6], self.setting[7], self.setting[8]];
        let error = target - measured.position[axis];
        let rate = proportional * error + integral * self.integral[axis] - derivative * measured.rate[axis];
        let is_saturated = measured.effort[axis].abs() >= max_effort;
        if !(is_saturated && error * (rate - measured.rate[axis]) > 0.0) {
            self.integral[axis] += error * timestep;
        }
        rate
    }
}
