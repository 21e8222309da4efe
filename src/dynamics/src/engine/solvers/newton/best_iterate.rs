//! The best iterate of a search, from which another search starts.

use super::block_iterate::BlockIterate;

/// The iterate with the smallest residual.
#[derive(Debug, Default)]
pub(super) struct BestIterate {
    pub(super) impulses: Vec<[f64; 3]>,
    pub(super) w: Vec<f64>,
    /// Violation of the laws, and the largest velocity caused by an impulse, m/s.
    pub(super) residual: f64,
    pub(super) scale: f64,
}

impl BestIterate {
    pub(super) fn record(&mut self, residual: f64, points: &[BlockIterate], w: &[f64]) {
        self.residual = residual;
        self.impulses.clear();
        self.impulses.extend(points.iter().map(|point| point.centre));
        self.w.clear();
        self.w.extend_from_slice(w);
    }
}
