//! Distribution of a vehicle's weight over its wheels.
//!
//! The loads follow from the principle of virtual work: weight, pull and the forces on the wheels do no work in any
//! virtual motion. The virtual motions are those that the standing wheels permit: heave, roll, pitch, and each joint
//! that nothing holds. If several loads satisfy this, the smallest in the sense of least squares is taken. It is that
//! of a rigid vehicle on ground that yields equally below all wheels.

use bevy_math::DVec3;
use simpartner_model::{BodyId, Graph, JointId};

use super::vehicle::Vehicle;

/// Regularisation of the diagonal, so that the equations have a unique solution even with redundant motions or
/// constraints. The relative error of the loads is as small.
const REGULARISATION: f64 = 1e-10;

/// Force and moment of a wheel on the vehicle at its axle, per newton of its load.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct WheelForce {
    /// Forward force, N.
    pub(super) along: f64,
    /// Upward force, N.
    pub(super) up: f64,
    /// Moment about the axle, N m; a positive moment lifts the vehicle's front.
    pub(super) moment: f64,
}

impl WheelForce {
    /// A wheel that only carries its load.
    pub(super) const STANDING: Self = Self { along: 0.0, up: 1.0, moment: 0.0 };
}

/// A motion of a body: angular velocity, and velocity at the world's origin.
type Twist = (DVec3, DVec3);

/// A joint coordinate that is a virtual motion.
struct FreeCoordinate {
    joint: JointId,
    coordinate: usize,
    /// 1 if the outer body is the joint's child, else -1.
    sense: f64,
}

/// The equations of a vehicle's statics.
pub(super) struct Statics<'a> {
    vehicle: &'a Vehicle,
    /// For each virtual motion: the motion of each body.
    motions: Vec<Vec<Twist>>,
    /// For each constraint of a loop or a coupling: its violation in each virtual motion.
    ties: Vec<Vec<f64>>,
}

impl<'a> Statics<'a> {
    /// Finds the virtual motions and constraints of a vehicle.
    pub(super) fn new(vehicle: &'a Vehicle) -> Self {
        let mechanism = &vehicle.mechanism;
        let count = mechanism.bodies.len();
        let about = |axis: DVec3| (axis, axis.cross(-vehicle.centre));
        let whole = [(DVec3::ZERO, DVec3::Y), about(vehicle.forward), about(vehicle.right)];
        let mut motions: Vec<Vec<Twist>> = whole.into_iter().map(|twist| vec![twist; count]).collect();
        let (mut freedoms, mut loops) = (Vec::new(), Vec::new());
        for tree in Graph::new(&mechanism.bodies, &mechanism.joints).spanning_forest().trees {
            for (place, edge) in tree.edges.iter().enumerate() {
                let joint = mechanism.joint(edge.joint);
                for (coordinate, own) in joint.free_coordinates().filter(|(own, _)| is_free(vehicle, edge.joint, *own))
                {
                    let sense = if joint.child == edge.outer { 1.0 } else { -1.0 };
                    let axis = joint.direction(own);
                    let twist = if own.linear { (DVec3::ZERO, axis) } else { (axis, axis.cross(-joint.anchor)) };
                    let mut moves = vec![(DVec3::ZERO, DVec3::ZERO); count];
                    moves[edge.outer.index()] = twist;
                    for further in &tree.edges[place + 1..] {
                        moves[further.outer.index()] = moves[further.inner.index()];
                    }
                    motions.push(moves);
                    freedoms.push(FreeCoordinate { joint: edge.joint, coordinate, sense });
                }
            }
            loops.extend(tree.loops);
        }
        let mut statics = Self { vehicle, motions, ties: Vec::new() };
        loops.into_iter().for_each(|joint| statics.tie_loop(joint));
        statics.tie_couplings(&freedoms);
        statics
    }

    /// Adds the constraints of a joint that closes a loop: its two sides do not move relative to each other in the
    /// directions that the joint locks.
    fn tie_loop(&mut self, id: JointId) {
        let joint = self.vehicle.mechanism.joint(id);
        let free = |axis: usize, linear: bool| {
            let mut own = joint.free_coordinates().filter(|(own, _)| is_free(self.vehicle, id, *own));
            own.any(|(_, own)| own.axis == axis && own.linear == linear)
        };
        let relative = |moves: &Vec<Twist>| {
            let [child, parent] = [joint.child, joint.parent].map(|body: BodyId| moves[body.index()]);
            let turn = child.0 - parent.0;
            (turn, child.1 - parent.1 + turn.cross(joint.anchor))
        };
        let mut ties = Vec::new();
        for (axis, direction) in DVec3::AXES.map(|axis| joint.frame * axis).into_iter().enumerate() {
            if !free(axis, true) {
                ties.push(self.motions.iter().map(|moves| relative(moves).1.dot(direction)).collect());
            }
            if !free(axis, false) {
                ties.push(self.motions.iter().map(|moves| relative(moves).0.dot(direction)).collect());
            }
        }
        self.ties.extend::<Vec<Vec<f64>>>(ties);
    }

    /// Adds the constraints of couplings between joint coordinates.
    fn tie_couplings(&mut self, freedoms: &[FreeCoordinate]) {
        let whole = self.motions.len() - freedoms.len();
        for coupling in &self.vehicle.mechanism.couplings {
            let mut tie = vec![0.0; self.motions.len()];
            for (end, factor) in [(coupling.follower, 1.0), (coupling.leader, -coupling.ratio)] {
                let own = |freedom: &FreeCoordinate| freedom.joint == end.joint && freedom.coordinate == end.axis;
                if let Some(place) = freedoms.iter().position(own) {
                    tie[whole + place] += factor * freedoms[place].sense;
                }
            }
            self.ties.push(tie);
        }
    }

    /// Load of each wheel, N, under a gravity, m/s², and a rope that pulls the hitch back with the force `pull`, N. A
    /// wheel whose load would be negative is lifted and has no load.
    pub(super) fn loads(&self, pushes: &[WheelForce], gravity: DVec3, pull: f64) -> Vec<f64> {
        let mut stands = vec![true; pushes.len()];
        loop {
            let loads = self.solve_loads(pushes, &stands, gravity, pull);
            let lifted = (0..loads.len()).filter(|&k| loads[k] < 0.0).min_by(|&a, &b| loads[a].total_cmp(&loads[b]));
            match lifted {
                Some(k) => stands[k] = false,
                None => return loads,
            }
        }
    }

    /// Solves for the loads of the wheels that stand.
    fn solve_loads(&self, pushes: &[WheelForce], stands: &[bool], gravity: DVec3, pull: f64) -> Vec<f64> {
        let vehicle = self.vehicle;
        let at = |(turn, velocity): Twist, point: DVec3| velocity + turn.cross(point);
        let (wheels, ties, motions) = (pushes.len(), self.ties.len(), self.motions.len());
        let size = wheels + ties + motions;
        // Least squares of N subject to A N + B t = b. The conditions are N + A' u = 0 and B' u = 0.
        let mut rows = vec![vec![0.0; size + 1]; size];
        for (k, row) in rows.iter_mut().enumerate() {
            row[k] = if k < wheels { 1.0 } else { REGULARISATION.copysign(if k < wheels + ties { 1.0 } else { -1.0 }) };
        }
        for (m, moves) in self.motions.iter().enumerate() {
            let line = wheels + ties + m;
            for (k, (wheel, push)) in vehicle.wheels.iter().zip(pushes).enumerate().filter(|(k, _)| stands[*k]) {
                let twist = moves[wheel.body.index()];
                let force = vehicle.forward * push.along + DVec3::Y * push.up;
                let power = force.dot(at(twist, wheel.centre)) + push.moment * vehicle.right.dot(twist.0);
                (rows[line][k], rows[k][line]) = (power, power);
            }
            for (k, tie) in self.ties.iter().enumerate() {
                (rows[line][wheels + k], rows[wheels + k][line]) = (tie[m], tie[m]);
            }
            let bodies = vehicle.mechanism.bodies.iter().zip(&vehicle.masses).zip(moves);
            let fall: f64 = bodies
                .map(|((body, own), twist)| own.mass * gravity.dot(at(*twist, body.pose.point(own.centre_of_mass))))
                .sum();
            let back = -pull * vehicle.forward.dot(at(moves[vehicle.base.index()], vehicle.hitch()));
            rows[line][size] = -(fall + back);
        }
        solve_in_place(&mut rows);
        (0..wheels).map(|k| rows[k][size]).collect()
    }
}

/// True if a coordinate moves freely: no actuator drives it, no spring holds it, and it is not a wheel's.
fn is_free(vehicle: &Vehicle, joint: JointId, coordinate: usize) -> bool {
    let held = vehicle.held.iter().any(|(held, own, _)| (*held, *own) == (joint, coordinate));
    let sprung = vehicle.mechanism.joint(joint).axes[coordinate].free().is_some_and(|axis| axis.stiffness > 0.0);
    !held && !sprung && vehicle.wheels.iter().all(|wheel| wheel.joint != joint)
}

/// Solves linear equations by Gauss-Jordan elimination with partial pivoting; the last column is the right side, and
/// then the solution.
fn solve_in_place(rows: &mut [Vec<f64>]) {
    let size = rows.len();
    for column in 0..size {
        let pivot = (column..size).max_by(|&a, &b| rows[a][column].abs().total_cmp(&rows[b][column].abs()));
        rows.swap(column, pivot.unwrap_or(column));
        let own = std::mem::take(&mut rows[column]);
        for row in rows.iter_mut().filter(|row| !row.is_empty()) {
            let factor = row[column] / own[column];
            if factor != 0.0 {
                row.iter_mut().zip(&own).for_each(|(value, own)| *value -= factor * own);
            }
        }
        let scale = 1.0 / own[column];
        rows[column] = own.into_iter().map(|value| value * scale).collect();
    }
}
