//! Control laws of actuators.

use bevy_math::DVec3;
use serde::{Deserialize, Serialize};
use simpartner_description::{Frame, Law, MotorLimits, PidGains, Propeller, Push, ServoGains};
use simpartner_dynamics::{JointState, Motor, Servo, Wrench};
use simpartner_wire::signal::set_fields;

/// Maximum effort on each axis, N m or N, with which an actuator holds the initial pose until its first command (thesis
/// 3.7.3).
const HOLDING_EFFORT: f64 = 1000.0;

/// Rate at which a holding actuator returns to its coordinate, as a fraction of the deviation, 1/s: a deviation decays
/// within 10 ms. In steps longer than that it decays in one step.
const HOLDING_GAIN: f64 = 100.0;

/// Motor that holds an axis at the coordinate `target`, rad or m, which is now at `position`. Below its largest effort
/// it yields to no load, so that a robot which holds itself stands like one rigid body.
pub(in crate::device) fn holding_motor(target: f64, position: f64, timestep: f64, max_effort: f64) -> Motor {
    Motor::Velocity { target: HOLDING_GAIN.min(1.0 / timestep) * (target - position), max_effort }
}

/// An actuator's law with its last command.
#[derive(Debug, Clone)]
pub(super) struct Driver {
    law: Law,
    gains: Option<ServoGains>,
    limits: Option<MotorLimits>,
    /// The last command, or the default before it. If the law has maximum efforts, these three values come first.
    setting: Vec<f64>,
    /// Coordinates that the actuator holds until its first command, rad or m.
    initial: [f64; 3],
    /// Integrals of the errors, rad s or m s, of a velocity rad or m; the first is the rate of a propeller, rad/s.
    memory: [f64; 3],
    /// True until the first command.
    holding: bool,
}

/// State of a [`Driver`] between steps.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct DriverState {
    setting: Vec<f64>,
    memory: [f64; 3],
    holding: bool,
}

impl Driver {
    /// A driver that holds the joint at the coordinates `initial`.
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
            Law::Propeller(_) => setting = vec![0.0],
            Law::Force(push) => setting = [push.force.to_array(), push.torque.to_array()].concat(),
        }
        Self { law: spec.law, gains: spec.gains, limits: spec.motor, setting, initial, memory: [0.0; 3], holding: true }
    }

    pub(super) fn setting(&self) -> &[f64] {
        &self.setting
    }

    pub(super) fn state(&self) -> DriverState {
        DriverState { setting: self.setting.clone(), memory: self.memory, holding: self.holding }
    }

    /// Restores a state. False if the state is of another kind of actuator.
    pub(super) fn restore(&mut self, state: DriverState) -> bool {
        let fits = state.setting.len() == self.setting.len();
        if fits {
            (self.setting, self.memory, self.holding) = (state.setting, state.memory, state.holding);
        }
        fits
    }

    /// Sets all values of the setting, or only its last ones; the maximum efforts then keep their values.
    pub(super) fn command(&mut self, values: &[f64]) {
        if set_fields(&mut self.setting, values) {
            self.holding = false;
        }
    }

    /// Maximum effort of an axis, N m or N, from the last command. The command of an effort controller has none, so it
    /// holds and brakes with [`HOLDING_EFFORT`].
    pub(super) fn max_effort(&self, axis: usize) -> f64 {
        if matches!(self.law, Law::Effort | Law::Force(_) | Law::Surface(_) | Law::Propeller(_)) {
            HOLDING_EFFORT
        } else {
            self.setting[axis]
        }
    }

    /// The wrench that a force actuator or a propeller applies to its body, N and N m, and the frame of its axes;
    /// `None` for other laws.
    pub(super) fn commanded_wrench(&self) -> Option<(Wrench, Frame)> {
        match self.law {
            Law::Force(Push { frame, .. }) => {
                let of = |first: usize| DVec3::from_slice(&self.setting[first..]);
                Some((Wrench { force: of(0), torque: of(3) }, frame))
            }
            Law::Propeller(propeller) => {
                let square = self.memory[0] * self.memory[0].abs();
                let torque = -propeller.sense * propeller.torque * square;
                let wrench = Wrench { force: DVec3::Y * (propeller.thrust * square), torque: DVec3::Y * torque };
                Some((wrench, Frame::Sensor))
            }
            _ => None,
        }
    }

    pub(super) fn is_propeller(&self) -> bool {
        matches!(self.law, Law::Propeller(_))
    }

    /// Lets a propeller approach its commanded rate for a step of `timestep` seconds, or 0 without power.
    pub(super) fn turn_propeller(&mut self, timestep: f64, has_power: bool) {
        let Law::Propeller(Propeller { time_constant, max_rate, .. }) = self.law else { return };
        let target = if has_power { self.setting[0].clamp(-max_rate, max_rate) } else { 0.0 };
        // Exact for a target that stays.
        let share = if time_constant > 0.0 { -libm::expm1(-timestep / time_constant) } else { 1.0 };
        self.memory[0] += share * (target - self.memory[0]);
    }

    /// Velocity of the body's surface in the body's axes, m/s, for a conveyor; `None` for other laws.
    pub(super) fn surface_velocity(&self) -> Option<DVec3> {
        matches!(self.law, Law::Surface(_)).then(|| DVec3::from_slice(&self.setting))
    }

    /// Motor setting of an axis for the next step; `timestep` in seconds.
    pub(super) fn motor(&mut self, axis: usize, measured: &JointState, timestep: f64) -> Motor {
        let max_effort = self.max_effort(axis);
        if self.holding {
            return holding_motor(self.initial[axis], measured.position[axis], timestep, max_effort);
        }
        if let Some(gains) = self.gains {
            return self.servo_motor(gains, axis, measured, timestep);
        }
        match self.law {
            Law::Velocity => Motor::Velocity { target: self.setting[axis + 3], max_effort },
            Law::Position => Motor::Position { target: self.setting[axis + 3], max_effort },
            Law::Effort => Motor::Effort(self.setting[axis]),
            Law::Force(_) | Law::Surface(_) | Law::Propeller(_) => Motor::Off,
            Law::Angle(_) => Motor::Velocity { target: self.angle_control(axis, measured, timestep), max_effort },
        }
    }

    /// Motor of a position or velocity controller with gains of its own. The integral is a shift of the target.
    fn servo_motor(&mut self, gains: ServoGains, axis: usize, measured: &JointState, timestep: f64) -> Motor {
        let (max_effort, target) = (self.setting[axis], self.setting[axis + 3]);
        let ServoGains { stiffness, damping, integral } = gains;
        let is_position = matches!(self.law, Law::Position);
        let now = if is_position { measured.position[axis] } else { measured.rate[axis] };
        if integral > 0.0 {
            self.add_to_integral(axis, target - now, measured.effort[axis], measured, timestep);
        }
        Motor::Servo(if is_position {
            let position = target + integral / stiffness * self.memory[axis];
            Servo { position, stiffness, damping, max_effort, ..Servo::OFF }
        } else {
            let rate = target + integral / damping * self.memory[axis];
            Servo { rate, damping, max_effort, ..Servo::OFF }
        })
    }

    /// Adds an error to its integral, unless the motor is saturated and the error would increase its effort
    /// (anti-windup). `effort` has the sign of the motor's effort.
    fn add_to_integral(&mut self, axis: usize, error: f64, effort: f64, measured: &JointState, timestep: f64) {
        let is_saturated = measured.effort[axis].abs() >= self.setting[axis];
        if !(is_saturated && error * effort > 0.0) {
            self.memory[axis] += error * timestep;
        }
    }

    /// Limits the motor's effort to the available effort at the joint's rate before the step:
    ///
    /// driving: efficiency T_s (1 - |q'| / w_0), not below 0; driven: T_s / efficiency
    ///
    /// with T_s the stall effort and w_0 the no-load rate. The motor is driving if its effort has the direction of the
    /// joint's rate.
    pub(super) fn limit_motor(&self, motor: Motor, axis: usize, measured: &JointState) -> Motor {
        let Some(MotorLimits { stall_effort, no_load_rate, efficiency }) = self.limits else { return motor };
        let rate = measured.rate[axis];
        let drives = motor.unlimited_effort(measured.position[axis], rate) * rate >= 0.0;
        motor.limited(match drives {
            true => efficiency * stall_effort * (1.0 - rate.abs() / no_load_rate).max(0.0),
            false => stall_effort / efficiency,
        })
    }

    /// Target rate of an angle controller's axis, rad/s or m/s:
    ///
    /// rate = P e + I ∫e dt - D q', with e = target - q
    ///
    /// The derivative is that of the measurement, so that a new target gives no kick. While the motor is saturated and
    /// the error would increase its effort, the integral does not grow (anti-windup).
    fn angle_control(&mut self, axis: usize, measured: &JointState, timestep: f64) -> f64 {
        let target = self.setting[axis + 3];
        let [proportional, integral, derivative] = [self.setting[6], self.setting[7], self.setting[8]];
        let error = target - measured.position[axis];
        let rate = proportional * error + integral * self.memory[axis] - derivative * measured.rate[axis];
        self.add_to_integral(axis, error, rate - measured.rate[axis], measured, timestep);
        rate
    }
}
