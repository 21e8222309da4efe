//! The state of the recorder, for the clock and the status line: any thread can read it at any time without waiting.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use simpartner_realtime::LogFlags;

/// The time over which the rate is averaged: long enough for a steady figure, and it follows a change soon.
const WINDOW: Duration = Duration::from_secs(10);

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
    sent: Mutex<Sent>,
}

/// How much had been sent at some moments, back to the beginning of the window.
#[derive(Debug, Default)]
struct Sent {
    total: u64,
    moments: VecDeque<(Instant, u64)>,
}

impl Sent {
    fn add(&mut self, bytes: u64, now: Instant) {
        if self.moments.is_empty() {
            self.moments.push_back((now, 0));
        }
        self.total += bytes;
        self.moments.push_back((now, self.total));
        while self.moments.get(1).is_some_and(|(then, _)| now.duration_since(*then) >= WINDOW) {
            self.moments.pop_front();
        }
    }

    fn bytes_per_second(&self, now: Instant) -> f64 {
        let outside = self.moments.iter().rev().find(|(then, _)| now.duration_since(*then) >= WINDOW);
        match outside.or(self.moments.front()) {
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

    /// True once the log has come to its bound.
    pub fn log_full(&self) -> bool {
        self.log_full.load(Ordering::Acquire)
    }

    /// True while the database is away and batches wait for it.
    pub fn is_away(&self) -> bool {
        self.is_away.load(Ordering::Acquire)
    }

    /// Flags between the recorder and the clock: the recorder asks the run to end when it has failed, and at a full log if the
    /// settings say so; the clock says whether steps have deadlines.
    pub fn flags(&self) -> Arc<LogFlags> {
        Arc::clone(&self.flags)
    }

    /// Ends the waiting for the database: what it does not have yet goes into the spill file.
    pub fn hurry(&self) {
        self.is_hurried.store(true, Ordering::Release);
    }

    /// Whether somebody wants the waiting for the database to end.
    pub(super) fn is_hurried(&self) -> bool {
        self.is_hurried.load(Ordering::Acquire)
    }

    /// Rows committed, in all tables.
    pub fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    /// How much the database has grown in this run, in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Sets whether the database is away, and returns what it was before.
    pub(super) fn set_away(&self, is_away: bool) -> bool {
        self.is_away.swap(is_away, Ordering::AcqRel)
    }

    /// Bytes of the rows' values that are written in a second of wall time, averaged over the last ten.
    pub fn bytes_per_second(&self) -> f64 {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).bytes_per_second(Instant::now())
    }

    pub(super) fn sent(&self, bytes: u64) {
        // The figures are whole between any two statements, so a panic elsewhere does not spoil them.
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).add(bytes, Instant::now());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_of_the_last_ten_seconds() {
        let (start, mut sent) = (Instant::now(), Sent::default());
        let at = |tenths: u64| start + Duration::from_millis(100 * tenths);
        assert_eq!(sent.bytes_per_second(at(0)), 0.0);
        (0..=300).for_each(|tenth| sent.add(if tenth < 200 { 1000 } else { 10 }, at(tenth)));
        assert_eq!(sent.bytes_per_second(at(300)), 100.0);
        assert!(sent.moments.len() <= 102, "{}", sent.moments.len());
        // A paused clock writes nothing.
        assert_eq!(sent.bytes_per_second(at(500)), 0.0);
    }
}
