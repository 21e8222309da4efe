//! What contacts did to bodies between logged steps: mean and greatest force and torque.

use simpartner_model::BodyId;
use simpartner_wire::signal::Layout;

use crate::format::{
    cell::{self, Cell},
    schema::TableId,
    table_rows::TableRows,
};

/// The numbers of one body.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    sums: [f64; 6],
    peaks: [f64; 6],
    greatest_force: f64,
    greatest_torque: f64,
}

/// The steps since the last logged one.
#[derive(Debug)]
pub(super) struct Interval {
    bodies: Vec<(BodyId, Sum)>,
    steps: u64,
}

impl Interval {
    /// Of these bodies.
    pub(super) fn new(bodies: &[BodyId]) -> Self {
        Self { bodies: bodies.iter().map(|&body| (body, Sum::default())).collect(), steps: 0 }
    }

    /// Adds a step.
    pub(super) fn add(&mut self, layout: &Layout, values: &[f64]) {
        self.steps += 1;
        for (body, sum) in &mut self.bodies {
            let wrench = &values[layout.wrench(*body)];
            for ((value, total), peak) in wrench.iter().zip(&mut sum.sums).zip(&mut sum.peaks) {
                *total += value;
                if value.abs() > peak.abs() {
                    *peak = *value;
                }
            }
            let length = |vector: &[f64]| vector.iter().map(|value| value * value).sum::<f64>().sqrt();
            sum.greatest_force = sum.greatest_force.max(length(&wrench[..3]));
            sum.greatest_torque = sum.greatest_torque.max(length(&wrench[3..]));
        }
    }

    /// Adds the rows of a logged step for the bodies that are written, and starts the next interval.
    pub(super) fn push(&mut self, rows: &mut TableRows, step: u64, is_written: impl Fn(BodyId) -> bool) {
        let steps = std::mem::take(&mut self.steps);
        let cells = rows.cells_mut(TableId::ForceAndTorqueInterval);
        for (body, sum) in &mut self.bodies {
            let Sum { sums, peaks, greatest_force, greatest_torque } = std::mem::take(sum);
            if !is_written(*body) {
                continue;
            }
            cells.extend([Cell::Step(step), cell::body(*body), steps.into()]);
            let means = sums.map(|sum| sum / steps as f64);
            cells.extend(means.into_iter().chain(peaks).chain([greatest_force, greatest_torque]).map(Cell::Real));
        }
    }
}
