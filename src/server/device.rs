//! A client of a device, or of a whole robot.

use super::{
    error::refusal,
    line::{End, Line, TURN, Wake},
};
use crate::{
    protocol::{Errand, Flow, Refusal, Session, Taken},
    realtime::{Acknowledged, Handle},
};

/// Talks with the client until one of the two ends it. `heard` is what came with the token.
pub(super) async fn talk(line: &mut Line<'_>, mut session: impl Session, heard: &[u8]) -> Result<(), End> {
    let handle = &line.shared.handle;
    let mut latest = handle.latest();
    let send = |errand| carry(handle, errand);
    let mut out = String::new();
    let mut buffer = [0; TURN];
    let record = latest.borrow_and_update().clone();
    session.greet(&record, &mut out);
    let mut flow = session.receive(heard, &record, send, &mut out);
    loop {
        line.send(&mut out).await?;
        if flow == Flow::Close {
            return Err(End::Rule("did not speak this protocol"));
        }
        let subscribed = session.is_subscribed();
        // Only a subscriber is woken by the clock; after the run's end there is no next record to wait for.
        let next_record = async {
            if !subscribed || latest.changed().await.is_err() {
                std::future::pending().await
            }
        };
        let wake = line.wait(&mut buffer, session.is_within_message(), next_record).await?;
        let record = latest.borrow_and_update().clone();
        // A record that came together with bytes is not shown a second time.
        session.sample(&record, &mut out);
        if let Wake::Bytes(count) = wake {
            flow = session.receive(&buffer[..count], &record, send, &mut out);
        }
    }
}

/// Takes an errand to the physics.
fn carry(handle: &Handle, errand: Errand) -> Result<Taken, Refusal> {
    match errand {
        Errand::Commands(commands) => handle.commands(commands).map(|()| Taken::Queued),
        Errand::Acknowledge(answer) => handle.acknowledge(answer).map(|done| match done {
            Acknowledged::Joined => Taken::Joined,
            Acknowledged::Answered => Taken::Queued,
        }),
    }
    .map_err(refusal)
}
