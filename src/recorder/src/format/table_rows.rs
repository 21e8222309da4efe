//! Rows to be written in one transaction, table by table.

use serde::{Deserialize, Serialize};

use super::{cell::Cell, schema::TableId};

/// Approximate size of a row in a database besides its values, in bytes: its header and its entry in the primary key.
const ROW_OVERHEAD: u64 = 24;

/// Rows of one transaction. Spill files store the tables in the order of [`TableId`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct TableRows {
    cells: [Vec<Cell>; TableId::COUNT],
}

impl TableRows {
    /// The cells of a table, row after row, for appending.
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

    /// Fills up the rows of a table, which have only the first `columns` columns, with NULL.
    pub(crate) fn widen_rows(&mut self, table: TableId, columns: usize) {
        let cells = std::mem::take(self.cells_mut(table));
        let lacking = table.width().saturating_sub(columns);
        let rows = cells.chunks(columns.max(1));
        let wide = rows.flat_map(|row| row.iter().cloned().chain(std::iter::repeat_n(Cell::Null, lacking)));
        *self.cells_mut(table) = wide.collect();
    }

    /// Number of rows, without the row of checksums.
    pub(crate) fn row_count(&self) -> u64 {
        let logged = TableId::ALL.iter().filter(|&&table| table != TableId::Batch);
        logged.map(|&table| (self.cells(table).len() / table.width()) as u64).sum()
    }

    /// Approximate size of the rows in a database, in bytes.
    pub(crate) fn size_bytes(&self) -> u64 {
        let values = self.cells.iter().flatten().map(Cell::size_bytes).sum::<u64>();
        values + self.row_count() * ROW_OVERHEAD
    }

    /// True if all rows have as many values as their tables have columns.
    pub(crate) fn fit_the_tables(&self) -> bool {
        TableId::ALL.iter().all(|&table| self.cells(table).len().is_multiple_of(table.width()))
    }
}
