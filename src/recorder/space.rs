//! How much room the database takes, and how much is left for it.

use std::path::{Path, PathBuf};

use super::Database;

/// Free disk space that the log leaves to others, bytes.
const RESERVE: u64 = 512_000_000;

/// Of what the size of files is limited to, what the log leaves for its own end: the last batches, and the write-ahead log when
/// it is folded in.
const FILE_RESERVE: u64 = 16_000_000;

/// Watches the growth of a database: of a file and its write-ahead log, or of what a server is sent.
#[derive(Debug)]
pub(super) struct SpaceWatch {
    /// The files of a database that is one; else there are none.
    files: Vec<PathBuf>,
    spill: PathBuf,
    size_at_start: u64,
    sent: u64,
    /// What is on its way to the files, or in the spill file.
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

    /// Adds what was sent to the database, bytes.
    pub(super) fn sent(&mut self, bytes: u64) {
        self.sent += bytes;
    }

    /// Says how much of what was sent is not yet in the database, bytes.
    pub(super) fn pending(&mut self, bytes: u64) {
        self.pending = bytes;
    }

    /// How much the database has grown since the start, with what is on its way to it, bytes.
    pub(super) fn growth(&self) -> u64 {
        if self.files.is_empty() {
            return self.sent;
        }
        self.size().saturating_sub(self.size_at_start) + self.pending
    }

    /// A sentence on why the log must end now, if it must.
    pub(super) fn exhausted(&self) -> Option<String> {
        let growth = self.growth();
        if growth >= self.limit {
            return Some(format!("the log has grown to its limit of {} MB", self.limit / 1_000_000));
        }
        let file = self.files.first()?;
        if let Some(most) = file_size_limit().filter(|most| self.size() + self.pending + FILE_RESERVE >= *most) {
            return Some(format!(
                "the log comes near the {} MB that a file may have here (ulimit -f)",
                most / 1_000_000
            ));
        }
        scarce(file).filter(|_| !elsewhere(file, &self.spill))
    }

    fn size(&self) -> u64 {
        self.files.iter().filter_map(|file| std::fs::metadata(file).ok()).map(|metadata| metadata.len()).sum()
    }
}

/// A sentence on the system not letting a file become as large as a log at least is, if it is so.
pub(super) fn limited() -> Option<String> {
    let (most, least) = (file_size_limit()?, 2 * FILE_RESERVE);
    let (most_kb, least_mb) = (most / 1000, least / 1_000_000);
    (most < least)
        .then(|| format!("a file may have {most_kb} kB here (ulimit -f), and a log takes {least_mb} MB at least"))
}

/// True if the disk of `database` has too little room, and that of `spill` enough.
pub(super) fn elsewhere(database: &Path, spill: &Path) -> bool {
    scarce(database).is_some() && scarce(spill).is_none()
}

/// A sentence on there being too little room on the disk that holds `file`, or will, if it is so.
pub(super) fn scarce(file: &Path) -> Option<String> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if let Some(most) = file_size_limit().filter(|most| *most < 2 * FILE_RESERVE) {
        let least = 2 * FILE_RESERVE / 1_000_000;
        return Some(format!(
            "a file may have {} kB here (ulimit -f), and a log takes {least} MB at least",
            most / 1000
        ));
    }
    let free = free_space(folder)?;
    (free < RESERVE).then(|| format!("less than {} MB of disk space are left", RESERVE / 1_000_000))
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

/// How large a file may become, bytes, where the system limits it.
#[cfg(target_os = "linux")]
fn file_size_limit() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Fsize).current
}

#[cfg(not(target_os = "linux"))]
fn file_size_limit() -> Option<u64> {
    None
}
