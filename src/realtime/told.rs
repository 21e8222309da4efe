//! Events for those who watch: a ring of the latest, written by the hand-over and read by anybody at any pace.
//!
//! The latest record alone would lose the events of the records before it. The ring is bounded: a reader that is more than
//! [`KEPT`] events behind misses the oldest, and nobody ever waits for one.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::watch;

use crate::signal::Event;

/// How many events are kept.
pub const KEPT: usize = 1024;

/// An event with the number of resets before it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToldEvent {
    /// How often the run was reset before it.
    pub epoch: u32,
    /// The event.
    pub event: Event,
}

/// The writing end.
#[derive(Debug)]
pub struct Teller {
    kept: Arc<Mutex<VecDeque<ToldEvent>>>,
    count: watch::Sender<u64>,
}

/// The reading end: its own place in the stream.
#[derive(Debug, Clone)]
pub struct Told {
    kept: Arc<Mutex<VecDeque<ToldEvent>>>,
    count: watch::Receiver<u64>,
    next: u64,
}

/// Both ends of an empty ring.
pub(super) fn ring() -> (Teller, Told) {
    let kept = Arc::new(Mutex::new(VecDeque::new()));
    let (sender, count) = watch::channel(0);
    (Teller { kept: Arc::clone(&kept), count: sender }, Told { kept, count, next: 0 })
}

impl Teller {
    /// A reader of all events from now on.
    pub(super) fn reader(&self) -> Told {
        Told { kept: Arc::clone(&self.kept), count: self.count.subscribe(), next: *self.count.borrow() }
    }

    /// Adds events; the oldest make room.
    pub(super) fn tell(&self, epoch: u32, events: &[Event]) {
        if events.is_empty() {
            return;
        }
        let mut kept = lock(&self.kept);
        for event in events {
            if kept.len() == KEPT {
                kept.pop_front();
            }
            kept.push_back(ToldEvent { epoch, event: event.clone() });
        }
        // Within the lock, so that the count and the ring agree for every reader.
        self.count.send_modify(|count| *count += events.len() as u64);
    }
}

impl Told {
    /// A reader that begins with the last `count` events there have been.
    pub(super) fn with_last(&self, count: u64) -> Self {
        let mut reader = self.clone();
        reader.next = self.count.borrow().saturating_sub(count);
        reader
    }

    /// Waits until there is one to take. Cancelling it loses nothing.
    pub async fn wait(&mut self) {
        let next = self.next;
        if self.count.wait_for(|&count| count > next).await.is_err() {
            // The run is over and nothing more comes.
            std::future::pending::<()>().await;
        }
    }

    /// Takes the events since the last call, as far as they are kept.
    pub fn take(&mut self) -> Vec<ToldEvent> {
        self.take_counted().0
    }

    /// The same, with the number of events that are not kept any more.
    pub(super) fn take_counted(&mut self) -> (Vec<ToldEvent>, u64) {
        let kept = lock(&self.kept);
        let count = *self.count.borrow();
        let new = count - self.next;
        let there = usize::try_from(new).unwrap_or(usize::MAX).min(kept.len());
        self.next = count;
        (kept.iter().skip(kept.len() - there).cloned().collect(), new - there as u64)
    }

    /// Whether nobody can add an event any more.
    pub(super) fn is_over(&self) -> bool {
        self.count.has_changed().is_err()
    }
}

fn lock(kept: &Mutex<VecDeque<ToldEvent>>) -> MutexGuard<'_, VecDeque<ToldEvent>> {
    // The ring is whole between any two statements, so a panic elsewhere does not spoil it.
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::{EventKind, StepIndex};

    fn events(range: std::ops::Range<u64>) -> Vec<Event> {
        let event = |step| Event {
            step: StepIndex(step),
            kind: EventKind::Play,
            subject: String::new(),
            text: String::new(),
            value: None,
        };
        range.map(event).collect()
    }

    fn steps(told: Vec<ToldEvent>) -> Vec<u64> {
        told.into_iter().map(|told| told.event.step.0).collect()
    }

    #[test]
    fn each_reader_sees_every_event_once_from_where_it_began() {
        let (teller, told) = ring();
        teller.tell(0, &events(0..5));
        let (mut all, mut late) = (told.with_last(200), told.with_last(2));
        assert_eq!(steps(all.take()), [0, 1, 2, 3, 4]);
        assert_eq!(steps(late.take()), [3, 4]);
        teller.tell(1, &events(5..6));
        assert_eq!(steps(all.take()), [5]);
        assert!(all.take().is_empty());
    }

    #[test]
    fn who_is_too_slow_misses_the_oldest() {
        let (teller, told) = ring();
        let mut slow = told.with_last(0);
        teller.tell(0, &events(0..KEPT as u64 + 10));
        let (kept, missed) = slow.take_counted();
        assert_eq!((steps(kept), missed), ((10..KEPT as u64 + 10).collect::<Vec<_>>(), 10));
    }
}
