//! Removal of penetration at the end of a substep: an island moves at the pseudo-velocities of the sweeps, or at those
//! of [`super::separation`] where the sweeps are not enough.

use super::{
    island::Island,
    separation::{add_row, set_pseudo_velocities},
    work_budget::separation_work,
};
use crate::engine::{collision::SEARCH_MARGIN, constraints::IslandParts, scheme::Scheme};

/// Motion of a point in a step, m, above which the sweeps' result swings a body, if it also exceeds the largest target
/// speed by the second factor.
const SWING_DISTANCE: f64 = 1e-4;
const SWING_RATIO: f64 = 10.0;
/// Largest cost, in sweeps over its rows.
const MAX_WORK: f64 = 200.0;
/// Largest motion of a point in a step where joints close loops, m, and largest rotation, rad. The motion opens a loop
/// by its square over the size of the loop, 1e-7 m, which is closed again to 1e-10 m. The rotation leaves stops along
/// tangents by its square.
const MAX_MOVE_IN_LOOPS: f64 = 2e-4;
const MAX_TURN: f64 = 0.02;

impl Island {
    /// Removes a part of the penetration, at the end of the substep.
    pub(crate) fn separate_overlaps(&mut self, parts: &mut IslandParts, scheme: &Scheme) {
        let (problem, correction) = (&self.constraints.problem, &mut self.solver.correction);
        if !problem.correct_positions(correction, scheme) {
            return;
        }
        // Contacts beyond the search margin are unknown.
        let farthest = if parts.own_loop_joints.is_empty() { SEARCH_MARGIN } else { MAX_MOVE_IN_LOOPS };
        let limit = scheme.correction_speed.min(farthest / scheme.h);
        let review = correction.check_targets(problem, scheme);
        let [mut fastest, mut turn] = set_pseudo_velocities(parts, &correction.w);
        let swings = fastest * scheme.h > SWING_DISTANCE && fastest > SWING_RATIO * review.max_target;
        let constrained = review.insufficient || swings || fastest > limit;
        if constrained {
            let work = separation_work(parts, scheme, MAX_WORK);
            let spent = self.separation.solve(correction, parts, limit, work);
            parts.trees.iter_mut().for_each(|tree| tree.work.used_work += spent);
            [fastest, turn] = set_pseudo_velocities(parts, &correction.w);
        }
        let unseparated = correction.deepest_unseparated(problem, scheme);
        let stops = parts.trees.iter().map(|tree| tree.fraction_to_stops(scheme.h)).fold(1.0, f64::min);
        let most_turn = MAX_TURN / scheme.h;
        let share = stops.min(limit / fastest.max(limit)).min(most_turn / turn.max(most_turn));
        self.separation.record_errors(&self.constraints, &self.solver.correction, parts);
        parts.trees.iter_mut().for_each(|tree| tree.move_by_pseudo(share, scheme));
        if constrained && !parts.own_loop_joints.is_empty() {
            self.close_loops(parts, scheme);
        }
        let contact = |(depth, block)| Some((depth, self.constraints.contact_of(block)?));
        self.outcome.unseparated = unseparated.and_then(contact);
    }

    /// Closes loops again: rows are tangents, so motion along them opens a loop in proportion to its square.
    fn close_loops(&mut self, parts: &mut IslandParts, scheme: &Scheme) {
        let Self { constraints, solver, separation, .. } = self;
        let problem = &mut separation.problem;
        problem.clear(parts.trees.iter().map(|tree| tree.topology.freedom));
        let held = solver.correction.rows().filter(|(row, _)| row.held);
        for ((row, columns), before) in held.zip(&separation.errors) {
            let opened = constraints.loop_error(parts, row.block).map_or(0.0, |after| after - before);
            add_row(problem, columns, f64::NEG_INFINITY, -opened / scheme.h, 0.0);
        }
        if problem.blocks.is_empty() {
            return;
        }
        let outcome = problem.iterate(&mut separation.solver, &mut (MAX_WORK * problem.sweep_cost()));
        if outcome.converged {
            set_pseudo_velocities(parts, &separation.problem.w);
            parts.trees.iter_mut().for_each(|tree| tree.move_by_pseudo(1.0, scheme));
        }
        parts.trees.iter_mut().for_each(|tree| tree.work.used_work += outcome.sweeps);
    }
}
