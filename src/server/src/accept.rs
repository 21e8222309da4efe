//! Accepting clients: which endpoint admits whom, and the events of it in the log.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use simpartner_wire::{
    protocol::{DeviceSession, Refusal, RobotSession},
    signal::{ClientId, EventKind},
};
use tokio::{
    io::AsyncWriteExt,
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
    time::{sleep, timeout},
};

use super::{
    client_events::note,
    connection::{Connection, DELETED, End},
    control, device,
    endpoint::Endpoint,
    shared::Shared,
};
use simpartner_realtime::{ControlError, now_ns};

/// How long to wait when the system has no more sockets, or the queue to the physics thread is full.
const BACK_OFF: Duration = Duration::from_millis(50);

/// Accepts clients of an endpoint until the server closes, then waits for those still talking.
pub(super) async fn accept(
    listener: TcpListener,
    endpoint: Endpoint,
    shared: Arc<Shared>,
    mut closed: watch::Receiver<bool>,
) {
    let mut talking = JoinSet::new();
    let mut changes = shared.changes.subscribe();
    loop {
        tokio::select! {
            _ = closed.changed() => break,
            Ok(()) = changes.changed() => if !shared.newest().has(endpoint) {
                break;
            },
            Some(_) = talking.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, address)) => admit(stream, address, endpoint, &shared, &closed, &mut talking).await,
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
    endpoint: Endpoint,
    shared: &Arc<Shared>,
    closed: &watch::Receiver<bool>,
    talking: &mut JoinSet<()>,
) {
    let place = match shared.connections.admit(endpoint, address.ip(), now_ns()) {
        Ok(place) => place,
        Err(bound) => {
            let refusal = Refusal::Busy(bound.to_string());
            // The client is sent away either way. It is not waited for, so the port stays open for others.
            let _ = stream.try_write(format!("{refusal}\n").as_bytes());
            let _ = timeout(BACK_OFF, stream.shutdown()).await;
            return;
        }
    };
    let (shared, closed) = (Arc::clone(shared), closed.clone());
    talking.spawn(async move {
        let client = shared.next_client();
        let subject = shared.current().name_of(endpoint);
        note(&shared, EventKind::Connect, &subject, format!("client {} from {address}", client.0)).await;
        let end = talk(Connection::new(stream, place, closed, &shared), endpoint, client, address.ip()).await;
        leave(&shared, client).await;
        let why = match end {
            End::Client => "left",
            End::Server => "was told that the run is over",
            End::Rule(rule) => rule,
        };
        note(&shared, EventKind::Disconnect, &subject, format!("client {} {why}", client.0)).await;
    });
}

async fn talk(mut connection: Connection<'_>, endpoint: Endpoint, client: ClientId, address: IpAddr) -> End {
    let result = match connection.admit_by_token(address).await {
        Ok(rest) => converse(&mut connection, endpoint, client, &rest).await,
        Err(end) => Err(end),
    };
    let end = result.err().unwrap_or(End::Client);
    connection.close(end).await;
    end
}

/// The conversation that an endpoint is for. What came with the token is `first`.
async fn converse(
    connection: &mut Connection<'_>,
    endpoint: Endpoint,
    client: ClientId,
    first: &[u8],
) -> Result<(), End> {
    let shared = connection.shared;
    let (served, timestep) = (shared.current(), shared.handle.timestep());
    let (layout, board) = (Arc::clone(&served.layout), Arc::clone(&served.board));
    match endpoint {
        Endpoint::Device(number) => {
            let id = served.device_at(number).ok_or(End::Rule(DELETED))?;
            let port = served.devices[id.index()].address.port();
            let session = DeviceSession::new(layout, board, timestep, id, client, port);
            device::talk(connection, session, served, client, first).await
        }
        Endpoint::Robot(number) => {
            let id = served.robot_at(number).ok_or(End::Rule(DELETED))?;
            let port = served.robots[id.index()].address.port();
            let session = RobotSession::new(layout, board, timestep, id, client, port);
            device::talk(connection, session, served, client, first).await
        }
        Endpoint::Control => control::talk(connection, client, first).await,
        Endpoint::Page => unreachable!("the page's clients speak HTTP"),
    }
}

/// Gives up the client's membership of the lockstep, if it has one, however long the queue is.
async fn leave(shared: &Shared, client: ClientId) {
    while let Err(ControlError::Full(_)) = shared.handle.leave(client) {
        sleep(BACK_OFF).await;
    }
}
