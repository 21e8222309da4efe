//! Stops and dry friction of the axes of trees: rows of single coordinates, or of the three coordinates of a ball
//! joint. Motors, springs and damping of such an axis are in its tree's mass matrix
//! ([`crate::engine::equations::midpoint`]).

use bevy_math::DVec3;

use super::island_rows::{Constraints, Source};
use crate::engine::{
    joints::axis_laws::{AxisRow, stops_and_friction},
    scheme::Scheme,
    solvers::problem::{Law, PositionRule},
    state::tree::Tree,
};

impl Constraints {
    /// Adds the rows of single coordinates of a tree, which has the index `slot` in its island.
    pub(super) fn add_coordinates(&mut self, tree: &Tree, slot: usize, scheme: &Scheme) {
        for dof in 0..tree.topology.freedom {
            let (q, free, before) = (tree.state.q[dof], tree.work.v_free[dof], tree.state.v[dof]);
            let rows = stops_and_friction(&tree.topology.laws[dof], q, free, scheme.h);
            for row in rows.into_iter().flatten() {
                let start = self.problem.columns.len();
                self.add_coordinate(tree, dof, &[row.sign]);
                let velocity = |v: f64| [row.sign * v, 0.0, 0.0];
                let mut block =
                    self.problem.block(row.interval_law(), start, [0.0; 3], velocity(free), velocity(before));
                block.bias[0] += row.offset;
                (block.gap, block.position) = (row.gap, row.position_rule());
                let law = row.law as usize;
                block.impulse[0] = tree.state.row_impulses[dof][law].clamp(row.low, row.high);
                self.push_block(Source::Coordinate { tree: slot, dof, law }, block);
            }
        }
    }

    /// Adds the stops of a tree's ball joints.
    pub(super) fn add_ball_stops(&mut self, tree: &Tree, slot: usize, scheme: &Scheme) {
        for (ball, &turn) in tree.topology.balls.iter().zip(&tree.state.balls) {
            let of = |numbers: &[f64]| DVec3::from_slice(&numbers[ball.dof..]) * ball.sign;
            let (free, before) = (of(&tree.work.v_free), of(&tree.state.v));
            let last = &tree.state.row_impulses[ball.dof..ball.dof + 3];
            let last = DVec3::new(last[0][0], last[1][0], last[2][0]) * ball.sign;
            for stop in ball.stops.rows(ball.model_turn(turn), before, free, scheme.h).into_iter().flatten() {
                let (start, direction, row) = (self.problem.columns.len(), stop.direction, stop.row);
                let own = direction * ball.sign;
                self.add_coordinate(tree, ball.dof + 2, own.as_ref());
                let along = |rate: DVec3| [direction.dot(rate), 0.0, 0.0];
                let mut block = self.problem.block(row.interval_law(), start, [0.0; 3], along(free), along(before));
                block.bias[0] += row.offset;
                (block.gap, block.position) = (row.gap, row.position_rule());
                block.impulse[0] = (direction.dot(last) / direction.length_squared()).max(0.0);
                let source = Source::BallStop {
                    tree: slot,
                    dof: ball.dof + stop.axis,
                    law: row.law,
                    row: self.ball_stops.len(),
                };
                self.ball_stops.push((ball.dof, own));
                self.push_block(source, block);
            }
        }
    }
}

impl AxisRow {
    /// Law of its impulse.
    pub(super) fn interval_law(&self) -> Law {
        Law::Interval { low: self.low, high: self.high }
    }

    /// Position correction of the row: a stop that was passed is left again.
    pub(super) fn position_rule(&self) -> PositionRule {
        if self.law.is_stop() { PositionRule::PushedOut } else { PositionRule::Ignored }
    }
}
