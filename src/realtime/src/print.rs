//! Events as log messages: a thread that passes them to `tracing`, a bounded number of each kind a second.
//!
//! It reads the ring of events as a viewer's page does, so neither a terminal that nobody reads nor a client that causes a hundred
//! thousand events a second can hold up the physics or the publisher. It counts the events that it leaves out.

use std::{
    io,
    sync::mpsc,
    thread::{self, JoinHandle},
    time::Duration,
};

use simpartner_wire::signal::{Event, EventKind};
use tracing::Level;

use super::{events::EventReader, os};

/// How often the ring is read: it keeps 1024 events, so up to 20,000 a second are seen one by one.
const EVERY: Duration = Duration::from_millis(50);

/// How many events of a kind are printed a second: more than a person reads, and few enough for any terminal.
const PER_SECOND: u64 = 20;

const SECOND_NS: u64 = 1_000_000_000;

/// How long the last events may take to be printed after the run; a terminal that takes nothing must not keep the program.
const LAST_EVENTS: Duration = Duration::from_secs(1);

/// The thread that prints. It ends when the ring's writer is gone.
pub(super) struct Printer {
    thread: JoinHandle<()>,
    ended: mpsc::Receiver<()>,
}

impl Printer {
    pub(super) fn start(mut events: EventReader) -> io::Result<Self> {
        let (alive, ended) = mpsc::channel::<()>();
        let thread = thread::Builder::new().name("events".into()).spawn(move || {
            let mut limits = Limits::default();
            loop {
                let is_last = events.is_over();
                let (new, missed) = events.take_counted();
                limits.unseen += missed;
                new.iter().map(|new| &new.event).filter(|event| is_enabled(event.kind)).for_each(|event| {
                    if limits.admits(event.kind, os::now_ns()) {
                        print(event);
                    }
                });
                limits.unprinted(if is_last { u64::MAX } else { os::now_ns() }).iter().for_each(|text| {
                    tracing::warn!("{text}");
                });
                if is_last {
                    drop(alive);
                    return;
                }
                thread::park_timeout(EVERY);
            }
        })?;
        Ok(Self { thread, ended })
    }

    /// Waits until the last event is printed, for [`LAST_EVENTS`] at most.
    pub(super) fn finish(self) {
        self.thread.thread().unpark();
        // It ends by dropping its end of the channel.
        let _ = self.ended.recv_timeout(LAST_EVENTS);
    }
}

/// How many events of each kind have been printed in its present second, and how many have not.
#[derive(Debug, Default)]
struct Limits {
    kinds: Vec<(EventKind, Window)>,
    /// Events that left the ring before they were read.
    unseen: u64,
    /// When their number may be printed next.
    unseen_due_ns: u64,
}

#[derive(Debug, Clone, Copy)]
struct Window {
    since_ns: u64,
    printed: u64,
    held_back: u64,
}

impl Limits {
    fn admits(&mut self, kind: EventKind, now_ns: u64) -> bool {
        let fresh = Window { since_ns: now_ns, printed: 0, held_back: 0 };
        let index = self.kinds.iter().position(|(known, _)| *known == kind).unwrap_or_else(|| {
            self.kinds.push((kind, fresh));
            self.kinds.len() - 1
        });
        let window = &mut self.kinds[index].1;
        if now_ns.saturating_sub(window.since_ns) >= SECOND_NS && window.held_back == 0 {
            *window = fresh;
        }
        let admitted = window.printed < PER_SECOND;
        *(if admitted { &mut window.printed } else { &mut window.held_back }) += 1;
        admitted
    }

    /// A message for each kind that had events held back in a second that is over; its next second begins.
    fn unprinted(&mut self, now_ns: u64) -> Vec<String> {
        let mut messages = Vec::new();
        for (kind, window) in &mut self.kinds {
            if window.held_back > 0 && now_ns.saturating_sub(window.since_ns) >= SECOND_NS {
                messages.push(format!("{} more {} events were not printed", window.held_back, kind.name()));
                *window = Window { since_ns: now_ns, printed: 0, held_back: 0 };
            }
        }
        if self.unseen > 0 && now_ns >= self.unseen_due_ns {
            self.unseen_due_ns = now_ns.saturating_add(SECOND_NS);
            messages.push(format!("{} more events came too fast to be printed", std::mem::take(&mut self.unseen)));
        }
        messages
    }
}

fn level(kind: EventKind) -> Level {
    match kind {
        EventKind::Divergence => Level::ERROR,
        EventKind::ClockSlip
        | EventKind::CommandRefused
        | EventKind::PhysicsLimit
        | EventKind::SequenceBrokenOff
        | EventKind::LogLimit
        | EventKind::WrongToken
        | EventKind::LogOutage => Level::WARN,
        EventKind::Reset
        | EventKind::Fault
        | EventKind::Place
        | EventKind::Spawn
        | EventKind::Remove
        | EventKind::Watchdog
        | EventKind::TipOver
        | EventKind::LeftGround
        | EventKind::Lockstep => Level::INFO,
        EventKind::Substeps
        | EventKind::Unconverged
        | EventKind::LockstepTimeout
        | EventKind::Play
        | EventKind::Pause
        | EventKind::Connect
        | EventKind::Disconnect => Level::DEBUG,
    }
}

fn is_enabled(kind: EventKind) -> bool {
    match level(kind) {
        Level::ERROR => tracing::enabled!(Level::ERROR),
        Level::WARN => tracing::enabled!(Level::WARN),
        Level::INFO => tracing::enabled!(Level::INFO),
        _ => tracing::enabled!(Level::DEBUG),
    }
}

fn print(event: &Event) {
    let (step, kind) = (event.step, event.kind.name());
    let subject = if event.subject.is_empty() { String::new() } else { format!(" {}:", event.subject) };
    let text = if event.text.is_empty() { String::new() } else { format!(" {}", event.text) };
    match level(event.kind) {
        Level::ERROR => tracing::error!("step {step}: {kind}{subject}{text}"),
        Level::WARN => tracing::warn!("step {step}: {kind}{subject}{text}"),
        Level::INFO => tracing::info!("step {step}: {kind}{subject}{text}"),
        _ => tracing::debug!("step {step}: {kind}{subject}{text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_one_kind_is_counted_and_hides_no_other() {
        let mut limits = Limits::default();
        let printed = (0..100_000).filter(|_| limits.admits(EventKind::Fault, 5)).count() as u64;
        assert_eq!(printed, PER_SECOND);
        assert!(limits.admits(EventKind::Divergence, 6));
        assert!(limits.unprinted(SECOND_NS).is_empty(), "the second is not over");
        assert_eq!(limits.unprinted(SECOND_NS + 5), ["99980 more fault events were not printed"]);
        assert!(limits.admits(EventKind::Fault, SECOND_NS + 6));
    }

    #[test]
    fn the_number_of_events_held_back_is_printed_once_at_the_end_of_the_run() {
        let mut limits = Limits::default();
        for _ in 0..=PER_SECOND {
            limits.admits(EventKind::ClockSlip, 0);
        }
        limits.unseen = 7;
        let last = ["1 more clockSlip events were not printed", "7 more events came too fast to be printed"];
        assert_eq!(limits.unprinted(u64::MAX), last);
        assert!(limits.unprinted(u64::MAX).is_empty());
    }
}
