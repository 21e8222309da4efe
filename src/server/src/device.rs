//! The session of a client of a device or of a robot's combined port.

use std::{sync::Arc, time::Duration};

use simpartner_wire::{
    protocol::{Accepted, Flow, Refusal, Request, Session},
    signal::{ClientId, Layout, Renumbering, StepRecord},
};
use tokio::{
    sync::watch,
    time::{sleep, timeout},
};

use super::{
    connection::{CloseReason, Connection, DELETED, READ_CHUNK, Wakeup},
    error::refusal,
    served::Served,
    shared::Shared,
};
use simpartner_realtime::{Acknowledged, Handle, RecordReader};

/// Longest wait of a client for a slot in the queue to the physics thread. After it the client's command is refused.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(1);

/// Interval at which a waiting client checks for such a slot.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// Serves the client until it leaves or the server closes. `first` holds the bytes received after the token.
pub(super) async fn serve(
    connection: &mut Connection<'_>,
    mut session: impl Session,
    mut served: Arc<Served>,
    client: ClientId,
    first: &[u8],
) -> Result<(), CloseReason> {
    let shared = connection.shared;
    let handle = &shared.handle;
    let (mut records, mut changes) = (handle.records(), shared.changes.subscribe());
    let mut out = String::new();
    let mut buffer = [0; READ_CHUNK];
    let mut received = first;
    let record = records.present();
    switch_world(&mut session, &mut served, &record, shared)?;
    session.greet(&record, &mut out);
    loop {
        while !received.is_empty() {
            connection.unless_closed(wait_for_place(handle, client)).await?;
            // Samples of steps before the request are sent before its answer.
            send_updates(connection, &mut session, &mut served, &mut records, &mut out).await?;
            // The request may be a subscription, which must miss no record after this one.
            records.follow();
            let record = records.present();
            switch_world(&mut session, &mut served, &record, shared)?;
            session.sample(&record, &mut out);
            let (taken, flow) =
                session.receive(received, &record, |request| enqueue(handle, &served.layout, request), &mut out);
            if !session.wants_all() {
                records.stop_following();
            }
            received = &received[taken..];
            if flow == Flow::Close {
                connection.send(&mut out).await?;
                return Err(CloseReason::Rule("did not speak this protocol"));
            }
            connection.send_collected(&mut out).await?;
        }
        connection.send(&mut out).await?;
        let subscribed = session.is_subscribed();
        connection.set_served(subscribed);
        let update = wait_for_update(&mut records, &mut changes, subscribed);
        received = match connection.wait(&mut buffer, session.is_within_message(), update).await? {
            Wakeup::Bytes(count) => {
                connection.note_request();
                &buffer[..count]
            }
            Wakeup::Other => {
                send_updates(connection, &mut session, &mut served, &mut records, &mut out).await?;
                &[]
            }
        };
    }
}

/// Waits for news for the client: a record if it is subscribed, or a world edit.
pub(super) async fn wait_for_update(
    records: &mut RecordReader,
    changes: &mut watch::Receiver<u32>,
    is_subscribed: bool,
) {
    // Only a subscriber waits for records. After the end of the run none comes.
    tokio::select! {
        () = records.wait(), if is_subscribed => {}
        // The world edit may have deleted the client's device.
        Ok(()) = changes.changed() => {}
        else => std::future::pending().await,
    }
}

/// Passes the unread records to the session and sends its output. Records that come meanwhile are left for the next
/// call, so that the client's requests are read however fast steps are computed.
pub(super) async fn send_updates(
    connection: &mut Connection<'_>,
    session: &mut impl Session,
    served: &mut Arc<Served>,
    records: &mut RecordReader,
    out: &mut String,
) -> Result<(), CloseReason> {
    let shared = connection.shared;
    for _ in 0..records.waiting() {
        let Some(record) = records.read() else { break };
        // A record of a world that is no longer kept cannot be interpreted, so it is skipped.
        if record.world == served.layout.world() || shared.served_as(record.world).is_some() {
            switch_world(session, served, &record, shared)?;
            session.sample(&record, out);
            connection.send_collected(out).await?;
        }
    }
    Ok(())
}

/// Switches the session to the world of a record, if that has changed. An error if its device or robot was deleted.
pub(super) fn switch_world(
    session: &mut impl Session,
    served: &mut Arc<Served>,
    record: &StepRecord,
    shared: &Shared,
) -> Result<(), CloseReason> {
    if record.world != served.layout.world() {
        let next = shared.served(record);
        let numbers = Renumbering::new(&served.layout, &next.layout);
        if !session.go_on_in(&next.layout, &next.board, &numbers) {
            return Err(CloseReason::Rule(DELETED));
        }
        *served = next;
    }
    Ok(())
}

/// Waits for a queue slot for a command of the client, for [`QUEUE_TIMEOUT`] at most. So a client that sends faster
/// than steps are computed slows down only itself.
pub(super) async fn wait_for_place(handle: &Handle, client: ClientId) {
    let wait = async {
        while !handle.has_place(client) {
            sleep(POLL_INTERVAL).await;
        }
    };
    // After the timeout the queue refuses the command, and the client gets the reason.
    let _ = timeout(QUEUE_TIMEOUT, wait).await;
}

/// Queues a session's request for the physics thread.
pub(super) fn enqueue(handle: &Handle, layout: &Layout, request: Request) -> Result<Accepted, Refusal> {
    match request {
        Request::Commands(commands) => handle.commands(layout, commands).map(|()| Accepted::Queued),
        Request::Acknowledge(answer, commands) => handle.acknowledge(layout, answer, commands).map(|done| match done {
            Acknowledged::Joined => Accepted::Joined,
            Acknowledged::Answered => Accepted::Queued,
        }),
    }
    .map_err(refusal)
}
