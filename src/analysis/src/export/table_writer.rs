//! Interface of the writers of tables.

use simpartner_recorder::inquiry::Value;

use crate::AnalysisError;

/// Size of the buffer of a file, in bytes.
pub(super) const WRITE_BUFFER: usize = 1 << 18;

/// Writer of a table into a file.
pub(super) trait TableWriter {
    /// Adds a row.
    fn row(&mut self, row: &[Value]) -> Result<(), AnalysisError>;
    /// Writes the end of the file.
    fn finish(self) -> Result<(), AnalysisError>;
}
