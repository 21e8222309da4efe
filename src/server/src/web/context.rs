//! The state that all requests of the page share.

use std::sync::Arc;

use simpartner_realtime::Status;
use tokio::sync::{Semaphore, watch};

use super::{archive::Archive, clock, document::FindDocument, frame, guard, ruts};
use crate::shared::Shared;

/// Buffer for a page that does not read, bytes, in addition to a frame, ruts and an answer to `DEVICES`.
const UNREAD: usize = 512 * 1024;
/// Longest line of an answer to `DEVICES`, bytes.
const DEVICE_LINE: usize = 1024;

/// State that all requests share.
pub(super) struct Web {
    pub(super) shared: Arc<Shared>,
    pub(super) archive: Option<Arc<dyn Archive>>,
    pub(super) documentation: Option<FindDocument>,
    pub(super) lookups: Semaphore,
    pub(super) guard: guard::Guard,
    /// The clock's status as of late; `None` before it was first asked.
    pub(super) status: watch::Receiver<Option<Status>>,
    /// Notified when somebody has changed the clock.
    pub(super) asker: Arc<clock::Asker>,
    pub(super) ruts: Arc<ruts::Ruts>,
    /// Number of open pages.
    pub(super) pages: watch::Sender<u32>,
    pub(super) closed: watch::Receiver<bool>,
}

impl Web {
    /// Memory for a page that does not read, bytes: pongs to its pings, and one message of each other kind.
    pub(super) fn unread_bytes(&self) -> usize {
        let layout = self.shared.handle.layout();
        UNREAD + frame::longest(&layout) + ruts::LONGEST + layout.devices().len() * DEVICE_LINE
    }
}
