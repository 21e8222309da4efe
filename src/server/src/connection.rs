//! A connection with its bounds: reading, writing, the token, the deadlines, the end.

use std::{io, net::IpAddr, pin::pin, sync::Arc, time::Duration};

use simpartner_wire::protocol::{MAX_MESSAGE, Refusal};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::watch,
    task::yield_now,
    time::{Instant, sleep_until, timeout},
};

use super::{client_events::judge_token, connections::Place, shared::Shared};
use simpartner_realtime::now_ns;

/// How many bytes of a client are read at a time, so that no flood keeps others waiting.
pub(super) const TURN: usize = 1024;

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

/// The connection has made room for another client.
pub(super) const GAVE_WAY: &str = "was idle and made room for another client";

/// The client has not sent its first request in time.
pub(super) const SILENT: &str = "sent no request";

/// What the port was for is in the world no more.
pub(super) const DELETED: &str = "was for what has been deleted";

/// How many bytes of answers are collected before they are sent, so that short ones travel together. Answers are made one
/// after the other: of a client that does not read, no more than this and one answer is kept.
const COLLECTED: usize = 16 * 1024;

/// How long a server that closes waits for the answer to a request under way. The clock answers within a quarter of its patience of 0.4 s.
const LAST_ANSWER: Duration = Duration::from_millis(200);

/// How fast a client has to read a long answer, bytes a second.
const READING_RATE: usize = 64 * 1024;

/// A connection with its bounds.
pub(super) struct Connection<'a> {
    stream: TcpStream,
    closed: watch::Receiver<bool>,
    place: Place,
    /// When the message that is still unfinished began.
    unfinished_since: Option<Instant>,
    /// When the first request must have come, until it has.
    first_request_by: Option<Instant>,
    pub(super) shared: &'a Arc<Shared>,
}

/// What woke a session up.
pub(super) enum Wake {
    /// So many bytes came.
    Bytes(usize),
    /// What it was waiting for besides has happened.
    Other,
}

impl<'a> Connection<'a> {
    /// A connection that has just been accepted; `closed` turns true when the server closes.
    pub(super) fn new(stream: TcpStream, place: Place, closed: watch::Receiver<bool>, shared: &'a Arc<Shared>) -> Self {
        // Small messages are to leave at once; without it they only leave later.
        let _ = stream.set_nodelay(true);
        Self { stream, closed, place, unfinished_since: None, first_request_by: None, shared }
    }

    /// From now on the client has to send its first request within the limit.
    pub(super) fn expect_request(&mut self) {
        self.first_request_by = Some(Instant::now() + self.shared.settings.limits.first_request);
    }

    /// The client has sent a request.
    pub(super) fn note_request(&mut self) {
        self.first_request_by = None;
        self.place.has_spoken();
    }

    /// Whether the client is sent something by itself, or waits for an answer.
    pub(super) fn set_served(&self, is_served: bool) {
        self.place.set_served(is_served);
    }

    /// Tells the client that nothing more comes, and why where it may want to know.
    pub(super) async fn close(mut self, end: End) {
        let refusal = match end {
            End::Rule(why @ (GAVE_WAY | SILENT)) => {
                Some(Refusal::Busy(format!("closed, because this connection {why}")))
            }
            End::Rule(why @ DELETED) => Some(Refusal::State(format!("closed, because this connection {why}"))),
            _ => None,
        };
        if let Some(refusal) = refusal {
            // It is not waited for.
            let _ = self.stream.try_write(format!("{refusal}\n").as_bytes());
        }
        // The peer may have gone already.
        let _ = timeout(self.shared.settings.limits.unread, self.stream.shutdown()).await;
    }

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
        let (deadline, rule) = match (self.unfinished_since, self.first_request_by) {
            (Some(since), _) => (Some(since + limit), "left a message unfinished"),
            (None, by) => (by, SILENT),
        };
        tokio::select! {
            _ = self.closed.changed() => Err(End::Server),
            _ = &mut self.place.give_way => Err(End::Rule(GAVE_WAY)),
            read = self.stream.read(buffer) => match read? {
                0 => Err(End::Client),
                count => {
                    self.place.received(now_ns());
                    Ok(Wake::Bytes(count))
                }
            },
            () = other => Ok(Wake::Other),
            () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => Err(End::Rule(rule)),
        }
    }

    /// Sends what has been collected, if it is enough to be sent, and lets others have a turn then.
    pub(super) async fn send_collected(&mut self, text: &mut String) -> Result<(), End> {
        if text.len() >= COLLECTED {
            self.send(text).await?;
            yield_now().await;
        }
        Ok(())
    }

    /// Sends what has been written, or gives the client up.
    pub(super) async fn send(&mut self, text: &mut String) -> Result<(), End> {
        if !text.is_empty() {
            let reading = Duration::from_secs((text.len() / READING_RATE) as u64);
            timeout(self.shared.settings.limits.unread + reading, self.stream.write_all(text.as_bytes()))
                .await
                .map_err(|_| End::Rule("read too slowly"))??;
            text.clear();
            // What one long answer has taken is not kept for as long as the connection.
            text.shrink_to(2 * COLLECTED);
        }
        Ok(())
    }

    /// Waits for a future, unless the server closes first. Of both at once the future counts: `QUIT` is answered, although its answer
    /// comes together with the end of the run.
    pub(super) async fn unless_closed<T>(&mut self, future: impl Future<Output = T>) -> Result<T, End> {
        let mut future = pin!(future);
        tokio::select! {
            biased;
            value = &mut future => return Ok(value),
            _ = self.closed.changed() => {}
        }
        // The run may have ended without its last step, and the clock's answer be due only now.
        timeout(LAST_ANSWER, future).await.map_err(|_| End::Server)
    }

    /// Where a token is wanted, reads the first line and compares. Returns what came behind it.
    pub(super) async fn admit_by_token(&mut self, address: IpAddr) -> Result<Vec<u8>, End> {
        let Some(token) = self.shared.settings.token.clone() else { return Ok(Vec::new()) };
        let mut received = Vec::new();
        let mut buffer = [0; TURN];
        loop {
            if let Some(end) = received.iter().position(|&byte| byte == b'\n') {
                let line = received[..end].strip_suffix(b"\r").unwrap_or(&received[..end]);
                let shown = line.strip_prefix(b"TOKEN ").unwrap_or_default();
                let is_right = blake3::hash(shown) == blake3::hash(token.as_bytes());
                let shared = self.shared;
                if self.unless_closed(judge_token(shared, address, is_right)).await? {
                    return Ok(received.split_off(end + 1));
                }
                break;
            }
            if received.len() > MAX_MESSAGE {
                break;
            }
            if let Wake::Bytes(count) = self.wait(&mut buffer, true, std::future::pending()).await? {
                received.extend_from_slice(&buffer[..count]);
            }
        }
        self.send(&mut format!("{}\n", Refusal::Token)).await?;
        Err(End::Rule("showed no valid token"))
    }
}
