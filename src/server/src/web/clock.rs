//! The clock's status for all pages. One task queries it, at most 25 times a second and only while a page is open.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{Notify, watch},
    time::{sleep, timeout},
};

use simpartner_realtime::{Control, ControlError, Handle, RunState, Status};

/// Interval between queries of the status.
const QUERY_INTERVAL: Duration = Duration::from_millis(40);

/// Longest wait for an answer. At a very slow rate the clock answers once per step.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// The querying task's state: the last status, and a signal for an early query.
pub(super) struct Asker {
    status: watch::Sender<Option<Status>>,
    soon: Notify,
}

impl Asker {
    pub(super) fn new() -> (Arc<Self>, watch::Receiver<Option<Status>>) {
        let (status, known) = watch::channel(None);
        (Arc::new(Self { status, soon: Notify::new() }), known)
    }

    /// Makes the task query at once. Called after a client has changed the clock.
    pub(super) fn ask_soon(&self) {
        self.soon.notify_one();
    }

    /// Publishes a status. Pages are woken only if state, mode, rate, slips or epoch have changed: the real-time factor
    /// changes all the time.
    fn publish(&self, new: Status) {
        self.status.send_if_modified(|known| {
            let same = known.as_ref().is_some_and(|old| {
                let shown = |of: &Status| (of.state, of.mode, of.rate, of.slips, of.epoch);
                shown(old) == shown(&new)
            });
            *known = Some(new);
            !same
        });
    }
}

/// Queries the status until the run is over.
pub(super) async fn ask(asker: Arc<Asker>, handle: Handle, mut pages: watch::Receiver<u32>) {
    while pages.wait_for(|pages| *pages > 0).await.is_ok() {
        match timeout(ANSWER_TIMEOUT, handle.control(Control::State)).await {
            Ok(Ok(status)) => asker.publish(status),
            Ok(Err(ControlError::Over)) => {
                let last = asker.status.borrow().clone();
                last.into_iter().for_each(|last| asker.publish(Status { state: RunState::Quitting, ..last }));
                return;
            }
            // The queue is full, or the clock is slow: the next query will succeed.
            Ok(Err(ControlError::Full(_) | ControlError::WrongState(_))) | Err(_) => {}
        }
        tokio::select! {
            () = sleep(QUERY_INTERVAL) => {}
            () = asker.soon.notified() => {}
        }
    }
}
