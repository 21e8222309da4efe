//! The solve of an island's constraints, with friction of patches that spin or without.

use super::{island::Island, work_budget::WorkBudget};
use crate::engine::{
    constraints::{IslandParts, rigid_motors::add_rigid_motors},
    scheme::Scheme,
    solvers::problem::Problem,
};

/// Largest work of a solve with patches that spin, in sweeps; at most a quarter of the budget. Most take 20. Problems
/// that are not solved by then have friction at the points.
const MAX_PATCH_SWEEPS: f64 = 100.0;

impl Island {
    /// Solves the constraints. If spinning patches prevent a solution, their friction stays at their points.
    pub(super) fn solve_constraints(&mut self, parts: &mut IslandParts, scheme: &Scheme, budget: &mut WorkBudget) {
        let with_patches = self.constraints.has_patches();
        for attempt in 0..=usize::from(with_patches) {
            if attempt > 0 {
                self.constraints.keeps_points = true;
                self.constraints.assemble(parts, scheme, true);
            }
            let problem = &mut self.constraints.problem;
            if problem.blocks.is_empty() {
                return;
            }
            let most = budget.remaining_sweeps();
            let most = if with_patches && attempt == 0 { (0.25 * most).min(MAX_PATCH_SWEEPS) } else { most };
            let add_motors = |problem: &mut Problem| add_rigid_motors(problem, parts, scheme);
            self.outcome.solve = problem.solve(&mut self.solver, most, add_motors);
            self.outcome.solve.sweeps = budget.add_sweeps(self.outcome.solve.sweeps);
            if self.outcome.solve.converged {
                return;
            }
        }
    }

    /// True if the island touches soil, which can require smaller steps of single bodies, too.
    pub(crate) fn touches_soil(&self) -> bool {
        self.constraints.has_soil()
    }
}
