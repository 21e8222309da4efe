//! Bringing home what a run has left in a spill file.

use std::path::Path;

use super::{
    Database, RecorderError,
    portion::Gaps,
    spill::SpillReader,
    store::{Access, Store},
};

/// What was brought home.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Imported {
    /// The runs it belongs to.
    pub runs: Vec<i64>,
    /// Portions in the file, whether or not the database had them already.
    pub portions: u64,
    /// The steps that they tell of.
    pub steps: u64,
    /// Bytes at the file's end that are of no whole portion: what was being written when the process died.
    pub torn_bytes: u64,
}

/// Commits what is in a spill file and not yet in the database; as often as wanted, to the same end.
///
/// # Errors
/// When the file cannot be read, or the database not be written; what was committed before stays.
pub fn import(file: &Path, database: &Database) -> Result<Imported, RecorderError> {
    let unreadable = |source| RecorderError::Spill { path: file.to_owned(), source };
    let mut reader = SpillReader::open(file).map_err(unreadable)?;
    let (frames, torn_bytes) = reader.frames().map_err(unreadable)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(RecorderError::Start)?;
    runtime.block_on(async {
        let mut imported = Imported { torn_bytes, ..Imported::default() };
        let mut store = Store::open(database, Access::Write).await?;
        for frame in frames {
            let portion = reader.portion(frame).map_err(unreadable)?;
            // What a killed process had in memory is gone; that is no reason to leave the rest behind.
            let keys = portion.commit(&mut store, Gaps::Allowed).await?;
            imported.portions += 1;
            imported.steps += frame.steps;
            if imported.runs.last() != Some(&keys.simulation) {
                imported.runs.push(keys.simulation);
            }
        }
        store.close().await?;
        Ok(imported)
    })
}
