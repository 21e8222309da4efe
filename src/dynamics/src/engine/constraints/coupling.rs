//! Couplings of two coordinates of a tree: v_f - ratio v_l = 0. Position errors are removed over several steps. The
//! constraint is linear in the velocities, so a coupling without error stays exact to rounding.

use super::{
    island_parts::IslandParts,
    island_rows::{Constraints, Source},
    rows::to_index,
};
use crate::engine::{
    scheme::Scheme,
    solvers::problem::{Law, PositionRule},
    state::tree::{Coupling, Tree},
};

impl Constraints {
    /// Adds the couplings of a tree, which has the index `slot` in its island.
    pub(super) fn add_couplings(&mut self, tree: &Tree, slot: usize, scheme: &Scheme) {
        for (number, coupling) in tree.topology.couplings.iter().enumerate() {
            let &Coupling { leader, follower, ratio, offset } = coupling;
            let start = self.problem.columns.len();
            self.problem.columns.resize(start + tree.topology.freedom, [0.0; 4]);
            self.problem.columns[start + follower][0] += 1.0;
            self.problem.columns[start + leader][0] -= ratio;
            self.problem.index.extend((0..tree.topology.freedom).map(|dof| to_index(tree.work.base + dof)));
            tree.whiten_all(&mut self.problem.columns[start..], &mut self.forces);
            let along = |numbers: &[f64]| [numbers[follower] - ratio * numbers[leader], 0.0, 0.0];
            let law = Law::Interval { low: f64::NEG_INFINITY, high: f64::INFINITY };
            let (free, before) = (along(&tree.work.v_free), along(&tree.state.v));
            let mut block = self.problem.block(law, start, [0.0; 3], free, before);
            let error = along(&tree.state.q)[0] - offset;
            let most = scheme.correction_speed;
            block.bias[0] += (scheme.correction * error / scheme.h).clamp(-most, most);
            block.position = PositionRule::Held;
            block.impulse[0] = tree.state.row_impulses[follower][COUPLING_ROW];
            self.push_block(Source::Coupling { tree: slot, number }, block);
        }
    }

    /// Adds the work of the error corrections to the work input of the trees, J. A coupling without error does no work.
    pub(crate) fn add_coupling_work(&self, parts: &mut IslandParts) {
        for (source, block) in self.blocks() {
            let Source::Coupling { tree, .. } = source else { continue };
            let after = self.problem.velocity(block)[0] - block.bias[0] + block.free[0];
            parts.trees[tree].work.substep_work += 0.5 * block.impulse[0] * (block.before[0] + after);
        }
    }
}

impl Tree {
    /// Stores the impulse of a coupling for both of its coordinates.
    pub(super) fn store_coupling_impulse(&mut self, number: usize, impulse: f64) {
        let Coupling { leader, follower, ratio, .. } = self.topology.couplings[number];
        self.state.row_impulses[follower][COUPLING_ROW] += impulse;
        self.state.row_impulses[leader][COUPLING_ROW] -= ratio * impulse;
    }
}

/// Index of the impulse of couplings among the rows of a coordinate.
const COUPLING_ROW: usize = 3;
