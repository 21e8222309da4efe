//! Laws of one joint axis: stops, dry friction, motor, spring, damper and rotor.
//!
//! An axis of a tree is a coordinate; one of a loop joint is a direction between two links. Both obey these laws, as
//! functions of the coordinate q at the midpoint and the rates v at the start and v' at the end. Stops and dry friction
//! are inequalities and always become rows. Springs, dampers, rotors and motors are linear in v': a tree adds them to
//! its mass matrix, a loop joint makes compliant rows of them.

use simpartner_model::FreeAxis;

use crate::Servo;

/// Distance to a stop, rad or m, below which an axis that can come that near in the substep gets a row. Any length far
/// above rounding works: a stop that is not reached has no impulse.
const STOP_MARGIN: f64 = 1e-3;

/// Relative excess over the largest power from which a motor counts as exceeding it: above rounding.
const POWER_MARGIN: f64 = 1e-9;
/// Relative change of a mean rate that counts as no change. A tangent at such a mean is below the largest power by its
/// square.
const MEAN_TOLERANCE: f64 = 1e-4;

/// Law that a row of an axis stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AxisLaw {
    LowerStop,
    UpperStop,
    Friction,
    Motor,
    /// Spring, damper and rotor together.
    Passive,
}

impl AxisLaw {
    pub(crate) fn is_stop(self) -> bool {
        matches!(self, Self::LowerStop | Self::UpperStop)
    }
}

/// One row: l is between `low` and `high`, and within them sign v' + compliance l + offset = 0.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AxisRow {
    pub(crate) law: AxisLaw,
    pub(crate) sign: f64,
    /// Distance to a stop, rad or m.
    pub(crate) gap: f64,
    pub(crate) offset: f64,
    pub(crate) compliance: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// An effort that is linear in the change of rate over the step: at_start - slope (v' - v).
#[derive(Debug, Clone, Copy)]
pub(crate) struct LinearEffort {
    pub(crate) at_start: f64,
    pub(crate) slope: f64,
}

/// True if a gap that closes at `rate` could be nearly closed before the midpoint of the next step.
pub(crate) fn is_near(gap: f64, rate: f64, h: f64) -> bool {
    gap + 2.0 * h * rate.min(0.0) < STOP_MARGIN
}

/// Rows of the stops that are near at the rate `free` without impulses, and of dry friction.
pub(crate) fn stops_and_friction(law: &FreeAxis, q: f64, free: f64, h: f64) -> [Option<AxisRow>; 3] {
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

/// Spring and damper. Damping acts with the rate at the end of the step, a spring with the mean of its efforts at both
/// ends of it, which conserves energy and is stable at any stiffness.
pub(crate) fn spring_and_damper(law: &FreeAxis, q: f64, v: f64, h: f64) -> LinearEffort {
    LinearEffort {
        at_start: law.stiffness * (law.spring_position - q) - law.damping * v,
        slope: law.damping + 0.25 * h * law.stiffness,
    }
}

/// A motor below its largest effort.
pub(crate) fn motor(motor: &Servo, law: &FreeAxis, q: f64, v: f64, h: f64) -> LinearEffort {
    LinearEffort { at_start: motor_effort(motor, law, q, v, h), slope: motor.damping + h * motor.stiffness }
}

/// Effort of a motor without a largest effort, if its axis has the rate `v` at the end of the step: its slope times the
/// difference to the target rate, which is no larger than the axis allows.
pub(crate) fn motor_effort(motor: &Servo, law: &FreeAxis, q: f64, v: f64, h: f64) -> f64 {
    let (slope, stretch) = (motor.damping + h * motor.stiffness, motor.position - q);
    let asked = motor.stiffness * stretch + motor.damping * motor.rate;
    if asked.abs() > slope * law.max_rate {
        return slope * (law.max_rate.copysign(asked) - v);
    }
    motor.stiffness * (stretch - h * v) + motor.damping * (motor.rate - v)
}

/// Effort of a motor within its largest effort, at the rate `v` at the end of the step.
pub(crate) fn bounded_effort(motor: &Servo, law: &FreeAxis, q: f64, v: f64, h: f64) -> f64 {
    motor_effort(motor, law, q, v, h).clamp(-motor.max_effort, motor.max_effort)
}

/// Effort of a motor at its largest power P, whose axis had the rate `v` at the start of the step. Its work in the step
/// is its effort times the distance h w at the mean rate w, so the effort is P / w. That is convex, so its tangent at
/// the rate `mean` is never above it. Therefore no step exceeds P, and Newton's method, which continues from the result
/// of the last tangent, finds w.
pub(crate) fn motor_at_power(max_power: f64, mean: f64, v: f64) -> LinearEffort {
    let effort = max_power / mean;
    LinearEffort { at_start: effort * (2.0 - v / mean), slope: 0.5 * effort / mean }
}

/// Mean rate at which a motor gives the power P. The effort `effort` led to the rate `mean`, and one unit of effort
/// changes it by `gain`: w = mean + gain (P / w - effort). `side` is the sign of the direction in which the motor
/// drives.
pub(crate) fn mean_at_power(max_power: f64, mean: f64, effort: f64, gain: f64, side: f64) -> f64 {
    let product = 4.0 * gain * max_power;
    let without = side * (mean - gain * effort);
    let root = (without * without + product).sqrt();
    side * if without > 0.0 { 0.5 * (root + without) } else { 0.5 * product / (root - without) }
}

impl LinearEffort {
    pub(crate) const NONE: Self = Self { at_start: 0.0, slope: 0.0 };

    /// The same with a constant effort in addition.
    pub(crate) fn raised_by(self, effort: f64) -> Self {
        Self { at_start: self.at_start + effort, ..self }
    }

    /// Effort after the rate has changed by `dv` over the step.
    pub(crate) fn effort_after(self, dv: f64) -> f64 {
        self.at_start - self.slope * dv
    }

    /// Row of this effort, for an axis with the rate `v` at the start of the step. `None` if it exerts nothing.
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

/// Row of a motor. `power_mean` is the mean rate of [`motor_at_power`] if it is at its largest power, otherwise 0.
pub(crate) fn motor_row(servo: &Servo, law: &FreeAxis, q: f64, v: f64, power_mean: f64, h: f64) -> Option<AxisRow> {
    if !servo.is_on() {
        return None;
    }
    let bound = servo.max_effort * h;
    let effort =
        if power_mean == 0.0 { motor(servo, law, q, v, h) } else { motor_at_power(law.max_power, power_mean, v) };
    effort.row(AxisLaw::Motor, v, bound, h)
}

/// True if a motor with this effort exceeds its largest power at the mean rate `mean` of a step.
pub(crate) fn exceeds_power(law: &FreeAxis, effort: f64, mean: f64) -> bool {
    effort * mean > law.max_power * (1.0 + POWER_MARGIN)
}

/// True if a tangent at the mean rate `one` is accurate enough at the mean rate `other`.
pub(crate) fn same_mean(one: f64, other: f64) -> bool {
    (one - other).abs() < MEAN_TOLERANCE * other.abs()
}

/// Row of spring, damper and rotor; the rotor's momentum is `armature` times the rate.
pub(crate) fn passive_row(law: &FreeAxis, q: f64, v: f64, h: f64) -> Option<AxisRow> {
    let LinearEffort { at_start, slope } = spring_and_damper(law, q, v, h);
    let all = LinearEffort { at_start, slope: slope + law.armature / h };
    all.row(AxisLaw::Passive, v, f64::INFINITY, h)
}
