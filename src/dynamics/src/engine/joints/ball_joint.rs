//! Ball joints: laws of their motors and stops as functions of the rotation R of the child's frame in the parent's.
//! Rates and efforts are components of the angular velocity w and of the moment along the joint's axes that are fixed
//! in the parent.
//!
//! | law | equation |
//! |---|---|
//! | spring | -k log R, the gradient of k \|log R\|²/2: to where the coordinates are zero by the shortest turn |
//! | motor that holds a position | k log(R* Rᵀ) + d (w* - w), R* being the rotation by the target rotation vector |
//! | swing | a = angle between z and R z <= `swing`; da/dt = n · w with n = z × R z / sin a |
//! | twist | t = 2 atan2(r_z, r_w), r the quaternion of R, R = (shortest turn of z to R z) (turn by t about z); dt/dt = g · w |
//!
//! Damping, dry friction, rotor and the bounds of motors are those of three axes
//! ([`crate::engine::joints::axis_laws`]). A stop holds at the position of the midpoint of the next step that its row
//! predicts. A row is linear, so the difference between the curve and its tangent at the initial rate is added
//! ([`Stops::rows`]).

use bevy_math::{DQuat, DVec3};
use simpartner_model::{Joint, JointKind, Norm};

use super::axis_laws::{AxisLaw, AxisRow, is_near};
use crate::{Servo, engine::algebra::spatial::rotation_by, state::rotation_vector};

/// Sine of the swing below which rounding (1e-16) determines its direction to a millionth or worse; and square of the
/// cosine of half the swing below which the same holds for the twist.
const MIN_SINE: f64 = 1e-10;
const MIN_HALF_COSINE2: f64 = 1e-12;

/// The ball joint of a tree.
#[derive(Debug, Clone)]
pub(crate) struct Ball {
    /// The first of its three degrees of freedom.
    pub(crate) dof: usize,
    /// -1 if the tree was built from child to parent: rates are then those of the parent relative to the child.
    pub(crate) sign: f64,
    pub(crate) stops: Stops,
}

/// Largest swing of a ball joint, and limits of its twist, rad.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stops {
    swing: f64,
    lower: f64,
    upper: f64,
}

/// A row of a stop: the direction in which it presses, and the axis whose stop it counts as.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StopRow {
    pub(crate) axis: usize,
    pub(crate) direction: DVec3,
    pub(crate) row: AxisRow,
}

impl Stops {
    pub(crate) fn new(joint: &Joint) -> Self {
        let none = Self { swing: f64::INFINITY, lower: f64::NEG_INFINITY, upper: f64::INFINITY };
        match joint.axes[2].free() {
            Some(twist) if joint.kind == JointKind::Ball => {
                Self { swing: joint.swing, lower: twist.lower, upper: twist.upper }
            }
            _ => none,
        }
    }

    /// True if there are any stops.
    pub(crate) fn has_any(&self) -> bool {
        self.swing.is_finite() || self.lower.is_finite() || self.upper.is_finite()
    }

    /// Swing and twist of a rotation, rad, and their gradients. The twist is the one nearest to the middle between its
    /// stops. Where a gradient is undefined, it is zero; a swing of zero grows in the direction of `rate`.
    fn swing_and_twist(&self, turn: DQuat, rate: DVec3) -> [(f64, DVec3); 2] {
        let leaning = turn * DVec3::Z;
        let across = DVec3::Z.cross(leaning);
        let sine = across.norm();
        let swing = libm::atan2(sine, leaning.z);
        let direction =
            if sine > MIN_SINE { across / sine } else { DVec3::new(rate.x, rate.y, 0.0).normalized_or_zero() };
        let DQuat { x, y, z, w } = turn;
        let square = w * w + z * z;
        let gradient = match square > MIN_HALF_COSINE2 {
            true => DVec3::new((w * y + z * x) / square, (z * y - w * x) / square, 1.0),
            false => DVec3::ZERO,
        };
        let middle = 0.5 * (self.lower + self.upper);
        let mut twist = 2.0 * libm::atan2(z, w);
        if middle.is_finite() {
            twist -= std::f64::consts::TAU * ((twist - middle) / std::f64::consts::TAU).round();
        }
        [(swing, direction), (twist, gradient)]
    }

    /// Rows of the stops that are near at a rotation, with the rates at the start of the step and, without impulses, at
    /// its end.
    pub(crate) fn rows(&self, turn: DQuat, before: DVec3, free: DVec3, h: f64) -> [Option<StopRow>; 3] {
        if !self.has_any() {
            return [None; 3];
        }
        let now = self.swing_and_twist(turn, free);
        let next = self.swing_and_twist(rotation_by(before * h) * turn, free);
        // Gain of each in a step at a constant rate, in addition to that of its gradient.
        let curve = [0, 1].map(|k| (next[k].0 - now[k].0) / h - now[k].1.dot(before));
        let row = |which: usize, law: AxisLaw, gap: f64, sign: f64| {
            let direction = now[which].1 * sign;
            let offset = gap.max(0.0) / h + sign * curve[which];
            let row = AxisRow { law, sign: 1.0, gap, offset, compliance: 0.0, low: 0.0, high: f64::INFINITY };
            let counts = direction != DVec3::ZERO && is_near(gap, direction.dot(free), h);
            counts.then_some(StopRow { axis: 2 * which, direction, row })
        };
        let [(swing, _), (twist, _)] = now;
        [
            row(0, AxisLaw::UpperStop, self.swing - swing, -1.0),
            row(1, AxisLaw::LowerStop, twist - self.lower, 1.0),
            row(1, AxisLaw::UpperStop, self.upper - twist, -1.0),
        ]
    }
}

impl Ball {
    /// Rotation of the child's frame in the parent's, from that of the outer link in the inner one.
    pub(crate) fn model_turn(&self, turn: DQuat) -> DQuat {
        if self.sign < 0.0 { turn.inverse() } else { turn }
    }

    /// Rotation of the outer link in the inner one after a further rotation, whose vector is along the axes of the link
    /// that carries them.
    pub(crate) fn rotated_by(&self, turn: DQuat, further: DQuat) -> DQuat {
        if self.sign < 0.0 { turn * further } else { further * turn }.normalized()
    }
}

/// Coordinates that the three motors of a ball joint follow: their targets minus the shortest rotation to these. If no
/// motor holds a position, the coordinates do not matter.
pub(crate) fn motor_coordinates(motors: &[Servo], turn: DQuat) -> [f64; 3] {
    let target = DVec3::new(motors[0].position, motors[1].position, motors[2].position);
    if motors.iter().all(|motor| motor.stiffness == 0.0) {
        return target.to_array();
    }
    (target - rotation_vector(rotation_by(target) * turn.inverse())).to_array()
}
