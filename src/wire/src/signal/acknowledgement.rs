//! `ACK`: a member of the lockstep has seen a step.

use super::{ClientId, Member, StepIndex, StepRecord};

/// The steps of `ACK step+count`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// The step that it names.
    pub step: Option<StepIndex>,
    /// Number of steps until the member is asked again, at least 1.
    pub count: u64,
}

/// `ACK`, as a client of a member's port has sent it: it joins the lockstep, or has seen a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acknowledgement {
    /// The port that received it.
    pub member: Member,
    /// From whom.
    pub client: ClientId,
    /// Its steps.
    pub seen: Seen,
    /// The newest step that this client can have seen.
    pub present: StepIndex,
    /// Number of resets of the world until then.
    pub epoch: u32,
}

impl Acknowledgement {
    /// The acknowledgement of a client whose newest record is this one.
    pub fn of(member: Member, client: ClientId, seen: Seen, record: &StepRecord) -> Self {
        Self { member, client, seen, present: record.step, epoch: record.epoch }
    }
}
