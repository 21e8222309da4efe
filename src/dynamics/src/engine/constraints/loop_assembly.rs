//! Rows of joints that close loops: the directions that they hold, and the laws of the axes that they leave free.
//!
//! A row's direction is that at the midpoint, but laws hold for the velocities at the start and the end. There the
//! velocity in that direction differs by half a step's drift ([`Direction::drift`]). With this term, links that move on
//! curves stay together to second order in the timestep, and rotors feel their actual acceleration.
//!
//! The remaining opening is evaluated at the midpoint of the next step, and the problem is solved again with it, so
//! that loops are closed at the midpoint of every step. This makes the scheme symmetric in time, and no energy leaks.

use bevy_math::DVec3;

use super::{
    island_parts::IslandParts,
    island_rows::{Constraints, Source},
    loop_joint::{Direction, JointFrames, LoopJoint, RowKind},
    loop_row::{LoopRow, Row},
    rows::Directions,
};
use crate::engine::{
    equations::motors::{MotorLimit, ON_TARGET},
    joints::axis_laws::{
        AxisLaw, AxisRow, bounded_effort, exceeds_power, mean_at_power, motor_row, passive_row, same_mean,
        stops_and_friction,
    },
    scheme::Scheme,
    solvers::problem::{Block, Law, PositionRule},
    state::addresses::LinkAddress,
};

/// Fraction of a loop's error that is removed in a step (Baumgarte 1972). The error falls to a hundredth in 20 steps. A
/// fifth is far from 2, where the correction itself would oscillate with growing amplitude.
const LOOP_CORRECTION: f64 = 0.2;

/// Opening speed of a loop that is tolerated in addition, m/s: 1e-10 m in a step of 1 ms, which the next step removes.
const CLOSED_TOLERANCE: f64 = 1e-8;

impl Constraints {
    /// Adds the rows of a loop joint, which has the index `place` in its island.
    pub(super) fn add_loop_joint(&mut self, parts: &IslandParts, place: usize, scheme: &Scheme) {
        let index = parts.own_loop_joints[place];
        let (loop_joint, h) = (&parts.loop_joints[index], scheme.h);
        let sides = [loop_joint.a, loop_joint.b].map(|side| parts.tree(side).map(|tree| (tree, side.link)));
        let motion = loop_joint.motion_of_sides(sides, scheme.gravity);
        let closing = self.closing[place];
        for (number, held) in loop_joint.held_directions(&motion).into_iter().enumerate() {
            let Some((direction, error)) = held else { continue };
            self.compute_row(parts, loop_joint, &direction, h);
            let law = Law::Interval { low: f64::NEG_INFINITY, high: f64::INFINITY };
            let mut block = self.loop_block(law, 1.0, 0.0);
            let most = scheme.correction_speed;
            block.bias[0] += (error * LOOP_CORRECTION / h).clamp(-most, most) + closing[number];
            block.position = PositionRule::Held;
            let kind = RowKind::Hold(number);
            block.impulse[0] = loop_joint.impulses[kind.row_number()];
            self.push_loop_row(LoopRow { loop_joint: index, place, kind, direction }, block);
        }
        let (motor_coordinates, power_means) = (loop_joint.motor_coordinates(), self.power_means[place]);
        let mut rates = [[0.0; 3]; 2];
        for (axis, direction) in loop_joint.free_directions(&motion).into_iter().enumerate() {
            let (Some(direction), Some(law)) = (direction, &loop_joint.axes[axis]) else { continue };
            self.compute_row(parts, loop_joint, &direction, h);
            let (q, motor) = (loop_joint.coordinates[axis], &loop_joint.motors[axis]);
            let Row { free, before, .. } = self.loop_rows.last;
            [rates[0][axis], rates[1][axis]] = [before, free];
            let linear = [
                motor_row(motor, law, motor_coordinates[axis], before, power_means[axis], h),
                passive_row(law, q, before, h),
            ];
            let rows = stops_and_friction(law, q, free, h).into_iter().chain(linear);
            rows.flatten().for_each(|row| self.add_axis_row(loop_joint, [index, place], axis, &direction, &row));
        }
        for stop in loop_joint.ball_stops(rates[0], rates[1], h).into_iter().flatten() {
            let direction = loop_joint.along_parent(&motion, stop.direction);
            self.compute_row(parts, loop_joint, &direction, h);
            self.add_axis_row(loop_joint, [index, place], stop.axis, &direction, &stop.row);
        }
    }

    /// Adds a row of a law of an axis in the direction of the last computed row. `[index, place]` are the joint's
    /// indices in the world and in its island.
    fn add_axis_row(
        &mut self,
        loop_joint: &LoopJoint,
        [index, place]: [usize; 2],
        axis: usize,
        direction: &Direction,
        row: &AxisRow,
    ) {
        let mut block = self.loop_block(row.interval_law(), row.sign, row.compliance);
        block.bias[0] += row.offset;
        (block.gap, block.position) = (row.gap, row.position_rule());
        let kind = RowKind::Axis(axis, row.law);
        block.impulse[0] = loop_joint.impulses[kind.row_number()].clamp(row.low, row.high);
        let direction = Direction { vector: direction.vector * row.sign, ..*direction };
        self.push_loop_row(LoopRow { loop_joint: index, place, kind, direction }, block);
    }

    /// True if no motor of a loop joint exceeds its largest power. A motor that does gets another row in the next
    /// assembly. With `grows`, motors at their largest power stay there.
    pub(crate) fn power_limits_consistent(&mut self, parts: &IslandParts, h: f64, grows: bool) -> bool {
        let mut keeps = true;
        for (source, block) in self.sources.iter().zip(&self.problem.blocks) {
            let &Source::LoopJoint(row) = source else { continue };
            let LoopRow { loop_joint, place, kind: RowKind::Axis(axis, AxisLaw::Motor), .. } = self.loop_rows.rows[row]
            else {
                continue;
            };
            let loop_joint = &parts.loop_joints[loop_joint];
            let Some(law) = loop_joint.axes[axis].as_ref().filter(|law| law.max_power.is_finite()) else { continue };
            let after = self.problem.velocity(block)[0] - block.bias[0] + block.free[0];
            let (mean, q) = (0.5 * (block.before[0] + after), loop_joint.motor_coordinates()[axis]);
            let last = &mut self.power_means[place][axis];
            if !exceeds_power(law, bounded_effort(&loop_joint.motors[axis], law, q, after, h), mean) {
                keeps &= *last == 0.0 || grows;
                *last = if grows { *last } else { 0.0 };
            } else if !same_mean(mean, *last) {
                keeps = false;
                let gain = 0.5 * h * (block.cone.a[0] - block.compliance[0]);
                *last = mean_at_power(law.max_power, mean, block.impulse[0] / h, gain, mean.signum());
            }
        }
        keeps
    }

    /// The limit that the motor of a row is at, with its axis.
    pub(super) fn motor_limit(
        &self,
        row: &LoopRow,
        block: &Block,
        loop_joint: &LoopJoint,
        h: f64,
    ) -> Option<(usize, MotorLimit)> {
        let RowKind::Axis(axis, AxisLaw::Motor) = row.kind else { return None };
        let law = loop_joint.axes[axis].as_ref()?;
        let after = self.problem.velocity(block)[0] - block.bias[0] + block.free[0];
        let limit = if self.power_means[row.place][axis] != 0.0 {
            MotorLimit::Power
        } else if loop_joint.motors[axis].max_effort == law.max_effort && block.impulse[0].abs() >= law.max_effort * h {
            MotorLimit::Effort
        } else if after.abs() > (1.0 - ON_TARGET) * law.max_rate {
            MotorLimit::Rate
        } else {
            return None;
        };
        Some((axis, limit))
    }

    /// True if the loops are closed at the midpoint of the next step as well, up to the opening at the present
    /// midpoint. Otherwise the rows are corrected by the missing velocities.
    pub(crate) fn loops_closed(&mut self, parts: &mut IslandParts, scheme: &Scheme) -> bool {
        let h = scheme.h;
        // A loop joint connects links of a tree that has joints, or such a link and a fixed body.
        if !parts.own_loop_joints.is_empty() {
            let linkages = parts.trees.iter_mut().filter(|tree| tree.topology.links.len() > 1);
            linkages.for_each(|tree| tree.predict_links(h));
        }
        let mut closes = true;
        for place in 0..parts.own_loop_joints.len() {
            let loop_joint = &parts.loop_joints[parts.own_loop_joints[place]];
            let (sides, now) = ([loop_joint.a, loop_joint.b], [loop_joint.place.parent, loop_joint.place.child]);
            let ahead = [0, 1].map(|k| match parts.tree(sides[k]) {
                Some(tree) => tree.work.ahead[sides[k].link].pose().then(&loop_joint.frames[k]),
                None => now[k],
            });
            let after = loop_joint.errors_at(JointFrames { parent: ahead[0], child: ahead[1] });
            let before = loop_joint.errors_at(loop_joint.place.clone());
            for (closing, (after, before)) in self.closing[place].iter_mut().zip(after.into_iter().zip(before)) {
                let missing = (after - remaining_error(before, scheme.correction_speed * h)) / h;
                *closing += missing;
                closes &= missing.abs() <= CLOSED_TOLERANCE;
            }
        }
        closes
    }

    /// Residual of a block's row at the present positions of the links, m or rad; `None` if the row belongs to no loop
    /// or coupling.
    pub(crate) fn loop_error(&self, parts: &IslandParts, block: usize) -> Option<f64> {
        let Source::LoopJoint(row) = self.sources[block] else { return None };
        let LoopRow { loop_joint, kind: RowKind::Hold(number), .. } = self.loop_rows[row] else { return None };
        let loop_joint = &parts.loop_joints[loop_joint];
        let pose = |side: LinkAddress| parts.tree(side).map(|tree| tree.work.links[side.link].pose());
        let parent = pose(loop_joint.a).map_or(loop_joint.place.parent, |pose| pose.then(&loop_joint.frames[0]));
        let child = pose(loop_joint.b).map_or(loop_joint.place.child, |pose| pose.then(&loop_joint.frames[1]));
        Some(loop_joint.errors_at(JointFrames { parent, child })[number])
    }

    /// Computes the row of a direction between the two sides of a loop joint.
    fn compute_row(&mut self, parts: &IslandParts, loop_joint: &LoopJoint, direction: &Direction, h: f64) {
        let vectors = [direction.vector, DVec3::ZERO, DVec3::ZERO];
        let directions =
            if direction.angular { Directions::rotations(vectors) } else { Directions::translations(vectors) };
        // Either both sides are links of one tree, or one is a second fixed body (`Graph::spanning_forest`), whose own
        // tree may be in this island as well.
        let moving =
            [loop_joint.a, loop_joint.b].map(|side| parts.tree(side).filter(|tree| tree.chain_of(side.link).is_some()));
        let links = [(moving[0], loop_joint.a), (moving[1], loop_joint.b)].map(|(tree, side)| tree.map(|_| side.link));
        let Some(tree) = moving[0].or(moving[1]) else { return };
        let (start, anchor) = (self.problem.columns.len(), loop_joint.place.child.translation);
        let (free, before) = self.add_columns_within(tree, links, anchor, &directions);
        let (row, drifted) = (&mut self.loop_rows.last, 0.5 * h * direction.drift);
        row.columns.clear();
        row.columns.extend(self.problem.columns.drain(start..));
        row.index.clear();
        row.index.extend(self.problem.index.drain(start..));
        (row.free, row.before) = (free[0] + drifted, before[0] - drifted);
    }

    /// A block of the last computed row, with the opposite direction if `sign` is -1.
    fn loop_block(&mut self, law: Law, sign: f64, compliance: f64) -> Block {
        let (problem, row) = (&mut self.problem, &self.loop_rows.last);
        let start = problem.columns.len();
        problem.columns.extend(row.columns.iter().map(|column| column.map(|entry| sign * entry)));
        problem.index.extend_from_slice(&row.index);
        let (free, before) = ([sign * row.free, 0.0, 0.0], [sign * row.before, 0.0, 0.0]);
        problem.block(law, start, [compliance, 0.0, 0.0], free, before)
    }

    fn push_loop_row(&mut self, row: LoopRow, block: Block) {
        self.push_block(Source::LoopJoint(self.loop_rows.rows.len()), block);
        self.loop_rows.rows.push(row);
    }

    /// Work of the motors, springs and rotors of loop joints on the links, J. The work of dampers and friction is lost.
    fn loop_work(&self, loop_joints: &[LoopJoint], h: f64) -> f64 {
        let work = |(source, block): (Source, &Block)| {
            let Source::LoopJoint(row) = source else { return 0.0 };
            let LoopRow { loop_joint, kind: RowKind::Axis(axis, law), .. } = self.loop_rows[row] else {
                return 0.0;
            };
            let after = self.problem.velocity(block)[0] - block.bias[0] + block.free[0];
            let given = match law {
                AxisLaw::Motor => block.impulse[0],
                AxisLaw::Passive => {
                    let damping = loop_joints[loop_joint].axes[axis].map_or(0.0, |law| law.damping);
                    block.impulse[0] + h * damping * after
                }
                AxisLaw::LowerStop | AxisLaw::UpperStop | AxisLaw::Friction => 0.0,
            };
            0.5 * given * (block.before[0] + after)
        };
        self.blocks().map(work).sum()
    }

    /// Adds this work to the work input of a tree.
    pub(crate) fn add_loop_work(&self, parts: &mut IslandParts, h: f64) {
        // Any tree of the island that has joints can account for all its loop joints.
        let Some(&loop_joint) = parts.own_loop_joints.first() else { return };
        let LoopJoint { a, b, .. } = parts.loop_joints[loop_joint];
        let keeper = if parts.tree(a).is_some() { a } else { b };
        let given = self.loop_work(parts.loop_joints, h);
        if let Some(tree) = parts.tree_mut(keeper) {
            tree.work.substep_work += given;
        }
    }
}

/// Remaining error of a loop after a step that removes at most `most` of it.
fn remaining_error(error: f64, most: f64) -> f64 {
    if LOOP_CORRECTION * error.abs() <= most { (1.0 - LOOP_CORRECTION) * error } else { error - most.copysign(error) }
}
