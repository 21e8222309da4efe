//! The outlet of a camera's images: its subscribers, each with a queue.

use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use tokio::sync::Notify;

use super::frame::Frame;

/// Largest memory of a subscriber's queue, bytes: some 30 images of 640 x 480 pixels. It may always hold one image.
const MAX_QUEUED_BYTES: usize = 32 << 20;

/// Interval at which a full queue's subscriber is looked at again: it may be gone, or steps may have deadlines again.
const FULL_CHECK: Duration = Duration::from_millis(50);

/// Selection of images for a subscriber.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// All images, except while steps have deadlines: then the newest.
    All,
    /// The newest image.
    Newest,
}

/// The subscribers of a camera.
#[derive(Debug, Default)]
pub(super) struct Outlet(Mutex<Vec<Weak<Inbox>>>);

/// The queue of a subscriber.
#[derive(Debug)]
struct Inbox {
    delivery: Delivery,
    queue: Mutex<VecDeque<Arc<Frame>>>,
    filled: Notify,
    emptied: Condvar,
}

/// A subscription to the images of a camera. The studio makes every image while there is one.
#[derive(Debug)]
pub(crate) struct Subscription(Arc<Inbox>);

impl Outlet {
    /// True while the camera has subscribers.
    pub(super) fn is_wanted(&self) -> bool {
        self.lock_list().iter().any(|inbox| inbox.strong_count() > 0)
    }

    pub(super) fn add_subscriber(&self, delivery: Delivery) -> Subscription {
        let (queue, filled, emptied) = (Mutex::default(), Notify::new(), Condvar::new());
        let inbox = Arc::new(Inbox { delivery, queue, filled, emptied });
        let mut subscribers = self.lock_list();
        subscribers.retain(|inbox| inbox.strong_count() > 0);
        subscribers.push(Arc::downgrade(&inbox));
        Subscription(inbox)
    }

    /// Hands an image to all subscribers. Without deadlines it waits for those with full queues; the server closes the
    /// connection of a client that does not read.
    pub(super) fn deliver_to_all(&self, frame: &Arc<Frame>, has_deadlines: impl Fn() -> bool) {
        let subscribers = self.lock_list().clone();
        for subscriber in &subscribers {
            let Some(inbox) = subscriber.upgrade() else { continue };
            let mut queue = inbox.lock_queue();
            if inbox.delivery == Delivery::Newest || has_deadlines() {
                queue.clear();
            }
            // The subscriber's own reference is one, and this one is another.
            while is_full(&queue) && Arc::strong_count(&inbox) > 1 && !has_deadlines() {
                queue = inbox.emptied.wait_timeout(queue, FULL_CHECK).unwrap_or_else(PoisonError::into_inner).0;
            }
            queue.push_back(Arc::clone(frame));
            inbox.filled.notify_one();
        }
    }

    fn lock_list(&self) -> MutexGuard<'_, Vec<Weak<Inbox>>> {
        // The list is consistent between any two statements, so a panic elsewhere does not corrupt it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_full(queue: &VecDeque<Arc<Frame>>) -> bool {
    queue.iter().map(|frame| frame.byte_count()).sum::<usize>() >= MAX_QUEUED_BYTES
}

impl Inbox {
    fn lock_queue(&self) -> MutexGuard<'_, VecDeque<Arc<Frame>>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Subscription {
    /// Waits for the next image. Cancel-safe.
    pub(crate) async fn next_frame(&mut self) -> Arc<Frame> {
        loop {
            let frame = self.0.lock_queue().pop_front();
            if let Some(frame) = frame {
                self.0.emptied.notify_one();
                return frame;
            }
            self.0.filled.notified().await;
        }
    }
}
