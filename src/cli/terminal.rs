//! Standard error that nobody waits for: messages go into a bounded queue, and a thread of its own writes them.
//!
//! A terminal under Ctrl-S, or a pipe whose reader sleeps, may take nothing for hours. The physics thread, the publisher, the sessions
//! and the log all print messages and must not wait for it. Messages that find no room in the queue are counted, and the count is
//! written when there is room again.

use std::{
    collections::VecDeque,
    io::{self, Write},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use tracing_subscriber::fmt::MakeWriter;

/// How many bytes may wait: some thousands of messages.
const CAPACITY: usize = 1 << 20;

/// How long the end of the program waits for a terminal that takes nothing.
const DRAIN: Duration = Duration::from_millis(500);

/// The queue to standard error.
#[derive(Clone)]
pub(super) struct Terminal(Arc<Waiting>);

#[derive(Default)]
struct Waiting {
    queue: Mutex<Queue>,
    /// Notified when there is something to write, and when something was written.
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    messages: VecDeque<Vec<u8>>,
    bytes: usize,
    dropped: u64,
    /// Messages written so far, and whether one is being written.
    written: u64,
    is_writing: bool,
}

impl Terminal {
    /// Starts the thread that writes.
    pub(super) fn start(mut out: impl Write + Send + 'static) -> io::Result<Self> {
        let terminal = Self(Arc::default());
        let waiting = Arc::clone(&terminal.0);
        thread::Builder::new().name("terminal".into()).spawn(move || {
            loop {
                let message = waiting.next();
                // If standard error is gone, no message can reach anybody.
                let _ = out.write_all(&message).and_then(|()| out.flush());
                waiting.written();
            }
        })?;
        Ok(terminal)
    }

    /// Waits until all is written, as long as writing makes progress.
    pub(super) fn finish(&self) {
        let mut queue = self.0.lock();
        loop {
            let before = queue.written;
            if queue.messages.is_empty() && !queue.is_writing && queue.dropped == 0 {
                return;
            }
            queue = match self.0.changed.wait_timeout(queue, DRAIN) {
                Ok((queue, _)) => queue,
                Err(poisoned) => poisoned.into_inner().0,
            };
            if queue.written == before {
                return;
            }
        }
    }
}

impl Waiting {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        // The queue is consistent between any two statements, so a panic elsewhere does not corrupt it.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, message: &[u8]) {
        let mut queue = self.lock();
        if queue.bytes + message.len() > CAPACITY {
            queue.dropped += 1;
        } else {
            queue.bytes += message.len();
            queue.messages.push_back(message.to_vec());
            self.changed.notify_all();
        }
    }

    /// Waits for the next message. When the queue is empty, the count of messages that found no room comes next.
    fn next(&self) -> Vec<u8> {
        let mut queue = self.lock();
        loop {
            if let Some(message) = queue.messages.pop_front() {
                queue.bytes -= message.len();
                queue.is_writing = true;
                return message;
            }
            if queue.dropped > 0 {
                queue.is_writing = true;
                let dropped = std::mem::take(&mut queue.dropped);
                return format!("{dropped} messages are missing here: nobody read them in time\n").into_bytes();
            }
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn written(&self) {
        let mut queue = self.lock();
        queue.written += 1;
        queue.is_writing = false;
        self.changed.notify_all();
    }
}

/// The formatter writes each message in one call.
impl Write for &Terminal {
    fn write(&mut self, message: &[u8]) -> io::Result<usize> {
        self.0.add(message);
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

    /// A terminal that takes a message only when it is let to.
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
        let waiting = terminal.0.lock().bytes;
        assert!(waiting <= CAPACITY, "{waiting} bytes wait");
        // The end of the program does not wait for it either.
        terminal.finish();
        (0..10_001).for_each(|_| permit.send(()).unwrap());
        let missing = messages.iter().find(|text| !text.starts_with('x')).unwrap();
        let missing: u64 = missing.split(' ').next().unwrap().parse().unwrap();
        // One may have been under way.
        assert!((8975..=8977).contains(&missing), "{missing}");
    }

    #[test]
    fn the_end_waits_for_queued_messages() {
        let (permit, permits) = mpsc::channel();
        let (taken, messages) = mpsc::channel();
        (0..100).for_each(|_| permit.send(()).unwrap());
        let terminal = Terminal::start(Blocked { permits, taken }).unwrap();
        (0..100).for_each(|number| (&terminal).write_all(format!("{number}").as_bytes()).unwrap());
        terminal.finish();
        let expected: Vec<String> = (0..100).map(|number| number.to_string()).collect();
        assert_eq!(messages.try_iter().collect::<Vec<_>>(), expected);
    }
}
