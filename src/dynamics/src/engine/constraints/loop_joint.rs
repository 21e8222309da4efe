//! Loop joints: joints that close a loop of links. Their frames, relative motion and loads. Rows of the constraint
//! problem hold them together, instead of missing coordinates.

use bevy_math::{DMat3, DQuat, DVec3};
use serde::{Deserialize, Serialize};
use simpartner_model::{Coordinate, FreeAxis, JointKind, Norm, Pose};

use crate::{
    Servo,
    engine::{
        algebra::spatial::Spatial,
        equations::motors::MotorLimit,
        joints::{
            axis_laws::AxisLaw,
            ball_joint::{self, StopRow, Stops},
        },
        state::{addresses::LinkAddress, tree::Tree},
    },
    state::rotation_vector,
};

/// Largest number of rows that hold a joint together, and number of rows of the laws of an axis.
pub(crate) const HELD_ROWS: usize = 6;
pub(crate) const AXIS_ROWS: usize = 5;
/// Number of all possible rows of a joint; each has its own number.
pub(crate) const ROW_COUNT: usize = HELD_ROWS + 3 * AXIS_ROWS;

/// A joint between two links that are already connected by other joints.
#[derive(Debug, Clone)]
pub(crate) struct LoopJoint {
    /// The model's parent.
    pub(crate) a: LinkAddress,
    /// The model's child.
    pub(crate) b: LinkAddress,
    /// `link_from_joint` on either side.
    pub(crate) frames: [Pose; 2],
    pub(crate) kind: JointKind,
    /// The laws of its free axes.
    pub(crate) axes: [Option<FreeAxis>; 3],
    pub(crate) motors: [Servo; 3],
    /// Stops of a ball joint; others have none.
    pub(crate) stops: Stops,
    /// World frames of the joint on either side.
    pub(crate) place: JointFrames,
    /// The coordinates of its axes: offsets, angles that count whole turns, or the rotation vector of a ball joint.
    pub(crate) coordinates: [f64; 3],
    /// Impulses of the rows in the last step, by their numbers.
    pub(crate) impulses: [f64; ROW_COUNT],
    /// Load as mean over the step, and reported load: that of the last step in which the joint was awake.
    pub(crate) load: LoopLoad,
    pub(crate) reported_load: LoopLoad,
    /// Mean rate in the last substep of each motor at its largest power, rad/s or m/s; 0 for other motors.
    pub(crate) power_means: [f64; 3],
    /// The axis whose motor was at a limit in the last substep, and which limit.
    pub(crate) motor_limit: Option<(usize, MotorLimit)>,
}

/// Load that a joint transmits to its child, in N and N m.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct LoopLoad {
    /// Efforts of each axis: of the motor, of stops, and of spring, damping, dry friction and rotor together.
    pub(crate) effort: [f64; 3],
    pub(crate) stop: [f64; 3],
    pub(crate) passive: [f64; 3],
    /// Total force and torque; the torque about the anchor.
    pub(crate) force: DVec3,
    pub(crate) torque: DVec3,
}

/// World frames of the joint on the parent and on the child.
#[derive(Debug, Clone)]
pub(crate) struct JointFrames {
    pub(crate) parent: Pose,
    pub(crate) child: Pose,
}

/// Twists of the two sides at the joint's anchor, the origin of the child's frame, and their accelerations at constant
/// rates of all coordinates.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Motion {
    pub(crate) velocity: [Spatial; 2],
    pub(crate) acceleration: [Spatial; 2],
}

/// A direction of the child's motion relative to the parent, along it or about it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Direction {
    pub(crate) vector: DVec3,
    pub(crate) angular: bool,
    /// Rate of change of the velocity in this direction at constant rates of all coordinates.
    pub(crate) drift: f64,
}

/// Kind of a row of a loop joint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowKind {
    /// Holds a constrained direction, by its number.
    Hold(usize),
    /// A law of a free axis, by the index of the axis.
    Axis(usize, AxisLaw),
}

impl RowKind {
    /// Number of the row.
    pub(crate) fn row_number(self) -> usize {
        match self {
            Self::Hold(number) => number,
            Self::Axis(axis, law) => HELD_ROWS + AXIS_ROWS * axis + law as usize,
        }
    }
}

impl JointFrames {
    /// Offset and rotation of the child's frame in the parent's.
    fn relative_pose(&self) -> (DVec3, DQuat) {
        let turn = self.parent.rotation.inverse() * self.child.rotation;
        (self.parent.rotation.inverse() * (self.child.translation - self.parent.translation), turn)
    }
}

impl Motion {
    /// Velocity and drift of the child relative to the parent.
    fn relative_motion(&self) -> (Spatial, Spatial) {
        let [parent, child] = self.velocity;
        let (velocity, drift) = (child - parent, self.acceleration[1] - self.acceleration[0]);
        // The anchor moves with the child.
        let carried = velocity.angular().cross(child.linear());
        (velocity, Spatial::new(drift.angular(), drift.linear() + carried))
    }

    /// Translation along a direction that rotates with the angular velocity `spin`.
    fn translation_along(&self, vector: DVec3, spin: DVec3) -> Direction {
        let (velocity, drift) = self.relative_motion();
        let drift = vector.dot(drift.linear()) + spin.cross(vector).dot(velocity.linear());
        Direction { vector, angular: false, drift }
    }

    /// Rotation about a direction whose rate of change is `change`.
    fn rotation_about(&self, vector: DVec3, change: DVec3) -> Direction {
        let (velocity, drift) = self.relative_motion();
        Direction { vector, angular: true, drift: vector.dot(drift.angular()) + change.dot(velocity.angular()) }
    }
}

impl Direction {
    /// The force or moment of an effort along it.
    pub(crate) fn effort_wrench(&self, effort: f64) -> Spatial {
        let vector = self.vector * effort;
        if self.angular { Spatial::new(vector, DVec3::ZERO) } else { Spatial::new(DVec3::ZERO, vector) }
    }
}

impl LoopJoint {
    /// Adds the effort of a row to the load. `effort` is already weighted with the fraction of the step.
    pub(crate) fn add_load(&mut self, kind: RowKind, direction: &Direction, effort: f64) {
        let force = direction.effort_wrench(effort);
        let along = self.place.parent.rotation.inverse() * force.angular();
        let load = &mut self.load;
        load.force += force.linear();
        load.torque += force.angular();
        match kind {
            RowKind::Hold(_) => {}
            RowKind::Axis(_, law) if law.is_stop() && self.kind == JointKind::Ball => {
                (0..3).for_each(|axis| load.stop[axis] += along[axis]);
            }
            RowKind::Axis(axis, AxisLaw::LowerStop) => load.stop[axis] += effort,
            // The sign of its row is reversed.
            RowKind::Axis(axis, AxisLaw::UpperStop) => load.stop[axis] -= effort,
            RowKind::Axis(axis, AxisLaw::Motor) => load.effort[axis] += effort,
            RowKind::Axis(axis, AxisLaw::Friction | AxisLaw::Passive) => load.passive[axis] += effort,
        }
    }

    /// A coordinate of the joint; `None` if it is not free.
    fn free_coordinate(&self, index: usize) -> Option<Coordinate> {
        self.kind.coordinate(index).filter(|_| self.axes[index].is_some())
    }

    /// The axis of the parent's frame along which a coordinate slides.
    fn sliding_axis(&self, index: usize) -> Option<usize> {
        self.free_coordinate(index).filter(|coordinate| coordinate.linear).map(|coordinate| coordinate.axis)
    }

    /// True if it holds the offset along an axis of the parent's frame.
    fn holds_offset(&self, axis: usize) -> bool {
        (0..3).all(|index| self.sliding_axis(index) != Some(axis))
    }

    /// Opening of the joint, m.
    pub(crate) fn opening(&self) -> f64 {
        let (offset, _) = self.place.relative_pose();
        (0..3).filter(|&axis| self.holds_offset(axis)).map(|axis| offset[axis] * offset[axis]).sum::<f64>().sqrt()
    }

    /// Sets the motor of a free axis. Returns true if that changes anything.
    pub(crate) fn set_motor(&mut self, axis: usize, motor: Servo) -> bool {
        let Some(law) = &self.axes[axis] else { return false };
        let motor = Servo { max_effort: motor.max_effort.min(law.max_effort), ..motor };
        let changes = self.motors[axis] != motor;
        if changes {
            (self.motors[axis], self.power_means[axis]) = (motor, 0.0);
        }
        changes
    }

    /// Updates its two frames and its coordinates.
    pub(crate) fn update_frames(&mut self, trees: &[Tree]) {
        let place = |side: LinkAddress, frame: &Pose| trees[side.tree].work.links[side.link].pose().then(frame);
        self.set_frames(JointFrames { parent: place(self.a, &self.frames[0]), child: place(self.b, &self.frames[1]) });
    }

    /// Updates its coordinates for given frames.
    pub(crate) fn set_frames(&mut self, place: JointFrames) {
        self.place = place;
        let (offset, turn) = self.place.relative_pose();
        self.coordinates = match self.kind {
            JointKind::Ball => rotation_vector(turn).to_array(),
            _ => self.axis_angles(turn),
        };
        for index in 0..3 {
            if let Some(axis) = self.sliding_axis(index) {
                self.coordinates[index] = offset[axis];
            }
        }
    }

    /// The axes of rotation, in order. A rotational coordinate has the number of its axis.
    fn rotation_axes(&self) -> [Option<usize>; 3] {
        let turns = |axis| self.free_coordinate(axis).is_some_and(|coordinate| !coordinate.linear);
        let mut turning = (0..3).filter(|&axis| turns(axis));
        [turning.next(), turning.next(), turning.next()]
    }

    /// Motion of its sides, which are these links of trees; `None` does not move.
    pub(crate) fn motion_of_sides(&self, sides: [Option<(&Tree, usize)>; 2], gravity: DVec3) -> Motion {
        let anchor = self.place.child.translation;
        let [a, b] = sides.map(|side| {
            let Some((tree, link)) = side else { return [Spatial::ZERO; 2] };
            let (link, lever) = (&tree.work.links[link], anchor - tree.work.origin);
            // The links' accelerations are relative to free fall.
            let fall = Spatial::new(DVec3::ZERO, gravity);
            [link.velocity.shifted(lever), link.acceleration.shifted(lever) + fall]
        });
        Motion { velocity: [a[0], b[0]], acceleration: [a[1], b[1]] }
    }

    /// The angles of its axes, each as near to the last as whole turns allow.
    fn axis_angles(&self, turn: DQuat) -> [f64; 3] {
        use std::f64::consts::TAU;
        let mut angles = [0.0; 3];
        match self.rotation_axes() {
            [Some(axis), None, _] => angles[axis] = 2.0 * libm::atan2(turn.to_array()[axis], turn.w),
            [Some(first), Some(second), None] => {
                // turn = R(first) R(second): only the first rotation turns the second axis, and vice versa.
                let (one, two) = (DVec3::AXES[first], DVec3::AXES[second]);
                let third = one.cross(two);
                let (forth, back) = (turn * two, turn.inverse() * one);
                angles[first] = libm::atan2(forth.dot(third), forth.dot(two));
                angles[second] = libm::atan2(back.dot(third), back.dot(one));
            }
            [Some(_), Some(_), Some(_)] => {
                let matrix = DMat3::from_quat(turn);
                let entry = |row: usize, column: usize| matrix.col(column)[row];
                angles = [
                    libm::atan2(-entry(1, 2), entry(2, 2)),
                    libm::asin(entry(0, 2).clamp(-1.0, 1.0)),
                    libm::atan2(-entry(0, 1), entry(0, 0)),
                ];
            }
            [None, ..] => {}
        }
        for (angle, last) in angles.iter_mut().zip(self.coordinates) {
            *angle += TAU * ((last - *angle) / TAU).round();
        }
        angles
    }

    /// Errors in the held directions for other frames, m or rad.
    pub(crate) fn errors_at(&self, place: JointFrames) -> [f64; HELD_ROWS] {
        let still = Motion { velocity: [Spatial::ZERO; 2], acceleration: [Spatial::ZERO; 2] };
        let moved = Self { place, ..self.clone() };
        moved.held_directions(&still).map(|held| held.map_or(0.0, |(_, error)| error))
    }

    /// Constrained directions of the joint, as row numbers, with the error of each, m or rad.
    pub(crate) fn held_directions(&self, motion: &Motion) -> [Option<(Direction, f64)>; HELD_ROWS] {
        let (offset, turn) = self.place.relative_pose();
        let units = self.parent_axes();
        let spin = motion.velocity.map(|velocity| velocity.angular());
        let mut held = [None; HELD_ROWS];
        for k in (0..3).filter(|&axis| self.holds_offset(axis)) {
            held[k] = Some((motion.translation_along(units[k], spin[0]), offset[k]));
        }
        let hold_turn = |k: usize, error: f64| Some((motion.rotation_about(units[k], spin[0].cross(units[k])), error));
        match self.rotation_axes() {
            [None, ..] => {
                let error = DVec3::new(turn.x, turn.y, turn.z) * (2.0 * turn.w.signum());
                (0..3).for_each(|k| held[3 + k] = hold_turn(k, error[k]));
            }
            [Some(axis), None, _] => {
                let tilt = units[axis].cross(self.place.child.rotation * DVec3::AXES[axis]);
                (0..3).filter(|&k| k != axis).for_each(|k| held[3 + k] = hold_turn(k, units[k].dot(tilt)));
            }
            [Some(first), Some(second), None] => {
                // The first axis is the parent's, the second the child's; they stay at right angles.
                let (one, two) = (units[first], self.place.child.rotation * DVec3::AXES[second]);
                let change = spin[0].cross(one).cross(two) + one.cross(spin[1].cross(two));
                held[3] = Some((motion.rotation_about(one.cross(two), change), -one.dot(two)));
            }
            [Some(_), Some(_), Some(_)] => {}
        }
        held
    }

    /// Directions of its free coordinates, by their numbers. The velocity in each direction is the rate of that
    /// coordinate alone, and an effort in it acts on that coordinate alone. For a ball joint they are the parent's
    /// axes.
    pub(crate) fn free_directions(&self, motion: &Motion) -> [Option<Direction>; 3] {
        let [parent, child] = [self.place.parent.rotation, self.place.child.rotation];
        let spin = motion.velocity[0].angular();
        if self.kind == JointKind::Ball {
            return DVec3::AXES.map(|axis| Some(self.along_parent(motion, axis)));
        }
        let along = |axis: usize| motion.translation_along(parent * DVec3::AXES[axis], spin);
        let mut free = [0, 1, 2].map(|index| self.sliding_axis(index).map(along));
        // The first axis is the parent's, the last one the child's; one in between is orthogonal to both.
        let numbers = self.rotation_axes();
        let of = |frame: DQuat, number: Option<usize>| number.map_or(DVec3::ZERO, |axis| frame * DVec3::AXES[axis]);
        let first = of(parent, numbers[0]);
        let (axes, duals) = match numbers {
            [_, None, _] => ([first, DVec3::ZERO, DVec3::ZERO], [first, DVec3::ZERO, DVec3::ZERO]),
            [_, _, None] => {
                let last = of(child, numbers[1]);
                ([first, last, DVec3::ZERO], dual_basis(first, last, first.cross(last)))
            }
            _ => {
                let last = of(child, numbers[2]);
                let middle = last.cross(first).normalized_or_zero();
                ([first, middle, last], dual_basis(first, middle, last))
            }
        };
        let (velocity, drift) = motion.relative_motion();
        // The parent and the axes before it rotate each axis.
        let (mut carrier, mut drift) = (spin, drift.angular());
        for (axis, dual) in axes.iter().zip(duals) {
            let rate = dual.dot(velocity.angular());
            drift -= carrier.cross(*axis) * rate;
            carrier += *axis * rate;
        }
        for (number, vector) in numbers.into_iter().zip(duals) {
            let Some(axis) = number else { continue };
            free[axis] = Some(Direction { vector, angular: true, drift: vector.dot(drift) });
        }
        free
    }

    /// Coordinates that its motors follow.
    pub(crate) fn motor_coordinates(&self) -> [f64; 3] {
        match self.kind {
            JointKind::Ball => ball_joint::motor_coordinates(&self.motors, self.place.relative_pose().1),
            _ => self.coordinates,
        }
    }

    /// Rows of the stops near a ball joint, from its rates at the start of a step and, without impulses, at its end.
    pub(crate) fn ball_stops(&self, before: [f64; 3], free: [f64; 3], h: f64) -> [Option<StopRow>; 3] {
        self.stops.rows(self.place.relative_pose().1, DVec3::from_array(before), DVec3::from_array(free), h)
    }

    /// Rotation about a direction that is fixed in the parent, given in the parent's frame of the joint.
    pub(crate) fn along_parent(&self, motion: &Motion, direction: DVec3) -> Direction {
        let vector = self.place.parent.rotation * direction;
        motion.rotation_about(vector, motion.velocity[0].angular().cross(vector))
    }

    /// Axes of the joint that are fixed in the parent, in the world.
    fn parent_axes(&self) -> [DVec3; 3] {
        DVec3::AXES.map(|axis| self.place.parent.rotation * axis)
    }

    /// Rates of its axes, rad/s or m/s.
    pub(crate) fn axis_rates(&self, motion: &Motion) -> [f64; 3] {
        let (velocity, _) = motion.relative_motion();
        self.free_directions(motion).map(|direction| {
            direction.map_or(0.0, |Direction { vector, angular, .. }| {
                vector.dot(if angular { velocity.angular() } else { velocity.linear() })
            })
        })
    }
}

/// Dual basis of three vectors: each dual vector has the product one with its own vector, and zero with the other two.
/// For orthonormal vectors it is the vectors themselves; for three vectors in a plane it is zero.
pub(crate) fn dual_basis(a: DVec3, b: DVec3, c: DVec3) -> [DVec3; 3] {
    let volume = a.dot(b.cross(c));
    let scale = if volume.abs() > 1e-9 { 1.0 / volume } else { 0.0 };
    [b.cross(c) * scale, c.cross(a) * scale, a.cross(b) * scale]
}
