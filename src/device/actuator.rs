//! Actuators: what their commands mean, and the law by which they drive a joint.

use super::field;
use crate::{
    model::{JointKind, PidGains},
    physics::{Engine, Motor},
    signal::{Field, JointId},
};

/// Until its first command an actuator holds the initial pose with at most this on each axis, N m or N (thesis 3.7.3).
const HOLDING_EFFORT: f64 = 1000.0;
/// Largest effort a command may ask for, N m or N.
const MAX_EFFORT: f64 = 1e9;
/// Largest rate, coordinate or gain a command may ask for.
const MAX_TARGET: f64 = 1e6;

/// Brings each axis of its joint to a rate with at most the given effort. Its state is its last command: three maximum
/// efforts, three rates.
pub(super) struct JointController {
    joint: JointId,
    state: [f64; 6],
    holding: bool,
}

impl JointController {
    pub(super) fn new(joint: JointId) -> Self {
        let [f1, f2, f3] = [HOLDING_EFFORT; 3];
        Self { joint, state: [f1, f2, f3, 0.0, 0.0, 0.0], holding: true }
    }

    pub(super) fn state(&self) -> &[f64] {
        &self.state
    }

    pub(super) fn is_holding(&self) -> bool {
        self.holding
    }

    pub(super) fn command(&mut self, values: &[f64]) {
        if let Ok(state) = values.try_into() {
            self.state = state;
            self.holding = false;
        }
    }

    pub(super) fn drive(&self, engine: &mut dyn Engine) {
        for axis in 0..3 {
            let (max_effort, target) = (self.state[axis], self.state[axis + 3]);
            let motor = if self.holding {
                Motor::Position { target: 0.0, max_effort }
            } else {
                Motor::Velocity { target, max_effort }
            };
            engine.drive(self.joint, axis, motor);
        }
    }
}

/// Brings each axis of its joint to a coordinate. A PID controller sets the rate of a motor of bounded effort:
///
/// rate = P e + I ∫e dt - D q', with e = target - q
///
/// The derivative is that of the measurement, so that a new target gives no kick. While the motor is at its bound and
/// the error asks for more, the integral does not grow (anti-windup). Its state is its last command: three maximum efforts, three coordinates, P, I, D.
pub(super) struct AngleController {
    joint: JointId,
    state: [f64; 9],
    integral: [f64; 3],
    holding: bool,
}

impl AngleController {
    pub(super) fn new(joint: JointId, gains: PidGains) -> Self {
        let [f1, f2, f3] = [HOLDING_EFFORT; 3];
        let state = [f1, f2, f3, 0.0, 0.0, 0.0, gains.proportional, gains.integral, gains.derivative];
        Self { joint, state, integral: [0.0; 3], holding: true }
    }

    pub(super) fn state(&self) -> &[f64] {
        &self.state
    }

    /// The integrals, and whether it holds.
    pub(super) fn memory(&self) -> impl Iterator<Item = f64> {
        self.integral.into_iter().chain([f64::from(self.holding)])
    }

    /// Takes all nine numbers, or the last six, which leave the maximum efforts as they are.
    pub(super) fn command(&mut self, values: &[f64]) {
        let first = match values.len() {
            9 => 0,
            6 => 3,
            _ => return,
        };
        self.state[first..].copy_from_slice(values);
        self.holding = false;
    }

    pub(super) fn drive(&mut self, engine: &mut dyn Engine, timestep: f64) {
        let measured = engine.joint(self.joint);
        let [proportional, integral_gain, derivative] = [self.state[6], self.state[7], self.state[8]];
        for axis in 0..3 {
            let (max_effort, target) = (self.state[axis], self.state[axis + 3]);
            if self.holding {
                engine.drive(self.joint, axis, Motor::Position { target: 0.0, max_effort });
                continue;
            }
            let error = target - measured.position[axis];
            let rate = proportional * error + integral_gain * self.integral[axis] - derivative * measured.rate[axis];
            let is_saturated = measured.effort[axis].abs() >= max_effort;
            if !(is_saturated && error * (rate - measured.rate[axis]) > 0.0) {
                self.integral[axis] += error * timestep;
            }
            engine.drive(self.joint, axis, Motor::Velocity { target: rate, max_effort });
        }
    }
}

/// The six numbers of a joint controller.
pub(super) fn joint_controller_fields(kind: JointKind) -> Vec<Field> {
    let rate_unit = if kind.is_linear() { "m/s" } else { "rad/s" };
    let rates = (1..=3).map(|axis| field(format!("velocity_{axis}"), rate_unit, -MAX_TARGET, MAX_TARGET));
    effort_fields(kind).chain(rates).collect()
}

/// The nine numbers of an angle controller.
pub(super) fn angle_controller_fields(kind: JointKind) -> Vec<Field> {
    let (name, unit) = if kind.is_linear() { ("position", "m") } else { ("angle", "rad") };
    let targets = (1..=3).map(move |axis| field(format!("{name}_{axis}"), unit, -MAX_TARGET, MAX_TARGET));
    let gains = [("p", "1/s"), ("i", "1/s²"), ("d", "1")];
    let gains = gains.map(|(name, unit)| field(name.into(), unit, -MAX_TARGET, MAX_TARGET));
    effort_fields(kind).chain(targets).chain(gains).collect()
}

fn effort_fields(kind: JointKind) -> impl Iterator<Item = Field> {
    let unit = if kind.is_linear() { "N" } else { "N m" };
    (1..=3).map(move |axis| field(format!("max_force_{axis}"), unit, 0.0, MAX_EFFORT))
}
