//! A client of a device, or of a whole robot.

use std::time::Duration;

use simpartner_wire::{
    protocol::{Accepted, Flow, Refusal, Request, Session},
    signal::ClientId,
};
use tokio::time::{sleep, timeout};

use super::{
    connection::{Connection, End, TURN, Wake},
    error::refusal,
};
use crate::realtime::{Acknowledged, Handle};

/// How long a client waits for a place in the queue to the physics before it is refused, and how often it looks.
const PATIENCE: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(1);

/// Talks with the client until one of the two ends it. `first` is what came with the token.
pub(super) async fn talk(
    connection: &mut Connection<'_>,
    mut session: impl Session,
    client: ClientId,
    first: &[u8],
) -> Result<(), End> {
    let handle = &connection.shared.handle;
    let mut latest = handle.latest();
    let send = |request| carry(handle, request);
    let mut out = String::new();
    let mut buffer = [0; TURN];
    let mut received = first;
    let record = latest.borrow_and_update().clone();
    session.greet(&record, &mut out);
    loop {
        while !received.is_empty() {
            connection.unless_closed(wait_for_place(handle, client)).await?;
            let record = latest.borrow_and_update().clone();
            // A record that came together with bytes is not shown a second time.
            session.sample(&record, &mut out);
            let (taken, flow) = session.receive(received, &record, send, &mut out);
            received = &received[taken..];
            if flow == Flow::Close {
                connection.send(&mut out).await?;
                return Err(End::Rule("did not speak this protocol"));
            }
            connection.send_collected(&mut out).await?;
        }
        connection.send(&mut out).await?;
        let subscribed = session.is_subscribed();
        connection.set_served(subscribed);
        // Only a subscriber is woken by the clock; after the run's end there is no next record to wait for.
        let next_record = async {
            if !subscribed || latest.changed().await.is_err() {
                std::future::pending().await
            }
        };
        received = match connection.wait(&mut buffer, session.is_within_message(), next_record).await? {
            Wake::Bytes(count) => {
                connection.note_request();
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
    // After that the queue refuses the command, and the client reads why.
    let _ = timeout(PATIENCE, wait).await;
}

/// Puts a request in the queue to the physics thread.
fn carry(handle: &Handle, request: Request) -> Result<Accepted, Refusal> {
    match request {
        Request::Commands(commands) => handle.commands(commands).map(|()| Accepted::Queued),
        Request::Acknowledge(answer, commands) => handle.acknowledge(answer, commands).map(|done| match done {
            Acknowledged::Joined => Accepted::Joined,
            Acknowledged::Answered => Accepted::Queued,
        }),
    }
    .map_err(refusal)
}
