//! The queue of commands for later steps.

use std::{
    cmp::{Ordering, Reverse},
    collections::BinaryHeap,
};

use simpartner_model::StepIndex;
use simpartner_wire::signal::Command;

/// Commands in the order of their steps, and in the order of arrival within a step. It allocates only when it is longer
/// than ever before.
#[derive(Default)]
pub(super) struct Schedule {
    commands: BinaryHeap<ScheduledCommand>,
    /// Number of commands added so far.
    count: u64,
}

/// A command with its sort key: its step and its serial number.
struct ScheduledCommand {
    key: Reverse<(StepIndex, u64)>,
    command: Command,
}

impl Schedule {
    /// Adds a command for a step.
    pub(super) fn add(&mut self, step: StepIndex, command: Command) {
        self.count += 1;
        self.commands.push(ScheduledCommand { key: Reverse((step, self.count)), command });
    }

    /// Removes the next command for this step, if there is one.
    pub(super) fn take_due(&mut self, step: StepIndex) -> Option<Command> {
        self.commands.peek().filter(|next| next.key.0.0 == step)?;
        self.commands.pop().map(|next| next.command)
    }

    /// Removes the next command; returns it with its step.
    pub(super) fn take_next(&mut self) -> Option<(StepIndex, Command)> {
        self.commands.pop().map(|next| (next.key.0.0, next.command))
    }

    /// Drops all commands.
    pub(super) fn clear(&mut self) {
        self.commands.clear();
    }
}

impl Ord for ScheduledCommand {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key)
    }
}

impl PartialOrd for ScheduledCommand {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for ScheduledCommand {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for ScheduledCommand {}
