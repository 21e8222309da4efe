//! The clock's status for all pages: asked for by one task, a few times a second and only while somebody watches.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{Notify, watch},
    time::{sleep, timeout},
};

use simpartner_realtime::{Control, ControlError, Handle, RunState, Status};

/// How often the clock is asked.
const EVERY: Duration = Duration::from_millis(40);

/// How long an answer is waited for; at a very slow rate the clock gives one a step.
const PATIENCE: Duration = Duration::from_secs(2);

/// The end that says what is known and when to ask anew.
pub(super) struct Asker {
    status: watch::Sender<Option<Status>>,
    soon: Notify,
}

impl Asker {
    pub(super) fn new() -> (Arc<Self>, watch::Receiver<Option<Status>>) {
        let (status, known) = watch::channel(None);
        (Arc::new(Self { status, soon: Notify::new() }), known)
    }

    /// Asks at once, because somebody has changed the clock.
    pub(super) fn ask_soon(&self) {
        self.soon.notify_one();
    }

    /// Waiters are woken when the clock's state is another; the factor changes all the time.
    fn tell(&self, new: Status) {
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

/// Asks until the run is over.
pub(super) async fn ask(asker: Arc<Asker>, handle: Handle, mut pages: watch::Receiver<u32>) {
    while pages.wait_for(|pages| *pages > 0).await.is_ok() {
        match timeout(PATIENCE, handle.control(Control::State)).await {
            Ok(Ok(status)) => asker.tell(status),
            Ok(Err(ControlError::Over)) => {
                let last = asker.status.borrow().clone();
                last.into_iter().for_each(|last| asker.tell(Status { state: RunState::Quitting, ..last }));
                return;
            }
            // The queue is full, or the clock is slow: the next answer will do.
            Ok(Err(ControlError::Full(_) | ControlError::WrongState(_))) | Err(_) => {}
        }
        tokio::select! {
            () = sleep(EVERY) => {}
            () = asker.soon.notified() => {}
        }
    }
}
