//! Accepting clients: admission to an endpoint, the session, and the events about both in the log.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use simpartner_wire::{
    protocol::{CameraSession, DeviceSession, Refusal, RobotSession},
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
    cameras,
    client_events::log_event,
    connection::{CloseReason, Connection, DELETED, wait_for_close},
    control, device,
    endpoint::Endpoint,
    shared::Shared,
};
use simpartner_realtime::{ControlError, now_ns};

/// Pause before a retry when the system has no more sockets, or the queue to the physics thread is full.
const RETRY_PAUSE: Duration = Duration::from_millis(50);

/// Accepts clients of an endpoint until the server closes or the endpoint is deleted, then waits for the open
/// connections.
pub(super) async fn accept_clients(
    listener: TcpListener,
    endpoint: Endpoint,
    shared: Arc<Shared>,
    mut closed: watch::Receiver<bool>,
) {
    let mut clients = JoinSet::new();
    let mut changes = shared.changes.subscribe();
    loop {
        tokio::select! {
            () = wait_for_close(&mut closed) => break,
            Ok(()) = changes.changed() => if !shared.newest().has_endpoint(endpoint) {
                break;
            },
            Some(_) = clients.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, address)) => admit_client(stream, address, endpoint, &shared, &closed, &mut clients).await,
                // Most likely out of descriptors; open connections continue.
                Err(_) => sleep(RETRY_PAUSE).await,
            },
        }
    }
    drop(listener);
    while clients.join_next().await.is_some() {}
}

/// Admits a new client and spawns its session, or refuses it.
async fn admit_client(
    mut stream: TcpStream,
    address: SocketAddr,
    endpoint: Endpoint,
    shared: &Arc<Shared>,
    closed: &watch::Receiver<bool>,
    clients: &mut JoinSet<()>,
) {
    let slot = match shared.connections.admit(endpoint, address.ip(), now_ns()) {
        Ok(slot) => slot,
        Err(bound) => {
            let refusal = Refusal::Busy(bound.to_string());
            // Written without waiting for the client, so that the port stays open for others.
            let _ = stream.try_write(format!("{refusal}\n").as_bytes());
            let _ = timeout(RETRY_PAUSE, stream.shutdown()).await;
            return;
        }
    };
    let (shared, closed) = (Arc::clone(shared), closed.clone());
    clients.spawn(async move {
        let client = shared.next_client();
        let subject = shared.current().name_of(endpoint);
        log_event(&shared, EventKind::Connect, &subject, format!("client {} from {address}", client.0)).await;
        let end = serve_client(Connection::new(stream, slot, closed, &shared), endpoint, client, address.ip()).await;
        leave_lockstep(&shared, client).await;
        let why = match end {
            CloseReason::Client => "left",
            CloseReason::Server => "was told that the run is over",
            CloseReason::Rule(rule) => rule,
        };
        log_event(&shared, EventKind::Disconnect, &subject, format!("client {} {why}", client.0)).await;
    });
}

/// Authenticates a client and runs its session; closes the connection and returns the cause of its end.
async fn serve_client(
    mut connection: Connection<'_>,
    endpoint: Endpoint,
    client: ClientId,
    address: IpAddr,
) -> CloseReason {
    let result = match connection.admit_by_token(address).await {
        Ok(rest) => serve_endpoint(&mut connection, endpoint, client, &rest).await,
        Err(end) => Err(end),
    };
    let end = result.err().unwrap_or(CloseReason::Client);
    connection.close(end).await;
    end
}

/// Runs the session of an endpoint's kind. `first` holds the bytes received after the token.
async fn serve_endpoint(
    connection: &mut Connection<'_>,
    endpoint: Endpoint,
    client: ClientId,
    first: &[u8],
) -> Result<(), CloseReason> {
    let shared = connection.shared;
    let (served, timestep) = (shared.current(), shared.handle.timestep());
    let (layout, board) = (Arc::clone(&served.layout), Arc::clone(&served.board));
    match endpoint {
        Endpoint::Device(number) => {
            let id = served.device_at(number).ok_or(CloseReason::Rule(DELETED))?;
            let port = served.devices[id.index()].address.port();
            let session = DeviceSession::new(Arc::clone(&layout), board, timestep, id, client, port);
            if layout.device_info(id).kind.is_camera() {
                return cameras::serve_camera(connection, CameraSession::new(session), served, number, client, first)
                    .await;
            }
            device::serve(connection, session, served, client, first).await
        }
        Endpoint::Robot(number) => {
            let id = served.robot_at(number).ok_or(CloseReason::Rule(DELETED))?;
            let port = served.robots[id.index()].address.port();
            let session = RobotSession::new(layout, board, timestep, id, client, port);
            device::serve(connection, session, served, client, first).await
        }
        Endpoint::Control => control::serve(connection, client, first).await,
        Endpoint::Page => unreachable!("the page's clients speak HTTP"),
    }
}

/// Ends the client's membership of the lockstep, if it has one; retries while the queue to the physics thread is full.
async fn leave_lockstep(shared: &Shared, client: ClientId) {
    while let Err(ControlError::Full(_)) = shared.handle.leave(client) {
        sleep(RETRY_PAUSE).await;
    }
}
