//! The pass that takes out penetration: pseudo-velocities that move what is in each other apart and are forgotten.

use super::problem::{Block, PositionRule, Problem, Scheme};

/// Sweeps of the pass. They need not converge: what they leave is taken out in the next steps.
const SWEEPS: usize = 20;

/// Pseudo-velocities, whitened, that take out penetration, and the memory of their search.
#[derive(Debug, Default)]
pub(super) struct Correction {
    pub(super) w: Vec<f64>,
    targets: Vec<f64>,
    impulses: Vec<f64>,
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
        let Correction { w, targets, impulses } = correction;
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
        targets.clear();
        targets.extend(self.blocks.iter().map(target));
        for (numbers, count) in [(&mut *impulses, self.blocks.len()), (&mut *w, self.w.len())] {
            numbers.clear();
            numbers.resize(count, 0.0);
        }
        for _ in 0..SWEEPS {
            for (place, block) in self.blocks.iter().enumerate().filter(|(_, block)| counts(block)) {
                let range = block.start..block.start + block.length;
                let columns = self.columns[range.clone()].iter().zip(&self.index[range]);
                let u = columns.clone().fold(-targets[place], |u, (y, &i)| u + y[0] * w[i as usize]);
                if block.cone.a[0] <= 0.0 {
                    continue;
                }
                let impulse = impulses[place] - u / block.cone.a[0];
                let impulse = if block.position == PositionRule::Held { impulse } else { impulse.max(0.0) };
                let change = impulse - impulses[place];
                impulses[place] = impulse;
                if change != 0.0 {
                    columns.for_each(|(y, &i)| w[i as usize] += y[0] * change);
                }
            }
        }
        true
    }
}
