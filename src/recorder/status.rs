//! How the writer is doing, for the clock and the status line: read at any time, from any thread, without waiting.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

/// Figures and flags of a writer at work.
#[derive(Debug, Default)]
pub struct RecorderStatus {
    failed: AtomicBool,
    log_full: AtomicBool,
    is_away: AtomicBool,
    stop: Arc<AtomicBool>,
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

    /// The flag that asks the run to end: raised when the writer has failed, and at a full log if the settings say so. The
    /// clock looks at it after each step; being a plain flag, it tells the clock's room nothing of this one.
    pub fn stop_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
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
        self.stop.store(true, Ordering::Release);
    }

    pub(super) fn fill(&self, ends_run: bool) {
        self.log_full.store(true, Ordering::Release);
        if ends_run {
            self.stop.store(true, Ordering::Release);
        }
    }

    pub(super) fn committed(&self, rows: u64) {
        self.rows.fetch_add(rows, Ordering::Relaxed);
    }

    pub(super) fn grown(&self, bytes: u64) {
        self.bytes.store(bytes, Ordering::Relaxed);
    }
}
