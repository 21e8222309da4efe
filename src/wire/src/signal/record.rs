//! The record of a step.

use std::sync::Arc;

use super::{AppliedCommand, Contacts, Event, Layout, StepIndex};

/// Where a world goes on from another one, in which something has come or gone.
#[derive(Debug, Clone, PartialEq)]
pub struct Beginning {
    /// The whole state that its first step starts from.
    pub state: Arc<[u8]>,
    /// Commands that had taken effect in the world before it, but in no step of that. They are in the state.
    pub commands: Vec<AppliedCommand>,
}

/// When a step ran on the wall clock. The physics never reads it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StepTiming {
    /// Monotonic wall time since the run's start at which the step began, in nanoseconds.
    pub wall_ns: u64,
    /// How long after its deadline the step began, in nanoseconds; 0 in `fast` mode.
    pub late_ns: u64,
    /// How long the step took to compute, in nanoseconds.
    pub compute_ns: u64,
    /// For how long the clock had run when the step began, pauses left out, in nanoseconds.
    pub played_ns: u64,
}

/// Everything one step brought about. `values` is laid out as [`Layout`] says.
#[derive(Debug, Clone, PartialEq)]
pub struct StepRecord {
    /// The step that has just been made; 0 before the first.
    pub step: StepIndex,
    /// How often the run was reset before this step: step numbers start again after a reset.
    pub epoch: u32,
    /// How often something has come or gone since the start of the run: the number of the world, whose [`Layout`] has the same.
    pub world: u32,
    /// Wall clock, which the server's module `realtime` fills in.
    pub timing: StepTiming,
    /// Bodies, joints and devices.
    pub values: Box<[f64]>,
    /// For each device, whether its reading is of this very step (sensors with a rate hold theirs in between).
    pub fresh: Box<[bool]>,
    /// For each device, whether a fault has put it off. It then has no reading and gives no answer.
    pub off: Box<[bool]>,
    /// For each device, the `sequence` of the newest command that has taken effect.
    pub applied: Box<[u64]>,
    /// Where bodies touched.
    pub contacts: Contacts,
    /// The commands that took effect at the start of this step.
    pub commands: Vec<AppliedCommand>,
    /// What happened beside the plan.
    pub events: Vec<Event>,
    /// The whole state after this step, in steps that the log keeps one of.
    pub snapshot: Option<Arc<[u8]>>,
    /// What the world goes on from, in its first step if it does not begin with the model.
    pub beginning: Option<Box<Beginning>>,
}

impl StepRecord {
    /// An all-zero record of the layout's size.
    pub fn new(layout: &Layout) -> Self {
        let devices = layout.devices().len();
        Self {
            step: StepIndex(0),
            epoch: 0,
            world: layout.world(),
            timing: StepTiming::default(),
            values: vec![0.0; layout.len()].into(),
            fresh: vec![false; devices].into(),
            off: vec![false; devices].into(),
            applied: vec![0; devices].into(),
            contacts: Contacts::new(),
            commands: Vec::new(),
            events: Vec::new(),
            snapshot: None,
            beginning: None,
        }
    }
}
