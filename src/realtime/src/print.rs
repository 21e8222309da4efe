//! Events as log messages: a thread that passes them to `tracing`, a bounded number of each kind per second.
//!
//! It reads the ring of events as a viewer's page does. So neither a terminal that blocks nor a client that causes a
//! hundred thousand events per second can delay the physics or the publisher. Omitted events are counted.

use std::{
    io,
    sync::mpsc,
    thread::{self, JoinHandle},
    time::Duration,
};

use simpartner_wire::signal::{Event, EventKind};
use tracing::Level;

use super::{events::EventReader, os};

/// Interval at which the ring is read. The ring keeps 1024 events, so up to 20,000 per second are read without loss.
const READ_INTERVAL: Duration = Duration::from_millis(50);

/// Largest number of events of a kind that are printed per second: more than a person reads, few enough for any
/// terminal.
const MAX_PRINTED_PER_SECOND: u64 = 20;

const SECOND_NS: u64 = 1_000_000_000;

/// Longest wait for the last events to be printed after the run. A terminal that blocks must not keep the program
/// alive.
const FINAL_PRINT_TIMEOUT: Duration = Duration::from_secs(1);

/// The thread that prints. It ends when the ring's writer is gone.
pub(super) struct Printer {
    thread: JoinHandle<()>,
    ended: mpsc::Receiver<()>,
}

impl Printer {
    pub(super) fn start(mut events: EventReader) -> io::Result<Self> {
        let (alive, ended) = mpsc::channel::<()>();
        let thread = thread::Builder::new().name("events".into()).spawn(move || {
            let mut limits = PrintLimits::default();
            loop {
                let is_last = events.is_over();
                let (new, missed) = events.take_counted();
                limits.unseen += missed;
                new.iter().map(|new| &new.event).filter(|event| is_enabled(event.kind)).for_each(|event| {
                    if limits.admit(event.kind, os::now_ns()) {
                        print_event(event);
                    }
                });
                limits.take_omission_messages(if is_last { u64::MAX } else { os::now_ns() }).iter().for_each(|text| {
                    tracing::warn!("{text}");
                });
                if is_last {
                    drop(alive);
                    return;
                }
                thread::park_timeout(READ_INTERVAL);
            }
        })?;
        Ok(Self { thread, ended })
    }

    /// Waits until the last event is printed, for [`FINAL_PRINT_TIMEOUT`] at most.
    pub(super) fn finish(self) {
        self.thread.thread().unpark();
        // The thread drops its end of the channel when it has printed the last event.
        let _ = self.ended.recv_timeout(FINAL_PRINT_TIMEOUT);
    }
}

/// Counts of printed and omitted events, by kind and second.
#[derive(Debug, Default)]
struct PrintLimits {
    kinds: Vec<(EventKind, Window)>,
    /// Number of events that left the ring before they were read.
    unseen: u64,
    /// Earliest time of the next message with that number, monotonic nanoseconds.
    next_unseen_message_ns: u64,
}

/// Counts of one kind of event in its present second.
#[derive(Debug, Clone, Copy)]
struct Window {
    /// Start of the second, monotonic nanoseconds.
    since_ns: u64,
    /// Number of printed events.
    printed: u64,
    /// Number of omitted events.
    held_back: u64,
}

impl PrintLimits {
    /// Counts an event. True if it may be printed.
    fn admit(&mut self, kind: EventKind, now_ns: u64) -> bool {
        let fresh = Window { since_ns: now_ns, printed: 0, held_back: 0 };
        let index = self.kinds.iter().position(|(known, _)| *known == kind).unwrap_or_else(|| {
            self.kinds.push((kind, fresh));
            self.kinds.len() - 1
        });
        let window = &mut self.kinds[index].1;
        if now_ns.saturating_sub(window.since_ns) >= SECOND_NS && window.held_back == 0 {
            *window = fresh;
        }
        let admitted = window.printed < MAX_PRINTED_PER_SECOND;
        *(if admitted { &mut window.printed } else { &mut window.held_back }) += 1;
        admitted
    }

    /// One message for each kind with omitted events in a second that is over, and one for unread events. Resets those
    /// counts.
    fn take_omission_messages(&mut self, now_ns: u64) -> Vec<String> {
        let mut messages = Vec::new();
        for (kind, window) in &mut self.kinds {
            if window.held_back > 0 && now_ns.saturating_sub(window.since_ns) >= SECOND_NS {
                messages.push(format!("{} more {} events were not printed", window.held_back, kind.name()));
                *window = Window { since_ns: now_ns, printed: 0, held_back: 0 };
            }
        }
        if self.unseen > 0 && now_ns >= self.next_unseen_message_ns {
            self.next_unseen_message_ns = now_ns.saturating_add(SECOND_NS);
            messages.push(format!("{} more events came too fast to be printed", std::mem::take(&mut self.unseen)));
        }
        messages
    }
}

fn event_level(kind: EventKind) -> Level {
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
        | EventKind::Parameter
        | EventKind::Watchdog
        | EventKind::TipOver
        | EventKind::LeftGround
        | EventKind::ImagesLeftOut
        | EventKind::Lockstep => Level::INFO,
        EventKind::Image
        | EventKind::Substeps
        | EventKind::Unconverged
        | EventKind::LockstepTimeout
        | EventKind::Play
        | EventKind::Pause
        | EventKind::Connect
        | EventKind::Disconnect => Level::DEBUG,
    }
}

fn is_enabled(kind: EventKind) -> bool {
    match event_level(kind) {
        Level::ERROR => tracing::enabled!(Level::ERROR),
        Level::WARN => tracing::enabled!(Level::WARN),
        Level::INFO => tracing::enabled!(Level::INFO),
        _ => tracing::enabled!(Level::DEBUG),
    }
}

fn print_event(event: &Event) {
    let (step, kind) = (event.step, event.kind.name());
    let subject = if event.subject.is_empty() { String::new() } else { format!(" {}:", event.subject) };
    let text = if event.text.is_empty() { String::new() } else { format!(" {}", event.text) };
    match event_level(event.kind) {
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
        let mut limits = PrintLimits::default();
        let printed = (0..100_000).filter(|_| limits.admit(EventKind::Fault, 5)).count() as u64;
        assert_eq!(printed, MAX_PRINTED_PER_SECOND);
        assert!(limits.admit(EventKind::Divergence, 6));
        assert!(limits.take_omission_messages(SECOND_NS).is_empty(), "the second is not over");
        assert_eq!(limits.take_omission_messages(SECOND_NS + 5), ["99980 more fault events were not printed"]);
        assert!(limits.admit(EventKind::Fault, SECOND_NS + 6));
    }

    #[test]
    fn the_number_of_events_held_back_is_printed_once_at_the_end_of_the_run() {
        let mut limits = PrintLimits::default();
        for _ in 0..=MAX_PRINTED_PER_SECOND {
            limits.admit(EventKind::ClockSlip, 0);
        }
        limits.unseen = 7;
        let last = ["1 more clockSlip events were not printed", "7 more events came too fast to be printed"];
        assert_eq!(limits.take_omission_messages(u64::MAX), last);
        assert!(limits.take_omission_messages(u64::MAX).is_empty());
    }
}
