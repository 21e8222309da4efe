//! Events and command counts: the publisher writes them, and any number of readers read them at their own pace.
//!
//! A reader of the latest record alone would miss the events of the records before it. So the last [`EVENT_CAPACITY`]
//! events are kept in a ring; a reader that is farther behind misses the oldest. Of the commands, a count and the
//! latest text are kept for each sender, so that a flood costs a reader one line for each sender. The writer never
//! waits for a reader.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use simpartner_model::{DeviceId, StepIndex};
use simpartner_wire::signal::{AppliedCommand, ClientId, Event, StepRecord};
use tokio::sync::watch;

/// Number of events that are kept: those of 50 ms at twenty thousand a second.
pub const EVENT_CAPACITY: usize = 1024;

/// Largest number of senders that are counted; a sender is a pair of client and device. A further sender replaces the
/// one that has been silent longest.
const MAX_SENDERS: usize = 1024;

/// Longest command text that is kept, in characters: more than any actuator's frame has.
const MAX_TEXT_CHARS: usize = 200;

/// An event with its epoch.
#[derive(Debug, Clone, PartialEq)]
pub struct EpochEvent {
    /// Number of resets before the event.
    pub epoch: u32,
    /// The event.
    pub event: Event,
}

/// Number and latest text of the commands of one client for one device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandCount {
    /// World number, to which the device's id refers.
    pub world: u32,
    /// The device.
    pub device: DeviceId,
    /// The client.
    pub client: ClientId,
    /// The step in which the latest command took effect.
    pub step: StepIndex,
    /// Number of resets before that step.
    pub epoch: u32,
    /// Text of the latest command as it was sent, shortened if it is long.
    pub text: String,
    /// Number of commands.
    pub count: u64,
}

/// World number, device and client.
type SenderKey = (u32, DeviceId, ClientId);

/// For each sender, its counts and the total number of commands of all senders at its latest command.
type Senders = HashMap<SenderKey, (u64, CommandCount)>;

/// The publisher's end.
#[derive(Debug)]
pub struct EventWriter {
    /// The ring: the last [`EVENT_CAPACITY`] events, oldest first.
    kept: Arc<Mutex<VecDeque<EpochEvent>>>,
    /// Number of events in the run.
    count: watch::Sender<u64>,
    senders: Arc<Mutex<Senders>>,
    /// Number of commands in the run.
    commands: watch::Sender<u64>,
}

/// A reader of events, with its own position in the ring.
#[derive(Debug, Clone)]
pub struct EventReader {
    kept: Arc<Mutex<VecDeque<EpochEvent>>>,
    count: watch::Receiver<u64>,
    /// Index of the next event to read, counted from the start of the run.
    next: u64,
}

/// A reader of command counts, with the counts that it has read already.
#[derive(Debug, Clone)]
pub struct CommandReader {
    senders: Arc<Mutex<Senders>>,
    count: watch::Receiver<u64>,
    /// Index of the next command to read, counted from the start of the run.
    next: u64,
    /// Number of commands of each sender that were read.
    known: HashMap<SenderKey, u64>,
}

/// Creates a writer, a reader of events and a reader of command counts.
pub(super) fn event_ring() -> (EventWriter, EventReader, CommandReader) {
    let (kept, senders) = (Arc::default(), Arc::default());
    let ((sender, count), (commands, command_count)) = (watch::channel(0), watch::channel(0));
    let writer = EventWriter { kept: Arc::clone(&kept), count: sender, senders: Arc::clone(&senders), commands };
    let command_reader = CommandReader { senders, count: command_count, next: 0, known: HashMap::new() };
    (writer, EventReader { kept, count, next: 0 }, command_reader)
}

impl EventWriter {
    /// A reader of all future events.
    pub(super) fn reader(&self) -> EventReader {
        EventReader { kept: Arc::clone(&self.kept), count: self.count.subscribe(), next: *self.count.borrow() }
    }

    /// Adds the events and commands of a record.
    pub(super) fn publish(&self, record: &StepRecord) {
        self.add_events(record.epoch, &record.events);
        self.count_commands(record.world, record.acts_in(), record.epoch, &record.commands);
    }

    /// Counts commands by sender. A new sender beyond [`MAX_SENDERS`] replaces the one that has been silent longest.
    fn count_commands(&self, world: u32, step: StepIndex, epoch: u32, commands: &[AppliedCommand]) {
        if commands.is_empty() {
            return;
        }
        let mut senders = lock(&self.senders);
        let mut total = *self.commands.borrow();
        for AppliedCommand { command, .. } in commands {
            // A command for a body is reported by an event.
            let Some(device) = command.target.device() else { continue };
            total += 1;
            let sender = (world, device, command.client);
            let count = senders.get(&sender).map_or(0, |(_, counted)| counted.count) + 1;
            if senders.len() >= MAX_SENDERS
                && count == 1
                && let Some(silent) = senders.iter().min_by_key(|(_, (last, _))| *last).map(|(sender, _)| *sender)
            {
                senders.remove(&silent);
            }
            let text = command.text.chars().take(MAX_TEXT_CHARS).collect();
            let (world, device, client) = sender;
            senders.insert(sender, (total, CommandCount { world, device, client, step, epoch, text, count }));
        }
        // Within the lock, so that the count and the senders agree for every reader.
        self.commands.send_replace(total);
    }

    /// Adds events to the ring and removes the oldest beyond [`EVENT_CAPACITY`].
    fn add_events(&self, epoch: u32, events: &[Event]) {
        if events.is_empty() {
            return;
        }
        let mut kept = lock(&self.kept);
        for event in events {
            if kept.len() == EVENT_CAPACITY {
                kept.pop_front();
            }
            kept.push_back(EpochEvent { epoch, event: event.clone() });
        }
        // Within the lock, so that the count and the ring agree for every reader.
        self.count.send_modify(|count| *count += events.len() as u64);
    }
}

impl EventReader {
    /// A reader that begins with the last `count` events of the run.
    pub(super) fn with_last(&self, count: u64) -> Self {
        let mut reader = self.clone();
        reader.next = self.count.borrow().saturating_sub(count);
        reader
    }

    /// Waits until there is an event to take. Cancel-safe.
    pub async fn wait(&mut self) {
        let next = self.next;
        if self.count.wait_for(|&count| count > next).await.is_err() {
            // The run is over; no event follows.
            std::future::pending::<()>().await;
        }
    }

    /// Takes the events since the last call, except those that have left the ring.
    pub fn take(&mut self) -> Vec<EpochEvent> {
        self.take_counted().0
    }

    /// As [`take`](Self::take), with the number of events that had left the ring.
    pub(super) fn take_counted(&mut self) -> (Vec<EpochEvent>, u64) {
        let kept = lock(&self.kept);
        let count = *self.count.borrow();
        let new = count - self.next;
        let there = usize::try_from(new).unwrap_or(usize::MAX).min(kept.len());
        self.next = count;
        (kept.iter().skip(kept.len() - there).cloned().collect(), new - there as u64)
    }

    /// True if the writer is gone, so that no event can follow.
    pub(super) fn is_over(&self) -> bool {
        self.count.has_changed().is_err()
    }
}

impl CommandReader {
    /// Waits until there are commands to take. Cancel-safe.
    pub async fn wait(&mut self) {
        let next = self.next;
        if self.count.wait_for(|&count| count > next).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Takes one entry for each sender that sent commands since the last call, with the number of commands since then.
    /// The first call returns all senders that are kept.
    pub fn take(&mut self) -> Vec<CommandCount> {
        let senders = lock(&self.senders);
        let before = std::mem::replace(&mut self.next, *self.count.borrow());
        self.known.retain(|sender, _| senders.contains_key(sender));
        let mut new: Vec<_> = senders.values().filter(|(last, _)| *last > before).collect();
        new.sort_by_key(|(last, _)| *last);
        let since = |(_, counted): &(u64, CommandCount)| {
            let known = self.known.insert((counted.world, counted.device, counted.client), counted.count).unwrap_or(0);
            // A sender that was removed and has come back counts from one again.
            CommandCount { count: counted.count.checked_sub(known).unwrap_or(counted.count), ..counted.clone() }
        };
        new.into_iter().map(since).collect()
    }
}

fn lock<T>(kept: &Mutex<T>) -> MutexGuard<'_, T> {
    // The contents are consistent between any two statements, so a panic elsewhere does not corrupt them.
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use simpartner_wire::signal::{Action, ActuatorState, Command, EventKind, Reservation};

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

    fn steps(events: Vec<EpochEvent>) -> Vec<u64> {
        events.into_iter().map(|event| event.event.step.0).collect()
    }

    #[test]
    fn each_reader_sees_every_event_once_from_its_start() {
        let (writer, reader, _) = event_ring();
        writer.add_events(0, &events(0..5));
        let (mut all, mut late) = (reader.with_last(200), reader.with_last(2));
        assert_eq!(steps(all.take()), [0, 1, 2, 3, 4]);
        assert_eq!(steps(late.take()), [3, 4]);
        writer.add_events(1, &events(5..6));
        assert_eq!(steps(all.take()), [5]);
        assert!(all.take().is_empty());
    }

    #[test]
    fn a_reader_that_is_too_slow_misses_the_oldest() {
        let (writer, reader, _) = event_ring();
        let mut slow = reader.with_last(0);
        writer.add_events(0, &events(0..EVENT_CAPACITY as u64 + 10));
        let (kept, missed) = slow.take_counted();
        assert_eq!((steps(kept), missed), ((10..EVENT_CAPACITY as u64 + 10).collect::<Vec<_>>(), 10));
    }

    /// Commands of these devices, each with the client's number of the device plus one and the step as text.
    fn count_commands(writer: &EventWriter, step: u64, devices: impl IntoIterator<Item = usize>) {
        let command = |device| Command {
            target: DeviceId::new(device).into(),
            at: None,
            client: ClientId(device as u64 + 1),
            sequence: 1,
            text: step.to_string().repeat(MAX_TEXT_CHARS),
            action: Action::Hear,
            memory: Reservation::default(),
        };
        let applied = |device| AppliedCommand { order: 0, command: command(device), before: ActuatorState::NONE };
        writer.count_commands(0, StepIndex(step), 0, &devices.into_iter().map(applied).collect::<Vec<_>>());
    }

    fn counts(counts: Vec<CommandCount>) -> Vec<(usize, u64, u64)> {
        counts.into_iter().map(|count| (count.device.index(), count.step.0, count.count)).collect()
    }

    #[test]
    fn a_flood_of_commands_is_a_line_for_each_sender_with_its_count() {
        let (writer, _, commands) = event_ring();
        let mut page = commands.clone();
        (1..=1000).for_each(|step| count_commands(&writer, step, [0, 1]));
        count_commands(&writer, 1001, [0]);
        assert_eq!(counts(page.take()), [(1, 1000, 1000), (0, 1001, 1001)]);
        assert!(page.take().is_empty());
        count_commands(&writer, 1002, [1]);
        let [one] = &page.take()[..] else { panic!("expected one sender") };
        assert_eq!((one.count, one.text.len()), (1, MAX_TEXT_CHARS));
        assert_eq!(counts(commands.clone().take()).len(), 2, "a later reader gets all senders");
    }

    #[test]
    fn senders_are_bounded_and_the_longest_silent_makes_room() {
        let (writer, _, mut commands) = event_ring();
        count_commands(&writer, 1, 0..MAX_SENDERS);
        count_commands(&writer, 2, [0]);
        count_commands(&writer, 3, [MAX_SENDERS]);
        let devices: Vec<usize> = counts(commands.take()).into_iter().map(|(device, ..)| device).collect();
        assert_eq!(devices.len(), MAX_SENDERS);
        assert!(!devices.contains(&1) && devices.ends_with(&[0, MAX_SENDERS]), "{devices:?}");
        // One that comes back counts anew.
        count_commands(&writer, 4, [1, 1]);
        assert_eq!(counts(commands.take()), [(1, 4, 2)]);
    }
}
