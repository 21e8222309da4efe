//! Statistics of the contact wrench on each body between two logged steps: mean and peak force and torque.

use simpartner_model::BodyId;
use simpartner_wire::signal::Layout;

use crate::format::{
    cell::{self, Cell},
    schema::TableId,
    table_rows::TableRows,
};

/// Statistics of one body. Wrenches are force x, y, z, N, then torque x, y, z, N m.
#[derive(Debug, Clone, Copy, Default)]
struct WrenchStatistics {
    sums: [f64; 6],
    /// For each component, the value of largest magnitude, with its sign.
    peaks: [f64; 6],
    /// Largest magnitude of the force, N.
    greatest_force: f64,
    /// Largest magnitude of the torque, N m.
    greatest_torque: f64,
}

/// Statistics over the steps since the last logged one.
#[derive(Debug)]
pub(super) struct Interval {
    bodies: Vec<(BodyId, WrenchStatistics)>,
    /// Number of steps added.
    steps: u64,
}

impl Interval {
    /// An empty interval for these bodies.
    pub(super) fn new(bodies: &[BodyId]) -> Self {
        Self { bodies: bodies.iter().map(|&body| (body, WrenchStatistics::default())).collect(), steps: 0 }
    }

    /// Adds a step.
    pub(super) fn add_step(&mut self, layout: &Layout, values: &[f64]) {
        self.steps += 1;
        for (body, statistics) in &mut self.bodies {
            let wrench = &values[layout.wrench(*body)];
            for ((value, total), peak) in wrench.iter().zip(&mut statistics.sums).zip(&mut statistics.peaks) {
                *total += value;
                if value.abs() > peak.abs() {
                    *peak = *value;
                }
            }
            let length = |vector: &[f64]| vector.iter().map(|value| value * value).sum::<f64>().sqrt();
            statistics.greatest_force = statistics.greatest_force.max(length(&wrench[..3]));
            statistics.greatest_torque = statistics.greatest_torque.max(length(&wrench[3..]));
        }
    }

    /// Adds the rows of a logged step for the bodies for which `is_written` returns true, and starts the next interval.
    pub(super) fn push_rows(&mut self, rows: &mut TableRows, step: u64, is_written: impl Fn(BodyId) -> bool) {
        let steps = std::mem::take(&mut self.steps);
        let cells = rows.cells_mut(TableId::ForceAndTorqueInterval);
        for (body, statistics) in &mut self.bodies {
            let WrenchStatistics { sums, peaks, greatest_force, greatest_torque } = std::mem::take(statistics);
            if !is_written(*body) {
                continue;
            }
            cells.extend([Cell::Step(step), cell::body(*body), steps.into()]);
            let means = sums.map(|sum| sum / steps as f64);
            cells.extend(means.into_iter().chain(peaks).chain([greatest_force, greatest_torque]).map(Cell::Real));
        }
    }
}
