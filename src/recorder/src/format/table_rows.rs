//! Rows to be written in one transaction, table by table.

use serde::{Deserialize, Serialize};

use super::{cell::Cell, schema::TableId};

/// What a row takes in a database besides its values, about, in bytes: its own header and its entry in the primary key.
const ROW_OVERHEAD: u64 = 24;

/// Rows of one transaction. Spill files hold the tables in the order of [`TableId`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct TableRows {
    cells: [Vec<Cell>; TableId::COUNT],
}

impl TableRows {
    /// The cells of a table, row after row, to be added to.
    pub(crate) fn cells_mut(&mut self, table: TableId) -> &mut Vec<Cell> {
        &mut self.cells[table as usize]
    }

    /// Adds a row.
    pub(crate) fn push<const COLUMNS: usize>(&mut self, table: TableId, row: [Cell; COLUMNS]) {
        debug_assert_eq!(COLUMNS, table.width(), "{}", table.name());
        self.cells_mut(table).extend(row);
    }

    /// The cells of a table, row after row.
    pub(crate) fn cells(&self, table: TableId) -> &[Cell] {
        &self.cells[table as usize]
    }

    /// Adds NULL for the columns of a table that its rows lack, which have only so many.
    pub(crate) fn widen(&mut self, table: TableId, columns: usize) {
        let cells = std::mem::take(self.cells_mut(table));
        let lacking = table.width().saturating_sub(columns);
        let rows = cells.chunks(columns.max(1));
        let wide = rows.flat_map(|row| row.iter().cloned().chain(std::iter::repeat_n(Cell::Null, lacking)));
        *self.cells_mut(table) = wide.collect();
    }

    /// How many rows there are, not counting the one with the checksums.
    pub(crate) fn count(&self) -> u64 {
        let logged = TableId::ALL.iter().filter(|&&table| table != TableId::Batch);
        logged.map(|&table| (self.cells(table).len() / table.width()) as u64).sum()
    }

    /// Their size in a database, about, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let values = self.cells.iter().flatten().map(Cell::bytes).sum::<u64>();
        values + self.count() * ROW_OVERHEAD
    }

    /// Whether all rows have as many values as their tables have columns.
    pub(crate) fn fit_the_tables(&self) -> bool {
        TableId::ALL.iter().all(|&table| self.cells(table).len().is_multiple_of(table.width()))
    }
}
