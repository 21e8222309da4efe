//! Events and commands for those who watch: written by the hand-over and read by anybody at any pace.
//!
//! The latest record alone would lose those of the records before it. Of the events there is a ring of the latest: a reader that
//! is more than [`KEPT`] events behind misses the oldest. Of the commands there are counts and the latest of each sender, so
//! that no flood of them costs a reader more than a line for each. Nobody ever waits for a reader.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use simpartner_model::{DeviceId, StepIndex};
use simpartner_wire::signal::{AppliedCommand, ClientId, Event, StepRecord};
use tokio::sync::watch;

/// How many events are kept.
pub const KEPT: usize = 1024;

/// Of how many senders commands are counted: clients of a device. A sender beyond these takes the place of the one that has
/// been silent longest.
const SENDERS: usize = 1024;

/// How much is kept of a command's text, characters: enough for all actuators' frames.
const TEXT: usize = 200;

/// An event with the number of resets before it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToldEvent {
    /// How often the run was reset before it.
    pub epoch: u32,
    /// The event.
    pub event: Event,
}

/// The commands of one client for one device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToldCommands {
    /// For which device.
    pub device: DeviceId,
    /// From whom.
    pub client: ClientId,
    /// The step in which the latest took effect.
    pub step: StepIndex,
    /// How often the run was reset before it.
    pub epoch: u32,
    /// The latest as it was sent, its beginning if it is long.
    pub text: String,
    /// How many there have been.
    pub count: u64,
}

type Sender = (DeviceId, ClientId);

/// All senders, and how many commands there had been of all when each was heard last.
type Senders = HashMap<Sender, (u64, ToldCommands)>;

/// The writing end.
#[derive(Debug)]
pub struct Teller {
    kept: Arc<Mutex<VecDeque<ToldEvent>>>,
    count: watch::Sender<u64>,
    senders: Arc<Mutex<Senders>>,
    commands: watch::Sender<u64>,
}

/// Who reads events: a place of its own in the ring.
#[derive(Debug, Clone)]
pub struct Told {
    kept: Arc<Mutex<VecDeque<ToldEvent>>>,
    count: watch::Receiver<u64>,
    next: u64,
}

/// Who reads commands, and how many of each sender it knows of.
#[derive(Debug, Clone)]
pub struct Commanded {
    senders: Arc<Mutex<Senders>>,
    count: watch::Receiver<u64>,
    next: u64,
    known: HashMap<Sender, u64>,
}

/// All ends, with nothing to tell yet.
pub(super) fn ring() -> (Teller, Told, Commanded) {
    let (kept, senders) = (Arc::default(), Arc::default());
    let ((sender, count), (commands, commanded)) = (watch::channel(0), watch::channel(0));
    let teller = Teller { kept: Arc::clone(&kept), count: sender, senders: Arc::clone(&senders), commands };
    let commanded = Commanded { senders, count: commanded, next: 0, known: HashMap::new() };
    (teller, Told { kept, count, next: 0 }, commanded)
}

impl Teller {
    /// A reader of all events from now on.
    pub(super) fn reader(&self) -> Told {
        Told { kept: Arc::clone(&self.kept), count: self.count.subscribe(), next: *self.count.borrow() }
    }

    /// Tells what a record has of both.
    pub(super) fn tell(&self, record: &StepRecord) {
        self.tell_events(record.epoch, &record.events);
        self.tell_commands(record.step, record.epoch, &record.commands);
    }

    /// Counts commands; the sender that has been silent longest makes room for another.
    fn tell_commands(&self, step: StepIndex, epoch: u32, commands: &[AppliedCommand]) {
        if commands.is_empty() {
            return;
        }
        let mut senders = lock(&self.senders);
        let mut total = *self.commands.borrow();
        for AppliedCommand { command, .. } in commands {
            total += 1;
            let sender = (command.device, command.client);
            let count = senders.get(&sender).map_or(0, |(_, told)| told.count) + 1;
            if senders.len() >= SENDERS
                && count == 1
                && let Some(silent) = senders.iter().min_by_key(|(_, (last, _))| *last).map(|(sender, _)| *sender)
            {
                senders.remove(&silent);
            }
            let text = command.text.chars().take(TEXT).collect();
            let (device, client) = sender;
            senders.insert(sender, (total, ToldCommands { device, client, step, epoch, text, count }));
        }
        // Within the lock, so that the count and the senders agree for every reader.
        self.commands.send_replace(total);
    }

    /// Adds events; the oldest make room.
    fn tell_events(&self, epoch: u32, events: &[Event]) {
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

impl Commanded {
    /// Waits until there are commands to take. Cancelling it loses nothing.
    pub async fn wait(&mut self) {
        let next = self.next;
        if self.count.wait_for(|&count| count > next).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Takes the commands since the last call, a line for each sender, with how many there were of it since. The first call has
    /// all senders that are kept.
    pub fn take(&mut self) -> Vec<ToldCommands> {
        let senders = lock(&self.senders);
        let before = std::mem::replace(&mut self.next, *self.count.borrow());
        self.known.retain(|sender, _| senders.contains_key(sender));
        let mut new: Vec<_> = senders.values().filter(|(last, _)| *last > before).collect();
        new.sort_by_key(|(last, _)| *last);
        let since = |(_, told): &(u64, ToldCommands)| {
            let known = self.known.insert((told.device, told.client), told.count).unwrap_or(0);
            // A sender that has made room and come back counts from one again.
            ToldCommands { count: told.count.checked_sub(known).unwrap_or(told.count), ..told.clone() }
        };
        new.into_iter().map(since).collect()
    }
}

fn lock<T>(kept: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is kept is whole between any two statements, so a panic elsewhere does not spoil it.
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

    fn steps(told: Vec<ToldEvent>) -> Vec<u64> {
        told.into_iter().map(|told| told.event.step.0).collect()
    }

    #[test]
    fn each_reader_sees_every_event_once_from_where_it_began() {
        let (teller, told, _) = ring();
        teller.tell_events(0, &events(0..5));
        let (mut all, mut late) = (told.with_last(200), told.with_last(2));
        assert_eq!(steps(all.take()), [0, 1, 2, 3, 4]);
        assert_eq!(steps(late.take()), [3, 4]);
        teller.tell_events(1, &events(5..6));
        assert_eq!(steps(all.take()), [5]);
        assert!(all.take().is_empty());
    }

    #[test]
    fn who_is_too_slow_misses_the_oldest() {
        let (teller, told, _) = ring();
        let mut slow = told.with_last(0);
        teller.tell_events(0, &events(0..KEPT as u64 + 10));
        let (kept, missed) = slow.take_counted();
        assert_eq!((steps(kept), missed), ((10..KEPT as u64 + 10).collect::<Vec<_>>(), 10));
    }

    /// Commands of these devices, each with the client's number of the device plus one and the step as text.
    fn tell_commands(teller: &Teller, step: u64, devices: impl IntoIterator<Item = usize>) {
        let command = |device| Command {
            device: DeviceId::new(device),
            at: None,
            client: ClientId(device as u64 + 1),
            sequence: 1,
            text: step.to_string().repeat(TEXT),
            action: Action::Hear,
            memory: Reservation::default(),
        };
        let applied = |device| AppliedCommand { order: 0, command: command(device), before: ActuatorState::NONE };
        teller.tell_commands(StepIndex(step), 0, &devices.into_iter().map(applied).collect::<Vec<_>>());
    }

    fn counts(told: Vec<ToldCommands>) -> Vec<(usize, u64, u64)> {
        told.into_iter().map(|told| (told.device.index(), told.step.0, told.count)).collect()
    }

    #[test]
    fn a_flood_of_commands_is_a_line_for_each_sender_with_its_count() {
        let (teller, _, commanded) = ring();
        let mut page = commanded.clone();
        (1..=1000).for_each(|step| tell_commands(&teller, step, [0, 1]));
        tell_commands(&teller, 1001, [0]);
        assert_eq!(counts(page.take()), [(1, 1000, 1000), (0, 1001, 1001)]);
        assert!(page.take().is_empty());
        tell_commands(&teller, 1002, [1]);
        let [one] = &page.take()[..] else { panic!("expected one sender") };
        assert_eq!((one.count, one.text.len()), (1, TEXT));
        assert_eq!(counts(commanded.clone().take()).len(), 2, "a later page is told all senders");
    }

    #[test]
    fn senders_are_bounded_and_the_longest_silent_makes_room() {
        let (teller, _, mut commanded) = ring();
        tell_commands(&teller, 1, 0..SENDERS);
        tell_commands(&teller, 2, [0]);
        tell_commands(&teller, 3, [SENDERS]);
        let devices: Vec<usize> = counts(commanded.take()).into_iter().map(|(device, ..)| device).collect();
        assert_eq!(devices.len(), SENDERS);
        assert!(!devices.contains(&1) && devices.ends_with(&[0, SENDERS]), "{devices:?}");
        // One that comes back counts anew.
        tell_commands(&teller, 4, [1, 1]);
        assert_eq!(counts(commanded.take()), [(1, 4, 2)]);
    }
}
