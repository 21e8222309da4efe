//! How much room the database takes, and how much is left for it.

use std::path::{Path, PathBuf};

/// Free disk space that the log leaves to others, bytes.
const RESERVE: u64 = 512 * 1024 * 1024;

/// Watches the growth of a database file and its write-ahead log.
#[derive(Debug)]
pub(super) struct SpaceWatch {
    files: [PathBuf; 2],
    size_at_start: u64,
    limit: u64,
}

impl SpaceWatch {
    pub(super) fn new(database: &Path, limit_mb: u64) -> Self {
        let mut write_ahead_log = database.as_os_str().to_owned();
        write_ahead_log.push("-wal");
        let files = [database.to_owned(), write_ahead_log.into()];
        let mut watch = Self { files, size_at_start: 0, limit: limit_mb.saturating_mul(1_000_000) };
        watch.size_at_start = watch.size();
        watch
    }

    /// How much the files have grown since the start, bytes.
    pub(super) fn growth(&self) -> u64 {
        self.size().saturating_sub(self.size_at_start)
    }

    /// A sentence on why the log must end now, if it must.
    pub(super) fn exhausted(&self) -> Option<String> {
        let growth = self.growth();
        if growth >= self.limit {
            return Some(format!("the log has grown to its limit of {} MB", self.limit / 1_000_000));
        }
        let free = free_space(&self.files[0])?;
        (free < RESERVE).then(|| format!("less than {} MB of disk space are left", RESERVE / 1_000_000))
    }

    fn size(&self) -> u64 {
        self.files.iter().filter_map(|file| std::fs::metadata(file).ok()).map(|metadata| metadata.len()).sum()
    }
}

/// Bytes free to this user on the disk that holds `file`; `None` where the system does not tell.
#[cfg(target_os = "linux")]
fn free_space(file: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(file).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(not(target_os = "linux"))]
fn free_space(_file: &Path) -> Option<u64> {
    None
}
