//! A client of a device.

use std::sync::Arc;

use super::{
    error::refusal,
    line::{End, Line, TURN, Wake},
};
use crate::{
    protocol::{DeviceSession, Flow},
    signal::{ClientId, DeviceId},
};

/// Talks with the client until one of the two ends it. `heard` is what came with the token.
pub(super) async fn talk(line: &mut Line<'_>, device: DeviceId, client: ClientId, heard: &[u8]) -> Result<(), End> {
    let shared = line.shared;
    let handle = &shared.handle;
    let mut latest = handle.latest();
    let mut session = DeviceSession::new(
        Arc::clone(handle.layout()),
        Arc::clone(&shared.board),
        handle.timestep(),
        device,
        client,
        shared.addresses[device.index()].port(),
    );
    let send = |command| handle.command(command).map_err(refusal);
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
        match wake {
            Wake::Bytes(count) => flow = session.receive(&buffer[..count], &record, send, &mut out),
            Wake::Other => session.sample(&record, &mut out),
        }
    }
}
