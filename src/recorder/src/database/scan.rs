//! Rows that one thread reads while another uses them, handed over many at a time.

use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

use crate::format::value::Value;

/// Values that are handed over at once, some tens of kilobytes: they are still in the processor's cache when they are used, and threads wake each
/// other up some thousand times a second and not for each row.
const VALUES: usize = 4096;

/// Batches that the reader may be ahead.
const AHEAD: usize = 8;

/// Some rows, one after the other.
#[derive(Debug, Default)]
pub(crate) struct RowBatch {
    /// Values of rows, and behind them others to be written over: their texts have memory already.
    values: Vec<Value>,
    width: usize,
    rows: usize,
}

impl RowBatch {
    /// The rows.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &[Value]> {
        // An answer has at least one column.
        self.values.chunks_exact(self.width.max(1)).take(self.rows)
    }
}

/// Takes rows from the thread that reads.
#[derive(Debug)]
pub(crate) struct RowSender {
    batch: RowBatch,
    full: SyncSender<RowBatch>,
    used: Receiver<RowBatch>,
}

/// Gives batches to the thread that uses them, and takes them back.
#[derive(Debug)]
pub(crate) struct RowReceiver {
    full: Receiver<RowBatch>,
    used: Sender<RowBatch>,
}

/// The two ends.
pub(crate) fn rows_between_threads() -> (RowSender, RowReceiver) {
    let (full_in, full_out) = sync_channel(AHEAD);
    let (used_in, used_out) = channel();
    (
        RowSender { batch: RowBatch::default(), full: full_in, used: used_out },
        RowReceiver { full: full_out, used: used_in },
    )
}

impl RowSender {
    /// The values of the next row, to be written over.
    pub(crate) fn row(&mut self, width: usize) -> &mut [Value] {
        let batch = &mut self.batch;
        batch.width = width;
        let (start, end) = (batch.rows * width, (batch.rows + 1) * width);
        if batch.values.len() < end {
            batch.values.resize(end, Value::Null);
        }
        &mut batch.values[start..end]
    }

    /// Completes that row; false if nobody wants more.
    pub(crate) fn end_row(&mut self) -> bool {
        self.batch.rows += 1;
        (self.batch.rows + 1) * self.batch.width <= VALUES || self.flush()
    }

    /// Adds a row; false if nobody wants more.
    pub(crate) fn copy(&mut self, row: &[Value]) -> bool {
        self.row(row.len()).clone_from_slice(row);
        self.end_row()
    }

    /// Hands over what there is.
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
    /// Calls `take` with each row until it fails or there are no more.
    pub(crate) fn for_each_row<E>(self, mut take: impl FnMut(&[Value]) -> Result<(), E>) -> Result<(), E> {
        for batch in &self.full {
            batch.rows().try_for_each(&mut take)?;
            // If the reader has ended, nobody takes it back.
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
                    let row = sender.row(3);
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
