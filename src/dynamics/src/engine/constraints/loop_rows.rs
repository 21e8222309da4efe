//! The rows of joints that close loops: what they hold together, and the laws of the axes that they leave free.
//!
//! A row's direction is taken at the middle of the step, but laws speak of the velocities at its start and its end. Half a step
//! before and after, the direction's own velocity differs by half a step's drift ([`Direction::drift`]), so links that move on
//! curves stay together to second order in the timestep, and rotors feel the acceleration that they have. What is missing then is
//! looked up at the middle of the next step, and solved for again, so that loops are closed at the middle of every step: that
//! makes the scheme the same backwards in time, and no energy leaks.

use std::ops::Index;

use bevy_math::DVec3;

use super::{
    Constraints, Parts, Source,
    loop_joint::{Closure, Direction, Placement, Purpose},
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
    state::addresses::Side,
};

/// Part of a loop's error that is taken out in a step (Baumgarte 1972): it falls to a hundredth in 20 steps, and a fifth is far
/// from 2, where the correction itself would oscillate with growing amplitude.
const LOOP_CORRECTION: f64 = 0.2;

/// Speed with which a loop may open beside that, m/s: 1e-10 m in a step of 1 ms, which the next takes out.
const CLOSED: f64 = 1e-8;

/// What a row of a closure is.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClosureRow {
    pub(super) closure: usize,
    /// Its place among those of the island.
    pub(super) place: usize,
    pub(super) purpose: Purpose,
    pub(super) direction: Direction,
}

/// The rows of an island's closures, and the last row that was worked out.
#[derive(Debug, Default)]
pub(super) struct ClosureRows {
    rows: Vec<ClosureRow>,
    last: Row,
}

/// A row as it was worked out: its columns, its velocities at the end of the step without impulses and at the start.
#[derive(Debug, Default)]
struct Row {
    columns: Vec<[f64; 4]>,
    index: Vec<u32>,
    free: f64,
    before: f64,
}

impl ClosureRows {
    pub(super) fn clear(&mut self) {
        self.rows.clear();
    }
}

impl Index<usize> for ClosureRows {
    type Output = ClosureRow;

    fn index(&self, row: usize) -> &ClosureRow {
        &self.rows[row]
    }
}

impl Constraints {
    pub(super) fn add_closure(&mut self, parts: &Parts, place: usize, scheme: &Scheme) {
        let index = parts.own_closures[place];
        let (closure, h) = (&parts.closures[index], scheme.h);
        let sides = [closure.a, closure.b].map(|side| parts.tree(side).map(|tree| (tree, side.link)));
        let motion = closure.motion(sides, scheme.gravity);
        let closing = self.closing[place];
        for (number, held) in closure.held(&motion).into_iter().enumerate() {
            let Some((direction, error)) = held else { continue };
            self.set_last_row(parts, closure, &direction, h);
            let law = Law::Interval { low: f64::NEG_INFINITY, high: f64::INFINITY };
            let mut block = self.closure_block(law, 1.0, 0.0);
            let most = scheme.correction_speed;
            block.bias[0] += (error * LOOP_CORRECTION / h).clamp(-most, most) + closing[number];
            block.position = PositionRule::Held;
            let purpose = Purpose::Hold(number);
            block.impulse[0] = closure.impulses[purpose.number()];
            self.push_closure_row(ClosureRow { closure: index, place, purpose, direction }, block);
        }
        let (motor_coordinates, power_means) = (closure.motor_coordinates(), self.power_means[place]);
        let mut rates = [[0.0; 3]; 2];
        for (axis, direction) in closure.free(&motion).into_iter().enumerate() {
            let (Some(direction), Some(law)) = (direction, &closure.axes[axis]) else { continue };
            self.set_last_row(parts, closure, &direction, h);
            let (q, motor) = (closure.coordinates[axis], &closure.motors[axis]);
            let Row { free, before, .. } = self.closure_rows.last;
            [rates[0][axis], rates[1][axis]] = [before, free];
            let linear = [
                motor_row(motor, law, motor_coordinates[axis], before, power_means[axis], h),
                passive_row(law, q, before, h),
            ];
            let rows = stops_and_friction(law, q, free, h).into_iter().chain(linear);
            rows.flatten().for_each(|row| self.add_axis_row(closure, [index, place], axis, &direction, &row));
        }
        for stop in closure.ball_stops(rates[0], rates[1], h).into_iter().flatten() {
            let direction = closure.along_parent(&motion, stop.direction);
            self.set_last_row(parts, closure, &direction, h);
            self.add_axis_row(closure, [index, place], stop.axis, &direction, &stop.row);
        }
    }

    /// Adds a row of a law of an axis in the direction of the row that was worked out last.
    fn add_axis_row(
        &mut self,
        closure: &Closure,
        [index, place]: [usize; 2],
        axis: usize,
        direction: &Direction,
        row: &AxisRow,
    ) {
        let mut block = self.closure_block(row.interval(), row.sign, row.compliance);
        block.bias[0] += row.offset;
        (block.gap, block.position) = (row.gap, row.position_rule());
        let purpose = Purpose::Axis(axis, row.law);
        block.impulse[0] = closure.impulses[purpose.number()].clamp(row.low, row.high);
        let direction = Direction { vector: direction.vector * row.sign, ..*direction };
        self.push_closure_row(ClosureRow { closure: index, place, purpose, direction }, block);
    }

    /// Whether no motor of a closure gives more than its largest power. If one does, its row is another when the rows are assembled again.
    /// Where it `grows`, what is at its largest power stays there.
    pub(crate) fn keeps_powers(&mut self, parts: &Parts, h: f64, grows: bool) -> bool {
        let mut keeps = true;
        for (source, block) in self.sources.iter().zip(&self.problem.blocks) {
            let &Source::Closure(row) = source else { continue };
            let ClosureRow { closure, place, purpose: Purpose::Axis(axis, AxisLaw::Motor), .. } =
                self.closure_rows.rows[row]
            else {
                continue;
            };
            let closure = &parts.closures[closure];
            let Some(law) = closure.axes[axis].as_ref().filter(|law| law.max_power.is_finite()) else { continue };
            let after = self.problem.velocity(block)[0] - block.bias[0] + block.free[0];
            let (mean, q) = (0.5 * (block.before[0] + after), closure.motor_coordinates()[axis]);
            let last = &mut self.power_means[place][axis];
            if !exceeds_power(law, bounded_effort(&closure.motors[axis], law, q, after, h), mean) {
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

    /// Which bound the motor of a row was at.
    pub(super) fn motor_limit(
        &self,
        row: &ClosureRow,
        block: &Block,
        closure: &Closure,
        h: f64,
    ) -> Option<(usize, MotorLimit)> {
        let Purpose::Axis(axis, AxisLaw::Motor) = row.purpose else { return None };
        let law = closure.axes[axis].as_ref()?;
        let after = self.problem.velocity(block)[0] - block.bias[0] + block.free[0];
        let limit = if self.power_means[row.place][axis] != 0.0 {
            MotorLimit::Power
        } else if closure.motors[axis].max_effort == law.max_effort && block.impulse[0].abs() >= law.max_effort * h {
            MotorLimit::Effort
        } else if after.abs() > (1.0 - ON_TARGET) * law.max_rate {
            MotorLimit::Rate
        } else {
            return None;
        };
        Some((axis, limit))
    }

    /// Whether the loops are closed at the middle of the next step, too, but for what was open at that of this one. If not, the
    /// rows get what is missing.
    pub(crate) fn closes(&mut self, parts: &mut Parts, scheme: &Scheme) -> bool {
        let h = scheme.h;
        // A loop joint is between links of a tree that has joints, or one of it and a fixed body.
        if !parts.own_closures.is_empty() {
            let linkages = parts.trees.iter_mut().filter(|tree| tree.topology.links.len() > 1);
            linkages.for_each(|tree| tree.predict_links(h));
        }
        let mut closes = true;
        for place in 0..parts.own_closures.len() {
            let closure = &parts.closures[parts.own_closures[place]];
            let (sides, now) = ([closure.a, closure.b], [closure.place.parent, closure.place.child]);
            let ahead = [0, 1].map(|k| match parts.tree(sides[k]) {
                Some(tree) => tree.work.ahead[sides[k].link].pose().then(&closure.frames[k]),
                None => now[k],
            });
            let after = closure.errors_at(Placement { parent: ahead[0], child: ahead[1] });
            let before = closure.errors_at(closure.place.clone());
            for (closing, (after, before)) in self.closing[place].iter_mut().zip(after.into_iter().zip(before)) {
                let missing = (after - left_of(before, scheme.correction_speed * h)) / h;
                *closing += missing;
                closes &= missing.abs() <= CLOSED;
            }
        }
        closes
    }

    /// Residual of a block's row at the present positions of the links, m or rad; `None` if the row belongs to no loop or coupling.
    pub(crate) fn loop_error(&self, parts: &Parts, block: usize) -> Option<f64> {
        let Source::Closure(row) = self.sources[block] else { return None };
        let ClosureRow { closure, purpose: Purpose::Hold(number), .. } = self.closure_rows[row] else { return None };
        let closure = &parts.closures[closure];
        let pose = |side: Side| parts.tree(side).map(|tree| tree.work.links[side.link].pose());
        let parent = pose(closure.a).map_or(closure.place.parent, |pose| pose.then(&closure.frames[0]));
        let child = pose(closure.b).map_or(closure.place.child, |pose| pose.then(&closure.frames[1]));
        Some(closure.errors_at(Placement { parent, child })[number])
    }

    /// Works out the row of a direction between the two sides of a closure.
    fn set_last_row(&mut self, parts: &Parts, closure: &Closure, direction: &Direction, h: f64) {
        let vectors = [direction.vector, DVec3::ZERO, DVec3::ZERO];
        let directions = Directions { vectors, angular: direction.angular };
        // Either both sides are links of one tree, or one is a second fixed body (`Graph::spanning_forest`), whose own tree may be in this
        // island as well.
        let moving =
            [closure.a, closure.b].map(|side| parts.tree(side).filter(|tree| tree.chain_of(side.link).is_some()));
        let links = [(moving[0], closure.a), (moving[1], closure.b)].map(|(tree, side)| tree.map(|_| side.link));
        let Some(tree) = moving[0].or(moving[1]) else { return };
        let (start, anchor) = (self.problem.columns.len(), closure.place.child.translation);
        let (free, before) = self.add_columns_within(tree, links, anchor, &directions);
        let (row, drifted) = (&mut self.closure_rows.last, 0.5 * h * direction.drift);
        row.columns.clear();
        row.columns.extend(self.problem.columns.drain(start..));
        row.index.clear();
        row.index.extend(self.problem.index.drain(start..));
        (row.free, row.before) = (free[0] + drifted, before[0] - drifted);
    }

    /// A block of the row that was worked out last, the other way round if `sign` is -1.
    fn closure_block(&mut self, law: Law, sign: f64, compliance: f64) -> Block {
        let (problem, row) = (&mut self.problem, &self.closure_rows.last);
        let start = problem.columns.len();
        problem.columns.extend(row.columns.iter().map(|column| column.map(|entry| sign * entry)));
        problem.index.extend_from_slice(&row.index);
        let (free, before) = ([sign * row.free, 0.0, 0.0], [sign * row.before, 0.0, 0.0]);
        problem.block(law, start, [compliance, 0.0, 0.0], free, before)
    }

    fn push_closure_row(&mut self, row: ClosureRow, block: Block) {
        self.push_block(Source::Closure(self.closure_rows.rows.len()), block);
        self.closure_rows.rows.push(row);
    }

    /// What the motors, springs and rotors of closures gave to the links, J. What dampers and friction took is lost.
    fn closure_work(&self, closures: &[Closure], h: f64) -> f64 {
        let work = |(source, block): (Source, &Block)| {
            let Source::Closure(row) = source else { return 0.0 };
            let ClosureRow { closure, purpose: Purpose::Axis(axis, law), .. } = self.closure_rows[row] else {
                return 0.0;
            };
            let after = self.problem.velocity(block)[0] - block.bias[0] + block.free[0];
            let given = match law {
                AxisLaw::Motor => block.impulse[0],
                AxisLaw::Passive => {
                    let damping = closures[closure].axes[axis].map_or(0.0, |law| law.damping);
                    block.impulse[0] + h * damping * after
                }
                AxisLaw::LowerStop | AxisLaw::UpperStop | AxisLaw::Friction => 0.0,
            };
            0.5 * given * (block.before[0] + after)
        };
        self.blocks().map(work).sum()
    }

    /// Adds that work to what the motors of the closures' trees gave.
    pub(crate) fn count_closure_work(&self, parts: &mut Parts, h: f64) {
        // Any tree of the island that has joints can keep the account of all its closures.
        let Some(&closure) = parts.own_closures.first() else { return };
        let Closure { a, b, .. } = parts.closures[closure];
        let keeper = if parts.tree(a).is_some() { a } else { b };
        let given = self.closure_work(parts.closures, h);
        if let Some(tree) = parts.tree_mut(keeper) {
            tree.work.substep_work += given;
        }
    }
}

/// What is left of a loop's error after a step that takes out no more than `most` of it.
fn left_of(error: f64, most: f64) -> f64 {
    if LOOP_CORRECTION * error.abs() <= most { (1.0 - LOOP_CORRECTION) * error } else { error - most.copysign(error) }
}
