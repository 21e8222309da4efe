//! A bounded connection: reading, writing, authentication, deadlines and closing.

use std::{io, net::IpAddr, pin::pin, sync::Arc, time::Duration};

use simpartner_wire::protocol::{MAX_MESSAGE, Refusal};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::watch,
    task::yield_now,
    time::{Instant, sleep_until, timeout},
};

use super::{client_events::judge_token, connections::ConnectionSlot, shared::Shared};
use simpartner_realtime::now_ns;

/// Largest number of bytes read from a client at a time, so that a flood does not keep others waiting.
pub(super) const READ_CHUNK: usize = 1024;

/// Cause of the end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CloseReason {
    /// The client or the network closed the connection.
    Client,
    /// The server is closing.
    Server,
    /// The server closed the connection; the text completes the sentence "client 1 ..." in the log.
    Rule(&'static str),
}

impl From<io::Error> for CloseReason {
    fn from(_: io::Error) -> Self {
        Self::Client
    }
}

/// Rule: the connection was closed to make room for another client.
pub(super) const EVICTED: &str = "was idle and made room for another client";

/// Rule: the client did not send its first request in time.
pub(super) const NO_REQUEST: &str = "sent no request";

/// Rule: the device or robot of the port has been deleted.
pub(super) const DELETED: &str = "was for what has been deleted";

/// Number of bytes of answers that are collected before they are sent, so that short answers travel together. Answers
/// are produced one after the other, so for a client that does not read no more than this and one answer is kept.
const SEND_BATCH: usize = 16 * 1024;

/// Longest wait of a closing server for the answer to a request under way. The clock answers within a quarter of its
/// timeout of 0.4 s.
const FINAL_ANSWER_TIMEOUT: Duration = Duration::from_millis(200);

/// Lowest rate at which a client may read a long answer, bytes per second.
const MIN_READ_RATE: usize = 64 * 1024;

/// Waits until the server closes. After that it returns at once, each time.
pub(super) async fn wait_for_close(closed: &mut watch::Receiver<bool>) {
    // An error means that the server is gone altogether.
    let _ = closed.wait_for(|is_closed| *is_closed).await;
}

/// A connection with bounds on data and time.
pub(super) struct Connection<'a> {
    stream: TcpStream,
    closed: watch::Receiver<bool>,
    slot: ConnectionSlot,
    /// Start of the unfinished message, if there is one.
    unfinished_since: Option<Instant>,
    /// Deadline of the first request; `None` if there is none, or after that request.
    first_request_by: Option<Instant>,
    pub(super) shared: &'a Arc<Shared>,
}

/// The event that ended [`Connection::wait`].
pub(super) enum Wakeup {
    /// This number of bytes was received.
    Bytes(usize),
    /// The other future has completed.
    Other,
}

impl<'a> Connection<'a> {
    /// A connection that has just been accepted; `closed` turns true when the server closes.
    pub(super) fn new(
        stream: TcpStream,
        slot: ConnectionSlot,
        closed: watch::Receiver<bool>,
        shared: &'a Arc<Shared>,
    ) -> Self {
        // Small messages should be sent at once; if the option fails, they are only sent later.
        let _ = stream.set_nodelay(true);
        Self { stream, closed, slot, unfinished_since: None, first_request_by: None, shared }
    }

    /// Starts the time limit for the client's first request.
    pub(super) fn expect_request(&mut self) {
        self.first_request_by = Some(Instant::now() + self.shared.settings.limits.first_request);
    }

    /// Records that the client has sent a request.
    pub(super) fn note_request(&mut self) {
        self.first_request_by = None;
        self.slot.mark_requested();
    }

    /// Sets whether the client is subscribed or waits for an answer; it is then not idle.
    pub(super) fn set_served(&self, is_served: bool) {
        self.slot.set_served(is_served);
    }

    /// Closes the connection. The client is sent the reason first if it was evicted, sent no request in time, or its
    /// device or robot was deleted.
    pub(super) async fn close(mut self, end: CloseReason) {
        let refusal = match end {
            CloseReason::Rule(why @ (EVICTED | NO_REQUEST)) => {
                Some(Refusal::Busy(format!("closed, because this connection {why}")))
            }
            CloseReason::Rule(why @ DELETED) => Some(Refusal::State(format!("closed, because this connection {why}"))),
            _ => None,
        };
        if let Some(refusal) = refusal {
            // Sent without waiting.
            let _ = self.stream.try_write(format!("{refusal}\n").as_bytes());
        }
        // The client may be gone already.
        let _ = timeout(self.shared.settings.limits.unread, self.stream.shutdown()).await;
    }

    /// Waits for bytes, for `other`, or for the end of the connection. `unfinished` starts the time limit for a message
    /// that has begun.
    pub(super) async fn wait(
        &mut self,
        buffer: &mut [u8; READ_CHUNK],
        unfinished: bool,
        other: impl Future<Output = ()>,
    ) -> Result<Wakeup, CloseReason> {
        // The deadline counts from the message's first byte, however slowly the others follow.
        self.unfinished_since = unfinished.then(|| self.unfinished_since.unwrap_or_else(Instant::now));
        let limit = self.shared.settings.limits.unfinished;
        let (deadline, rule) = match (self.unfinished_since, self.first_request_by) {
            (Some(since), _) => (Some(since + limit), "left a message unfinished"),
            (None, by) => (by, NO_REQUEST),
        };
        tokio::select! {
            () = wait_for_close(&mut self.closed) => Err(CloseReason::Server),
            _ = &mut self.slot.evicted => Err(CloseReason::Rule(EVICTED)),
            read = self.stream.read(buffer) => match read? {
                0 => Err(CloseReason::Client),
                count => {
                    self.slot.mark_received(now_ns());
                    Ok(Wakeup::Bytes(count))
                }
            },
            () = other => Ok(Wakeup::Other),
            () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => {
                Err(CloseReason::Rule(rule))
            }
        }
    }

    /// Sends the collected text if it has reached [`SEND_BATCH`], and then lets other tasks run.
    pub(super) async fn send_collected(&mut self, text: &mut String) -> Result<(), CloseReason> {
        if text.len() >= SEND_BATCH {
            self.send(text).await?;
            yield_now().await;
        }
        Ok(())
    }

    /// Sends the text and clears it. An error if the client reads too slowly.
    pub(super) async fn send(&mut self, text: &mut String) -> Result<(), CloseReason> {
        if !text.is_empty() {
            self.send_bytes(text.as_bytes()).await?;
            text.clear();
            // The memory of a long answer is not kept for the lifetime of the connection.
            text.shrink_to(2 * SEND_BATCH);
        }
        Ok(())
    }

    /// Sends bytes. An error if the client reads too slowly.
    pub(super) async fn send_bytes(&mut self, bytes: &[u8]) -> Result<(), CloseReason> {
        let reading = Duration::from_secs((bytes.len() / MIN_READ_RATE) as u64);
        timeout(self.shared.settings.limits.unread + reading, self.stream.write_all(bytes))
            .await
            .map_err(|_| CloseReason::Rule("read too slowly"))??;
        Ok(())
    }

    /// Waits for a future, unless the server closes first. If both happen at once, the future wins: `QUIT` is answered
    /// although its answer comes together with the end of the run.
    pub(super) async fn unless_closed<T>(&mut self, future: impl Future<Output = T>) -> Result<T, CloseReason> {
        let mut future = pin!(future);
        tokio::select! {
            biased;
            value = &mut future => return Ok(value),
            () = wait_for_close(&mut self.closed) => {}
        }
        // If the run ended without its last step, the clock's answer comes only now.
        timeout(FINAL_ANSWER_TIMEOUT, future).await.map_err(|_| CloseReason::Server)
    }

    /// If the settings have a token, reads the first line and compares. Returns the bytes received after that line.
    pub(super) async fn admit_by_token(&mut self, address: IpAddr) -> Result<Vec<u8>, CloseReason> {
        let Some(token) = self.shared.settings.token.clone() else { return Ok(Vec::new()) };
        let mut received = Vec::new();
        let mut buffer = [0; READ_CHUNK];
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
            if let Wakeup::Bytes(count) = self.wait(&mut buffer, true, std::future::pending()).await? {
                received.extend_from_slice(&buffer[..count]);
            }
        }
        self.send(&mut format!("{}\n", Refusal::Token)).await?;
        Err(CloseReason::Rule("showed no valid token"))
    }
}
