//! Bounds for pending work of clients: requests in the queue to the physics thread, memory of commands, and commands
//! scheduled for one step.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use simpartner_model::StepIndex;
use simpartner_wire::signal::{Budget, ClientId, Command, Overdrawn, Reservation, StepRecord};
use thiserror::Error;

/// Capacity of the queue to the physics thread, in requests. A step takes in at least 64 short ones
/// (`physics_loop/intake.rs`), so a full queue of short requests is a delay of at most 64 steps.
pub const QUEUE: usize = 4096;

/// Largest number of queued commands and answers of members. The other slots are reserved for the control port, which
/// must work whatever other clients send.
const MAX_QUEUED_COMMANDS: usize = QUEUE - 512;

/// Largest number of queued commands and answers of one client. A step takes in as many, so a client delays the others
/// by one step at most.
const MAX_COMMANDS_PER_CLIENT: usize = 64;

/// Memory limit for all commands together, in bytes: some 400,000 short commands. A command counts from its acceptance
/// until the log has taken it.
pub const COMMAND_MEMORY: usize = 256 << 20;

/// Memory that each client may use whatever the others hold, in bytes: some hundred short commands.
const MIN_MEMORY_PER_CLIENT: usize = 64 << 10;

/// Largest number of commands scheduled for one step. All of them are applied in that step and lengthen it.
pub const COMMANDS_OF_A_STEP: usize = 1024;

/// The bound that refuses a command. The client may send the command again when its earlier commands have acted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Full {
    /// The queue to the physics thread is full.
    #[error("more than {QUEUE} requests wait for the next step; send fewer")]
    Queue,
    /// The client's share of the queue is used up.
    #[error(
        "{MAX_COMMANDS_PER_CLIENT} commands of this client wait for the next step; wait for it before sending more"
    )]
    Client,
    /// The client's share of the memory is used up.
    #[error(
        "the commands of this client that have not acted yet, or that the log has not taken yet, hold {} kB of memory, and a \
         quarter of what is free is {} kB; let steps be made before sending more", held >> 10, share >> 10
    )]
    Memory {
        /// Memory that the client's commands hold, bytes.
        held: usize,
        /// Memory that they may hold at present, bytes.
        share: usize,
    },
    /// Too many commands are scheduled for this step.
    #[error("{COMMANDS_OF_A_STEP} commands wait for step {0}; choose another step")]
    Step(StepIndex),
}

/// The bounds of all clients.
#[derive(Debug)]
pub(super) struct Quota {
    /// Slots of the queue to the physics thread.
    slots: Budget,
    /// Memory of commands, bytes.
    memory: Budget,
    scheduled: Mutex<ScheduledCommands>,
}

/// Number of accepted commands for each future step.
#[derive(Debug, Default)]
struct ScheduledCommands {
    epoch: u32,
    counts: BTreeMap<StepIndex, usize>,
}

impl Default for Quota {
    fn default() -> Self {
        Self {
            slots: Budget::new(MAX_QUEUED_COMMANDS, 0..=MAX_COMMANDS_PER_CLIENT),
            memory: Budget::new(COMMAND_MEMORY, MIN_MEMORY_PER_CLIENT..=usize::MAX),
            scheduled: Mutex::default(),
        }
    }
}

impl Quota {
    /// Admits commands of one client that act in the same step, all of them or none. Reserves their memory and a queue
    /// slot, then calls `send` to queue them.
    ///
    /// # Errors
    /// When they would exceed a bound, or `send` fails; nothing is then reserved.
    pub(super) fn admit<E: From<Full>>(
        &self,
        mut commands: Vec<Command>,
        present: &StepRecord,
        send: impl FnOnce(Vec<Command>, Reservation) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(first) = commands.first() else { return Ok(()) };
        let (client, at, count) = (first.client, first.at, commands.len());
        let slot = self.reserve_slot(client)?;
        let size = commands.iter().map(Command::size).sum();
        let full = |Overdrawn { held, share }| Full::Memory { held, share };
        let memory = self.memory.reserve(client, size).map_err(full)?;
        commands.iter_mut().for_each(|command| command.memory = memory.clone());
        let Some(at) = at else { return send(commands, slot) };
        // The counts are consistent between any two statements, so a panic elsewhere does not corrupt them.
        let mut scheduled = self.scheduled.lock().unwrap_or_else(PoisonError::into_inner);
        scheduled.forget_past(present);
        if scheduled.count(at) + count > COMMANDS_OF_A_STEP {
            return Err(Full::Step(at).into());
        }
        send(commands, slot)?;
        *scheduled.counts.entry(at).or_default() += count;
        Ok(())
    }

    /// Reserves a queue slot.
    ///
    /// # Errors
    /// When the client holds as many as it may.
    pub(super) fn reserve_slot(&self, client: ClientId) -> Result<Reservation, Full> {
        self.slots.reserve(client, 1).map_err(|_| Full::Client)
    }

    /// True if a queue slot is free for a command of this client.
    pub(super) fn has_slot(&self, client: ClientId) -> bool {
        self.slots.has(client, 1)
    }
}

impl ScheduledCommands {
    /// Removes the counts of past steps; after a reset, all counts.
    fn forget_past(&mut self, present: &StepRecord) {
        if self.epoch != present.epoch {
            (self.epoch, self.counts) = (present.epoch, BTreeMap::new());
        }
        if self.counts.first_key_value().is_some_and(|(step, _)| *step <= present.step) {
            self.counts = self.counts.split_off(&present.step.after(1));
        }
    }

    fn count(&self, step: StepIndex) -> usize {
        self.counts.get(&step).copied().unwrap_or(0)
    }
}
