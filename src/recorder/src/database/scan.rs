//! Passes rows in batches from a thread that reads them to a thread that uses them.

use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

use crate::format::value::Value;

/// Number of values in a batch, some tens of kilobytes. They are still in the processor's cache when they are used, and
/// the threads wake each other some thousand times a second instead of for each row.
const VALUES_PER_BATCH: usize = 4096;

/// Number of batches that the reader may be ahead.
const BATCHES_AHEAD: usize = 8;

/// A batch of rows.
#[derive(Debug, Default)]
pub(crate) struct RowBatch {
    /// Values of the rows, row after row. Old values behind them are overwritten later, so that the memory of their
    /// texts is reused.
    values: Vec<Value>,
    /// Number of values in a row.
    width: usize,
    /// Number of rows.
    rows: usize,
}

impl RowBatch {
    /// The rows.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &[Value]> {
        // A result has at least one column; the lower limit only avoids a panic.
        self.values.chunks_exact(self.width.max(1)).take(self.rows)
    }
}

/// The end of the reading thread: collects rows into batches and sends them.
#[derive(Debug)]
pub(crate) struct RowSender {
    batch: RowBatch,
    full: SyncSender<RowBatch>,
    /// Used batches that come back, for reuse of their memory.
    used: Receiver<RowBatch>,
}

/// The end of the using thread: receives batches and returns them after use.
#[derive(Debug)]
pub(crate) struct RowReceiver {
    full: Receiver<RowBatch>,
    used: Sender<RowBatch>,
}

/// Creates the two connected ends.
pub(crate) fn rows_between_threads() -> (RowSender, RowReceiver) {
    let (full_in, full_out) = sync_channel(BATCHES_AHEAD);
    let (used_in, used_out) = channel();
    (
        RowSender { batch: RowBatch::default(), full: full_in, used: used_out },
        RowReceiver { full: full_out, used: used_in },
    )
}

impl RowSender {
    /// The values of the next row, to be overwritten.
    pub(crate) fn next_row(&mut self, width: usize) -> &mut [Value] {
        let batch = &mut self.batch;
        batch.width = width;
        let (start, end) = (batch.rows * width, (batch.rows + 1) * width);
        if batch.values.len() < end {
            batch.values.resize(end, Value::Null);
        }
        &mut batch.values[start..end]
    }

    /// Completes the row of [`RowSender::next_row`]. It returns false if the receiver takes no more rows.
    pub(crate) fn end_row(&mut self) -> bool {
        self.batch.rows += 1;
        (self.batch.rows + 1) * self.batch.width <= VALUES_PER_BATCH || self.flush()
    }

    /// Adds a row. It returns false if the receiver takes no more rows.
    pub(crate) fn push_row(&mut self, row: &[Value]) -> bool {
        self.next_row(row.len()).clone_from_slice(row);
        self.end_row()
    }

    /// Sends the rows collected so far. It returns false if the receiver takes no more rows.
    pub(crate) fn flush(&mut self) -> bool {
        if self.batch.rows == 0 {
            return true;
        }
        let mut next = self.used.try_recv().unwrap_or_default();
        next.rows = 0;
        self.full.send(std::mem::replace(&mut self.batch, next)).is_ok()
    }
}

impl RowReceiver {
    /// Calls `take` with each row until it fails or there are no more rows.
    pub(crate) fn for_each_row<E>(self, mut take: impl FnMut(&[Value]) -> Result<(), E>) -> Result<(), E> {
        for batch in &self.full {
            batch.rows().try_for_each(&mut take)?;
            // If the reader has ended, nobody receives the used batch.
            let _ = self.used.send(batch);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_arrive_in_order_and_a_receiver_that_fails_ends_the_reader() {
        for most in [usize::MAX, 10_000] {
            let (mut sender, receiver) = rows_between_threads();
            let reader = std::thread::spawn(move || {
                let is_taken = |number: &i64| {
                    let row = sender.next_row(3);
                    row[0] = Value::Integer(*number);
                    row[2] = Value::Text(number.to_string());
                    sender.end_row()
                };
                let count = (0..100_000).take_while(is_taken).count();
                (count, sender.flush())
            });
            let mut rows = 0;
            let taken = receiver.for_each_row(|row| {
                assert_eq!((row[0].integer(), row[2].text()), (Some(rows), rows.to_string().as_str()));
                rows += 1;
                if rows as usize == most { Err(()) } else { Ok(()) }
            });
            let (count, is_wanted) = reader.join().unwrap();
            match taken {
                Ok(()) => assert_eq!((count, rows, is_wanted), (100_000, 100_000, true)),
                Err(()) => assert!(rows == 10_000 && count < 100_000),
            }
        }
    }
}
