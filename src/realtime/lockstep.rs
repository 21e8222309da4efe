//! Lockstep: the next step is made when every member has answered for the last one.
//!
//! A member is a port. The first client to say `ACK` there takes its seat, and from then on is sent every step and answers each. As
//! long as a seat has never been taken the clock runs freely; once all have been, it waits. Two sides meet here: the sessions,
//! which find out in the [`Roll`] who sits where, and the physics thread, which keeps the [`Barrier`].

use std::{
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use simpartner_model::StepIndex;
use simpartner_wire::signal::{ClientId, Layout, Member};

/// How the clock waits in lockstep.
#[derive(Debug, Clone, PartialEq)]
pub struct LockstepSettings {
    /// Whom it waits for, where `MODE lockstep` names nobody.
    pub members: Vec<Member>,
    /// How long an answer may take, in wall time.
    pub timeout: Duration,
    /// What happens then.
    pub on_timeout: OnTimeout,
}

impl Default for LockstepSettings {
    /// Nobody yet; a second, then on waiting.
    fn default() -> Self {
        Self { members: Vec::new(), timeout: Duration::from_secs(1), on_timeout: OnTimeout::Hold }
    }
}

/// What happens when a member does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnTimeout {
    /// The clock waits on.
    Hold,
    /// It pauses.
    Pause,
    /// The run ends.
    Fail,
}

/// How the waiting stands, with the names it stands at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LockstepState {
    /// These have yet to join; until then the clock runs freely.
    Joining(Vec<String>),
    /// These have yet to answer for the present step.
    Waiting(Vec<String>),
    /// These have not answered in time.
    Overdue(Vec<String>),
    /// All have answered.
    Answered,
}

impl fmt::Display for LockstepState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Joining(names) => write!(formatter, "joining:{}", names.join(",")),
            Self::Waiting(names) => write!(formatter, "waiting:{}", names.join(",")),
            Self::Overdue(names) => write!(formatter, "overdue:{}", names.join(",")),
            Self::Answered => formatter.write_str("answered"),
        }
    }
}

/// A seat at the table, as the physics thread names it in a barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Which lockstep: each `MODE lockstep` begins a new one.
    pub generation: u64,
    /// Which seat of it.
    pub index: usize,
}

/// Who sits where, for the sessions. It is locked for moments, and by the physics thread only when the mode changes.
#[derive(Debug, Default)]
pub struct Roll(Mutex<Seating>);

/// The seats of a lockstep; none outside of it.
#[derive(Debug, Default)]
pub(super) struct Seating {
    pub(super) generation: u64,
    pub(super) seats: Vec<(Member, Option<ClientId>)>,
}

impl Roll {
    /// The seats, for a moment.
    pub(super) fn lock(&self) -> MutexGuard<'_, Seating> {
        // Seating is whole between any two statements, so a panic elsewhere does not spoil it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins another lockstep with empty seats, or none at all, and returns its number.
    pub(super) fn begin(&self, members: &[Member]) -> u64 {
        let mut seating = self.lock();
        seating.generation += 1;
        seating.seats = members.iter().map(|&member| (member, None)).collect();
        seating.generation
    }
}

/// Whom the clock waits for, on the physics thread.
pub(super) struct Barrier {
    generation: u64,
    seats: Vec<Seat>,
    /// True once all seats have been taken at the same time.
    assembled: bool,
    waiting_since_ns: u64,
    overdue: bool,
}

struct Seat {
    member: Member,
    name: String,
    client: Option<ClientId>,
    answered: bool,
    /// The step at which it wants to be asked again.
    next: StepIndex,
}

impl Barrier {
    /// Another lockstep, its seats empty.
    pub(super) fn begin(roll: &Roll, members: &[Member], layout: &Layout) -> Self {
        let generation = roll.begin(members);
        let seat = |&member: &Member| Seat {
            member,
            name: layout.member_name(member),
            client: None,
            answered: false,
            next: StepIndex(0),
        };
        let seats = members.iter().map(seat).collect();
        Self { generation, seats, assembled: false, waiting_since_ns: 0, overdue: false }
    }

    /// Whether all have joined and some have not answered.
    pub(super) fn holds(&self) -> bool {
        self.assembled && self.seats.iter().any(|seat| !seat.answered)
    }

    /// Whether all have joined.
    pub(super) fn is_assembled(&self) -> bool {
        self.assembled
    }

    /// A client takes a seat, whoever sat there; it is asked for the present step. Returns the seat's name.
    pub(super) fn join(&mut self, place: Place, client: ClientId, now_ns: u64) -> Option<&str> {
        let seat = self.seats.get_mut(place.index).filter(|_| place.generation == self.generation)?;
        (seat.client, seat.answered, seat.next) = (Some(client), false, StepIndex(0));
        self.assembled |= self.seats.iter().all(|seat| seat.client.is_some());
        self.wait_from(now_ns);
        Some(&self.seats[place.index].name)
    }

    /// A client has gone. Returns the name of the seat that is empty now.
    pub(super) fn leave(&mut self, place: Place, client: ClientId) -> Option<&str> {
        let seat = self.seats.get_mut(place.index).filter(|_| place.generation == self.generation)?;
        (seat.client == Some(client)).then(|| {
            seat.client = None;
            seat.name.as_str()
        })
    }

    /// A client has answered for the present step, if it was asked about it; `next` is the step behind.
    pub(super) fn answer(&mut self, client: ClientId, next: StepIndex) {
        if self.seats.iter().any(|seat| seat.client == Some(client) && !seat.answered) {
            self.answer_until(client, next);
        }
    }

    /// A client has answered for all steps before `next`. What it said last counts: it is sent that step and none before.
    pub(super) fn answer_until(&mut self, client: ClientId, next: StepIndex) {
        if let Some(seat) = self.seats.iter_mut().find(|seat| seat.client == Some(client)) {
            (seat.answered, seat.next) = (true, next);
        }
    }

    /// There is another state to answer for; after a reset that is step 0, about which everybody is asked. A device that a
    /// fault has put off tells its client nothing, so nothing is expected of it.
    pub(super) fn ask(&mut self, step: StepIndex, now_ns: u64, is_off: impl Fn(Member) -> bool) {
        for seat in &mut self.seats {
            if step == StepIndex(0) {
                seat.next = step;
            }
            seat.answered = is_off(seat.member) || step < seat.next;
        }
        self.wait_from(now_ns);
    }

    /// The time to answer in begins.
    pub(super) fn wait_from(&mut self, now_ns: u64) {
        self.waiting_since_ns = now_ns;
        self.overdue = false;
    }

    /// How long there still is to answer; zero when the time is over, `None` when that has been told.
    pub(super) fn remaining(&self, timeout: Duration, now_ns: u64) -> Option<Duration> {
        let waited = Duration::from_nanos(now_ns.saturating_sub(self.waiting_since_ns));
        (!self.overdue).then(|| timeout.saturating_sub(waited))
    }

    /// Notes that the time is over. Returns those who have not answered: name, and what is known of the client.
    pub(super) fn give_up(&mut self) -> Vec<(String, String)> {
        self.overdue = true;
        let told = |seat: &Seat| {
            let client = seat.client.map_or("nobody is connected".to_owned(), |client| format!("client {}", client.0));
            (seat.name.clone(), client)
        };
        self.seats.iter().filter(|seat| !seat.answered).map(told).collect()
    }

    /// How it stands.
    pub(super) fn state(&self) -> LockstepState {
        let names = |wanted: fn(&Seat) -> bool| {
            self.seats.iter().filter(|seat| wanted(seat)).map(|seat| seat.name.clone()).collect::<Vec<_>>()
        };
        match (self.assembled, self.holds(), self.overdue) {
            (false, _, _) => LockstepState::Joining(names(|seat| seat.client.is_none())),
            (true, true, false) => LockstepState::Waiting(names(|seat| !seat.answered)),
            (true, true, true) => LockstepState::Overdue(names(|seat| !seat.answered)),
            (true, false, _) => LockstepState::Answered,
        }
    }
}
