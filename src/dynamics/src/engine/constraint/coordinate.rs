//! Stops and dry friction of the axes of trees: rows of single coordinates. What else is on such an axis is in its tree's mass
//! matrix (`motion`).

use super::{Constraints, Source};
use crate::engine::{
    axis::{AxisRow, stops_and_friction},
    problem::{Law, PositionRule, Scheme},
    tree::Tree,
};

impl Constraints {
    /// Adds those of a tree, which is number `slot` of its island.
    pub(super) fn add_coordinates(&mut self, tree: &Tree, slot: usize, scheme: &Scheme) {
        for dof in 0..tree.topology.freedom {
            let (q, free, before) = (tree.state.q[dof], tree.work.v_free[dof], tree.state.v[dof]);
            let rows = stops_and_friction(&tree.topology.laws[dof], q, free, scheme.h);
            for row in rows.into_iter().flatten() {
                let start = self.problem.columns.len();
                self.add_coordinate(tree, dof, row.sign);
                let velocity = |v: f64| [row.sign * v, 0.0, 0.0];
                let mut block = self.problem.block(row.interval(), start, [0.0; 3], velocity(free), velocity(before));
                block.bias[0] += row.offset;
                (block.gap, block.position) = (row.gap, row.position_rule());
                let law = row.law as usize;
                block.impulse[0] = tree.state.row_impulses[dof][law].clamp(row.low, row.high);
                self.push_block(Source::Coordinate { tree: slot, dof, law }, block);
            }
        }
    }
}

impl AxisRow {
    /// What its impulse obeys.
    pub(super) fn interval(&self) -> Law {
        Law::Interval { low: self.low, high: self.high }
    }

    /// A stop that was passed is left again.
    pub(super) fn position_rule(&self) -> PositionRule {
        if self.law.is_stop() { PositionRule::PushedOut } else { PositionRule::Ignored }
    }
}
