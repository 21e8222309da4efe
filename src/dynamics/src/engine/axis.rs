//! The laws of one axis of a joint: stops, dry friction, motor, spring, damper and rotor.
//!
//! An axis of a tree is a coordinate, one of a loop joint is a direction between two links. Both obey these laws, as functions
//! of the axis's coordinate q at the middle of the step and of its rates v at the start and v' at the end. Stops and dry
//! friction are inequalities and always become rows. Springs, dampers, rotors and motors are linear in v': a tree adds them to
//! its mass matrix, a loop joint makes rows with compliance of them.

use simpartner_model::FreeAxis;

use crate::Servo;

/// A stop gets a row when its axis could come nearer to it than this in the step, rad or m. Any length does that is far above
/// rounding: the row of a stop that is not reached has no impulse.
const STOP_MARGIN: f64 = 1e-3;

/// What a row of an axis stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AxisLaw {
    LowerStop,
    UpperStop,
    Friction,
    Motor,
    /// Spring, damper and rotor together.
    Passive,
}

impl AxisLaw {
    pub(super) fn is_stop(self) -> bool {
        matches!(self, Self::LowerStop | Self::UpperStop)
    }
}

/// One row: l is between `low` and `high`, and within them sign v' + compliance l + offset = 0.
#[derive(Debug, Clone, Copy)]
pub(super) struct AxisRow {
    pub(super) law: AxisLaw,
    pub(super) sign: f64,
    pub(super) gap: f64,
    pub(super) offset: f64,
    pub(super) compliance: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// An effort that is linear in the change of rate over the step: at_start - slope (v' - v).
#[derive(Debug, Clone, Copy)]
pub(super) struct LinearEffort {
    pub(super) at_start: f64,
    pub(super) slope: f64,
}

/// Whether a gap that closes at `rate` could be nearly closed before the middle of the step after this one.
pub(super) fn is_near(gap: f64, rate: f64, h: f64) -> bool {
    gap + 2.0 * h * rate.min(0.0) < STOP_MARGIN
}

/// The rows of the stops that are near at the rate `free` without impulses, and of dry friction.
pub(super) fn stops_and_friction(law: &FreeAxis, q: f64, free: f64, h: f64) -> [Option<AxisRow>; 3] {
    let stop = |law, gap: f64, sign: f64| {
        let row = AxisRow { law, sign, gap, offset: gap.max(0.0) / h, compliance: 0.0, low: 0.0, high: f64::INFINITY };
        is_near(gap, sign * free, h).then_some(row)
    };
    let bound = law.friction * h;
    let friction =
        AxisRow { law: AxisLaw::Friction, sign: 1.0, gap: 0.0, offset: 0.0, compliance: 0.0, low: -bound, high: bound };
    [
        stop(AxisLaw::LowerStop, q - law.lower, 1.0),
        stop(AxisLaw::UpperStop, law.upper - q, -1.0),
        (bound > 0.0).then_some(friction),
    ]
}

/// Spring and damper. Damping acts with the rate at the end of the step, a spring with the mean of its efforts at both ends of
/// it, which keeps the energy and is stable however stiff it is.
pub(super) fn spring_and_damper(law: &FreeAxis, q: f64, v: f64, h: f64) -> LinearEffort {
    LinearEffort {
        at_start: law.stiffness * (law.spring_position - q) - law.damping * v,
        slope: law.damping + 0.25 * h * law.stiffness,
    }
}

/// A motor below its largest effort.
pub(super) fn motor(motor: &Servo, law: &FreeAxis, q: f64, v: f64, h: f64) -> LinearEffort {
    LinearEffort { at_start: motor_effort(motor, law, q, v, h), slope: motor.damping + h * motor.stiffness }
}

/// What a motor without a largest effort exerts when its axis has the rate `v` at the end of the step: slope times what `v` differs by
/// from the rate that it asks for, which is no larger than the axis allows.
pub(super) fn motor_effort(motor: &Servo, law: &FreeAxis, q: f64, v: f64, h: f64) -> f64 {
    let (slope, stretch) = (motor.damping + h * motor.stiffness, motor.position - q);
    let asked = motor.stiffness * stretch + motor.damping * motor.rate;
    if asked.abs() > slope * law.max_rate {
        return slope * (law.max_rate.copysign(asked) - v);
    }
    motor.stiffness * (stretch - h * v) + motor.damping * (motor.rate - v)
}

impl LinearEffort {
    /// The row that exerts it, where the axis had the rate `v` at the start of the step. `None` if it exerts nothing.
    fn row(self, law: AxisLaw, v: f64, bound: f64, h: f64) -> Option<AxisRow> {
        let row = AxisRow {
            law,
            sign: 1.0,
            gap: 0.0,
            offset: -(v + self.at_start / self.slope),
            compliance: 1.0 / (h * self.slope),
            low: -bound,
            high: bound,
        };
        (self.slope > 0.0).then_some(row)
    }
}

/// The row of a motor.
pub(super) fn motor_row(servo: &Servo, law: &FreeAxis, q: f64, v: f64, h: f64) -> Option<AxisRow> {
    if !servo.is_on() {
        return None;
    }
    let bound = servo.max_effort * h;
    motor(servo, law, q, v, h).row(AxisLaw::Motor, v, bound, h)
}

/// The row of spring, damper and rotor; the rotor's momentum is `armature` times the rate.
pub(super) fn passive_row(law: &FreeAxis, q: f64, v: f64, h: f64) -> Option<AxisRow> {
    let LinearEffort { at_start, slope } = spring_and_damper(law, q, v, h);
    let all = LinearEffort { at_start, slope: slope + law.armature / h };
    all.row(AxisLaw::Passive, v, f64::INFINITY, h)
}
