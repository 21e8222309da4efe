//! Which file it is, whatever its name: a file that was moved is the same, one that took its place is another.

use std::{fs, path::Path};

/// Device and number of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileIdentity {
    device: u64,
    number: u64,
}

impl FileIdentity {
    /// Of the file at a path; `None` if there is none, or the system does not tell.
    pub(super) fn of_path(path: &Path) -> Option<Self> {
        Self::of(&fs::metadata(path).ok()?)
    }

    /// Of an open file; `None` where the system does not tell.
    pub(super) fn of_handle(file: &fs::File) -> Option<Self> {
        Self::of(&file.metadata().ok()?)
    }

    #[cfg(unix)]
    fn of(metadata: &fs::Metadata) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        Some(Self { device: metadata.dev(), number: metadata.ino() })
    }

    #[cfg(not(unix))]
    fn of(_metadata: &fs::Metadata) -> Option<Self> {
        None
    }
}
