//! The queue of requests to the physics thread.
//!
//! The consumer never waits for a producer. With a channel whose consumer does, the clock can deadlock until it slips:
//! the physics thread has real-time priority and may interrupt a session in the middle of a send. If it then waits for
//! that session, the session cannot run. Here sessions wait for each other, at a lock, and the physics thread sees only
//! complete requests.

use std::{
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    thread::{self, Thread},
    time::Duration,
};

use super::request::Request;

/// The reason why a request could not be sent.
pub(super) enum SendError {
    /// The queue is full.
    Full,
    /// The physics thread has ended.
    Over,
}

/// The sessions' end.
#[derive(Debug, Clone)]
pub(super) struct RequestSender(Arc<Ends>);

/// The physics thread's end.
#[derive(Debug)]
pub struct RequestReceiver {
    requests: rtrb::Consumer<Request>,
    ends: Arc<Ends>,
}

/// State that both ends share.
#[derive(Debug)]
struct Ends {
    /// `None` when the receiver is gone.
    producer: Mutex<Option<rtrb::Producer<Request>>>,
    /// The thread that receives, once it has waited for the first time.
    receiver: OnceLock<Thread>,
}

/// Creates a queue of at most `capacity` requests.
pub(super) fn request_queue(capacity: usize) -> (RequestSender, RequestReceiver) {
    let (producer, requests) = rtrb::RingBuffer::new(capacity);
    let ends = Arc::new(Ends { producer: Mutex::new(Some(producer)), receiver: OnceLock::new() });
    (RequestSender(Arc::clone(&ends)), RequestReceiver { requests, ends })
}

impl Ends {
    fn lock(&self) -> MutexGuard<'_, Option<rtrb::Producer<Request>>> {
        // A push takes effect as a whole, so a panic elsewhere does not corrupt the queue.
        self.producer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RequestSender {
    /// Appends a request, and wakes the receiver if it waits.
    pub(super) fn send(&self, request: Request) -> Result<(), SendError> {
        let pushed = self.0.lock().as_mut().ok_or(SendError::Over)?.push(request);
        // A rejected request is dropped here, after the lock is released.
        pushed.map_err(|_| SendError::Full)?;
        if let Some(receiver) = self.0.receiver.get() {
            receiver.unpark();
        }
        Ok(())
    }
}

impl RequestReceiver {
    /// The next request; `None` if the queue is empty.
    pub fn try_receive(&mut self) -> Option<Request> {
        self.requests.pop().ok()
    }

    /// The next request; waits for at most `limit`.
    pub fn receive(&mut self, limit: Duration) -> Option<Request> {
        self.ends.receiver.get_or_init(thread::current);
        // A request that is sent after this check unparks the thread.
        self.try_receive().or_else(|| {
            thread::park_timeout(limit);
            self.try_receive()
        })
    }
}

impl Drop for RequestReceiver {
    /// Refuses further requests and drops those in the queue. Callers that wait for an answer then learn that none
    /// comes.
    fn drop(&mut self) {
        drop(self.ends.lock().take());
        while self.requests.pop().is_ok() {}
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;
    use crate::{Control, ControlError, Status};
    use simpartner_model::StepIndex;
    use simpartner_wire::signal::{Event, EventKind};

    type Answer = oneshot::Receiver<Result<Status, ControlError>>;

    fn request() -> (Request, Answer) {
        let (sender, answer) = oneshot::channel();
        (Request::Control(Control::State, sender), answer)
    }

    fn numbered(step: u64) -> Request {
        let (step, kind, subject, text) = (StepIndex(step), EventKind::Connect, String::new(), String::new());
        Request::Note(Event { step, kind, subject, text, value: None })
    }

    fn number(request: Option<Request>) -> Option<u64> {
        match request? {
            Request::Note(event) => Some(event.step.0),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn requests_come_in_their_order_and_no_more_than_there_is_room_for() {
        let (sender, mut receiver) = request_queue(3);
        assert!((0..3).all(|step| sender.send(numbered(step)).is_ok()));
        assert!(matches!(sender.send(numbered(3)), Err(SendError::Full)));
        let received: Vec<_> = std::iter::from_fn(|| number(receiver.try_receive())).collect();
        assert_eq!(received, [0, 1, 2]);
        assert!(sender.send(numbered(4)).is_ok());
    }

    #[test]
    fn an_interrupted_sender_holds_nothing_up() {
        let (sender, mut receiver) = request_queue(3);
        assert!(sender.send(numbered(1)).is_ok());
        let interrupted = sender.0.lock();
        assert_eq!(number(receiver.try_receive()), Some(1));
        assert!(receiver.try_receive().is_none() && receiver.receive(Duration::from_millis(1)).is_none());
        drop(interrupted);
    }

    #[test]
    fn a_request_wakes_the_receiver_up() {
        let (sender, mut receiver) = request_queue(3);
        let waiting = thread::spawn(move || {
            std::iter::from_fn(|| Some(receiver.receive(Duration::from_secs(60)))).flatten().next()
        });
        assert!(sender.send(numbered(7)).is_ok());
        assert_eq!(number(waiting.join().unwrap()), Some(7));
    }

    #[test]
    fn after_the_receiver_is_gone_nobody_waits_for_an_answer() {
        let (sender, receiver) = request_queue(3);
        let (first, mut answer) = request();
        assert!(sender.send(first).is_ok());
        drop(receiver);
        assert_eq!(answer.try_recv(), Err(oneshot::error::TryRecvError::Closed));
        assert!(matches!(sender.send(request().0), Err(SendError::Over)));
    }
}
