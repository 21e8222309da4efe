//! Bounds on what clients may have waiting: requests in the queue to the physics thread, memory for commands, commands for one
//! step.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use simpartner_model::StepIndex;
use simpartner_wire::signal::{Budget, ClientId, Command, Overdrawn, Reservation, StepRecord};
use thiserror::Error;

/// How many requests may wait in the queue to the physics thread. A step takes 64 short ones in, or more (`physics_loop/intake.rs`),
/// so a full queue of them is a delay of 64 steps.
pub const QUEUE: usize = 4096;

/// How many of them may be commands and answers of members. The rest is for the control port, which must work whatever other
/// clients send.
const COMMANDS: usize = QUEUE - 512;

/// How many commands and answers of one client may wait in the queue: as many as a step takes in, so that a client delays the
/// others by a step at most.
const COMMANDS_OF_A_CLIENT: usize = 64;

/// How much memory all commands together may take, from the moment they are accepted until the log has taken them, bytes: some
/// 400,000 short commands.
pub const COMMAND_MEMORY: usize = 256 << 20;

/// How much of it each client may take whatever the others hold, bytes: some hundred short commands.
const MEMORY_OF_A_CLIENT: usize = 64 << 10;

/// How many commands may be scheduled for one step. They are all applied in that step, and make it longer.
pub const COMMANDS_OF_A_STEP: usize = 1024;

/// Why no more can wait. The client may send it again when what it has sent before has acted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Full {
    /// The queue to the physics thread.
    #[error("more than {QUEUE} requests wait for the next step; send fewer")]
    Queue,
    /// The client's part of the queue.
    #[error("{COMMANDS_OF_A_CLIENT} commands of this client wait for the next step; wait for it before sending more")]
    Client,
    /// The client's share of the memory.
    #[error(
        "the commands of this client that have not acted yet, or that the log has not taken yet, hold {} kB of memory, and a \
         quarter of what is free is {} kB; let steps be made before sending more", held >> 10, share >> 10
    )]
    Memory {
        /// What the client's commands hold, bytes.
        held: usize,
        /// What they may hold at present, bytes.
        share: usize,
    },
    /// A later step.
    #[error("{COMMANDS_OF_A_STEP} commands wait for step {0}; choose another step")]
    Step(StepIndex),
}

/// The bounds of all clients.
#[derive(Debug)]
pub(super) struct Quota {
    slots: Budget,
    memory: Budget,
    scheduled: Mutex<Scheduled>,
}

/// How many commands have been accepted for each later step.
#[derive(Debug, Default)]
struct Scheduled {
    epoch: u32,
    counts: BTreeMap<StepIndex, usize>,
}

impl Default for Quota {
    fn default() -> Self {
        Self {
            slots: Budget::new(COMMANDS, 0..=COMMANDS_OF_A_CLIENT),
            memory: Budget::new(COMMAND_MEMORY, MEMORY_OF_A_CLIENT..=usize::MAX),
            scheduled: Mutex::default(),
        }
    }
}

impl Quota {
    /// Admits commands of one client that act in the same step, all of them or none: reserves their memory and a place in the
    /// queue, and calls `send` to put them there.
    ///
    /// # Errors
    /// When they would break a bound, or `send` fails; nothing is then reserved.
    pub(super) fn admit<E: From<Full>>(
        &self,
        mut commands: Vec<Command>,
        present: &StepRecord,
        send: impl FnOnce(Vec<Command>, Reservation) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(first) = commands.first() else { return Ok(()) };
        let (client, at, count) = (first.client, first.at, commands.len());
        let place = self.place(client)?;
        let size = commands.iter().map(Command::size).sum();
        let full = |Overdrawn { held, share }| Full::Memory { held, share };
        let memory = self.memory.reserve(client, size).map_err(full)?;
        commands.iter_mut().for_each(|command| command.memory = memory.clone());
        let Some(at) = at else { return send(commands, place) };
        // The counts are consistent between any two statements, so a panic elsewhere does not corrupt them.
        let mut scheduled = self.scheduled.lock().unwrap_or_else(PoisonError::into_inner);
        scheduled.forget_past(present);
        if scheduled.count(at) + count > COMMANDS_OF_A_STEP {
            return Err(Full::Step(at).into());
        }
        send(commands, place)?;
        *scheduled.counts.entry(at).or_default() += count;
        Ok(())
    }

    /// Reserves a place in the queue.
    ///
    /// # Errors
    /// When the client has as many as it may have.
    pub(super) fn place(&self, client: ClientId) -> Result<Reservation, Full> {
        self.slots.reserve(client, 1).map_err(|_| Full::Client)
    }

    /// Whether there is a place in the queue for a command of this client.
    pub(super) fn has_place(&self, client: ClientId) -> bool {
        self.slots.has(client, 1)
    }
}

impl Scheduled {
    /// Removes the counts of steps that have been made; after a reset, all.
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
