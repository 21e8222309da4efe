//! The spill file: where batches wait that the database has not confirmed.
//!
//! Frames are only ever added. Each stands for itself: its header says what it holds and has a checksum of its own, so that a
//! reader finds the next whole frame behind a damaged place, and knows what a damaged one held.
//!
//! ```text
//! magic 8 | length of the payload u32 | tables u32 | epoch u32 | number u64 | first step u64 | steps u64
//!         | crc32c of the payload u32 | crc32c of the header before it u32 | payload
//! ```
//!
//! Numbers are little-endian. `tables` is a checksum of the tables' columns, by which a reader knows whether it understands the
//! rows. Files of the first version are read as well: `SPspill1`, without `tables`, and with one checksum over all that stands
//! between it and the magic, and the payload.

mod reader;
mod sync;
#[cfg(test)]
mod tests;
mod writer;

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use crc::{CRC_32_ISCSI, Crc, Table as CrcTable};

pub(super) use reader::{Place, SpillReader};
pub(super) use writer::Spill;

use super::{identity::FileIdentity, table::Table};

const MAGIC: [u8; 8] = *b"SPspill2";
const MAGIC_1: [u8; 8] = *b"SPspill1";
const HEADER: usize = 8 + 4 + 4 + 4 + 8 + 8 + 8 + 4 + 4;
const HEADER_1: usize = 8 + 4 + 4 + 8 + 8 + 8 + 4;

/// The longest payload that is believed; a larger length is that of a damaged frame.
const LONGEST: u32 = 1 << 30;

/// A spill file is named after its process.
const PREFIX: &str = "simpartner-";
const SUFFIX: &str = ".spill";

static CRC: Crc<u32, CrcTable<16>> = Crc::<u32, CrcTable<16>>::new(&CRC_32_ISCSI);

/// Where a frame stands in its file, and what its header says of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) offset: u64,
    /// Of header and payload.
    pub(super) length: u64,
    /// `None` in files of the first version.
    tables: Option<u32>,
    pub(super) epoch: u32,
    pub(super) number: u64,
    pub(super) first_step: u64,
    pub(super) steps: u64,
}

impl Frame {
    /// Whether the rows are made for the tables that this program writes, as far as the frame tells.
    pub(super) fn is_of_these_tables(&self) -> bool {
        self.tables.is_none_or(|tables| tables == tables_checksum())
    }
}

/// An open spill file that its writer and its reader share: the writer may put another in its place.
#[derive(Debug, Clone, Default)]
struct SharedFile(Arc<Mutex<Option<Arc<std::fs::File>>>>);

impl SharedFile {
    fn get(&self) -> Option<Arc<std::fs::File>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, file: Option<Arc<std::fs::File>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = file;
    }
}

/// The spill files of a folder, by name, that hold something and that no running program writes. An empty one is removed.
pub(super) fn left_behind(folder: &Path) -> Vec<PathBuf> {
    let is_spill = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX))
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_spill).collect();
    files.retain(|path| is_left_behind(path).unwrap_or(true));
    files.sort();
    files
}

fn is_left_behind(path: &Path) -> io::Result<bool> {
    let file = std::fs::File::open(path)?;
    // A file system without locks does not tell whether somebody writes the file.
    if matches!(file.try_lock(), Err(std::fs::TryLockError::WouldBlock)) {
        return Ok(false);
    }
    let holds_something = file.metadata()?.len() > 0;
    if !holds_something {
        // Its writer, if it is just beginning, waits for the lock and then makes another.
        std::fs::remove_file(path)?;
    }
    Ok(holds_something)
}

/// Whether the file of a handle is still the one that stands at the path.
fn is_in_place(file: &std::fs::File, path: &Path) -> bool {
    match (FileIdentity::of_handle(file), FileIdentity::of_path(path)) {
        (Some(open), at_path) => at_path == Some(open),
        (None, _) => true,
    }
}

/// Of all tables' names and columns.
fn tables_checksum() -> u32 {
    static CHECKSUM: LazyLock<u32> = LazyLock::new(|| {
        let mut digest = CRC.digest();
        for table in Table::ALL {
            digest.update(table.name().as_bytes());
            digest.update(table.columns().as_bytes());
        }
        digest.finalize()
    });
    *CHECKSUM
}
