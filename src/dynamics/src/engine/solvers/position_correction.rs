//! Position correction: temporary pseudo-velocities that reduce penetration.
//!
//! For shallow penetration, a few sweeps find them. If these move a body far, or leave important rows unsolved,
//! [`crate::engine::islands::separation`] finds them with more care.

use super::problem::{Block, Law, PositionRule, Problem};
use crate::engine::scheme::Scheme;

/// Number of sweeps. They need not converge: later steps remove the rest.
const SWEEP_COUNT: usize = 20;
/// Remaining error in a step that is left to later steps. For contacts, m: a tenth of the depth from which shapes are
/// separated with more care. For stops, where yielding would be visible, and for loops and couplings, which would cause
/// velocities in the next step, m or rad.
const CONTACT_TOLERANCE: f64 = 1e-5;
const STOP_TOLERANCE: f64 = 1e-6;
const LOOP_TOLERANCE: f64 = 1e-10;
/// Depth, m, above which an overlap must open at half its target speed or more; otherwise the sweeps were insufficient.
const DEEP_PENETRATION: f64 = 1e-4;
/// Depth, m, from which unseparated shapes are reported: ten times the uncorrected layer by default. Shapes are
/// unseparated if they open slower than this fraction of the target speed: at a fifth of the depth in a step, such an
/// overlap would last for hundreds of steps.
const REPORTED_DEPTH: f64 = 1e-5;
const MIN_OPENING_FRACTION: f64 = 0.01;

/// Whitened pseudo-velocities, and the buffers to find them.
#[derive(Debug, Default)]
pub(crate) struct PositionCorrection {
    pub(crate) w: Vec<f64>,
    pub(crate) rows: Vec<Row>,
    pub(crate) columns: Vec<(f64, u32)>,
}

/// The first row of a block, which is corrected.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) block: usize,
    /// Target speed, m/s or rad/s.
    pub(crate) target: f64,
    /// Its diagonal entry of A.
    pub(crate) own: f64,
    /// True if it holds: its speed is exactly the target.
    pub(crate) held: bool,
    /// True if it is a stop of an axis.
    pub(crate) is_stop: bool,
    /// End of its columns.
    pub(crate) end: usize,
    impulse: f64,
}

/// Quality of the pseudo-velocities.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Review {
    /// Largest target speed, m/s or rad/s.
    pub(crate) max_target: f64,
    /// True if held rows have too large errors, or deep shapes do not separate.
    pub(crate) insufficient: bool,
}

impl Problem {
    /// Finds pseudo-velocities for the following drift that remove a part of the penetration. They affect normals,
    /// stops and held rows. They never change velocities, so they add no kinetic energy and do not disturb friction.
    /// Returns false if nothing penetrates.
    pub(crate) fn correct_positions(&self, correction: &mut PositionCorrection, scheme: &Scheme) -> bool {
        let counts = |block: &Block| block.position != PositionRule::Ignored;
        if !self.blocks.iter().any(|block| counts(block) && block.gap < -scheme.surface_layer) {
            return false;
        }
        let PositionCorrection { w, rows, columns } = correction;
        let target = |block: &Block| {
            let depth = -block.gap - scheme.surface_layer;
            if block.position == PositionRule::Held {
                0.0
            } else if depth > 0.0 {
                (scheme.correction * depth / scheme.h).min(scheme.correction_speed)
            } else {
                -self.velocity(block)[0].max(0.0)
            }
        };
        // The rows are copied one after the other, because reading them from the blocks would take longer than all the
        // rest.
        rows.clear();
        columns.clear();
        let blocks = self.blocks.iter().enumerate();
        for (number, block) in blocks.filter(|(_, block)| counts(block) && block.cone.a[0] > 0.0) {
            let range = block.start..block.start + block.length;
            columns.extend(self.columns[range.clone()].iter().map(|y| y[0]).zip(self.index[range].iter().copied()));
            let (own, held) = (block.cone.a[0], block.position == PositionRule::Held);
            let (is_stop, end) = (block.law != Law::Cone && !held, columns.len());
            rows.push(Row { block: number, target: target(block), own, held, is_stop, end, impulse: 0.0 });
        }
        w.clear();
        w.resize(self.w.len(), 0.0);
        for _ in 0..SWEEP_COUNT {
            let mut start = 0;
            for row in rows.iter_mut() {
                let columns = &columns[start..row.end];
                start = row.end;
                let u = columns.iter().fold(-row.target, |u, &(y, i)| u + y * w[i as usize]);
                let impulse = row.impulse - u / row.own;
                let impulse = if row.held { impulse } else { impulse.max(0.0) };
                let change = impulse - row.impulse;
                row.impulse = impulse;
                if change != 0.0 {
                    columns.iter().for_each(|&(y, i)| w[i as usize] += y * change);
                }
            }
        }
        true
    }
}

impl PositionCorrection {
    /// Each row with its columns.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&Row, &[(f64, u32)])> {
        let starts = std::iter::once(0).chain(self.rows.iter().map(|row| row.end));
        self.rows.iter().zip(starts).map(|(row, start)| (row, &self.columns[start..row.end]))
    }

    /// Checks the pseudo-velocities against the targets of the rows.
    pub(crate) fn check_targets(&self, problem: &Problem, scheme: &Scheme) -> Review {
        let mut review = Review::default();
        for (row, columns) in self.rows() {
            let u = self.velocity_along(columns);
            let violation = if row.held { u.abs() } else { row.target - u };
            let tolerance = match (row.held, row.is_stop) {
                (true, _) => LOOP_TOLERANCE,
                (_, true) => STOP_TOLERANCE,
                _ => CONTACT_TOLERANCE,
            };
            review.insufficient |= if row.target > 0.0 {
                -problem.blocks[row.block].gap > DEEP_PENETRATION && u < 0.5 * row.target
            } else {
                violation * scheme.h > tolerance
            };
            review.max_target = review.max_target.max(row.target);
        }
        review
    }

    /// Depth, m, and block of the deepest overlap that is not separated.
    pub(crate) fn deepest_unseparated(&self, problem: &Problem, scheme: &Scheme) -> Option<(f64, usize)> {
        let held = problem.blocks.iter().enumerate().filter(|(_, block)| {
            let is_contact = block.law == Law::Cone && block.position == PositionRule::PushedOut;
            is_contact && block.cone.a[0] == 0.0
        });
        let slow = self.rows().filter(|(row, columns)| {
            row.target > 0.0 && self.velocity_along(columns) < MIN_OPENING_FRACTION * row.target
        });
        let slow =
            slow.map(|(row, _)| (row.block, &problem.blocks[row.block])).filter(|(_, block)| block.law == Law::Cone);
        let mut deepest = None;
        for (number, block) in held.chain(slow) {
            let depth = -block.gap;
            if depth > REPORTED_DEPTH.max(2.0 * scheme.surface_layer) && deepest.is_none_or(|(most, _)| depth > most) {
                deepest = Some((depth, number));
            }
        }
        deepest
    }

    /// Pseudo-velocity along a row.
    fn velocity_along(&self, columns: &[(f64, u32)]) -> f64 {
        columns.iter().fold(0.0, |u, &(y, i)| u + y * self.w[i as usize])
    }
}
