//! The interface of a file that a table is written to.

use simpartner_recorder::inquiry::Value;

use crate::AnalysisError;

/// Bytes of a write to a file.
pub(super) const WRITE_BUFFER: usize = 1 << 18;

/// A file that a table is written to.
pub(super) trait TableWriter {
    fn row(&mut self, row: &[Value]) -> Result<(), AnalysisError>;
    fn finish(self) -> Result<(), AnalysisError>;
}
