//! Motors of joint axes.

use serde::{Deserialize, Serialize};

/// The gains of motors without gains of their own, chosen for the solver of each engine.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gains {
    /// Gain of a velocity motor, N m s/rad or N s/m.
    velocity: f64,
    /// Stiffness of a position motor, N m/rad or N/m.
    stiffness: f64,
    /// Damping of a position motor, N m s/rad or N s/m.
    damping: f64,
}

impl Gains {
    /// Gains of articulated dynamics. A velocity motor below its limit misses its target by 1e-8 rad/s per N m of a
    /// change of load. Its effort is the gain times a difference of rates, so rounding of rates of 10 rad/s appears in
    /// it as 1e-7 N m; a larger gain would amplify it further. A position motor is the spring and damper of the
    /// format's PositionController: it yields by 1e-5 rad per N m, so that legs share a load evenly, and disturbances
    /// decay within 10 ms.
    pub(super) const DYNAMICS: Self = Self { velocity: 1e8, stiffness: 1e5, damping: 1e3 };

    /// The largest gains with which rapier's solver converges in its default number of sweeps for a robot on four
    /// wheels with all its motors holding. Larger gains hold more stiffly, but the effort read then differs from the
    /// effort applied: with 10 times the gain by 11 N m in a knee with a load of 2 N m.
    #[cfg(feature = "rapier")]
    pub(super) const RAPIER: Self = Self { velocity: 1e4, stiffness: 1e5, damping: 1e3 };
}

/// Target rate of a motor with given effort, rad/s or m/s: more than any axis allows
/// ([`simpartner_model::FreeAxis::max_rate`]), so that the motor exerts its effort at every rate of the axis.
const UNREACHABLE_RATE: f64 = 1e12;

/// A motor of a joint axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Motor {
    /// No motor.
    Off,
    /// Drives the axis at a rate, within `max_effort`.
    Velocity {
        /// Target rate, rad/s or m/s.
        target: f64,
        /// Largest effort, N m or N, at least 0.
        max_effort: f64,
    },
    /// Holds the axis at a coordinate, within `max_effort`.
    Position {
        /// Target coordinate, rad or m.
        target: f64,
        /// Largest effort, N m or N, at least 0.
        max_effort: f64,
    },
    /// Exerts a given effort, N m or N, at every rate below the largest rate of the axis.
    Effort(f64),
    /// A servo with gains of its own.
    Servo(Servo),
}

/// The common law of all motors: effort = stiffness (position - q) + damping (rate - q'), limited to the largest
/// effort. It is evaluated at the end of the step, which is stable for all gains.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Servo {
    /// Target coordinate, rad or m.
    pub position: f64,
    /// Target rate, rad/s or m/s.
    pub rate: f64,
    /// Stiffness, N m/rad or N/m, at least 0.
    pub stiffness: f64,
    /// Damping, N m s/rad or N s/m, at least 0.
    pub damping: f64,
    /// Largest effort, N m or N, at least 0.
    pub max_effort: f64,
}

impl Motor {
    /// The effort at this coordinate and rate without its limit, N m or N.
    pub fn unlimited_effort(self, position: f64, rate: f64) -> f64 {
        let law = self.servo_law(Gains::DYNAMICS);
        law.stiffness * (law.position - position) + law.damping * (law.rate - rate)
    }

    /// The same motor with its effort limited further, N m or N.
    pub fn limited(self, limit: f64) -> Self {
        match self {
            Self::Off => self,
            Self::Velocity { target, max_effort } => Self::Velocity { target, max_effort: max_effort.min(limit) },
            Self::Position { target, max_effort } => Self::Position { target, max_effort: max_effort.min(limit) },
            Self::Effort(effort) => Self::Effort(effort.clamp(-limit, limit)),
            Self::Servo(servo) => Self::Servo(Servo { max_effort: servo.max_effort.min(limit), ..servo }),
        }
    }

    /// The law of this motor.
    pub(super) fn servo_law(self, gains: Gains) -> Servo {
        let off = Servo::OFF;
        match self {
            Self::Off => off,
            Self::Velocity { target, max_effort } => Servo { rate: target, damping: gains.velocity, max_effort, ..off },
            Self::Position { target, max_effort } => {
                Servo { position: target, stiffness: gains.stiffness, damping: gains.damping, max_effort, ..off }
            }
            Self::Effort(effort) => Servo {
                rate: UNREACHABLE_RATE.copysign(effort),
                damping: gains.velocity,
                max_effort: effort.abs(),
                ..off
            },
            Self::Servo(servo) => servo,
        }
    }
}

impl Servo {
    /// The law of an absent motor.
    pub const OFF: Self = Self { position: 0.0, rate: 0.0, stiffness: 0.0, damping: 0.0, max_effort: 0.0 };

    /// True if the motor can exert an effort.
    pub fn is_on(&self) -> bool {
        self.max_effort > 0.0 && (self.stiffness > 0.0 || self.damping > 0.0)
    }

    /// True for a velocity motor of the largest gain, which stands for a motor that yields to no load below its largest
    /// effort. Its effort at its target rate is whatever equilibrium requires.
    pub(super) fn is_rigid(&self) -> bool {
        self.stiffness == 0.0 && self.damping >= Gains::DYNAMICS.velocity && self.constant_effort_side() == 0
    }

    /// The effort limit that applies at every rate up to the largest rate of the axis: 1 upper, -1 lower, 0 if it
    /// depends on the rate.
    pub(super) fn constant_effort_side(&self) -> i8 {
        let unreachable = self.stiffness == 0.0 && self.damping > 0.0 && self.rate.abs() >= UNREACHABLE_RATE;
        if unreachable { self.rate.signum() as i8 } else { 0 }
    }

    /// The law for the reversed axis if `sign` is -1.
    pub(super) fn with_sign(self, sign: f64) -> Self {
        Self { position: sign * self.position, rate: sign * self.rate, ..self }
    }
}
