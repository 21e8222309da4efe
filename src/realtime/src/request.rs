//! Requests to the physics thread. They travel through one queue, which keeps their order.

use std::fmt;

use simpartner_dynamics::{RutChanges, RutTile};
use simpartner_model::StepIndex;
use simpartner_wire::signal::{ClientId, Command, Event, Renumbering, Reservation};
use tokio::sync::oneshot;

use super::{
    control::{Control, ControlError, Status},
    lockstep::MemberSlot,
};
use simpartner_simulation::sim::Simulation;

/// A request to the physics thread.
#[derive(Debug)]
pub enum Request {
    /// A single command with its reserved queue slot. It is not a list of one, because freeing a list could make the
    /// physics thread wait for a thread that holds the allocator's lock.
    Command(Command, Reservation),
    /// Commands that act in the same step, with their reserved queue slot.
    Commands(Vec<Command>, Reservation),
    /// A client joins the lockstep for a member.
    Join(MemberSlot, ClientId),
    /// A member answers for a step.
    Answer(Answer),
    /// The client of a member leaves the lockstep.
    Leave(MemberSlot, ClientId),
    /// A control request, with the sender for its answer.
    Control(Control, oneshot::Sender<Result<Status, ControlError>>),
    /// An event for the log.
    Note(Event),
    /// An event of the run with this epoch and this world. It is dropped if that run has ended.
    NoteOfRun {
        /// Number of resets before the run.
        epoch: u32,
        /// Number of its world.
        world: u32,
        /// The event.
        event: Event,
    },
    /// Replaces the world by an edited one. The answer returns the previous world, so that the physics thread need not
    /// free it.
    Exchange(Box<Exchange>, oneshot::Sender<Result<Simulation, ControlError>>),
    /// Asks for the changed rut tiles. The caller provides the list's capacity, so that the physics thread allocates
    /// nothing.
    Ruts(Vec<RutTile>, oneshot::Sender<ChangedRuts>),
}

/// A world edit: the edited world and the reason for it.
pub struct Exchange {
    /// The edited world, before its first step.
    pub next: Simulation,
    /// Maps ids of the present world to ids of the edited world.
    pub numbers: Renumbering,
    /// The event for the log: what was added or removed.
    pub event: Event,
}

impl fmt::Debug for Exchange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Exchange").field("event", &self.event).finish_non_exhaustive()
    }
}

/// Rut tiles that have changed since the previous request.
#[derive(Debug)]
pub struct ChangedRuts {
    /// The tiles, in the list that came with the request.
    pub tiles: Vec<RutTile>,
    /// Flags: the list starts over, so that tiles from earlier answers are void; more tiles are left.
    pub changes: RutChanges,
}

/// Length of a text, in bytes, that takes as long to copy as a command without text.
const TEXT_BYTES_PER_COMMAND: usize = 64;

impl Request {
    /// Cost for the physics thread, in units of one short command. A command costs the copy into the record.
    pub fn cost(&self) -> usize {
        match self {
            Self::Command(command, _) => command_cost(command),
            Self::Commands(commands, _) => commands.iter().map(command_cost).sum(),
            Self::Answer(answer) => 1 + answer.commands.iter().map(command_cost).sum::<usize>(),
            // A tile takes as long to copy as a short command or less.
            Self::Ruts(room, _) => 1 + room.capacity(),
            Self::Join(..) | Self::Leave(..) | Self::Control(..) | Self::Exchange(..) => 1,
            Self::Note(_) | Self::NoteOfRun { .. } => 1,
        }
    }
}

fn command_cost(command: &Command) -> usize {
    1 + command.text.len() / TEXT_BYTES_PER_COMMAND
}

/// A member's answer for a step in lockstep.
#[derive(Debug)]
pub struct Answer {
    /// The member's client.
    pub client: ClientId,
    /// The step that the client has seen.
    pub step: StepIndex,
    /// Number of resets of the world before that step.
    pub epoch: u32,
    /// The next step that the member wants to see and answer; the clock does not wait for it before.
    pub next: StepIndex,
    /// The member's commands, which act in the step after `step`.
    pub commands: Vec<Command>,
    /// The answer's reserved queue slot.
    pub place: Reservation,
}
