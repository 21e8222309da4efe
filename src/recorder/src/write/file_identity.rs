//! Identity of a file, independent of its name: a moved file is the same file, and a file put in its place is another
//! one.

use std::{fs, path::Path};

/// Device number and inode number of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileIdentity {
    device: u64,
    number: u64,
}

impl FileIdentity {
    /// Identity of the file at a path; `None` if there is none, or the system gives files no identity.
    pub(super) fn of_path(path: &Path) -> Option<Self> {
        Self::of_metadata(&fs::metadata(path).ok()?)
    }

    /// Identity of an open file; `None` if the system gives files no identity.
    pub(super) fn of_handle(file: &fs::File) -> Option<Self> {
        Self::of_metadata(&file.metadata().ok()?)
    }

    #[cfg(unix)]
    fn of_metadata(metadata: &fs::Metadata) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        Some(Self { device: metadata.dev(), number: metadata.ino() })
    }

    #[cfg(not(unix))]
    fn of_metadata(_metadata: &fs::Metadata) -> Option<Self> {
        None
    }
}
