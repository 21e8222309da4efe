//! A client of a device, or of a whole robot.

use std::time::Duration;

use simpartner_wire::{
    protocol::{Errand, Flow, Refusal, Session, Taken},
    signal::ClientId,
};
use tokio::time::{sleep, timeout};

use super::{
    error::refusal,
    line::{End, Line, TURN, Wake},
};
use crate::realtime::{Acknowledged, Handle};

/// How long a client waits for a place in the queue to the physics before it is refused, and how often it looks.
const PATIENCE: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(1);

/// Talks with the client until one of the two ends it. `first` is what came with the token.
pub(super) async fn talk(
    line: &mut Line<'_>,
    mut session: impl Session,
    client: ClientId,
    first: &[u8],
) -> Result<(), End> {
    let handle = &line.shared.handle;
    let mut latest = handle.latest();
    let send = |errand| carry(handle, errand);
    let mut out = String::new();
    let mut buffer = [0; TURN];
    let mut heard = first;
    let record = latest.borrow_and_update().clone();
    session.greet(&record, &mut out);
    loop {
        while !heard.is_empty() {
            line.unless_closed(wait_for_place(handle, client)).await?;
            let record = latest.borrow_and_update().clone();
            // A record that came together with bytes is not shown a second time.
            session.sample(&record, &mut out);
            let (taken, flow) = session.receive(heard, &record, send, &mut out);
            heard = &heard[taken..];
            if flow == Flow::Close {
                line.send(&mut out).await?;
                return Err(End::Rule("did not speak this protocol"));
            }
            line.send_collected(&mut out).await?;
        }
        line.send(&mut out).await?;
        let subscribed = session.is_subscribed();
        line.set_served(subscribed);
        // Only a subscriber is woken by the clock; after the run's end there is no next record to wait for.
        let next_record = async {
            if !subscribed || latest.changed().await.is_err() {
                std::future::pending().await
            }
        };
        heard = match line.wait(&mut buffer, session.is_within_message(), next_record).await? {
            Wake::Bytes(count) => {
                line.note_request();
                &buffer[..count]
            }
            Wake::Other => {
                let record = latest.borrow_and_update().clone();
                session.sample(&record, &mut out);
                &[]
            }
        };
    }
}

/// Waits until the client may send a command to the physics, for a while. So a client that sends faster than steps are made
/// slows itself down, and nobody else.
pub(super) async fn wait_for_place(handle: &Handle, client: ClientId) {
    let wait = async {
        while !handle.has_place(client) {
            sleep(LOOK).await;
        }
    };
    // After that it is told.
    let _ = timeout(PATIENCE, wait).await;
}

/// Takes an errand to the physics.
fn carry(handle: &Handle, errand: Errand) -> Result<Taken, Refusal> {
    match errand {
        Errand::Commands(commands) => handle.commands(commands).map(|()| Taken::Queued),
        Errand::Acknowledge(answer, commands) => handle.acknowledge(answer, commands).map(|done| match done {
            Acknowledged::Joined => Taken::Joined,
            Acknowledged::Answered => Taken::Queued,
        }),
    }
    .map_err(refusal)
}
