//! Synchronises a spill file with the disk in a thread of its own, so that no other thread waits for a slow disk. A process that is
//! killed loses nothing of what it has written; only a loss of power could.

use std::{
    fs::File,
    io,
    sync::{
        Arc, OnceLock,
        mpsc::{SyncSender, sync_channel},
    },
    thread::JoinHandle,
};

/// A handle of the thread, which ends with it.
#[derive(Debug)]
pub(super) struct Syncer {
    due: SyncSender<Arc<File>>,
    failure: Arc<OnceLock<String>>,
    thread: JoinHandle<()>,
}

impl Syncer {
    pub(super) fn start() -> io::Result<Self> {
        // One request in the channel covers everything that was written before.
        let (due, waiting) = sync_channel::<Arc<File>>(1);
        let failure = Arc::new(OnceLock::new());
        let shared = Arc::clone(&failure);
        let body = move || {
            for file in waiting {
                if let Err(error) = file.sync_data() {
                    // The first failure is reported.
                    let _ = shared.set(error.to_string());
                }
            }
        };
        let thread = std::thread::Builder::new().name("log spill".into()).spawn(body)?;
        Ok(Self { due, failure, thread })
    }

    /// Waits until nothing is due, so that the thread no longer holds the file.
    pub(super) fn end(self) {
        drop(self.due);
        // The thread does nothing that could panic.
        let _ = self.thread.join();
    }

    /// Requests that what was written so far is synchronised soon.
    ///
    /// # Errors
    /// When an earlier request failed: then the disk does not keep what is written.
    pub(super) fn sync(&self, file: &Arc<File>) -> io::Result<()> {
        let _ = self.due.try_send(Arc::clone(file));
        self.failure.get().map_or(Ok(()), |why| Err(io::Error::other(why.clone())))
    }
}
