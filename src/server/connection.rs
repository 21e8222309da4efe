//! What every connection goes through, whatever port it came to: admission, reading, writing within the bounds, the end.

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
    time::{Instant, sleep, sleep_until, timeout},
};

use super::{Door, Shared, control, device};
use crate::{
    protocol::{MAX_MESSAGE, Refusal},
    realtime::ControlError,
    signal::{ClientId, Event, EventKind, StepIndex},
};

/// How many bytes a client is heard at a time, so that no flood keeps others waiting.
pub(super) const TURN: usize = 1024;
/// How long to wait when the system has no more sockets, or the queue to the physics is full.
const BACK_OFF: Duration = Duration::from_millis(50);

/// Why a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The client closed it, or the network did.
    Client,
    /// The server is closing.
    Server,
    /// The client broke a rule, named here.
    Rule(&'static str),
}

impl From<io::Error> for End {
    fn from(_: io::Error) -> Self {
        Self::Client
    }
}

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
        let client = ClientId(shared.clients.fetch_add(1, Ordering::Relaxed) + 1);
        let subject = door_name(door, &shared);
        note(&shared, EventKind::Connect, &subject, format!("client {} from {address}", client.0)).await;
        let end = talk(stream, door, client, &shared, closed).await;
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
    // Small messages are to leave at once; without it they only leave later.
    let _ = stream.set_nodelay(true);
    let mut line = Line { stream, closed, unfinished_since: None, shared };
    let result = match line.admit_by_token().await {
        Ok(rest) => match door {
            Door::Device(id) => device::talk(&mut line, id, client, &rest).await,
            Door::Control => control::talk(&mut line, &rest).await,
        },
        Err(end) => Err(end),
    };
    let end = result.err().unwrap_or(End::Client);
    // The peer may have gone already.
    let _ = timeout(BACK_OFF, line.stream.shutdown()).await;
    end
}

fn door_name(door: Door, shared: &Shared) -> String {
    match door {
        Door::Control => "control".into(),
        Door::Device(id) => shared.handle.layout().device_info(id).name.clone(),
    }
}

/// Puts an event into the log, however long its queue is.
async fn note(shared: &Shared, kind: EventKind, subject: &str, text: String) {
    let event = Event { step: StepIndex(0), kind, subject: subject.to_owned(), text, value: None };
    while let Err(ControlError::Full(_)) = shared.handle.note(event.clone()) {
        sleep(BACK_OFF).await;
    }
}

/// A connection with its bounds.
pub(super) struct Line<'a> {
    stream: TcpStream,
    closed: watch::Receiver<bool>,
    /// When the message that is still unfinished began.
    unfinished_since: Option<Instant>,
    pub(super) shared: &'a Shared,
}

/// What woke a session up.
pub(super) enum Wake {
    /// So many bytes came.
    Bytes(usize),
    /// What it was waiting for besides has happened.
    Other,
}

impl Line<'_> {
    /// Waits for bytes, or for `other`, or for the end. `unfinished` says that a message has begun, which may not take for
    /// ever.
    pub(super) async fn wait(
        &mut self,
        buffer: &mut [u8; TURN],
        unfinished: bool,
        other: impl Future<Output = ()>,
    ) -> Result<Wake, End> {
        // The deadline stands from the message's first byte on, however many follow one by one.
        self.unfinished_since = unfinished.then(|| self.unfinished_since.unwrap_or_else(Instant::now));
        let limit = self.shared.settings.limits.unfinished;
        let deadline = self.unfinished_since.map_or_else(Instant::now, |since| since + limit);
        tokio::select! {
            _ = self.closed.changed() => Err(End::Server),
            read = self.stream.read(buffer) => match read? {
                0 => Err(End::Client),
                count => Ok(Wake::Bytes(count)),
            },
            () = other => Ok(Wake::Other),
            () = sleep_until(deadline), if unfinished => {
                Err(End::Rule("left a message unfinished"))
            }
        }
    }

    /// Sends what has been written, or gives the client up.
    pub(super) async fn send(&mut self, text: &mut String) -> Result<(), End> {
        if !text.is_empty() {
            let unread = self.shared.settings.limits.unread;
            timeout(unread, self.stream.write_all(text.as_bytes()))
                .await
                .map_err(|_| End::Rule("read too slowly"))??;
            text.clear();
        }
        Ok(())
    }

    /// Waits for a future, unless the server closes first.
    pub(super) async fn unless_closed<T>(&mut self, future: impl Future<Output = T>) -> Result<T, End> {
        tokio::select! {
            _ = self.closed.changed() => Err(End::Server),
            value = future => Ok(value),
        }
    }

    /// Where a token is wanted, reads the first line and compares. Returns what came behind it.
    async fn admit_by_token(&mut self) -> Result<Vec<u8>, End> {
        let Some(token) = self.shared.settings.token.clone() else { return Ok(Vec::new()) };
        let mut heard = Vec::new();
        let mut buffer = [0; TURN];
        loop {
            if let Some(end) = heard.iter().position(|&byte| byte == b'\n') {
                let line = heard[..end].strip_suffix(b"\r").unwrap_or(&heard[..end]);
                let shown = line.strip_prefix(b"TOKEN ").unwrap_or_default();
                if blake3::hash(shown) == blake3::hash(token.as_bytes()) {
                    return Ok(heard.split_off(end + 1));
                }
                break;
            }
            if heard.len() > MAX_MESSAGE {
                break;
            }
            if let Wake::Bytes(count) = self.wait(&mut buffer, true, std::future::pending()).await? {
                heard.extend_from_slice(&buffer[..count]);
            }
        }
        self.send(&mut format!("{}\n", Refusal::Token)).await?;
        Err(End::Rule("showed no valid token"))
    }
}
