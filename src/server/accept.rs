//! Accepting clients: who is let in at which door, and what the log hears of it.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use tokio::{
    io::AsyncWriteExt,
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
    time::{sleep, timeout},
};

use super::{
    Door, Shared, control, device,
    line::{End, Line},
};
use crate::{
    protocol::{DeviceSession, Refusal, RobotSession},
    realtime::ControlError,
    signal::{ClientId, Event, EventKind, StepIndex},
};

/// How long to wait when the system has no more sockets, or the queue to the physics is full.
const BACK_OFF: Duration = Duration::from_millis(50);

/// Accepts clients at a door until the server closes, then waits for those still talking.
pub(super) async fn accept(listener: TcpListener, door: Door, shared: Arc<Shared>, mut closed: watch::Receiver<bool>) {
    let mut talking = JoinSet::new();
    loop {
        tokio::select! {
            _ = closed.changed() => break,
            Some(_) = talking.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, address)) => admit(stream, address, door, &shared, &closed, &mut talking).await,
                // Out of descriptors, most likely; those in use go on.
                Err(_) => sleep(BACK_OFF).await,
            },
        }
    }
    drop(listener);
    while talking.join_next().await.is_some() {}
}

async fn admit(
    mut stream: TcpStream,
    address: SocketAddr,
    door: Door,
    shared: &Arc<Shared>,
    closed: &watch::Receiver<bool>,
    talking: &mut JoinSet<()>,
) {
    let permit = Arc::clone(&shared.permits).try_acquire_owned();
    let Some(permit) = permit.ok().filter(|_| talking.len() < shared.settings.limits.connections_per_port) else {
        let refusal = Refusal::Busy("too many connections; close one first".into());
        // The client is sent away either way. It is not waited for, so its door stays open for others.
        let _ = stream.try_write(format!("{refusal}\n").as_bytes());
        let _ = timeout(BACK_OFF, stream.shutdown()).await;
        return;
    };
    let (shared, closed) = (Arc::clone(shared), closed.clone());
    talking.spawn(async move {
        let client = shared.next_client();
        let subject = door_name(door, &shared);
        note(&shared, EventKind::Connect, &subject, format!("client {} from {address}", client.0)).await;
        let end = talk(stream, door, client, &shared, closed).await;
        leave(&shared, client).await;
        let why = match end {
            End::Client => "left",
            End::Server => "was told that the run is over",
            End::Rule(rule) => rule,
        };
        note(&shared, EventKind::Disconnect, &subject, format!("client {} {why}", client.0)).await;
        drop(permit);
    });
}

async fn talk(stream: TcpStream, door: Door, client: ClientId, shared: &Shared, closed: watch::Receiver<bool>) -> End {
    let (layout, board) = (Arc::clone(shared.handle.layout()), Arc::clone(&shared.board));
    let timestep = shared.handle.timestep();
    let mut line = Line::new(stream, closed, shared);
    let result = match line.admit_by_token().await {
        Ok(rest) => match door {
            Door::Device(id) => {
                let port = shared.addresses.devices[id.index()].port();
                device::talk(&mut line, DeviceSession::new(layout, board, timestep, id, client, port), &rest).await
            }
            Door::Robot(id) => {
                let port = shared.addresses.robots[id.index()].port();
                device::talk(&mut line, RobotSession::new(layout, board, timestep, id, client, port), &rest).await
            }
            Door::Control => control::talk(&mut line, client, &rest).await,
        },
        Err(end) => Err(end),
    };
    let end = result.err().unwrap_or(End::Client);
    line.close().await;
    end
}

fn door_name(door: Door, shared: &Shared) -> String {
    match door {
        Door::Control => "control".into(),
        Door::Device(id) => shared.handle.layout().device_info(id).name.clone(),
        Door::Robot(id) => shared.handle.layout().robot_info(id).name.clone(),
    }
}

/// Gives up the client's seat in the lockstep, if it has one, however long the queue is.
async fn leave(shared: &Shared, client: ClientId) {
    while let Err(ControlError::Full(_)) = shared.handle.leave(client) {
        sleep(BACK_OFF).await;
    }
}

/// Puts an event into the log, however long its queue is.
pub(super) async fn note(shared: &Shared, kind: EventKind, subject: &str, text: String) {
    let event = Event { step: StepIndex(0), kind, subject: subject.to_owned(), text, value: None };
    while let Err(ControlError::Full(_)) = shared.handle.note(event.clone()) {
        sleep(BACK_OFF).await;
    }
}
