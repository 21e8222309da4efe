//! What drives an axis of a joint.

use serde::{Deserialize, Serialize};

/// The gains of motors that have none of their own, as an engine can solve for them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gains {
    /// Of a velocity motor, N m s/rad or N s/m.
    velocity: f64,
    /// Of a motor that holds a position, N m/rad or N/m.
    stiffness: f64,
    /// Damping of the same motor, N m s/rad or N s/m.
    damping: f64,
}

impl Gains {
    /// A velocity motor below its limit is on target but for 1e-8 rad/s for each newton metre. Its effort is the gain
    /// times a difference of rates, so rounding of rates of 10 rad/s shows in it as 1e-7 N m; a larger gain would show
    /// more. A motor that holds a position is the spring and damper that the format promises of a PositionController:
    /// it gives by 1e-5 rad for each newton metre, as legs do that share a load evenly, and a disturbance dies out
    /// within 10 ms.
    pub(super) const EXACT: Self = Self { velocity: 1e8, stiffness: 1e5, damping: 1e3 };

    /// As large as rapier's solver still converges with in its default number of sweeps on a robot that stands on four
    /// wheels with all its motors holding; larger ones hold more stiffly, but then the effort read back is not the
    /// effort applied (10 times the gain: off by 11 N m in a knee that carries 2).
    #[cfg(feature = "rapier")]
    pub(super) const RAPIER: Self = Self { velocity: 1e4, stiffness: 1e5, damping: 1e3 };
}

/// The rate that a motor of given effort asks for, rad/s or m/s: more than any axis allows
/// ([`simpartner_model::FreeAxis::max_rate`]), so that it stays at its effort until its axis has that rate.
const UNREACHABLE_RATE: f64 = 1e12;

/// What drives an axis of a joint.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Motor {
    /// Nothing.
    Off,
    /// Brings the axis to a rate as far as `max_effort` allows.
    Velocity {
        /// Rate wanted, rad/s or m/s.
        target: f64,
        /// Largest effort, N m or N, at least 0.
        max_effort: f64,
    },
    /// Holds the axis at a coordinate as far as `max_effort` allows.
    Position {
        /// Coordinate wanted, rad or m.
        target: f64,
        /// Largest effort, N m or N, at least 0.
        max_effort: f64,
    },
    /// Exerts an effort, N m or N, whatever the axis does below its largest rate.
    Effort(f64),
    /// A drive with gains of its own.
    Servo(Servo),
}

/// The law that every motor follows: effort = stiffness (position - q) + damping (rate - q'), taken at the end of the
/// step, which is stable whatever the gains, and bounded by the largest effort.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Servo {
    /// Coordinate wanted, rad or m.
    pub position: f64,
    /// Rate wanted, rad/s or m/s.
    pub rate: f64,
    /// N m/rad or N/m, at least 0.
    pub stiffness: f64,
    /// N m s/rad or N s/m, at least 0.
    pub damping: f64,
    /// Largest effort, N m or N, at least 0.
    pub max_effort: f64,
}

impl Motor {
    /// What it would exert at this coordinate and rate if there were no limit.
    pub fn unlimited_effort(self, position: f64, rate: f64) -> f64 {
        let law = self.servo(Gains::EXACT);
        law.stiffness * (law.position - position) + law.damping * (law.rate - rate)
    }

    /// The same motor with at most this effort, N m or N.
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
    pub(super) fn servo(self, gains: Gains) -> Servo {
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
    /// Nothing.
    pub const OFF: Self = Self { position: 0.0, rate: 0.0, stiffness: 0.0, damping: 0.0, max_effort: 0.0 };

    /// Whether it can exert anything.
    pub fn is_on(&self) -> bool {
        self.max_effort > 0.0 && (self.stiffness > 0.0 || self.damping > 0.0)
    }

    /// The limit that this law is at while its axis is slower than its motors drive it: 1 for the upper, -1 for the
    /// lower, 0 if that depends.
    pub(super) fn certain_side(&self) -> i8 {
        let unreachable = self.stiffness == 0.0 && self.damping > 0.0 && self.rate.abs() >= UNREACHABLE_RATE;
        if unreachable { self.rate.signum() as i8 } else { 0 }
    }

    /// The same law where the axis is counted the other way round if `sign` is -1.
    pub(super) fn signed(self, sign: f64) -> Self {
        Self { position: sign * self.position, rate: sign * self.rate, ..self }
    }
}
