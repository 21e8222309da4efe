//! A connection to the page's port with its bounds: how long it may leave a request unfinished or an answer unread, and that it
//! makes room for others when it is idle.

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

use crate::{connections::Place, settings::Limits};
use simpartner_realtime::now_ns;

/// A connection, which ends
/// - when nothing moves on it for too long: an open page is kept by the pings it answers;
/// - when a request that has begun is not answered for too long, however many bytes of it come one by one;
/// - when it takes nothing of an answer for too long;
/// - when it has to make room.
pub(super) struct Permitted {
    stream: TcpStream,
    place: Place,
    limits: Limits,
    /// The end of the time for the request under way, or for one to begin.
    request: Pin<Box<Sleep>>,
    /// Whether bytes have come since something was sent.
    is_asking: bool,
    /// The end of the time for an answer that the client does not take.
    unread: Option<Pin<Box<Sleep>>>,
    has_ended: bool,
}

impl Permitted {
    pub(super) fn new(stream: TcpStream, place: Place, limits: &Limits) -> Self {
        let request = Box::pin(sleep(limits.unfinished));
        Self { stream, place, limits: *limits, request, is_asking: false, unread: None, has_ended: false }
    }

    fn has_ended(&mut self, context: &mut Context<'_>) -> bool {
        self.has_ended = self.has_ended
            || self.request.as_mut().poll(context).is_ready()
            || Pin::new(&mut self.place.give_way).poll(context).is_ready();
        self.has_ended
    }

    fn renew(&mut self, limit: Duration) {
        self.request.set(sleep(limit));
    }
}

impl AsyncRead for Permitted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let came = Pin::new(&mut self.stream).poll_read(context, buffer);
        if came.is_pending() {
            return match self.has_ended(context) {
                true => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
                false => Poll::Pending,
            };
        }
        self.place.received(now_ns());
        if !self.is_asking {
            self.is_asking = true;
            let limit = self.limits.unfinished;
            self.renew(limit);
        }
        came
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
                // Only a whole request is answered.
                self.place.has_spoken();
                (self.unread, self.is_asking) = (None, false);
                self.renew(limits.unfinished);
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
