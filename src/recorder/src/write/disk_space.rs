//! Disk space: the growth of the database, and the space left for it.

use std::path::{Path, PathBuf};

use crate::database::address::Database;

/// Free disk space that the log leaves to other programs, in bytes: enough for a system to stay usable.
const DISK_RESERVE: u64 = 512_000_000;

/// Margin below the system's limit of file sizes at which the log ends, in bytes. It leaves room for the last batches,
/// and for the write-ahead log when it is copied into the file.
const FILE_RESERVE: u64 = 16_000_000;

/// Watches the growth of a database: the size of a file with its write-ahead log, or the bytes sent to a server.
#[derive(Debug)]
pub(super) struct SpaceWatch {
    /// Database file and write-ahead log of SQLite; empty for a server.
    files: Vec<PathBuf>,
    /// Path of the spill file.
    spill: PathBuf,
    /// Total size of `files` at the start, in bytes.
    size_at_start: u64,
    /// Bytes sent.
    sent: u64,
    /// Bytes sent and not yet committed.
    pending: u64,
    /// Largest growth of the database, in bytes.
    limit: u64,
}

impl SpaceWatch {
    pub(super) fn new(database: &Database, spill: &Path, limit_mb: u64) -> Self {
        let with_log = |file: &Path| {
            let mut write_ahead_log = file.as_os_str().to_owned();
            write_ahead_log.push("-wal");
            vec![file.to_owned(), write_ahead_log.into()]
        };
        let files = database.file().map_or_else(Vec::new, with_log);
        let spill = spill.to_owned();
        let mut watch =
            Self { files, spill, size_at_start: 0, sent: 0, pending: 0, limit: limit_mb.saturating_mul(1_000_000) };
        watch.size_at_start = watch.total_size();
        watch
    }

    /// Adds bytes that were sent to the database.
    pub(super) fn add_sent(&mut self, bytes: u64) {
        self.sent += bytes;
    }

    /// Sets the number of bytes sent and not yet committed.
    pub(super) fn set_pending(&mut self, bytes: u64) {
        self.pending = bytes;
    }

    /// Growth of the database since the start, in bytes, including batches that are not yet committed.
    pub(super) fn growth(&self) -> u64 {
        if self.files.is_empty() {
            return self.sent;
        }
        self.total_size().saturating_sub(self.size_at_start) + self.pending
    }

    /// Reason why the log must end now; `None` if it can continue.
    pub(super) fn end_reason(&self) -> Option<String> {
        let growth = self.growth();
        if growth >= self.limit {
            return Some(format!("the log has grown to its limit of {} MB", self.limit / 1_000_000));
        }
        let file = self.files.first()?;
        if let Some(most) = file_size_limit().filter(|most| self.total_size() + self.pending + FILE_RESERVE >= *most) {
            return Some(format!(
                "the log approaches the limit of {} MB on the size of a file (ulimit -f); raise the limit: ulimit -f unlimited",
                most / 1_000_000
            ));
        }
        space_problem(file).filter(|_| !has_only_spill_space(file, &self.spill))
    }

    fn total_size(&self) -> u64 {
        self.files.iter().filter_map(|file| std::fs::metadata(file).ok()).map(|metadata| metadata.len()).sum()
    }
}

/// Message that the system's limit of file sizes is below the smallest log; `None` if it is not.
pub(super) fn file_limit_problem() -> Option<String> {
    let (limit, smallest_log) = (file_size_limit()?, 2 * FILE_RESERVE);
    let (most_kb, least_mb) = (limit / 1000, smallest_log / 1_000_000);
    (limit < smallest_log)
        .then(|| format!("the limit on the size of a file is {most_kb} kB (ulimit -f), and a log needs at least {least_mb} MB; raise the limit: ulimit -f unlimited"))
}

/// True if the disk of `database` has too little space, and the disk of `spill` has enough.
pub(super) fn has_only_spill_space(database: &Path, spill: &Path) -> bool {
    space_problem(database).is_some() && space_problem(spill).is_none()
}

/// Message that too little space is left for `file`, which need not exist yet; `None` if there is enough.
pub(super) fn space_problem(file: &Path) -> Option<String> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let scarce = || {
        let free = free_space(folder)?;
        (free < DISK_RESERVE).then(|| {
            format!(
                "less than {} MB of disk space are left; free some, or log to another disk",
                DISK_RESERVE / 1_000_000
            )
        })
    };
    file_limit_problem().or_else(scarce)
}

/// Bytes free to this user on the disk of `file`; `None` if the system does not report it.
#[cfg(target_os = "linux")]
fn free_space(file: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(file).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(not(target_os = "linux"))]
fn free_space(_file: &Path) -> Option<u64> {
    None
}

/// Largest size of a file, in bytes; `None` if the system does not limit it.
#[cfg(target_os = "linux")]
fn file_size_limit() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Fsize).current
}

#[cfg(not(target_os = "linux"))]
fn file_size_limit() -> Option<u64> {
    None
}
