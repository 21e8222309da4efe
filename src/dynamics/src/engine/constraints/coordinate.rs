//! Stops and dry friction of the axes of trees: rows of single coordinates, or of the three coordinates of a ball
//! joint. Motors, springs and damping of such an axis are in its tree's mass matrix
//! ([`crate::engine::equations::midpoint`]).

use bevy_math::DVec3;

use super::{
    IslandParts,
    island_rows::{Constraints, Source},
};
use crate::engine::{
    joints::axis_laws::{self, AxisRow, stops_and_friction},
    scheme::Scheme,
    solvers::problem::{Law, PositionRule, RigidMotor},
    state::tree::Tree,
};

/// Fraction of its largest effort or power that a rigid motor may reach by the distribution of loads: below the limit
/// by more than rounding.
const BELOW_LIMIT: f64 = 1.0 - 1e-9;

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

    /// Adds the rigid motors of a tree, which has the index `slot` in its island. Motors at a limit exert what the
    /// limit allows, and share no load.
    pub(super) fn add_rigid_motors(&mut self, tree: &Tree, slot: usize, scheme: &Scheme) {
        let (state, h) = (&tree.state, scheme.h);
        for dof in tree.topology.free_axes()..tree.topology.freedom {
            let (motor, law) = (&state.motors[dof], &tree.topology.laws[dof]);
            let at_limit = state.saturation[dof] != 0 || state.power_means[dof] != 0.0;
            if at_limit || !motor.is_on() || !motor.is_rigid() {
                continue;
            }
            let start = self.problem.columns.len();
            self.add_coordinate(tree, dof, &[1.0]);
            let (free, before) = (tree.work.v_free[dof], state.v[dof]);
            let effort = axis_laws::motor_effort(motor, law, tree.motor_coordinate(dof), free, h);
            let bound = h * motor.max_effort.min(law.max_power / before.abs()) * BELOW_LIMIT;
            let law = Law::Interval { low: -bound, high: bound };
            let row = self.problem.block(law, start, [0.0; 3], [free, 0.0, 0.0], [before, 0.0, 0.0]);
            self.problem.motors.push(RigidMotor {
                row,
                tree: slot,
                dof,
                free_impulse: h * (effort + state.holding_efforts[dof]),
                slope: h * motor.damping,
                change: 0.0,
            });
        }
    }

    /// Adds the changes of rigid motors by the distribution of loads to their efforts at their target rates.
    pub(crate) fn add_holding_efforts(&self, parts: &mut IslandParts, h: f64) {
        for motor in self.problem.motors.iter().filter(|motor| motor.change != 0.0) {
            parts.trees[motor.tree].state.holding_efforts[motor.dof] += motor.change / h;
        }
    }

    /// Computes the velocities without impulses of trees whose rigid motors have changed since.
    pub(crate) fn update_free_velocities(&self, parts: &mut IslandParts, scheme: &Scheme) {
        let has_changed = |slot: usize| {
            let mut own = self.problem.motors.iter().filter(|motor| motor.tree == slot);
            own.any(|motor| motor.change != 0.0)
        };
        for slot in (0..parts.trees.len()).filter(|&slot| has_changed(slot)) {
            parts.trees[slot].set_free_velocity(scheme.h);
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
