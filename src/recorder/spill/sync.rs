//! Brings a spill file to the disk from a thread of its own, so that a slow disk makes nobody wait: a process that is killed
//! loses nothing of what it has written, only a power cut could.

use std::{
    fs::File,
    io,
    sync::{
        Arc, OnceLock,
        mpsc::{SyncSender, sync_channel},
    },
    thread::JoinHandle,
};

/// The way to the thread, which ends with it.
#[derive(Debug)]
pub(super) struct Syncer {
    due: SyncSender<Arc<File>>,
    failure: Arc<OnceLock<String>>,
    thread: JoinHandle<()>,
}

impl Syncer {
    pub(super) fn start() -> io::Result<Self> {
        // One that waits for its turn stands for all that was written before.
        let (due, waiting) = sync_channel::<Arc<File>>(1);
        let failure = Arc::new(OnceLock::new());
        let shared = Arc::clone(&failure);
        let body = move || {
            for file in waiting {
                if let Err(error) = file.sync_data() {
                    // The first is the one to tell.
                    let _ = shared.set(error.to_string());
                }
            }
        };
        let thread = std::thread::Builder::new().name("log spill".into()).spawn(body)?;
        Ok(Self { due, failure, thread })
    }

    /// Waits until nothing is due, so that nobody holds the file any more.
    pub(super) fn end(self) {
        drop(self.due);
        // It does nothing that could panic.
        let _ = self.thread.join();
    }

    /// Has what was written so far brought to the disk soon.
    ///
    /// # Errors
    /// When an earlier time has failed: then the disk does not keep what it is given.
    pub(super) fn sync(&self, file: &Arc<File>) -> io::Result<()> {
        let _ = self.due.try_send(Arc::clone(file));
        self.failure.get().map_or(Ok(()), |why| Err(io::Error::other(why.clone())))
    }
}
