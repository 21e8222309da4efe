//! A connection with its bounds: reading, writing, the token, the deadlines, the end.

use std::io;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::watch,
    time::{Instant, sleep_until, timeout},
};

use super::Shared;
use crate::protocol::{MAX_MESSAGE, Refusal};

/// How many bytes a client is heard at a time, so that no flood keeps others waiting.
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

impl<'a> Line<'a> {
    /// A connection that has just been accepted; `closed` turns true when the server closes.
    pub(super) fn new(stream: TcpStream, closed: watch::Receiver<bool>, shared: &'a Shared) -> Self {
        // Small messages are to leave at once; without it they only leave later.
        let _ = stream.set_nodelay(true);
        Self { stream, closed, unfinished_since: None, shared }
    }

    /// Tells the client that nothing more comes.
    pub(super) async fn close(mut self) {
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
    pub(super) async fn admit_by_token(&mut self) -> Result<Vec<u8>, End> {
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
