//! How the writer is doing, for the clock and the status line: read at any time, from any thread, without waiting.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use crate::realtime::LogFlags;

/// Figures and flags of a writer at work.
#[derive(Debug, Default)]
pub struct RecorderStatus {
    failed: AtomicBool,
    log_full: AtomicBool,
    is_away: AtomicBool,
    flags: Arc<LogFlags>,
    rows: AtomicU64,
    bytes: AtomicU64,
}

impl RecorderStatus {
    /// True once the writer has failed: no further step will be logged.
    pub fn failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    /// True once the log has come to its bound.
    pub fn log_full(&self) -> bool {
        self.log_full.load(Ordering::Acquire)
    }

    /// True while the database is away and steps wait for it.
    pub fn is_away(&self) -> bool {
        self.is_away.load(Ordering::Acquire)
    }

    /// What it and the clock tell each other: it asks the run to end when it has failed, and at a full log if the settings say so;
    /// the clock says whether steps have deadlines.
    pub fn flags(&self) -> Arc<LogFlags> {
        Arc::clone(&self.flags)
    }

    /// Rows committed, in all tables.
    pub fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    /// How much the database has grown in this run, in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Notes it, and tells what it was before.
    pub(super) fn set_away(&self, is_away: bool) -> bool {
        self.is_away.swap(is_away, Ordering::AcqRel)
    }

    pub(super) fn fail(&self) {
        self.failed.store(true, Ordering::Release);
        self.flags.end_run();
    }

    pub(super) fn fill(&self, ends_run: bool) {
        self.log_full.store(true, Ordering::Release);
        if ends_run {
            self.flags.end_run();
        }
    }

    pub(super) fn committed(&self, rows: u64) {
        self.rows.fetch_add(rows, Ordering::Relaxed);
    }

    pub(super) fn grown(&self, bytes: u64) {
        self.bytes.store(bytes, Ordering::Relaxed);
    }
}
