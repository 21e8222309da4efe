//! The exchange between clients, who want images, and the studio, which makes them.

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

use super::{
    frame::Frame,
    outlet::{Delivery, Outlet, Subscription},
};

/// Number of waiting records from which a clock without deadlines waits: two seconds of images at 30 Hz.
const MAX_WAITING: usize = 64;

/// Largest number of waiting records while steps have deadlines: those of a second in which a camera without a rate
/// takes an image in each step of 1 ms. Only an image that takes longer to make fills the queue.
const MAX_WAITING_WITH_DEADLINES: usize = 1000;

/// Reason of a missing image, as a sentence for a client.
pub(crate) type NoImage = String;

/// Work for the studio.
#[derive(Debug)]
pub(crate) enum Work {
    /// Images are taken or arrive.
    Record(Arc<StepRecord>),
    /// A client wants the image that has arrived last.
    Newest {
        /// The camera's port.
        camera: u32,
        /// For the image.
        answer: oneshot::Sender<Result<Arc<Frame>, NoImage>>,
    },
    /// The server is closing.
    End,
}

/// The cameras of a server.
#[derive(Debug)]
pub(crate) struct Cameras {
    work: mpsc::Sender<Work>,
    /// Number of records that wait.
    pub(super) waiting: AtomicUsize,
    /// The outlet of each camera, by the serial number of its port.
    outlets: RwLock<HashMap<u32, Arc<Outlet>>>,
}

impl Cameras {
    /// The cameras, and the end of their queue for the studio.
    pub(crate) fn with_queue() -> (Arc<Self>, mpsc::Receiver<Work>) {
        let (work, waiting_work) = mpsc::channel();
        (Arc::new(Self { work, waiting: AtomicUsize::default(), outlets: RwLock::default() }), waiting_work)
    }

    /// Ends the studio.
    pub(crate) fn end_studio(&self) {
        // An error means that it has ended.
        let _ = self.work.send(Work::End);
    }

    /// The image of a camera that has arrived last, made now if nobody has asked for it.
    ///
    /// # Errors
    /// No image of the camera can be made; the text says why.
    pub(crate) async fn newest_frame(&self, camera: u32) -> Result<Arc<Frame>, NoImage> {
        let (answer, answered) = oneshot::channel();
        let ended = || "the server is closing".to_owned();
        self.work.send(Work::Newest { camera, answer }).map_err(|_| ended())?;
        answered.await.map_err(|_| ended())?
    }

    /// Subscribes to the images of a camera.
    pub(crate) fn subscribe_to(&self, camera: u32, delivery: Delivery) -> Subscription {
        self.outlet_of(camera).add_subscriber(delivery)
    }

    pub(super) fn outlet_of(&self, camera: u32) -> Arc<Outlet> {
        // The map is consistent between any two statements, so a panic elsewhere does not corrupt it.
        let known = self.outlets.read().unwrap_or_else(PoisonError::into_inner).get(&camera).cloned();
        known.unwrap_or_else(|| {
            let mut outlets = self.outlets.write().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(outlets.entry(camera).or_default())
        })
    }
}

impl ImageSink for Cameras {
    fn take_record(&self, record: &Arc<StepRecord>, has_deadlines: bool) {
        if has_deadlines && self.waiting.load(Ordering::Acquire) >= MAX_WAITING_WITH_DEADLINES {
            // The images of this record are lost, and no client counts them as missed.
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
