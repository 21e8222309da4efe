//! Events of clients in the log, and the delay of clients that guess tokens.

use std::{net::IpAddr, time::Duration};

use simpartner_model::StepIndex;
use simpartner_realtime::{ControlError, now_ns};
use simpartner_wire::signal::{Event, EventKind};
use tokio::time::sleep;

use super::shared::Shared;

/// Pause before a retry while the queue to the physics thread is full.
const QUEUE_PAUSE: Duration = Duration::from_millis(50);

/// Judges a client's attempt to authenticate, and waits for the delay that the verdict imposes. True if the client is
/// admitted.
pub(super) async fn judge_token(shared: &Shared, address: IpAddr, is_right: bool) -> bool {
    let verdict = shared.token_attempts.judge(address, is_right, now_ns());
    if let Some(wrong) = verdict.reported {
        let text = format!("{wrong} wrong tokens from {address}: further attempts of this address take a second each");
        log_event_with_value(shared, EventKind::WrongToken, "server", text, Some(wrong as f64)).await;
    }
    sleep(verdict.delay).await;
    verdict.is_admitted
}

/// Logs an event; retries while the queue to the physics thread is full.
pub(super) async fn log_event(shared: &Shared, kind: EventKind, subject: &str, text: String) {
    log_event_with_value(shared, kind, subject, text, None).await;
}

/// Logs an event with a value; retries while the queue to the physics thread is full.
async fn log_event_with_value(shared: &Shared, kind: EventKind, subject: &str, text: String, value: Option<f64>) {
    let event = Event { step: StepIndex(0), kind, subject: subject.to_owned(), text, value };
    while let Err(ControlError::Full(_)) = shared.handle.note(event.clone()) {
        sleep(QUEUE_PAUSE).await;
    }
}
