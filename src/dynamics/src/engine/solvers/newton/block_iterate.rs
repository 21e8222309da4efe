//! A block of the problem in an iteration of Newton's method, and the columns of its trees.

use crate::engine::solvers::{
    cone::{disc_slopes, on_disc},
    patch_friction::Slope,
    problem::{Block, Law, Problem},
};

/// A tree that a block moves, and the range of its columns there.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TreeColumns {
    pub(super) tree: usize,
    pub(super) from: usize,
    pub(super) to: usize,
    /// True if these are all unknowns of a free body, in order.
    pub(super) is_free_body: bool,
}

/// A block in a proximal step.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct BlockIterate {
    pub(super) sides: [TreeColumns; 2],
    /// Impulse before the step, l_k; r of each row; and one over the sum of r and compliance.
    pub(super) centre: [f64; 3],
    pub(super) resistance: [f64; 3],
    pub(super) inverse_stiffness: [f64; 3],
    /// Unbounded impulse at the present velocity, its decrease along the Newton step, and the velocity change of that
    /// step.
    pub(super) trial: [f64; 3],
    pub(super) fall: [f64; 3],
    pub(super) du: [f64; 3],
    /// Velocity; only used where impulses and velocities are solved for together.
    pub(super) u: [f64; 3],
    /// Bounded impulse, and its decrease with the velocity, - dl/du. The impulse of a disc also grows with a normal
    /// one; that of a patch with each of its normals, times the slope of that normal.
    pub(super) l: [f64; 3],
    pub(super) slope: [[f64; 3]; 3],
    pub(super) by_normal: [f64; 3],
    /// True if its impulse has depended on a velocity so far.
    pub(super) was_active: bool,
}

impl BlockIterate {
    /// The trial impulse of a row, without its bound, at the fraction `length` of the Newton step.
    fn trial_at(&self, row: usize, length: f64) -> f64 {
        self.trial[row] - length * self.fall[row]
    }

    /// Velocity of a patch at the fraction `length` of the Newton step.
    fn patch_velocity(&self, length: f64) -> [f64; 3] {
        std::array::from_fn(|c| -self.trial_at(c, length))
    }

    /// The bounded impulse at the fraction `length` of the Newton step.
    pub(super) fn bounded_impulse(
        &self,
        problem: &Problem,
        block: &Block,
        length: f64,
        bound: Option<f64>,
    ) -> [f64; 3] {
        if !(self.inverse_stiffness[0] > 0.0) {
            return [0.0; 3];
        }
        match block.law {
            Law::Interval { low, high } => [self.trial_at(0, length).clamp(low, high), 0.0, 0.0],
            Law::Disc { rows, .. } => {
                let second = if rows > 1 { self.trial_at(1, length) } else { 0.0 };
                let [x, y] = on_disc([self.trial_at(0, length), second], bound.unwrap_or(0.0));
                [x, y, 0.0]
            }
            Law::Cone => {
                let normal = self.trial_at(0, length).max(0.0);
                let bound = bound.unwrap_or(normal);
                if bound == 0.0 || !block.cone.friction {
                    return [normal, 0.0, 0.0];
                }
                let [x, y] = on_disc([self.trial_at(1, length), self.trial_at(2, length)], bound);
                [normal, x, y]
            }
            Law::Patch { patch, .. } => {
                let u = self.patch_velocity(length);
                problem.patches[patch].slope(u).gradient.map(|g| -bound.unwrap_or(0.0) * g)
            }
        }
    }

    /// Sets the slopes of the impulse at the present velocity; `by_normal` is the slope of the radius of a disc.
    pub(super) fn set_slopes(&mut self, problem: &Problem, block: &Block, bound: Option<f64>, by_normal: f64) {
        (self.slope, self.by_normal) = ([[0.0; 3]; 3], [0.0; 3]);
        if !(self.inverse_stiffness[0] > 0.0) {
            return;
        }
        let first = self.inverse_stiffness[0];
        match block.law {
            Law::Interval { low, high } => {
                let inside = low < self.trial_at(0, 0.0) && self.trial_at(0, 0.0) < high;
                self.slope[0][0] = if inside { first } else { 0.0 };
            }
            Law::Disc { rows, .. } => {
                let second = if rows > 1 { self.trial_at(1, 0.0) } else { 0.0 };
                let (by_point, by_radius) = disc_slopes([self.trial_at(0, 0.0), second], bound.unwrap_or(0.0));
                for i in 0..rows {
                    (0..rows).for_each(|k| self.slope[i][k] = by_point[i][k] * first);
                    self.by_normal[i] = by_radius[i] * by_normal;
                }
            }
            Law::Cone => {
                let normal = if self.l[0] > 0.0 { first } else { 0.0 };
                self.slope[0][0] = normal;
                let (radius, by_normal) = bound.map_or((self.l[0], normal), |bound| (bound, 0.0));
                if radius > 0.0 && block.cone.friction {
                    let (by_point, by_radius) = disc_slopes([self.trial_at(1, 0.0), self.trial_at(2, 0.0)], radius);
                    for i in 0..2 {
                        (0..2).for_each(|k| self.slope[i + 1][k + 1] = by_point[i][k] * self.inverse_stiffness[1]);
                        self.slope[i + 1][0] = by_radius[i] * by_normal;
                    }
                }
            }
            Law::Patch { patch, .. } => {
                let slope = problem.patches[patch].slope(self.patch_velocity(0.0));
                self.set_patch_slopes(slope, bound.unwrap_or(0.0), by_normal);
            }
        }
    }

    /// Sets the slopes of a patch with this normal impulse. `by_normal` is the share of the slopes of its normal
    /// impulses that counts.
    pub(super) fn set_patch_slopes(&mut self, slope: Slope, normal: f64, by_normal: f64) {
        self.slope = slope.hessian.map(|row| row.map(|entry| normal * entry));
        self.by_normal = slope.gradient.map(|g| -by_normal * g);
    }

    /// True if its impulse depends on any velocity.
    pub(super) fn is_active(&self) -> bool {
        self.slope != [[0.0; 3]; 3] || self.by_normal != [0.0; 3]
    }
}
