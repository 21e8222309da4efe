//! State of the recorder, for the clock and the status line. Any thread can read it at any time without waiting.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use simpartner_realtime::LogFlags;

/// Time over which the data rate is averaged: long enough for a steady figure, short enough to follow a change soon.
const RATE_WINDOW: Duration = Duration::from_secs(10);

/// Figures and flags of a running recorder.
#[derive(Debug, Default)]
pub struct RecorderStatus {
    failed: AtomicBool,
    log_full: AtomicBool,
    is_away: AtomicBool,
    is_hurried: AtomicBool,
    flags: Arc<LogFlags>,
    rows: AtomicU64,
    bytes: AtomicU64,
    sent: Mutex<SentBytes>,
}

/// Total of the bytes sent, and its history over [`RATE_WINDOW`].
#[derive(Debug, Default)]
struct SentBytes {
    total: u64,
    /// Times and the totals then, in ascending order. The first is at the start of the window or before it.
    history: VecDeque<(Instant, u64)>,
}

impl SentBytes {
    fn add(&mut self, bytes: u64, now: Instant) {
        if self.history.is_empty() {
            self.history.push_back((now, 0));
        }
        self.total += bytes;
        self.history.push_back((now, self.total));
        while self.history.get(1).is_some_and(|(then, _)| now.duration_since(*then) >= RATE_WINDOW) {
            self.history.pop_front();
        }
    }

    fn bytes_per_second(&self, now: Instant) -> f64 {
        let before_window = self.history.iter().rev().find(|(then, _)| now.duration_since(*then) >= RATE_WINDOW);
        match before_window.or(self.history.front()) {
            Some((then, sent)) if now > *then => (self.total - sent) as f64 / now.duration_since(*then).as_secs_f64(),
            _ => 0.0,
        }
    }
}

impl RecorderStatus {
    /// True once the writer has failed: no further step will be logged.
    pub fn failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    /// True once the log has ended at a limit: its largest size, the space on the disk, or the last step that can be
    /// numbered.
    pub fn log_full(&self) -> bool {
        self.log_full.load(Ordering::Acquire)
    }

    /// True while the database is away and batches wait for it.
    pub fn is_away(&self) -> bool {
        self.is_away.load(Ordering::Acquire)
    }

    /// Flags between the recorder and the clock. The recorder asks the run to end when it has failed, and at a full log
    /// if the settings say so. The clock sets whether steps have deadlines.
    pub fn flags(&self) -> Arc<LogFlags> {
        Arc::clone(&self.flags)
    }

    /// Ends the wait for the database. Batches that the database does not have yet go into the spill file.
    pub fn hurry(&self) {
        self.is_hurried.store(true, Ordering::Release);
    }

    /// True after [`RecorderStatus::hurry`].
    pub(super) fn is_hurried(&self) -> bool {
        self.is_hurried.load(Ordering::Acquire)
    }

    /// Number of committed rows in all tables, without those of the run and the model.
    pub fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    /// Growth of the database in this run, in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Sets whether the database is away, and returns the previous value.
    pub(super) fn set_away(&self, is_away: bool) -> bool {
        self.is_away.swap(is_away, Ordering::AcqRel)
    }

    /// Rate at which the rows' values are written, in bytes per second of wall time, averaged over the last 10 s.
    pub fn bytes_per_second(&self) -> f64 {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).bytes_per_second(Instant::now())
    }

    pub(super) fn add_sent(&self, bytes: u64) {
        // The figures are consistent between any two statements, so a panic of another thread leaves them usable.
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).add(bytes, Instant::now());
    }

    /// Sets the flag of a failed writer, and asks the run to end.
    pub(super) fn set_failed(&self) {
        self.failed.store(true, Ordering::Release);
        self.flags.end_run();
    }

    /// Sets the flag of a full log, and asks the run to end if `ends_run`.
    pub(super) fn set_log_full(&self, ends_run: bool) {
        self.log_full.store(true, Ordering::Release);
        if ends_run {
            self.flags.end_run();
        }
    }

    pub(super) fn add_committed_rows(&self, rows: u64) {
        self.rows.fetch_add(rows, Ordering::Relaxed);
    }

    pub(super) fn set_growth(&self, bytes: u64) {
        self.bytes.store(bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_of_the_last_ten_seconds() {
        let (start, mut sent) = (Instant::now(), SentBytes::default());
        let at = |tenths: u64| start + Duration::from_millis(100 * tenths);
        assert_eq!(sent.bytes_per_second(at(0)), 0.0);
        (0..=300).for_each(|tenth| sent.add(if tenth < 200 { 1000 } else { 10 }, at(tenth)));
        assert_eq!(sent.bytes_per_second(at(300)), 100.0);
        assert!(sent.history.len() <= 102, "{}", sent.history.len());
        // A paused clock writes nothing.
        assert_eq!(sent.bytes_per_second(at(500)), 0.0);
    }
}
