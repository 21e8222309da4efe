//! The thread that makes scans beside the steps. It never has real-time priority.

use std::{
    sync::mpsc::{SyncSender, sync_channel},
    thread,
};

use simpartner_simulation::device::Background;

type Work = Box<dyn FnOnce() + Send>;

/// How many scans may wait. Each sensor has one at most; what finds no room is made by the physics thread when it is due.
const QUEUE: usize = 64;

/// The writing end of the thread's queue. The thread ends when this is dropped.
pub(super) struct BackgroundThread {
    work: SyncSender<Work>,
}

impl BackgroundThread {
    /// Starts the thread, with the scheduling of the calling one.
    pub(super) fn start() -> std::io::Result<Self> {
        let (work, waiting) = sync_channel::<Work>(QUEUE);
        thread::Builder::new().name("scans".into()).spawn(move || waiting.iter().for_each(|work| work()))?;
        Ok(Self { work })
    }
}

impl Background for BackgroundThread {
    fn run(&self, work: Work) {
        // What is left undone is done when it is due.
        let _ = self.work.try_send(work);
    }
}
