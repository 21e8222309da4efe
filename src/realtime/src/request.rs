//! What travels to the physics thread, through one queue that keeps its order.

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

/// What travels to the physics thread.
#[derive(Debug)]
pub enum Request {
    /// A command, and its place in the queue. It is no list of one: to free a list, the physics thread could have to wait for a
    /// thread that holds the allocator's lock.
    Command(Command, Reservation),
    /// Commands that act in the same step, and their place in the queue.
    Commands(Vec<Command>, Reservation),
    /// A client joins the lockstep for a member.
    Join(MemberSlot, ClientId),
    /// A member has seen a step.
    Answer(Answer),
    /// A client has left the lockstep.
    Leave(MemberSlot, ClientId),
    /// A request to the clock, with the sender of its answer.
    Control(Control, oneshot::Sender<Result<Status, ControlError>>),
    /// An event for the log.
    Note(Event),
    /// The simulation goes on in the next world. The answer is the world before, so that the physics thread need not free it.
    Exchange(Box<Exchange>, oneshot::Sender<Result<Simulation, ControlError>>),
    /// Asks for the ruts that have changed. The list has the room for them, so that the physics thread takes no memory.
    Ruts(Vec<RutTile>, oneshot::Sender<ChangedRuts>),
}

/// The next world, and why there is one.
pub struct Exchange {
    /// It has made no step yet.
    pub next: Simulation,
    /// The ids of what is in both, there.
    pub numbers: Renumbering,
    /// What has come or gone.
    pub event: Event,
}

impl fmt::Debug for Exchange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Exchange").field("event", &self.event).finish_non_exhaustive()
    }
}

/// Ruts that have changed since they were asked for before.
#[derive(Debug)]
pub struct ChangedRuts {
    /// Their tiles, in the list that came with the question.
    pub tiles: Vec<RutTile>,
    /// Whether they are the first, and whether more are left.
    pub changes: RutChanges,
}

/// A text of so many bytes takes as long to copy as a command without text.
const BYTES_OF_A_COMMAND: usize = 64;

impl Request {
    /// What it costs the physics thread, in short commands: each is copied into the record.
    pub fn cost(&self) -> usize {
        match self {
            Self::Command(command, _) => cost_of(command),
            Self::Commands(commands, _) => commands.iter().map(cost_of).sum(),
            Self::Answer(answer) => 1 + answer.commands.iter().map(cost_of).sum::<usize>(),
            // A tile takes as long to copy as a short command or less.
            Self::Ruts(room, _) => 1 + room.capacity(),
            Self::Join(..) | Self::Leave(..) | Self::Control(..) | Self::Exchange(..) | Self::Note(_) => 1,
        }
    }
}

fn cost_of(command: &Command) -> usize {
    1 + command.text.len() / BYTES_OF_A_COMMAND
}

/// A member's answer to a step.
#[derive(Debug)]
pub struct Answer {
    /// The member's client.
    pub client: ClientId,
    /// The step.
    pub step: StepIndex,
    /// How often the world had been reset before it.
    pub epoch: u32,
    /// The step at which the member wants to be asked again.
    pub next: StepIndex,
    /// Its commands, which act in the step after the one it has seen.
    pub commands: Vec<Command>,
    /// Its place in the queue.
    pub place: Reservation,
}
