//! The thread that computes scans in parallel with the steps. It never has real-time priority.

use std::{
    sync::mpsc::{SyncSender, sync_channel},
    thread,
};

use simpartner_simulation::device::Background;

type Work = Box<dyn FnOnce() + Send>;

/// Largest number of queued scans. Each sensor queues at most one. If the queue is full, the physics thread computes
/// the scan itself when it is due.
const MAX_QUEUED_SCANS: usize = 64;

/// The writing end of the thread's queue. The thread ends when this is dropped.
pub(super) struct BackgroundThread {
    work: SyncSender<Work>,
}

impl BackgroundThread {
    /// Starts the thread with the scheduling policy of the calling thread.
    pub(super) fn start() -> std::io::Result<Self> {
        let (work, waiting) = sync_channel::<Work>(MAX_QUEUED_SCANS);
        thread::Builder::new().name("scans".into()).spawn(move || waiting.iter().for_each(|work| work()))?;
        Ok(Self { work })
    }
}

impl Background for BackgroundThread {
    fn run(&self, work: Work) {
        // If the queue is full, the physics thread computes the scan when it is due.
        let _ = self.work.try_send(work);
    }
}
