//! Fill levels of the queues between the physics thread and the log, for the physics thread and the summary.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use super::report::QueueUse;

/// Number of records that circulate between the physics thread and the publisher: a second of steps at 1 kHz.
pub(super) const CIRCULATING_RECORDS: usize = 1024;

/// Counters of the ring to the publisher and of the log's queue. Publisher and physics thread write them without
/// waiting.
#[derive(Debug, Default)]
pub(super) struct QueueFigures {
    published: AtomicU64,
    /// Peak length of the ring to the publisher, records.
    longest_ring: AtomicUsize,
    /// Peak length of the log's queue, records.
    longest_log: AtomicUsize,
    /// Capacity of the log's queue, records; 0 without a log.
    log_capacity: AtomicUsize,
    log_is_full: AtomicBool,
}

impl QueueFigures {
    /// Number of records published so far.
    pub(super) fn published(&self) -> u64 {
        self.published.load(Ordering::Acquire)
    }

    pub(super) fn count_published(&self) {
        self.published.fetch_add(1, Ordering::Release);
    }

    pub(super) fn note_ring_length(&self, length: usize) {
        self.longest_ring.fetch_max(length, Ordering::Relaxed);
    }

    pub(super) fn note_log_length(&self, length: usize) {
        self.longest_log.fetch_max(length, Ordering::Relaxed);
    }

    pub(super) fn set_log_capacity(&self, capacity: usize) {
        self.log_capacity.store(capacity, Ordering::Relaxed);
    }

    pub(super) fn set_log_is_full(&self, is_full: bool) {
        self.log_is_full.store(is_full, Ordering::Release);
    }

    /// True while records are held back because the log's queue is full.
    pub(super) fn log_is_full(&self) -> bool {
        self.log_is_full.load(Ordering::Acquire)
    }

    /// Peak length of the log's queue and its capacity, in records; `None` without a log.
    pub(super) fn longest_log(&self) -> Option<(usize, usize)> {
        let capacity = self.log_capacity.load(Ordering::Relaxed);
        (capacity > 0).then(|| (self.longest_log.load(Ordering::Relaxed), capacity))
    }

    /// Peak length and capacity of each queue.
    pub(super) fn queue_uses(&self) -> Vec<QueueUse> {
        let longest = self.longest_ring.load(Ordering::Relaxed);
        let ring = QueueUse { name: "ring to the publisher", longest, capacity: CIRCULATING_RECORDS };
        let log = |(longest, capacity)| QueueUse { name: "log's queue", longest, capacity };
        std::iter::once(ring).chain(self.longest_log().map(log)).collect()
    }
}
