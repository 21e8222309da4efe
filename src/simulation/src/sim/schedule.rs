//! Commands that wait for a later step.

use std::{
    cmp::{Ordering, Reverse},
    collections::BinaryHeap,
};

use simpartner_model::StepIndex;
use simpartner_wire::signal::Command;

/// Commands by the steps they are for; those for the same step in the order in which they came. It allocates only when more wait
/// than ever before.
#[derive(Default)]
pub(super) struct Schedule {
    waiting: BinaryHeap<Waiting>,
    /// How many were ever added.
    count: u64,
}

/// A command with its step and its number.
struct Waiting {
    place: Reverse<(StepIndex, u64)>,
    command: Command,
}

impl Schedule {
    /// Adds a command for a step.
    pub(super) fn add(&mut self, step: StepIndex, command: Command) {
        self.count += 1;
        self.waiting.push(Waiting { place: Reverse((step, self.count)), command });
    }

    /// The next command for this step, if there is one.
    pub(super) fn take_due(&mut self, step: StepIndex) -> Option<Command> {
        self.waiting.peek().filter(|waiting| waiting.place.0.0 == step)?;
        self.waiting.pop().map(|waiting| waiting.command)
    }

    /// The next command, with its step.
    pub(super) fn take_next(&mut self) -> Option<(StepIndex, Command)> {
        self.waiting.pop().map(|waiting| (waiting.place.0.0, waiting.command))
    }

    /// Forgets all commands.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Ordering {
        self.place.cmp(&other.place)
    }
}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.place == other.place
    }
}

impl Eq for Waiting {}
