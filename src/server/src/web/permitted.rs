//! A bounded connection to the page's port: time limits for unfinished requests and unread answers, and eviction when
//! idle.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Sleep, sleep},
};

use crate::{connections::ConnectionSlot, settings::Limits};
use simpartner_realtime::now_ns;

/// A connection that ends
/// - when it has been without traffic for too long (an open page answers pings, which keep its connection);
/// - when a request takes too long from its first byte to its answer, however slowly its bytes come;
/// - when the client reads nothing of an answer for too long;
/// - when it is evicted in favour of another client.
pub(super) struct Permitted {
    stream: TcpStream,
    slot: ConnectionSlot,
    limits: Limits,
    /// Time limit for the request under way, or for the start of the next one.
    request: Pin<Box<Sleep>>,
    /// True if bytes were received since the last answer.
    is_asking: bool,
    /// Time limit for an answer that the client does not read; `None` while it reads.
    unread: Option<Pin<Box<Sleep>>>,
    has_ended: bool,
}

impl Permitted {
    pub(super) fn new(stream: TcpStream, slot: ConnectionSlot, limits: &Limits) -> Self {
        let request = Box::pin(sleep(limits.unfinished));
        Self { stream, slot, limits: *limits, request, is_asking: false, unread: None, has_ended: false }
    }

    /// True if a time limit has passed or the connection was evicted.
    fn check_ended(&mut self, context: &mut Context<'_>) -> bool {
        self.has_ended = self.has_ended
            || self.request.as_mut().poll(context).is_ready()
            || Pin::new(&mut self.slot.evicted).poll(context).is_ready();
        self.has_ended
    }

    fn restart_request_timer(&mut self, limit: Duration) {
        self.request.set(sleep(limit));
    }
}

impl AsyncRead for Permitted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let received = Pin::new(&mut self.stream).poll_read(context, buffer);
        if received.is_pending() {
            return match self.check_ended(context) {
                true => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
                false => Poll::Pending,
            };
        }
        self.slot.mark_received(now_ns());
        if !self.is_asking {
            self.is_asking = true;
            let limit = self.limits.unfinished;
            self.restart_request_timer(limit);
        }
        received
    }
}

impl AsyncWrite for Permitted {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let limits = self.limits;
        match Pin::new(&mut self.stream).poll_write(context, bytes) {
            Poll::Pending => {
                let unread = self.unread.get_or_insert_with(|| Box::pin(sleep(limits.unread)));
                unread.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
            }
            written => {
                // An answer means that a complete request was received.
                self.slot.mark_requested();
                (self.unread, self.is_asking) = (None, false);
                self.restart_request_timer(limits.unfinished);
                written
            }
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
