//! Distribution of records to readers: always the newest record, and every record of the last seconds for readers that
//! follow.
//!
//! The writer never waits for a reader. A reader that follows and falls too far behind continues with the oldest record
//! that is kept.

use std::{future::pending, sync::Arc};

use simpartner_model::Timestep;
use simpartner_wire::signal::{Layout, StepRecord};
use tokio::sync::{
    broadcast::{self, error::RecvError, error::TryRecvError},
    watch,
};

/// Longest delay of a reader that follows, simulated seconds. It is twice the time after which the server gives up a
/// client that takes nothing.
const HISTORY_S: f64 = 4.0;

/// Memory limit for the values of kept records, bytes; commands have about the same. Large worlds and short timesteps
/// therefore have a shorter history.
const MAX_HISTORY_BYTES: usize = 256_000_000;

/// Number of records that are kept at least: a tenth of a second at 1 kHz, in which a session on a busy processor gets
/// its turn.
const MIN_HISTORY_RECORDS: usize = 100;

/// The publisher's end.
#[derive(Debug, Clone)]
pub(super) struct RecordWriter {
    newest: watch::Sender<Arc<StepRecord>>,
    every: broadcast::Sender<Arc<StepRecord>>,
}

/// A reader of records.
#[derive(Debug)]
pub struct RecordReader {
    newest: watch::Receiver<Arc<StepRecord>>,
    /// For subscribing to all records.
    every: broadcast::Sender<Arc<StepRecord>>,
    /// The unread records of a reader that follows; `None` if it does not follow.
    unread: Option<broadcast::Receiver<Arc<StepRecord>>>,
    /// The first unread record, after [`wait`](Self::wait) has taken it from `unread`.
    next: Option<Arc<StepRecord>>,
    /// The last record that was read; `None` if the reader does not follow.
    last: Option<Arc<StepRecord>>,
}

/// Creates both ends. `first` is the record of step 0.
pub(super) fn record_channel(layout: &Layout, timestep: Timestep, first: StepRecord) -> (RecordWriter, RecordReader) {
    let (writer, newest) = watch::channel(Arc::new(first));
    let (every, _) = broadcast::channel(history_capacity(layout, timestep));
    let reader = RecordReader { newest, every: every.clone(), unread: None, next: None, last: None };
    (RecordWriter { newest: writer, every }, reader)
}

/// Number of records that are kept for readers that follow.
fn history_capacity(layout: &Layout, timestep: Timestep) -> usize {
    let steps = (HISTORY_S / timestep.seconds()).ceil() as usize;
    steps.min(MAX_HISTORY_BYTES / (size_of::<f64>() * layout.numbers_per_step().max(1))).max(MIN_HISTORY_RECORDS)
}

impl RecordWriter {
    /// Publishes a record to all readers: as `newest` to those of the newest record, as `kept` to those that follow.
    pub(super) fn publish(&self, newest: Arc<StepRecord>, kept: Arc<StepRecord>) {
        // In this order, so that a reader that subscribes and then reads the newest record misses none.
        self.newest.send_replace(newest);
        // An error means that no reader follows.
        let _ = self.every.send(kept);
    }
}

impl Clone for RecordReader {
    /// A reader that does not follow.
    fn clone(&self) -> Self {
        let (newest, every) = (self.newest.clone(), self.every.clone());
        Self { newest, every, unread: None, next: None, last: None }
    }
}

impl RecordReader {
    /// The record that this reader read last if it follows, else the newest record.
    pub fn present(&self) -> Arc<StepRecord> {
        self.last.clone().unwrap_or_else(|| self.newest.borrow().clone())
    }

    /// A watch on the newest record.
    pub(super) fn newest(&self) -> &watch::Receiver<Arc<StepRecord>> {
        &self.newest
    }

    /// From now on reads every record after the present one. No effect if the reader follows already.
    pub fn follow(&mut self) {
        if self.unread.is_none() {
            // In this order, so that no record is missed in between.
            self.unread = Some(self.every.subscribe());
            self.last = Some(self.newest.borrow_and_update().clone());
        }
    }

    /// From now on reads only the newest record.
    pub fn stop_following(&mut self) {
        (self.unread, self.next, self.last) = (None, None, None);
    }

    /// Number of unread records; at most 1 if the reader does not follow.
    pub fn waiting(&self) -> usize {
        match &self.unread {
            Some(unread) => unread.len() + usize::from(self.next.is_some()),
            None => usize::from(self.newest.has_changed().unwrap_or(false)),
        }
    }

    /// Reads the next record, or the newest if the reader does not follow. `None` if there is no unread record.
    pub fn read(&mut self) -> Option<Arc<StepRecord>> {
        let Some(unread) = &mut self.unread else {
            return self.newest.has_changed().ok()?.then(|| self.newest.borrow_and_update().clone());
        };
        loop {
            let record = match self.next.take().map_or_else(|| unread.try_recv(), Ok) {
                Ok(record) => record,
                // Some records were dropped; the next receive returns the oldest that is kept.
                Err(TryRecvError::Lagged(_)) => continue,
                Err(TryRecvError::Empty | TryRecvError::Closed) => return None,
            };
            // The record at which it began to follow may come once more.
            if self.last.as_ref().is_none_or(|last| order_key(&record) > order_key(last)) {
                self.last = Some(Arc::clone(&record));
                return Some(record);
            }
        }
    }

    /// Waits until there is a record to read. Cancel-safe.
    pub async fn wait(&mut self) {
        if self.next.is_some() {
            return;
        }
        let Some(unread) = &mut self.unread else {
            match self.newest.changed().await {
                Ok(()) => self.newest.mark_changed(),
                // The run is over; no record follows.
                Err(_) => pending().await,
            }
            return;
        };
        match unread.recv().await {
            Ok(record) => self.next = Some(record),
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => pending().await,
        }
    }
}

/// Sort key of a record in order of time: resets, then world number, then step.
fn order_key(record: &StepRecord) -> (u32, u32, u64) {
    (record.epoch, record.world, record.step.0)
}

#[cfg(test)]
mod tests {
    use simpartner_model::StepIndex;

    use super::*;

    fn both() -> (Layout, RecordWriter, RecordReader) {
        let layout = Layout::new(1, 0, Vec::new());
        let (writer, reader) = record_channel(&layout, Timestep::MILLISECOND, StepRecord::new(&layout));
        (layout, writer, reader)
    }

    fn steps(reader: &mut RecordReader) -> Vec<u64> {
        std::iter::from_fn(|| reader.read()).map(|record| record.step.0).collect()
    }

    fn publish_one(writer: &RecordWriter, record: StepRecord) {
        let record = Arc::new(record);
        writer.publish(Arc::clone(&record), record);
    }

    fn publish(layout: &Layout, writer: &RecordWriter, steps: impl IntoIterator<Item = u64>) {
        for step in steps {
            publish_one(writer, StepRecord { step: StepIndex(step), ..StepRecord::new(layout) });
        }
    }

    #[test]
    fn who_follows_reads_every_record_and_the_others_the_newest() {
        let (layout, writer, mut one) = both();
        let mut other = one.clone();
        publish(&layout, &writer, 1..=3);
        one.follow();
        assert_eq!(one.present().step, StepIndex(3));
        publish(&layout, &writer, 4..=4000);
        assert_eq!((one.waiting(), other.waiting()), (3997, 1));
        assert_eq!(steps(&mut one), (4..=4000).collect::<Vec<_>>());
        assert_eq!(steps(&mut other), [4000]);
        one.stop_following();
        publish(&layout, &writer, 4001..=4003);
        assert_eq!(steps(&mut one), [4003]);
    }

    #[test]
    fn who_follows_and_is_too_late_goes_on_with_the_oldest_that_is_kept() {
        let (layout, writer, mut reader) = both();
        reader.follow();
        publish(&layout, &writer, 1..=10_000);
        let read = steps(&mut reader);
        assert!(read.len() >= 4000 && read.windows(2).all(|pair| pair[1] == pair[0] + 1), "{}", read.len());
        assert_eq!(read.last(), Some(&10_000));
    }

    #[test]
    fn a_record_that_was_the_newest_is_not_read_twice() {
        let (layout, writer, mut reader) = both();
        // Between the two statements of `follow` a step may be made.
        reader.unread = Some(reader.every.subscribe());
        publish(&layout, &writer, 1..=2);
        reader.last = Some(reader.newest.borrow_and_update().clone());
        publish(&layout, &writer, 3..=3);
        assert_eq!(steps(&mut reader), [3]);
        // After a reset steps count from zero.
        publish_one(&writer, StepRecord { epoch: 1, ..StepRecord::new(&layout) });
        assert_eq!((reader.read().unwrap().epoch, reader.present().step), (1, StepIndex(0)));
    }
}
