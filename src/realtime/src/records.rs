//! Where readers find the records of steps: always the newest one, and for those that follow every one of the last seconds.
//!
//! Nobody waits for a reader. One that follows and comes too late finds the oldest record that is kept, and goes on from there.

use std::{future::pending, sync::Arc};

use simpartner_model::Timestep;
use simpartner_wire::signal::{Layout, StepRecord};
use tokio::sync::{
    broadcast::{self, error::RecvError, error::TryRecvError},
    watch,
};

/// How late a reader that follows may be, in simulated time: twice as long as a client may take nothing before the server gives it up.
const KEPT_S: f64 = 4.0;

/// How many bytes of values may wait for readers that follow: what commands may hold, too. Large worlds and short steps so have less time.
const KEPT_BYTES: usize = 256_000_000;

/// So many are kept all the same, a tenth of a second at 1 kHz: a session that shares a busy processor is served within that.
const LEAST_KEPT: usize = 100;

/// The writing end.
#[derive(Debug, Clone)]
pub(super) struct RecordWriter {
    newest: watch::Sender<Arc<StepRecord>>,
    every: broadcast::Sender<Arc<StepRecord>>,
}

/// A reader of records.
#[derive(Debug)]
pub struct RecordReader {
    newest: watch::Receiver<Arc<StepRecord>>,
    every: broadcast::Sender<Arc<StepRecord>>,
    /// While it follows: the records that it has not read. They are kept for it.
    behind: Option<broadcast::Receiver<Arc<StepRecord>>>,
    /// The first of those, when it was waited for.
    next: Option<Arc<StepRecord>>,
    /// The one that it read last.
    last: Option<Arc<StepRecord>>,
}

/// Both ends. `first` is the record of step 0.
pub(super) fn records(layout: &Layout, timestep: Timestep, first: StepRecord) -> (RecordWriter, RecordReader) {
    let (writer, newest) = watch::channel(Arc::new(first));
    let (every, _) = broadcast::channel(kept(layout, timestep));
    let reader = RecordReader { newest, every: every.clone(), behind: None, next: None, last: None };
    (RecordWriter { newest: writer, every }, reader)
}

/// How many records are kept for readers that follow.
fn kept(layout: &Layout, timestep: Timestep) -> usize {
    let steps = (KEPT_S / timestep.seconds()).ceil() as usize;
    steps.min(KEPT_BYTES / (size_of::<f64>() * layout.numbers_per_step().max(1))).max(LEAST_KEPT)
}

impl RecordWriter {
    /// Shows a record to all readers.
    pub(super) fn publish(&self, record: Arc<StepRecord>) {
        // In this order, so that a reader that begins to follow and then looks at the newest record misses none.
        self.newest.send_replace(Arc::clone(&record));
        // Nobody may follow.
        let _ = self.every.send(record);
    }
}

impl Clone for RecordReader {
    /// A reader that does not follow.
    fn clone(&self) -> Self {
        let (newest, every) = (self.newest.clone(), self.every.clone());
        Self { newest, every, behind: None, next: None, last: None }
    }
}

impl RecordReader {
    /// The record that was read last by a reader that follows, else the newest.
    pub fn present(&self) -> Arc<StepRecord> {
        self.last.clone().unwrap_or_else(|| self.newest.borrow().clone())
    }

    /// The newest record, and a way to wait for the next.
    pub(super) fn newest(&self) -> &watch::Receiver<Arc<StepRecord>> {
        &self.newest
    }

    /// Reads every record from the present one on. A reader that follows already goes on where it is.
    pub fn follow(&mut self) {
        if self.behind.is_none() {
            // In this order, so that no record comes in between.
            self.behind = Some(self.every.subscribe());
            self.last = Some(self.newest.borrow_and_update().clone());
        }
    }

    /// Reads the newest record only from now on.
    pub fn stop_following(&mut self) {
        (self.behind, self.next, self.last) = (None, None, None);
    }

    /// How many records there are to read.
    pub fn waiting(&self) -> usize {
        match &self.behind {
            Some(behind) => behind.len() + usize::from(self.next.is_some()),
            None => usize::from(self.newest.has_changed().unwrap_or(false)),
        }
    }

    /// Reads the next record, if there is one; a reader that does not follow reads the newest, if it is another one than before.
    pub fn read(&mut self) -> Option<Arc<StepRecord>> {
        let Some(behind) = &mut self.behind else {
            return self.newest.has_changed().ok()?.then(|| self.newest.borrow_and_update().clone());
        };
        loop {
            let record = match self.next.take().map_or_else(|| behind.try_recv(), Ok) {
                Ok(record) => record,
                // Those in between are lost; the next turn finds the oldest.
                Err(TryRecvError::Lagged(_)) => continue,
                Err(TryRecvError::Empty | TryRecvError::Closed) => return None,
            };
            // The one that it began with may come once more.
            if self.last.as_ref().is_none_or(|last| order(&record) > order(last)) {
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
        let Some(behind) = &mut self.behind else {
            match self.newest.changed().await {
                Ok(()) => self.newest.mark_changed(),
                // The run is over and nothing more comes.
                Err(_) => pending().await,
            }
            return;
        };
        match behind.recv().await {
            Ok(record) => self.next = Some(record),
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => pending().await,
        }
    }
}

/// What a later record has more of: resets, then worlds, then steps.
fn order(record: &StepRecord) -> (u32, u32, u64) {
    (record.epoch, record.world, record.step.0)
}

#[cfg(test)]
mod tests {
    use simpartner_model::StepIndex;

    use super::*;

    fn both() -> (Layout, RecordWriter, RecordReader) {
        let layout = Layout::new(1, 0, Vec::new());
        let (writer, reader) = records(&layout, Timestep::MILLISECOND, StepRecord::new(&layout));
        (layout, writer, reader)
    }

    fn steps(reader: &mut RecordReader) -> Vec<u64> {
        std::iter::from_fn(|| reader.read()).map(|record| record.step.0).collect()
    }

    fn publish(layout: &Layout, writer: &RecordWriter, steps: impl IntoIterator<Item = u64>) {
        for step in steps {
            writer.publish(Arc::new(StepRecord { step: StepIndex(step), ..StepRecord::new(layout) }));
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
        reader.behind = Some(reader.every.subscribe());
        publish(&layout, &writer, 1..=2);
        reader.last = Some(reader.newest.borrow_and_update().clone());
        publish(&layout, &writer, 3..=3);
        assert_eq!(steps(&mut reader), [3]);
        // After a reset steps count from zero.
        writer.publish(Arc::new(StepRecord { epoch: 1, ..StepRecord::new(&layout) }));
        assert_eq!((reader.read().unwrap().epoch, reader.present().step), (1, StepIndex(0)));
    }
}
