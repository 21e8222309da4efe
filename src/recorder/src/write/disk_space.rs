//! How much space the database takes, and how much is left for it.

use std::path::{Path, PathBuf};

use crate::database::address::Database;

/// Free disk space that the log leaves to other programs, bytes: enough for a system to stay usable.
const RESERVE: u64 = 512_000_000;

/// Where the system limits the size of files, the part of it that the log leaves for its own end, bytes: the last batches, and the
/// write-ahead log when it is copied into the file.
const FILE_RESERVE: u64 = 16_000_000;

/// Watches the growth of a database: of a file and its write-ahead log, or the bytes sent to a server.
#[derive(Debug)]
pub(super) struct SpaceWatch {
    /// The files of an SQLite database; none of a server.
    files: Vec<PathBuf>,
    spill: PathBuf,
    size_at_start: u64,
    sent: u64,
    /// Bytes that are not yet committed.
    pending: u64,
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
        watch.size_at_start = watch.size();
        watch
    }

    /// Adds bytes that were sent to the database.
    pub(super) fn add_sent(&mut self, bytes: u64) {
        self.sent += bytes;
    }

    /// Sets how many of the bytes sent are not yet committed.
    pub(super) fn set_pending(&mut self, bytes: u64) {
        self.pending = bytes;
    }

    /// How much the database has grown since the start, with what is not yet committed, bytes.
    pub(super) fn growth(&self) -> u64 {
        if self.files.is_empty() {
            return self.sent;
        }
        self.size().saturating_sub(self.size_at_start) + self.pending
    }

    /// Why the log must end now, if it must.
    pub(super) fn exhausted(&self) -> Option<String> {
        let growth = self.growth();
        if growth >= self.limit {
            return Some(format!("the log has grown to its limit of {} MB", self.limit / 1_000_000));
        }
        let file = self.files.first()?;
        if let Some(most) = file_size_limit().filter(|most| self.size() + self.pending + FILE_RESERVE >= *most) {
            return Some(format!(
                "the log comes near the {} MB that a file may have here (ulimit -f); raise the limit: ulimit -f unlimited",
                most / 1_000_000
            ));
        }
        scarcity(file).filter(|_| !is_elsewhere(file, &self.spill))
    }

    fn size(&self) -> u64 {
        self.files.iter().filter_map(|file| std::fs::metadata(file).ok()).map(|metadata| metadata.len()).sum()
    }
}

/// Why the system does not let a file become as large as the smallest log, if so.
pub(super) fn file_limit_problem() -> Option<String> {
    let (most, least) = (file_size_limit()?, 2 * FILE_RESERVE);
    let (most_kb, least_mb) = (most / 1000, least / 1_000_000);
    (most < least)
        .then(|| format!("a file may have {most_kb} kB here (ulimit -f), and a log takes {least_mb} MB at least; raise the limit: ulimit -f unlimited"))
}

/// True if the disk of `database` has too little space, and that of `spill` enough.
pub(super) fn is_elsewhere(database: &Path, spill: &Path) -> bool {
    scarcity(database).is_some() && scarcity(spill).is_none()
}

/// Why there is too little space on the disk that has `file`, or will have it, if so.
pub(super) fn scarcity(file: &Path) -> Option<String> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let scarce = || {
        let free = free_space(folder)?;
        (free < RESERVE).then(|| {
            format!("less than {} MB of disk space are left; free some, or log to another disk", RESERVE / 1_000_000)
        })
    };
    file_limit_problem().or_else(scarce)
}

/// Bytes free to this user on the disk of `file`; `None` where the system does not tell.
#[cfg(target_os = "linux")]
fn free_space(file: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(file).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(not(target_os = "linux"))]
fn free_space(_file: &Path) -> Option<u64> {
    None
}

/// How large a file may become, bytes, where the system limits it.
#[cfg(target_os = "linux")]
fn file_size_limit() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Fsize).current
}

#[cfg(not(target_os = "linux"))]
fn file_size_limit() -> Option<u64> {
    None
}
