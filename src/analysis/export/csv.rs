//! A table as CSV: a line of names, then the rows; numbers read back to the same bits.

use std::{
    fs::File,
    io::{BufWriter, Write},
    path::{Path, PathBuf},
};

use crate::{
    analysis::{AnalysisError, answer},
    recorder::inquiry::{Column, Value},
};

/// A file being written.
pub(super) struct CsvWriter {
    path: PathBuf,
    out: BufWriter<File>,
}

impl CsvWriter {
    pub(super) fn create(path: &Path, columns: &[Column]) -> Result<Self, AnalysisError> {
        let failed = |source| AnalysisError::Write { path: path.to_owned(), source };
        let mut out = BufWriter::new(File::create(path).map_err(failed)?);
        answer::line(&mut out, columns.iter().map(|column| column.name.clone())).map_err(failed)?;
        Ok(Self { path: path.to_owned(), out })
    }
}

impl super::TableWriter for CsvWriter {
    fn row(&mut self, row: &[Value]) -> Result<(), AnalysisError> {
        let written = answer::line(&mut self.out, row.iter().map(answer::csv));
        written.map_err(|source| AnalysisError::Write { path: self.path.clone(), source })
    }

    fn finish(mut self) -> Result<(), AnalysisError> {
        self.out.flush().map_err(|source| AnalysisError::Write { path: self.path, source })
    }
}
