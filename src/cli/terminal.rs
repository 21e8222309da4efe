//! Non-blocking standard error: messages go into a bounded queue, which a separate thread writes out.
//!
//! A terminal after Ctrl-S, or a pipe whose reader sleeps, may accept nothing for hours. The physics thread, the
//! publisher, the sessions and the log all print messages and must not wait for it. Messages that do not fit into the
//! queue are dropped and counted, and the count is written when there is room again.

use std::{
    collections::VecDeque,
    io::{self, Write},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use tracing_subscriber::fmt::MakeWriter;

/// Largest size of all queued messages together, bytes: some thousands of messages.
const QUEUE_CAPACITY: usize = 1 << 20;

/// Time for which the end of the program waits for a terminal that accepts nothing.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

/// Handle of the queue to standard error.
#[derive(Clone)]
pub(super) struct Terminal(Arc<SharedQueue>);

#[derive(Default)]
struct SharedQueue {
    queue: Mutex<Queue>,
    /// Notified when a message was queued, and when a message was written.
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    messages: VecDeque<Vec<u8>>,
    /// Size of all messages in the queue.
    bytes: usize,
    /// Number of messages that did not fit since the last report.
    dropped: u64,
    /// Number of messages written so far.
    written: u64,
    /// True while a message is being written.
    is_writing: bool,
}

impl Terminal {
    /// Starts the writer thread.
    pub(super) fn start(mut out: impl Write + Send + 'static) -> io::Result<Self> {
        let terminal = Self(Arc::default());
        let shared = Arc::clone(&terminal.0);
        thread::Builder::new().name("terminal".into()).spawn(move || {
            loop {
                let message = shared.next_message();
                // A failure of standard error cannot be reported anywhere.
                let _ = out.write_all(&message).and_then(|()| out.flush());
                shared.mark_written();
            }
        })?;
        Ok(terminal)
    }

    /// Waits until all messages are written, as long as there is progress.
    pub(super) fn drain(&self) {
        let mut queue = self.0.lock_queue();
        loop {
            let before = queue.written;
            if queue.messages.is_empty() && !queue.is_writing && queue.dropped == 0 {
                return;
            }
            queue = match self.0.changed.wait_timeout(queue, DRAIN_TIMEOUT) {
                Ok((queue, _)) => queue,
                Err(poisoned) => poisoned.into_inner().0,
            };
            if queue.written == before {
                return;
            }
        }
    }
}

impl SharedQueue {
    fn lock_queue(&self) -> MutexGuard<'_, Queue> {
        // The queue is consistent between any two statements, so a panic elsewhere does not corrupt it.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a message, or counts it as dropped if it does not fit.
    fn enqueue(&self, message: &[u8]) {
        let mut queue = self.lock_queue();
        if queue.bytes + message.len() > QUEUE_CAPACITY {
            queue.dropped += 1;
        } else {
            queue.bytes += message.len();
            queue.messages.push_back(message.to_vec());
            self.changed.notify_all();
        }
    }

    /// Waits for the next message. If the queue is empty and messages were dropped, the next message is their number.
    fn next_message(&self) -> Vec<u8> {
        let mut queue = self.lock_queue();
        loop {
            if let Some(message) = queue.messages.pop_front() {
                queue.bytes -= message.len();
                queue.is_writing = true;
                return message;
            }
            if queue.dropped > 0 {
                queue.is_writing = true;
                let dropped = std::mem::take(&mut queue.dropped);
                return format!("{dropped} messages were dropped here, because they were not read in time\n")
                    .into_bytes();
            }
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn mark_written(&self) {
        let mut queue = self.lock_queue();
        queue.written += 1;
        queue.is_writing = false;
        self.changed.notify_all();
    }
}

/// Each call of `write` queues one message: the formatter writes a message in a single call.
impl Write for &Terminal {
    fn write(&mut self, message: &[u8]) -> io::Result<usize> {
        self.0.enqueue(message);
        Ok(message.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Terminal {
    type Writer = &'a Terminal;

    fn make_writer(&'a self) -> Self::Writer {
        self
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// A terminal that accepts a message only with a permit.
    struct Blocked {
        permits: mpsc::Receiver<()>,
        taken: mpsc::Sender<String>,
    }

    impl Write for Blocked {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.permits.recv().map_err(io::Error::other)?;
            self.taken.send(String::from_utf8_lossy(bytes).into_owned()).map_err(io::Error::other)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_terminal_that_takes_nothing_holds_nobody_up_and_what_it_missed_is_counted() {
        let (permit, permits) = mpsc::channel();
        let (taken, messages) = mpsc::channel();
        let terminal = Terminal::start(Blocked { permits, taken }).unwrap();
        let message = [b'x'; 1024];
        for _ in 0..10_000 {
            (&terminal).write_all(&message).unwrap();
        }
        let waiting = terminal.0.lock_queue().bytes;
        assert!(waiting <= QUEUE_CAPACITY, "{waiting} bytes wait");
        // The end of the program does not wait for it either.
        terminal.drain();
        (0..10_001).for_each(|_| permit.send(()).unwrap());
        let missing = messages.iter().find(|text| !text.starts_with('x')).unwrap();
        let missing: u64 = missing.split(' ').next().unwrap().parse().unwrap();
        // One message may have been in the writer's hands.
        assert!((8975..=8977).contains(&missing), "{missing}");
    }

    #[test]
    fn the_end_waits_for_queued_messages() {
        let (permit, permits) = mpsc::channel();
        let (taken, messages) = mpsc::channel();
        (0..100).for_each(|_| permit.send(()).unwrap());
        let terminal = Terminal::start(Blocked { permits, taken }).unwrap();
        (0..100).for_each(|number| (&terminal).write_all(format!("{number}").as_bytes()).unwrap());
        terminal.drain();
        let expected: Vec<String> = (0..100).map(|number| number.to_string()).collect();
        assert_eq!(messages.try_iter().collect::<Vec<_>>(), expected);
    }
}
