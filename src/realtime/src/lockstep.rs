//! Lockstep: the next step is made when every member has answered for the last one.
//!
//! A member is a port. The first client that sends `ACK` there becomes the member's client: from then on it receives every step and
//! answers each. While a member has never had a client, the clock runs freely; once every member has had one, it waits. Sessions
//! read and change the [`MembershipTable`], which says which client stands for which member. The physics thread alone keeps the
//! [`Barrier`], which says who has answered.

use std::{
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use simpartner_model::StepIndex;
use simpartner_wire::signal::{ClientId, Layout, Member, Renumbering};

/// How the clock waits in lockstep.
#[derive(Debug, Clone, PartialEq)]
pub struct LockstepSettings {
    /// The members where `MODE lockstep` names none.
    pub members: Vec<Member>,
    /// How long an answer may take, in wall time.
    pub timeout: Duration,
    /// What happens then.
    pub on_timeout: OnTimeout,
}

impl Default for LockstepSettings {
    /// No members; a timeout of one second, after which the clock goes on waiting.
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

/// What the clock waits for, with the names of the members concerned.
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

/// A member as requests to the physics thread name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemberSlot {
    /// Which lockstep: each `MODE lockstep` begins a new one.
    pub generation: u64,
    /// Its place in that lockstep's list of members.
    pub index: usize,
}

/// Which client stands for which member, for the sessions. Sessions lock it for moments; the physics thread locks it only when the
/// mode changes.
#[derive(Debug, Default)]
pub struct MembershipTable(Mutex<Membership>);

/// The members of the present lockstep, each with its client; empty in other modes.
#[derive(Debug, Default)]
pub(super) struct Membership {
    pub(super) generation: u64,
    pub(super) members: Vec<(Member, Option<ClientId>)>,
}

impl Membership {
    /// The members have the numbers of the next world; those that are gone are no members any more.
    pub(super) fn go_on_in(&mut self, numbers: &Renumbering) {
        let members = std::mem::take(&mut self.members).into_iter();
        self.members = members.filter_map(|(member, client)| Some((numbers.member(member)?, client))).collect();
    }
}

impl MembershipTable {
    pub(super) fn lock(&self) -> MutexGuard<'_, Membership> {
        // The table is consistent between any two statements, so a panic elsewhere does not corrupt it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins another lockstep, whose members have no clients yet, or ends lockstep if there are none. Returns its number.
    pub(super) fn begin(&self, members: &[Member]) -> u64 {
        let mut membership = self.lock();
        membership.generation += 1;
        membership.members = members.iter().map(|&member| (member, None)).collect();
        membership.generation
    }
}

/// Whom the clock waits for, on the physics thread.
pub(super) struct Barrier {
    generation: u64,
    members: Vec<MemberState>,
    /// True once all members have had a client at the same time.
    assembled: bool,
    waiting_since_ns: u64,
    overdue: bool,
}

struct MemberState {
    member: Member,
    name: String,
    client: Option<ClientId>,
    answered: bool,
    /// The step at which it wants to be asked again.
    next: StepIndex,
}

impl Barrier {
    /// Begins another lockstep, whose members have no clients yet.
    pub(super) fn begin(table: &MembershipTable, members: &[Member], layout: &Layout) -> Self {
        let generation = table.begin(members);
        let state = |&member: &Member| MemberState {
            member,
            name: layout.member_name(member),
            client: None,
            answered: false,
            next: StepIndex(0),
        };
        let members = members.iter().map(state).collect();
        Self { generation, members, assembled: false, waiting_since_ns: 0, overdue: false }
    }

    /// The members have the numbers of the next world; who is gone is not waited for. False if none is left.
    pub(super) fn go_on_in(&mut self, numbers: &Renumbering) -> bool {
        let members = std::mem::take(&mut self.members).into_iter();
        self.members =
            members.filter_map(|state| Some(MemberState { member: numbers.member(state.member)?, ..state })).collect();
        self.assembled |= self.members.iter().all(|member| member.client.is_some());
        !self.members.is_empty()
    }

    /// Whether all have joined and some have not answered.
    pub(super) fn holds(&self) -> bool {
        self.assembled && self.members.iter().any(|member| !member.answered)
    }

    /// Whether all have joined.
    pub(super) fn is_assembled(&self) -> bool {
        self.assembled
    }

    /// A client joins for a member, and replaces the one that was there; it is asked for the present step. Returns the member's
    /// name.
    pub(super) fn join(&mut self, slot: MemberSlot, client: ClientId, now_ns: u64) -> Option<&str> {
        let member = self.members.get_mut(slot.index).filter(|_| slot.generation == self.generation)?;
        (member.client, member.answered, member.next) = (Some(client), false, StepIndex(0));
        self.assembled |= self.members.iter().all(|member| member.client.is_some());
        self.wait_from(now_ns);
        Some(&self.members[slot.index].name)
    }

    /// A client has left. Returns the name of the member that has no client now.
    pub(super) fn leave(&mut self, slot: MemberSlot, client: ClientId) -> Option<&str> {
        let member = self.members.get_mut(slot.index).filter(|_| slot.generation == self.generation)?;
        (member.client == Some(client)).then(|| {
            member.client = None;
            member.name.as_str()
        })
    }

    /// A client has answered for the present step, if it was asked about it; `next` is the step behind.
    pub(super) fn answer(&mut self, client: ClientId, next: StepIndex) {
        if self.members.iter().any(|member| member.client == Some(client) && !member.answered) {
            self.answer_until(client, next);
        }
    }

    /// A client has answered for all steps before `next`, and receives that step next. Its latest answer counts.
    pub(super) fn answer_until(&mut self, client: ClientId, next: StepIndex) {
        if let Some(member) = self.members.iter_mut().find(|member| member.client == Some(client)) {
            (member.answered, member.next) = (true, next);
        }
    }

    /// There is another state to answer for; after a reset that is step 0, about which every member is asked. A device that a
    /// fault has powered off sends its client nothing, so no answer is expected.
    pub(super) fn ask(&mut self, step: StepIndex, now_ns: u64, is_powered_off: impl Fn(Member) -> bool) {
        for state in &mut self.members {
            if step == StepIndex(0) {
                state.next = step;
            }
            state.answered = is_powered_off(state.member) || step < state.next;
        }
        self.wait_from(now_ns);
    }

    /// Starts the timeout.
    pub(super) fn wait_from(&mut self, now_ns: u64) {
        self.waiting_since_ns = now_ns;
        self.overdue = false;
    }

    /// How long there still is to answer; zero when the time is over, `None` after [`give_up`](Self::give_up).
    pub(super) fn remaining(&self, timeout: Duration, now_ns: u64) -> Option<Duration> {
        let waited = Duration::from_nanos(now_ns.saturating_sub(self.waiting_since_ns));
        (!self.overdue).then(|| timeout.saturating_sub(waited))
    }

    /// Notes that the time is over. Returns the members that have not answered: name, and what is known of the client.
    pub(super) fn give_up(&mut self) -> Vec<(String, String)> {
        self.overdue = true;
        let describe = |member: &MemberState| {
            let client =
                member.client.map_or("nobody is connected".to_owned(), |client| format!("client {}", client.0));
            (member.name.clone(), client)
        };
        self.members.iter().filter(|member| !member.answered).map(describe).collect()
    }

    /// What the clock waits for.
    pub(super) fn state(&self) -> LockstepState {
        let names = |wanted: fn(&MemberState) -> bool| {
            self.members.iter().filter(|member| wanted(member)).map(|member| member.name.clone()).collect::<Vec<_>>()
        };
        match (self.assembled, self.holds(), self.overdue) {
            (false, _, _) => LockstepState::Joining(names(|member| member.client.is_none())),
            (true, true, false) => LockstepState::Waiting(names(|member| !member.answered)),
            (true, true, true) => LockstepState::Overdue(names(|member| !member.answered)),
            (true, false, _) => LockstepState::Answered,
        }
    }
}
