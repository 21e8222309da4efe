//! The spill file, which holds batches that the database has not committed.
//!
//! `frame` describes the format of the file. Start at `writer` and `reader`.

mod frame;
mod reader;
mod shared_file;
mod sync;
#[cfg(test)]
mod tests;
mod writer;

use std::{
    io,
    path::{Path, PathBuf},
};

pub(super) use frame::Frame;
pub(super) use reader::{Section, SpillReader};
pub(super) use writer::SpillWriter;

/// Paths of the spill files in a folder that have content and that no running program writes, sorted by name. Empty
/// spill files are removed.
pub(super) fn left_behind(folder: &Path) -> Vec<PathBuf> {
    let is_spill = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with(writer::NAME_PREFIX) && name.ends_with(writer::NAME_SUFFIX))
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_spill).collect();
    files.retain(|path| is_left_behind(path).unwrap_or(true));
    files.sort();
    files
}

fn is_left_behind(path: &Path) -> io::Result<bool> {
    let file = std::fs::File::open(path)?;
    // On a file system without locks it is unknown whether the file is being written.
    if matches!(file.try_lock(), Err(std::fs::TryLockError::WouldBlock)) {
        return Ok(false);
    }
    let has_content = file.metadata()?.len() > 0;
    if !has_content {
        // A writer that is just starting waits for the lock, and creates the file again if it is gone.
        std::fs::remove_file(path)?;
    }
    Ok(has_content)
}
