//! Synchronises a spill file with the disk in a thread of its own, so that no other thread waits for a slow disk. A
//! process that is killed loses nothing that it has written; only a power failure can lose data that is not yet
//! synchronised.

use std::{
    fs::File,
    io,
    sync::{
        Arc, OnceLock,
        mpsc::{SyncSender, sync_channel},
    },
    thread::JoinHandle,
};

/// Handle of the synchronising thread.
#[derive(Debug)]
pub(super) struct Syncer {
    requests: SyncSender<Arc<File>>,
    failure: Arc<OnceLock<String>>,
    thread: JoinHandle<()>,
}

impl Syncer {
    pub(super) fn start() -> io::Result<Self> {
        // One request in the channel covers everything that was written before.
        let (requests, received) = sync_channel::<Arc<File>>(1);
        let failure = Arc::new(OnceLock::new());
        let shared = Arc::clone(&failure);
        let body = move || {
            for file in received {
                if let Err(error) = file.sync_data() {
                    // Only the first failure is kept.
                    let _ = shared.set(error.to_string());
                }
            }
        };
        let thread = std::thread::Builder::new().name("log spill".into()).spawn(body)?;
        Ok(Self { requests, failure, thread })
    }

    /// Ends the thread after its last request, so that it no longer holds the file.
    pub(super) fn finish(self) {
        drop(self.requests);
        // The thread does nothing that could panic.
        let _ = self.thread.join();
    }

    /// Requests that everything written so far is synchronised soon.
    ///
    /// # Errors
    /// When an earlier request failed: then the disk does not keep the data.
    pub(super) fn request_sync(&self, file: &Arc<File>) -> io::Result<()> {
        let _ = self.requests.try_send(Arc::clone(file));
        self.failure.get().map_or(Ok(()), |why| Err(io::Error::other(why.clone())))
    }
}
