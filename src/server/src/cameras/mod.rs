//! The images of cameras for clients: who wants them, and the thread that makes them.
//!
//! The publisher of records passes on those in which images are taken or arrive ([`ImageSink`]). A thread of ordinary
//! priority, the [studio](studio), makes the images that somebody wants and hands them to the sessions. Nobody waits
//! for it while steps have deadlines. At other times the clock waits, so that subscribers get every image.

mod frame;
mod outlet;
mod session;
mod studio;

use std::{
    collections::HashMap,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
};

use simpartner_realtime::ImageSink;
use simpartner_wire::signal::StepRecord;
use tokio::sync::oneshot;

use self::{outlet::Outlet, studio::Studio};
pub(super) use self::{
    frame::Frame,
    outlet::{Delivery, Subscription},
    session::serve,
    studio::Work,
};
use super::shared::Shared;

/// Largest number of records that wait for the studio. Each holds one image of every camera at most, and the memory of a
/// record; at 30 Hz they span two seconds.
const MAX_WAITING: usize = 64;

/// Why there is no image, as a sentence for a client.
pub(super) type NoImage = String;

/// The cameras of a server.
#[derive(Debug)]
pub(super) struct Cameras {
    work: mpsc::Sender<Work>,
    /// Number of records that wait.
    waiting: Arc<AtomicUsize>,
    /// By the serial number of the camera's port.
    outlets: RwLock<HashMap<u32, Arc<Outlet>>>,
}

impl Cameras {
    /// The cameras, and the end of their queue for [`start`](Self::start).
    pub(super) fn new() -> (Arc<Self>, mpsc::Receiver<Work>) {
        let (work, waiting_work) = mpsc::channel();
        (Arc::new(Self { work, waiting: Arc::default(), outlets: RwLock::default() }), waiting_work)
    }

    /// Starts the studio, which ends with the server.
    ///
    /// # Errors
    /// The operating system refuses to start a thread.
    pub(super) fn start(self: &Arc<Self>, work: mpsc::Receiver<Work>, shared: &Arc<Shared>) -> std::io::Result<()> {
        let first = shared.handle.records().present();
        let studio = Studio::new(Arc::downgrade(shared), Arc::clone(self));
        std::thread::Builder::new().name("images".into()).spawn(move || studio.run(&first, &work))?;
        shared.handle.set_image_sink(Arc::clone(self) as Arc<dyn ImageSink>);
        Ok(())
    }

    /// Ends the studio.
    pub(super) fn stop(&self) {
        // An error means that it has ended.
        let _ = self.work.send(Work::End);
    }

    /// The image of a camera that has arrived last, made now if nobody has asked for it.
    ///
    /// # Errors
    /// There is none.
    pub(super) async fn newest(&self, camera: u32) -> Result<Arc<Frame>, NoImage> {
        let (answer, answered) = oneshot::channel();
        let ended = || "the server is closing".to_owned();
        self.work.send(Work::Newest { camera, answer }).map_err(|_| ended())?;
        answered.await.map_err(|_| ended())?
    }

    /// Subscribes to the images of a camera.
    pub(super) fn subscribe(&self, camera: u32, delivery: Delivery) -> Subscription {
        self.outlet(camera).subscribe(delivery)
    }

    fn outlet(&self, camera: u32) -> Arc<Outlet> {
        // The map is consistent between any two statements, so a panic elsewhere does not corrupt it.
        let known = self.outlets.read().unwrap_or_else(PoisonError::into_inner).get(&camera).cloned();
        known.unwrap_or_else(|| {
            let mut outlets = self.outlets.write().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(outlets.entry(camera).or_default())
        })
    }
}

impl ImageSink for Cameras {
    fn take(&self, record: &Arc<StepRecord>, has_deadlines: bool) {
        if has_deadlines && self.is_full() {
            // The studio counts the gap by the images that have arrived.
            return;
        }
        self.waiting.fetch_add(1, Ordering::AcqRel);
        if self.work.send(Work::Record(Arc::clone(record))).is_err() {
            self.waiting.store(0, Ordering::Release);
        }
    }

    fn is_full(&self) -> bool {
        self.waiting.load(Ordering::Acquire) >= MAX_WAITING
    }
}
