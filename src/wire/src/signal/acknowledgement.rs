//! `ACK`: a member of the lockstep has seen a step.

use super::{ClientId, Member, StepIndex, StepRecord};

/// What `ACK step+count` says of the steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// The step that it names.
    pub step: Option<StepIndex>,
    /// How many steps may be made before the member is asked again, at least one.
    pub count: u64,
}

/// `ACK`, as a client of a member's port has sent it: it joins the lockstep, or has seen a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acknowledgement {
    /// The port it came through.
    pub member: Member,
    /// From whom.
    pub client: ClientId,
    /// What it says.
    pub seen: Seen,
    /// The newest step that this client can have seen.
    pub present: StepIndex,
    /// How often the world had been reset then.
    pub epoch: u32,
}

impl Acknowledgement {
    /// What a client has said that has seen this record at most.
    pub fn of(member: Member, client: ClientId, seen: Seen, record: &StepRecord) -> Self {
        Self { member, client, seen, present: record.step, epoch: record.epoch }
    }
}
