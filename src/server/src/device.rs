//! A client of a device, or of a whole robot.

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
    connection::{Connection, DELETED, End, TURN, Wake},
    error::refusal,
    served::Served,
    shared::Shared,
};
use simpartner_realtime::{Acknowledged, Handle, RecordReader};

/// How long a client waits for a place in the queue to the physics before it is refused, and how often it looks.
const PATIENCE: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(1);

/// Talks with the client until one of the two ends it. `first` is what came with the token.
pub(super) async fn talk(
    connection: &mut Connection<'_>,
    mut session: impl Session,
    mut served: Arc<Served>,
    client: ClientId,
    first: &[u8],
) -> Result<(), End> {
    let shared = connection.shared;
    let handle = &shared.handle;
    let (mut records, mut changes) = (handle.records(), shared.changes.subscribe());
    let mut out = String::new();
    let mut buffer = [0; TURN];
    let mut received = first;
    let record = records.present();
    go_on(&mut session, &mut served, &record, shared)?;
    session.greet(&record, &mut out);
    loop {
        while !received.is_empty() {
            connection.unless_closed(wait_for_place(handle, client)).await?;
            // What was made before the request comes before its answer.
            tell(connection, &mut session, &mut served, &mut records, &mut out).await?;
            // It may subscribe, and then misses nothing from this record on.
            records.follow();
            let record = records.present();
            go_on(&mut session, &mut served, &record, shared)?;
            session.sample(&record, &mut out);
            let (taken, flow) =
                session.receive(received, &record, |request| carry(handle, &served.layout, request), &mut out);
            if !session.wants_all() {
                records.stop_following();
            }
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
        let news = news(&mut records, &mut changes, subscribed);
        received = match connection.wait(&mut buffer, session.is_within_message(), news).await? {
            Wake::Bytes(count) => {
                connection.note_request();
                &buffer[..count]
            }
            Wake::Other => {
                tell(connection, &mut session, &mut served, &mut records, &mut out).await?;
                &[]
            }
        };
    }
}

/// Waits for what concerns a client that sends nothing.
async fn news(records: &mut RecordReader, changes: &mut watch::Receiver<u32>, is_subscribed: bool) {
    // Only a subscriber is woken by the clock; after the run's end there is no next record to wait for.
    tokio::select! {
        () = records.wait(), if is_subscribed => {}
        // Its device may be gone.
        Ok(()) = changes.changed() => {}
        else => std::future::pending().await,
    }
}

/// Shows the session the records that there are now, and sends what it makes of them. Those that come meanwhile have another turn, so
/// that the client is heard however fast steps are made.
async fn tell(
    connection: &mut Connection<'_>,
    session: &mut impl Session,
    served: &mut Arc<Served>,
    records: &mut RecordReader,
    out: &mut String,
) -> Result<(), End> {
    let shared = connection.shared;
    for _ in 0..records.waiting() {
        let Some(record) = records.read() else { break };
        // Of a world so long ago that nobody knows it any more, nothing can be told.
        if record.world == served.layout.world() || shared.served_as(record.world).is_some() {
            go_on(session, served, &record, shared)?;
            session.sample(&record, out);
            connection.send_collected(out).await?;
        }
    }
    Ok(())
}

/// Goes on in the world of a record, if it is another one than before.
fn go_on(
    session: &mut impl Session,
    served: &mut Arc<Served>,
    record: &StepRecord,
    shared: &Shared,
) -> Result<(), End> {
    if record.world != served.layout.world() {
        let next = shared.served(record);
        let numbers = Renumbering::new(&served.layout, &next.layout);
        if !session.go_on_in(&next.layout, &next.board, &numbers) {
            return Err(End::Rule(DELETED));
        }
        *served = next;
    }
    Ok(())
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
fn carry(handle: &Handle, layout: &Layout, request: Request) -> Result<Accepted, Refusal> {
    match request {
        Request::Commands(commands) => handle.commands(layout, commands).map(|()| Accepted::Queued),
        Request::Acknowledge(answer, commands) => handle.acknowledge(layout, answer, commands).map(|done| match done {
            Acknowledged::Joined => Accepted::Joined,
            Acknowledged::Answered => Accepted::Queued,
        }),
    }
    .map_err(refusal)
}
