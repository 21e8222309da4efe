//! The pass that takes out penetration: pseudo-velocities that move what is in each other apart and are forgotten.

use super::problem::{Block, PositionRule, Problem, Scheme};

/// Sweeps of the pass. They need not converge: what they leave is taken out in the next steps.
const SWEEPS: usize = 20;

/// Pseudo-velocities, whitened, that take out penetration, and the memory of their search.
#[derive(Debug, Default)]
pub(super) struct Correction {
    pub(super) w: Vec<f64>,
    rows: Vec<Row>,
    columns: Vec<(f64, u32)>,
}

/// The first row of a block: how fast it is to move, its diagonal entry of A, its columns, and its pseudo-impulse.
#[derive(Debug)]
struct Row {
    target: f64,
    own: f64,
    held: bool,
    end: usize,
    impulse: f64,
}

impl Problem {
    /// Finds the pseudo-velocities that take out a part of the penetration in the following drift. They touch normals, stops
    /// and what holds loops together, and never the velocities, so they give no kinetic energy and do not disturb friction.
    /// False if nothing penetrates.
    pub(super) fn correct(&self, correction: &mut Correction, scheme: &Scheme) -> bool {
        let counts = |block: &Block| block.position != PositionRule::Ignored;
        if !self.blocks.iter().any(|block| counts(block) && block.gap < -scheme.surface_layer) {
            return false;
        }
        let Correction { w, rows, columns } = correction;
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
        // Rows one after the other: the blocks themselves would take longer to read than all the rest.
        rows.clear();
        columns.clear();
        for block in self.blocks.iter().filter(|block| counts(block) && block.cone.a[0] > 0.0) {
            let range = block.start..block.start + block.length;
            columns.extend(self.columns[range.clone()].iter().map(|y| y[0]).zip(self.index[range].iter().copied()));
            let (own, held) = (block.cone.a[0], block.position == PositionRule::Held);
            rows.push(Row { target: target(block), own, held, end: columns.len(), impulse: 0.0 });
        }
        w.clear();
        w.resize(self.w.len(), 0.0);
        for _ in 0..SWEEPS {
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
