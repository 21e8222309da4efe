//! Writes a table as CSV: a line of names, then the rows. Numbers read back to the same bits.

use std::{
    fs::File,
    io::{BufWriter, Write},
    path::{Path, PathBuf},
};

use crate::{AnalysisError, answer};
use simpartner_recorder::inquiry::{Column, Value};

/// A file being written.
pub(super) struct CsvWriter {
    path: PathBuf,
    out: BufWriter<File>,
    /// Buffer of a line, kept to reuse its memory.
    line: String,
}

impl CsvWriter {
    pub(super) fn create(path: &Path, columns: &[Column]) -> Result<Self, AnalysisError> {
        let failed = |source| AnalysisError::Write { path: path.to_owned(), source };
        let mut out = BufWriter::with_capacity(super::table_writer::WRITE_BUFFER, File::create(path).map_err(failed)?);
        answer::write_csv_line(&mut out, columns.iter().map(|column| column.name.clone())).map_err(failed)?;
        Ok(Self { path: path.to_owned(), out, line: String::new() })
    }
}

impl super::table_writer::TableWriter for CsvWriter {
    fn row(&mut self, row: &[Value]) -> Result<(), AnalysisError> {
        self.line.clear();
        for value in row {
            answer::push_csv(&mut self.line, value);
            self.line.push(',');
        }
        // The end of the line replaces the last comma.
        self.line.pop();
        self.line.push('\n');
        let written = self.out.write_all(self.line.as_bytes());
        written.map_err(|source| AnalysisError::Write { path: self.path.clone(), source })
    }

    fn finish(mut self) -> Result<(), AnalysisError> {
        self.out.flush().map_err(|source| AnalysisError::Write { path: self.path, source })
    }
}
