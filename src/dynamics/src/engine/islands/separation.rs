//! Separation of overlaps: pseudo-velocities that move shapes out of each other. No point of a body moves faster than a
//! limit, and stops, loops, couplings and other contacts hold.
//!
//! It is used when the sweeps of [`crate::engine::solvers::position_correction`] are not enough. The pseudo-velocities
//! u are the least-squares solution for the target speeds t of the rows of overlaps: u + R l = t with the compliance R,
//! while all other rows hold. Rest is always a solution. Shapes that joints, couplings or other contacts hold together
//! stay in place.
//!
//! A contact near a hinge opens by the fraction kappa of what the farthest point of the door moves. That bounds t, and
//! for small kappa t is nearly zero (as kappa⁴): rotating a door by 10 cm is no remedy for an overlap of 0.1 mm.
//!
//! Conditions that the rows do not contain are kept by scaling: a fraction of pseudo-velocities that hold all rows
//! holds them too.

use bevy_math::{DQuat, DVec3};
use simpartner_model::Norm;

use crate::engine::{
    algebra::spatial::Spatial,
    constraints::{Constraints, IslandParts},
    joints::ball_joint::Ball,
    scheme::Scheme,
    solvers::{
        position_correction::PositionCorrection,
        problem::{Law, Problem},
        solver::Solver,
    },
    state::tree::Tree,
};

/// Compliance of an overlap, as a fraction of its diagonal entry of A. It is small, so that free bodies are hardly
/// slowed down. Opposite overlaps then have one solution, in the middle between them.
const OVERLAP_COMPLIANCE: f64 = 0.1;
/// Fraction of the deepest overlap below which an overlap is held as other contacts are, so that nothing is pushed
/// deeper into another shape.
const SHALLOW_FRACTION: f64 = 0.1;
/// Fraction kappa at which the target speed is halved.
const HALF_SPEED_OPENING: f64 = 0.05;
/// Distance of a stop below which it has a row, rad or m.
const STOP_MARGIN: f64 = 1e-6;

/// Constraint problem of the rows of overlaps and of the rows that hold, and the buffers to solve it.
#[derive(Debug, Default)]
pub(crate) struct Separation {
    pub(super) problem: Problem,
    pub(super) solver: Solver,
    whitened: Vec<f64>,
    /// Residuals of the held rows before the correction, m or rad.
    pub(super) errors: Vec<f64>,
}

/// Sets the pseudo-velocities of all trees. Returns the largest speed of a point, m/s, and the largest angular speed,
/// rad/s.
pub(super) fn set_pseudo_velocities(parts: &mut IslandParts, whitened: &[f64]) -> [f64; 2] {
    let each = parts.trees.iter_mut().map(|tree| {
        let base = tree.work.base;
        tree.set_pseudo(&whitened[base..]);
        tree.fastest_point()
    });
    each.fold([0.0; 2], component_max)
}

fn component_max(one: [f64; 2], other: [f64; 2]) -> [f64; 2] {
    [one[0].max(other[0]), one[1].max(other[1])]
}

impl Separation {
    /// Stores the residuals of the rows of loops and couplings, m or rad.
    pub(super) fn record_errors(
        &mut self,
        constraints: &Constraints,
        correction: &PositionCorrection,
        parts: &IslandParts,
    ) {
        self.errors.clear();
        if !parts.own_loop_joints.is_empty() {
            let held = correction.rows.iter().filter(|row| row.held);
            self.errors.extend(held.map(|row| constraints.loop_error(parts, row.block).unwrap_or(0.0)));
        }
    }

    /// Finds the pseudo-velocities, with no point faster than `limit`, within `work` sweeps. Returns the cost.
    pub(super) fn solve(
        &mut self,
        correction: &mut PositionCorrection,
        parts: &mut IslandParts,
        limit: f64,
        work: f64,
    ) -> f64 {
        let problem = &mut self.problem;
        let deepest =
            correction.rows.iter().filter(|row| !row.is_stop).fold(0.0, |most: f64, row| most.max(row.target));
        problem.clear(parts.trees.iter().map(|tree| tree.topology.freedom));
        for (row, columns) in correction.rows() {
            let asked = if row.target > 0.0 {
                let opening = row.own / fastest_point_of_row(problem, columns, parts, &mut self.whitened);
                row.target.min(limit * opening) / (1.0 + (HALF_SPEED_OPENING / opening).powi(4))
            } else {
                row.target
            };
            if row.target <= 0.0 || row.is_stop || row.target < SHALLOW_FRACTION * deepest {
                let low = if row.held { f64::NEG_INFINITY } else { 0.0 };
                add_row(problem, columns, low, asked.min(0.0), 0.0);
            }
            if row.target > 0.0 {
                add_row(problem, columns, 0.0, asked, OVERLAP_COMPLIANCE * row.own);
            }
        }
        let outcome = problem.iterate(&mut self.solver, &mut (work * problem.sweep_cost()));
        correction.w.clone_from(&problem.w);
        if !outcome.converged || !problem.is_finite() {
            correction.w.fill(0.0);
        }
        outcome.sweeps
    }
}

/// Adds a row whose speed is at least `target`; exactly `target` if `low` is unbounded.
pub(super) fn add_row(problem: &mut Problem, columns: &[(f64, u32)], low: f64, target: f64, compliance: f64) {
    let start = problem.columns.len();
    problem.columns.extend(columns.iter().map(|&(y, _)| [y, 0.0, 0.0, 0.0]));
    problem.index.extend(columns.iter().map(|&(_, index)| index));
    let law = Law::Interval { low, high: f64::INFINITY };
    let block = problem.block(law, start, [compliance, 0.0, 0.0], [-target, 0.0, 0.0], [0.0; 3]);
    problem.blocks.push(block);
}

/// Largest speed of a point of any body at the pseudo-velocities from a unit impulse of a row.
fn fastest_point_of_row(
    problem: &Problem,
    columns: &[(f64, u32)],
    parts: &mut IslandParts,
    whitened: &mut Vec<f64>,
) -> f64 {
    whitened.clear();
    whitened.resize(problem.w.len(), 0.0);
    columns.iter().for_each(|&(y, index)| whitened[index as usize] += y);
    let mut fastest = 0.0f64;
    for tree in parts.trees.iter_mut() {
        let own = tree.work.base..tree.work.base + tree.topology.freedom;
        if whitened[own.clone()].iter().any(|entry| *entry != 0.0) {
            tree.set_pseudo(&whitened[own]);
            fastest = fastest.max(tree.fastest_point()[0]);
        }
    }
    fastest
}

impl Tree {
    /// Sets the pseudo-velocities from the whitened ones of its island, starting with its own.
    fn set_pseudo(&mut self, whitened: &[f64]) {
        let mut pseudo = std::mem::take(&mut self.work.pseudo);
        self.velocity_of(whitened, &mut pseudo);
        self.work.pseudo = pseudo;
    }

    /// Bounds of the speed of any point, m/s, and of any angular speed, rad/s, at the pseudo-velocities.
    fn fastest_point(&mut self) -> [f64; 2] {
        let (topology, work) = (&self.topology, &mut self.work);
        if let (true, Some(&[x, y, z, a, b, c])) = (topology.links.len() == 1, work.pseudo.first_chunk::<6>()) {
            let turn = norm_of([a, b, c]);
            return [norm_of([x, y, z]) + turn * topology.reach[0], turn];
        }
        let origin = work.links[0].middle;
        let mut fastest = [0.0; 2];
        for (index, link) in topology.links.iter().enumerate() {
            let dofs = link.dof..link.dof + link.joint.freedom();
            let own = dofs.map(|dof| work.axis[dof] * work.pseudo[dof]);
            let parent = link.parent.map_or(Spatial::ZERO, |parent| work.pseudo_twists[parent]);
            let motion = own.fold(parent, |sum, part| sum + part);
            work.pseudo_twists[index] = motion;
            if link.body.is_some() {
                let speed = motion.at(work.links[index].middle - origin).norm();
                let turn = motion.angular().norm();
                fastest = component_max(fastest, [speed + turn * topology.reach[index], turn]);
            }
        }
        fastest
    }

    /// Largest fraction of the pseudo-velocities, 0 to 1, that moves no axis beyond a stop in `h` seconds.
    pub(super) fn fraction_to_stops(&self, h: f64) -> f64 {
        let mut share = 1.0f64;
        let mut keep = |gap: f64, rate: f64| {
            if gap > STOP_MARGIN && -rate * h > gap {
                share = share.min(gap / (-rate * h));
            }
        };
        let (topology, state, pseudo) = (&self.topology, &self.state, &self.work.pseudo);
        for dof in topology.free_axes()..topology.freedom {
            let law = &topology.laws[dof];
            keep(state.q[dof] - law.lower, pseudo[dof]);
            keep(law.upper - state.q[dof], -pseudo[dof]);
        }
        for (ball, &turn) in topology.balls.iter().zip(&state.balls) {
            for (gap, rate) in ball.stops_at(turn, pseudo, h) {
                keep(gap, rate);
            }
        }
        share
    }

    /// Moves the trees at a fraction of the pseudo-velocities. The change of energy by heights, springs and inertia
    /// counts as work input.
    pub(super) fn move_by_pseudo(&mut self, share: f64, scheme: &Scheme) {
        if share < 1.0 {
            self.work.pseudo.iter_mut().for_each(|rate| *rate *= share);
        }
        let before = self.work.energy;
        self.drift_pseudo(scheme.h);
        self.update_kinematics(scheme.gravity);
        self.work.substep_work += self.work.energy - before;
    }
}

impl Ball {
    /// Distances to the stops that the joint approaches in `h` seconds at the rates of its tree, rad, and the rates of
    /// separation, rad/s.
    fn stops_at(&self, turn: DQuat, rates: &[f64], h: f64) -> impl Iterator<Item = (f64, f64)> {
        let rates = DVec3::from_slice(&rates[self.dof..]) * self.sign;
        let rows = self.stops.rows(self.model_turn(turn), rates, rates, h).into_iter().flatten();
        rows.map(move |stop| (stop.row.gap, stop.direction.dot(rates)))
    }
}

fn norm_of(vector: [f64; 3]) -> f64 {
    DVec3::from_array(vector).norm()
}
