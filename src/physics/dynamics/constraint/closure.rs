//! The rows of joints that close loops: what they hold together, and the laws of the axes that they leave free.
//!
//! A row's direction is taken at the middle of the step, but laws speak of the velocities at its start and its end. Half a step
//! before and after, the velocity in that direction differs by half a step's drift ([`Direction::drift`]): so links that move on
//! curves stay together to second order in the timestep, and rotors feel the acceleration that they have.

use bevy_math::DVec3;

use super::axis::{AxisLaw, AxisRow, motor_row, passive_row, stops_and_friction};
use crate::physics::dynamics::{
    closure::{Closure, Direction, Motion, Purpose},
    problem::{Block, Kind, Parts, Problem, Scheme},
    spatial::Spatial,
};

/// Part of a loop's error that is taken out in a step (Baumgarte 1972).
const LOOP_CORRECTION: f64 = 0.2;

/// What a row of a closure is.
#[derive(Debug, Clone, Copy)]
pub(in crate::physics::dynamics) struct ClosureRow {
    pub(in crate::physics::dynamics) closure: usize,
    pub(in crate::physics::dynamics) purpose: Purpose,
    pub(in crate::physics::dynamics) direction: Direction,
}

/// A row whose columns were taken out of the problem again, and its velocities without impulses and at the start.
#[derive(Debug, Default)]
pub(in crate::physics::dynamics) struct TakenRow {
    columns: Vec<[f64; 4]>,
    index: Vec<u32>,
    free: f64,
    before: f64,
}

impl Problem {
    pub(in crate::physics::dynamics) fn add_closure(&mut self, parts: &mut Parts, index: usize, scheme: &Scheme) {
        let (closures, h) = (parts.closures, scheme.h);
        let closure = &closures[index];
        let motion = motion(parts, closure, scheme.gravity);
        for (number, held) in closure.held(&motion).into_iter().enumerate() {
            let Some((direction, error)) = held else { continue };
            self.take_row(parts, closure, &direction, h);
            let purpose = Purpose::Hold(number);
            let mut block = self.closure_block(ClosureRow { closure: index, purpose, direction }, 1.0, 0.0);
            block.bias[0] += error * LOOP_CORRECTION / h;
            block.impulse[0] = closure.impulses[purpose.number()];
            self.blocks.push(block);
        }
        for (axis, direction) in closure.free(&motion).into_iter().enumerate() {
            let (Some(direction), Some(law)) = (direction, &closure.axes[axis]) else { continue };
            self.take_row(parts, closure, &direction, h);
            let (q, motor, before) = (closure.coordinates[axis], &closure.motors[axis], self.taken.before);
            let linear = [motor_row(motor, q, before, h), passive_row(law, q, before, h)];
            let asked = stops_and_friction(law, q, self.taken.free, h).into_iter().chain(linear);
            for AxisRow { law, sign, gap, offset, compliance, low, high } in asked.flatten() {
                let purpose = Purpose::Axis(axis, law);
                let direction = Direction { vector: direction.vector * sign, ..direction };
                let of = ClosureRow { closure: index, purpose, direction };
                let mut block = self.closure_block(of, sign, compliance);
                block.bias[0] += offset;
                (block.low, block.high, block.gap) = (low, high, gap);
                block.impulse[0] = closure.impulses[purpose.number()].clamp(low, high);
                self.blocks.push(block);
            }
        }
    }

    /// Works out the row of a direction between the two sides of a closure. Its velocities are those at the start and at the
    /// end of the step: half a step before and after the middle, where the direction is taken.
    fn take_row(&mut self, parts: &Parts, closure: &Closure, direction: &Direction, h: f64) {
        let (start, anchor) = (self.columns.len(), closure.place.child.translation);
        let directions = [direction.vector, DVec3::ZERO, DVec3::ZERO];
        // Either both sides are links of one tree, or one is a second fixed body (`Graph::spanning_forest`).
        let ends = [closure.a, closure.b].map(|side| parts.tree(side).map(|_| (side.link, anchor)));
        let tree = parts.tree(closure.a).or(parts.tree(closure.b));
        let (free, before) = tree
            .map_or_else(Default::default, |tree| self.add_columns_within(tree, ends, directions, direction.angular));
        let (taken, drifted) = (&mut self.taken, 0.5 * h * direction.drift);
        taken.columns.clear();
        taken.columns.extend(self.columns.drain(start..));
        taken.index.clear();
        taken.index.extend(self.index.drain(start..));
        (taken.free, taken.before) = (free[0] + drifted, before[0] - drifted);
    }

    /// A block of the row that was taken, the other way round if `sign` is -1.
    fn closure_block(&mut self, of: ClosureRow, sign: f64, compliance: f64) -> Block {
        let (start, row) = (self.columns.len(), &self.taken);
        self.columns.extend(row.columns.iter().map(|column| column.map(|entry| sign * entry)));
        self.index.extend_from_slice(&row.index);
        let (free, before) = (sign * row.free, sign * row.before);
        let kind = Kind::Closure(self.closure_rows.len());
        self.closure_rows.push(of);
        self.block(kind, start, [compliance, 0.0, 0.0], [free, 0.0, 0.0], [before, 0.0, 0.0])
    }

    /// What the motors, springs and rotors of closures gave to the links, J. What dampers and friction took is lost.
    pub(in crate::physics::dynamics) fn closure_work(&self, closures: &[Closure], h: f64) -> f64 {
        let work = |block: &Block| {
            let Kind::Closure(row) = block.kind else { return 0.0 };
            let ClosureRow { closure, purpose: Purpose::Axis(axis, law), .. } = self.closure_rows[row] else {
                return 0.0;
            };
            let after = self.velocity(block)[0] - block.bias[0] + block.free[0];
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
        self.blocks.iter().map(work).sum()
    }
}

/// How the sides of a closure move at the middle of the step.
fn motion(parts: &Parts, closure: &Closure, gravity: DVec3) -> Motion {
    let anchor = closure.place.child.translation;
    let [a, b] = [closure.a, closure.b].map(|side| {
        let Some(tree) = parts.tree(side) else { return [Spatial::ZERO; 2] };
        let (link, lever) = (&tree.work.links[side.link], anchor - tree.work.origin);
        // The links' accelerations are those of bodies that gravity holds back.
        let fall = Spatial::new(DVec3::ZERO, gravity);
        [link.velocity.shifted(lever), link.acceleration.shifted(lever) + fall]
    });
    Motion { velocity: [a[0], b[0]], acceleration: [a[1], b[1]] }
}
