//! Lockstep: the next step is computed when every member has answered for the last one.
//!
//! A member is a port. The first client that sends `ACK` there becomes the member's client. From then on it receives
//! every step and answers each. The clock runs freely until every member has had a client; then it waits for all of
//! them. Sessions read and change the [`MembershipTable`], which maps members to clients. The physics thread alone
//! keeps the [`Barrier`], which records who has answered.

use std::{
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use simpartner_model::StepIndex;
use simpartner_wire::signal::{ClientId, Layout, Member, Renumbering};

/// Settings of lockstep.
#[derive(Debug, Clone, PartialEq)]
pub struct LockstepSettings {
    /// The members of a lockstep that `MODE lockstep` begins without naming any.
    pub members: Vec<Member>,
    /// Longest wait for an answer, wall time.
    pub timeout: Duration,
    /// Reaction to a timeout.
    pub on_timeout: OnTimeout,
}

impl Default for LockstepSettings {
    /// No members; a timeout of one second, after which the clock keeps waiting.
    fn default() -> Self {
        Self { members: Vec::new(), timeout: Duration::from_secs(1), on_timeout: OnTimeout::Hold }
    }
}

/// Reaction when a member does not answer in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnTimeout {
    /// The clock keeps waiting.
    Hold,
    /// The clock pauses.
    Pause,
    /// The run ends.
    Fail,
}

/// State of the lockstep, with the names of the members concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LockstepState {
    /// These members have yet to join; until then the clock runs freely.
    Joining(Vec<String>),
    /// These members have yet to answer for the present step.
    Waiting(Vec<String>),
    /// These members have not answered in time.
    Overdue(Vec<String>),
    /// All members have answered.
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

/// Reference to a member in requests to the physics thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemberSlot {
    /// Number of the lockstep; each `MODE lockstep` begins a new one.
    pub generation: u64,
    /// Index in that lockstep's list of members.
    pub index: usize,
}

/// The sessions' map from members to clients. Sessions lock it for moments; the physics thread locks it only when the
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
    /// Renumbers the members for the edited world; removes deleted ones.
    pub(super) fn renumber_members(&mut self, numbers: &Renumbering) {
        let members = std::mem::take(&mut self.members).into_iter();
        self.members = members.filter_map(|(member, client)| Some((numbers.member(member)?, client))).collect();
    }
}

impl MembershipTable {
    pub(super) fn lock(&self) -> MutexGuard<'_, Membership> {
        // The table is consistent between any two statements, so a panic elsewhere does not corrupt it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a new lockstep, whose members have no clients yet. Without members this ends lockstep. Returns the
    /// generation.
    pub(super) fn begin(&self, members: &[Member]) -> u64 {
        let mut membership = self.lock();
        membership.generation += 1;
        membership.members = members.iter().map(|&member| (member, None)).collect();
        membership.generation
    }
}

/// The physics thread's record of joined members and their answers.
pub(super) struct Barrier {
    generation: u64,
    members: Vec<MemberState>,
    /// True once all members have had a client at the same time.
    assembled: bool,
    /// Start of the timeout, monotonic nanoseconds.
    waiting_since_ns: u64,
    /// True after the timeout, until the next round or join.
    overdue: bool,
}

/// A member with its client and its answer.
struct MemberState {
    member: Member,
    name: String,
    client: Option<ClientId>,
    answered: bool,
    /// The next step that the client wants to see and answer.
    next: StepIndex,
}

impl Barrier {
    /// Begins a new lockstep, whose members have no clients yet.
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

    /// Renumbers the members for the edited world; removes deleted ones. False if none is left.
    pub(super) fn renumber_members(&mut self, numbers: &Renumbering) -> bool {
        let members = std::mem::take(&mut self.members).into_iter();
        self.members =
            members.filter_map(|state| Some(MemberState { member: numbers.member(state.member)?, ..state })).collect();
        self.assembled |= self.members.iter().all(|member| member.client.is_some());
        !self.members.is_empty()
    }

    /// True if all members have joined and some have not answered.
    pub(super) fn is_waiting(&self) -> bool {
        self.assembled && self.members.iter().any(|member| !member.answered)
    }

    /// True if all members have joined.
    pub(super) fn is_assembled(&self) -> bool {
        self.assembled
    }

    /// Lets a client join for a member, in place of an earlier client. It must answer for the present step. Returns the
    /// member's name.
    pub(super) fn join(&mut self, slot: MemberSlot, client: ClientId, now_ns: u64) -> Option<&str> {
        let member = self.members.get_mut(slot.index).filter(|_| slot.generation == self.generation)?;
        (member.client, member.answered, member.next) = (Some(client), false, StepIndex(0));
        self.assembled |= self.members.iter().all(|member| member.client.is_some());
        self.restart_timeout(now_ns);
        Some(&self.members[slot.index].name)
    }

    /// Removes a client. Returns the name of its member, which has no client now.
    pub(super) fn leave(&mut self, slot: MemberSlot, client: ClientId) -> Option<&str> {
        let member = self.members.get_mut(slot.index).filter(|_| slot.generation == self.generation)?;
        (member.client == Some(client)).then(|| {
            member.client = None;
            member.name.as_str()
        })
    }

    /// Records a client's answer for the present step, if that answer is pending; `next` is the following step.
    pub(super) fn answer_if_pending(&mut self, client: ClientId, next: StepIndex) {
        if self.members.iter().any(|member| member.client == Some(client) && !member.answered) {
            self.answer_until(client, next);
        }
    }

    /// Records a client's answer for all steps before `next`, the next step it receives. The latest answer counts.
    pub(super) fn answer_until(&mut self, client: ClientId, next: StepIndex) {
        if let Some(member) = self.members.iter_mut().find(|member| member.client == Some(client)) {
            (member.answered, member.next) = (true, next);
        }
    }

    /// Begins the round of answers for `step` and restarts the timeout. After a reset that is step 0, for which every
    /// member must answer. A device that a fault has powered off sends its client nothing, so no answer is expected.
    pub(super) fn begin_round(&mut self, step: StepIndex, now_ns: u64, is_powered_off: impl Fn(Member) -> bool) {
        for state in &mut self.members {
            if step == StepIndex(0) {
                state.next = step;
            }
            state.answered = is_powered_off(state.member) || step < state.next;
        }
        self.restart_timeout(now_ns);
    }

    /// Restarts the timeout.
    pub(super) fn restart_timeout(&mut self, now_ns: u64) {
        self.waiting_since_ns = now_ns;
        self.overdue = false;
    }

    /// Time left to answer; zero at the timeout, `None` after [`mark_overdue`](Self::mark_overdue).
    pub(super) fn remaining_time(&self, timeout: Duration, now_ns: u64) -> Option<Duration> {
        let waited = Duration::from_nanos(now_ns.saturating_sub(self.waiting_since_ns));
        (!self.overdue).then(|| timeout.saturating_sub(waited))
    }

    /// Marks the round as overdue. Returns the members that have not answered: name and client.
    pub(super) fn mark_overdue(&mut self) -> Vec<(String, String)> {
        self.overdue = true;
        let describe = |member: &MemberState| {
            let client =
                member.client.map_or("nobody is connected".to_owned(), |client| format!("client {}", client.0));
            (member.name.clone(), client)
        };
        self.members.iter().filter(|member| !member.answered).map(describe).collect()
    }

    /// State of the lockstep, for the status.
    pub(super) fn state(&self) -> LockstepState {
        let names = |wanted: fn(&MemberState) -> bool| {
            self.members.iter().filter(|member| wanted(member)).map(|member| member.name.clone()).collect::<Vec<_>>()
        };
        match (self.assembled, self.is_waiting(), self.overdue) {
            (false, _, _) => LockstepState::Joining(names(|member| member.client.is_none())),
            (true, true, false) => LockstepState::Waiting(names(|member| !member.answered)),
            (true, true, true) => LockstepState::Overdue(names(|member| !member.answered)),
            (true, false, _) => LockstepState::Answered,
        }
    }
}
