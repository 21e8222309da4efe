//! The rows of an island's loop joints.

use std::ops::Index;

use super::loop_joint::{Direction, RowKind};

/// A row of a loop joint.
#[derive(Debug, Clone, Copy)]
pub(super) struct LoopRow {
    /// Index of the loop joint in the world.
    pub(super) loop_joint: usize,
    /// Its index within the island.
    pub(super) place: usize,
    pub(super) kind: RowKind,
    pub(super) direction: Direction,
}

/// Rows of an island's loop joints, and the last computed row.
#[derive(Debug, Default)]
pub(super) struct LoopRows {
    pub(super) rows: Vec<LoopRow>,
    pub(super) last: Row,
}

/// A computed row: its columns, and its velocities at the end of the step without impulses and at the start, m/s or
/// rad/s.
#[derive(Debug, Default)]
pub(super) struct Row {
    pub(super) columns: Vec<[f64; 4]>,
    pub(super) index: Vec<u32>,
    pub(super) free: f64,
    pub(super) before: f64,
}

impl LoopRows {
    pub(super) fn clear(&mut self) {
        self.rows.clear();
    }
}

impl Index<usize> for LoopRows {
    type Output = LoopRow;

    fn index(&self, row: usize) -> &LoopRow {
        &self.rows[row]
    }
}
