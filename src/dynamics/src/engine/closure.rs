//! Joints that close a loop: what holds them together are rows of the constraint problem, not missing coordinates. Position
//! errors are taken out by a fifth in every step (Baumgarte 1972).

use bevy_math::{DQuat, DVec3};
use serde::{Deserialize, Serialize};
use simpartner_model::{FreeAxis, Pose};

use super::{collide::Side, problem::Scheme, spatial::Spatial, tree::Tree};
use crate::{Servo, state::angles};

/// Part of a loop's error that is taken out in a step.
const LOOP_CORRECTION: f64 = 0.2;
/// A stop is looked at when its axis is nearer than this, rad or m.
const STOP_MARGIN: f64 = 1e-3;

/// A joint between two links that are connected otherwise too.
#[derive(Debug, Clone)]
pub(super) struct Closure {
    /// The model's parent.
    pub(super) a: Side,
    /// The model's child.
    pub(super) b: Side,
    /// `link_from_joint` on either side.
    pub(super) frames: [Pose; 2],
    pub(super) linear: bool,
    /// The laws of its free axes.
    pub(super) axes: [Option<FreeAxis>; 3],
    pub(super) motors: [Servo; 3],
    /// Where its frames are.
    pub(super) place: Placement,
    /// The rows' impulses in the last step.
    pub(super) impulses: Vec<f64>,
    /// What it transmitted, mean over the step.
    pub(super) load: Load,
}

/// What a joint transmits on its child.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct Load {
    /// Of each axis: motor, stops, and spring, damping, dry friction and rotor.
    pub(super) effort: [f64; 3],
    pub(super) stop: [f64; 3],
    pub(super) passive: [f64; 3],
    /// All of it; the torque about the anchor.
    pub(super) force: DVec3,
    pub(super) torque: DVec3,
}

/// What a row of a closure is for; the number is the axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Hold,
    Stop(usize),
    Motor(usize),
    /// Spring, damping or dry friction.
    Passive(usize),
}

/// One row of a closure.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) purpose: Purpose,
    pub(super) direction: DVec3,
    pub(super) points: [DVec3; 2],
    pub(super) angular: bool,
    /// Added to its velocity.
    pub(super) offset: f64,
    pub(super) compliance: f64,
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) gap: f64,
}

/// Where the two frames are.
#[derive(Debug, Clone)]
pub(super) struct Placement {
    pub(super) parent: Pose,
    pub(super) child: Pose,
}

impl Placement {
    /// Offset and turn of the child's frame in the parent's.
    pub(super) fn relative(&self) -> (DVec3, DQuat) {
        let turn = self.parent.rotation.inverse() * self.child.rotation;
        (self.parent.rotation.inverse() * (self.child.translation - self.parent.translation), turn)
    }
}

impl Row {
    /// The force, or the moment, that an impulse rate of `size` along the row is on the child.
    pub(super) fn force(&self, size: f64) -> Spatial {
        let vector = self.direction * size;
        if self.angular { Spatial::new(vector, DVec3::ZERO) } else { Spatial::new(DVec3::ZERO, vector) }
    }
}

impl Closure {
    /// Adds what a row exerts, a share of the step's mean.
    pub(super) fn add(&mut self, row: &Row, size: f64) {
        let (force, load) = (row.force(size), &mut self.load);
        load.force += force.linear;
        load.torque += force.angular + (row.points[1] - self.place.child.translation).cross(force.linear);
        // A row of an upper stop points the other way.
        let along = |axis: usize| {
            if (self.place.parent.rotation * DVec3::AXES[axis]).dot(row.direction) < 0.0 { -size } else { size }
        };
        match row.purpose {
            Purpose::Hold => {}
            Purpose::Stop(axis) => load.stop[axis] += along(axis),
            Purpose::Motor(axis) => load.effort[axis] += along(axis),
            Purpose::Passive(axis) => load.passive[axis] += along(axis),
        }
    }

    /// How far it is open, m.
    pub(super) fn error(&self) -> f64 {
        let (offset, _) = self.place.relative();
        let held = |axis: usize| !(self.linear && self.axes[axis].is_some());
        (0..3).filter(|&axis| held(axis)).map(|axis| offset[axis] * offset[axis]).sum::<f64>().sqrt()
    }

    /// Sets the motor of a free axis; a ball joint has none. True if that changes anything.
    pub(super) fn drive(&mut self, axis: usize, motor: Servo) -> bool {
        let ball = !self.linear && self.axes.iter().all(Option::is_some);
        let changes = self.axes[axis].is_some() && !ball && self.motors[axis] != motor;
        if changes {
            self.motors[axis] = motor;
        }
        changes
    }

    /// Notes where its two frames are.
    pub(super) fn set_place(&mut self, trees: &[Tree]) {
        let place = |side: Side, frame: &Pose| {
            let work = &trees[side.tree].work;
            Pose { translation: work.links[side.link].position, rotation: work.links[side.link].rotation }.then(frame)
        };
        self.place = Placement { parent: place(self.a, &self.frames[0]), child: place(self.b, &self.frames[1]) };
    }

    /// Appends its rows at the midpoint: what is locked, then stops, motors and friction of what is free.
    pub(super) fn add_rows(&self, scheme: &Scheme, rows: &mut Vec<Row>) {
        let place = &self.place;
        let (offset, turn) = place.relative();
        let units = DVec3::AXES.map(|axis| place.parent.rotation * axis);
        let points = [place.parent.translation, place.child.translation];
        let mut hold = |direction: DVec3, angular: bool, error: f64| {
            rows.push(Row {
                purpose: Purpose::Hold,
                direction,
                points: if angular { points } else { [points[1]; 2] },
                angular,
                offset: error * LOOP_CORRECTION / scheme.h,
                compliance: 0.0,
                low: f64::NEG_INFINITY,
                high: f64::INFINITY,
                gap: 0.0,
            });
        };
        for k in 0..3 {
            if !(self.linear && self.axes[k].is_some()) {
                hold(units[k], false, offset[k]);
            }
        }
        let error = small_turn(turn);
        let mut turning = (0..3).filter(|&k| !self.linear && self.axes[k].is_some());
        match [turning.next(), turning.next(), turning.next()] {
            [None, ..] => (0..3).for_each(|k| hold(units[k], true, error[k])),
            [Some(axis), None, _] => (0..3).filter(|&k| k != axis).for_each(|k| hold(units[k], true, error[k])),
            [Some(first), Some(second), None] => {
                // The first axis is the parent's, the second the child's; they stay at right angles.
                let (one, two) = (units[first], place.child.rotation * DVec3::AXES[second]);
                let across = one.cross(two);
                hold(across.normalize_or_zero(), true, -one.dot(two));
            }
            _ => {}
        }
        let coordinates = self.coordinates();
        for k in 0..3 {
            if let Some(law) = &self.axes[k] {
                self.free_rows(law, k, coordinates[k], units[k], points, scheme, rows);
            }
        }
    }

    /// The coordinates of its axes: offsets, the angle of a single axis, or the rotation vector.
    pub(super) fn coordinates(&self) -> [f64; 3] {
        let (offset, turn) = self.place.relative();
        if self.linear { offset.to_array() } else { angles(turn, self.axes.each_ref().map(Option::is_some)) }
    }

    #[expect(clippy::too_many_arguments, reason = "they are the axis, and are only passed on to its rows")]
    fn free_rows(
        &self,
        law: &FreeAxis,
        axis: usize,
        at: f64,
        direction: DVec3,
        points: [DVec3; 2],
        scheme: &Scheme,
        rows: &mut Vec<Row>,
    ) {
        let h = scheme.h;
        let mut push = |purpose: Purpose, sign: f64, offset: f64, compliance: f64, low: f64, high: f64, gap: f64| {
            let points = if self.linear { [points[1]; 2] } else { points };
            let direction = direction * sign;
            rows.push(Row { purpose, direction, points, angular: !self.linear, offset, compliance, low, high, gap });
        };
        for (gap, sign) in [(at - law.lower, 1.0), (law.upper - at, -1.0)] {
            if gap < STOP_MARGIN {
                push(Purpose::Stop(axis), sign, gap / h, 0.0, 0.0, f64::INFINITY, gap);
            }
        }
        let motor = &self.motors[axis];
        if motor.is_on() {
            // l = h effort with effort = k (position - q') + d (rate - q̇') as a compliant row.
            let rigidity = h * motor.stiffness + motor.damping;
            let target = (motor.stiffness * (motor.position - at) + motor.damping * motor.rate) / rigidity;
            push(
                Purpose::Motor(axis),
                1.0,
                -target,
                1.0 / (h * rigidity),
                -motor.max_effort * h,
                motor.max_effort * h,
                0.0,
            );
        }
        if law.damping > 0.0 {
            push(Purpose::Passive(axis), 1.0, 0.0, 1.0 / (h * law.damping), f64::NEG_INFINITY, f64::INFINITY, 0.0);
        }
        if law.stiffness > 0.0 {
            // As a motor without damping; its rest is its target.
            push(
                Purpose::Passive(axis),
                1.0,
                (at - law.spring_position) / h,
                1.0 / (h * h * law.stiffness),
                f64::NEG_INFINITY,
                f64::INFINITY,
                0.0,
            );
        }
        if law.friction > 0.0 {
            push(Purpose::Passive(axis), 1.0, 0.0, 0.0, -law.friction * h, law.friction * h, 0.0);
        }
    }
}

/// The rotation vector of a turn that is nearly none.
fn small_turn(turn: DQuat) -> DVec3 {
    DVec3::new(turn.x, turn.y, turn.z) * (2.0 * turn.w.signum())
}
