//! The way in and out of the physics thread.

use std::{pin::pin, sync::Arc, time::Duration};

use simpartner_model::{StepIndex, Timestep};
use simpartner_wire::signal::{Acknowledgement, ClientId, Command, Event, Layout, Member, Reservation, StepRecord};
use thiserror::Error;
use tokio::{
    sync::{oneshot, watch},
    time::{sleep, timeout},
};

use super::{
    lockstep::{LockstepState, Place, Roll},
    os,
    quota::{Full, QUEUE, Quota},
    request_queue::{RequestReceiver, RequestSender, SendError, request_queue},
    shared::Shared,
    told::{self, Commanded, Teller, Told},
};

/// How long the status waits for the physics thread before it is told as that thread left it.
const STATE_PATIENCE: Duration = Duration::from_millis(100);

/// How long a request that changes the clock waits for the physics thread before its client is told that it acts later. Shorter
/// than a run takes to end without the step under way, so that whoever asks for the end hears of it before the ports close.
const CONTROL_PATIENCE: Duration = Duration::from_millis(400);

/// How soon QUIT tries again where the queue is full.
const QUIT_AGAIN: Duration = Duration::from_millis(1);

/// How the steps relate to the wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Every step has its deadline.
    RealTime,
    /// One step after the other.
    Fast,
    /// A step when all members have answered for the one before.
    Lockstep,
}

impl Mode {
    /// The word on the wire and in properties.toml.
    pub fn name(self) -> &'static str {
        match self {
            Self::RealTime => "realtime",
            Self::Fast => "fast",
            Self::Lockstep => "lockstep",
        }
    }
}

/// Whether the clock runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunState {
    /// Steps are being made.
    Playing,
    /// The world stands still.
    Paused,
    /// The run is over; no step will follow.
    Quitting,
}

impl RunState {
    /// The word on the wire, as in ROS `simulation_interfaces`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Playing => "PLAYING",
            Self::Paused => "PAUSED",
            Self::Quitting => "QUITTING",
        }
    }
}

/// Where the simulation stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    /// Whether the clock runs.
    pub state: RunState,
    /// Steps made since the start or the last reset.
    pub step: StepIndex,
    /// Simulated time, seconds.
    pub time_s: f64,
    /// Clock mode.
    pub mode: Mode,
    /// Simulated seconds per wall second that `realtime` aims at.
    pub rate: f64,
    /// Simulated seconds per wall second over the last second or so; 0 while paused.
    pub real_time_factor: f64,
    /// How often the clock slipped.
    pub slips: u64,
    /// How often the world was reset.
    pub epoch: u32,
    /// Whom the clock waits for, in lockstep.
    pub lockstep: Option<LockstepState>,
    /// The real-time priority that the physics thread has presently; 0 is ordinary scheduling.
    pub priority: u8,
    /// For how long the step after `step` has been in the making, if the clock could not answer because of it.
    pub making: Option<Duration>,
    /// Whether the request is still to be carried out, once the step under way is made.
    pub is_pending: bool,
}

impl Status {
    /// Paused before the first step.
    pub(super) fn at_start(record: &StepRecord, timestep: Timestep) -> Self {
        Self {
            state: RunState::Paused,
            step: record.step,
            time_s: timestep.seconds_at(record.step),
            mode: Mode::RealTime,
            rate: 1.0,
            real_time_factor: 0.0,
            slips: 0,
            epoch: record.epoch,
            lockstep: None,
            priority: 0,
            making: None,
            is_pending: false,
        }
    }
}

/// A request to the clock.
#[derive(Debug, Clone, PartialEq)]
pub enum Control {
    /// Tell the status.
    State,
    /// Let the clock run, at `rate` simulated seconds per wall second where given.
    Play {
        /// New rate for `realtime`, above 0.
        rate: Option<f64>,
    },
    /// Stop the clock after the step under way.
    Pause,
    /// From pause: make so many steps at once, unpaced. Answered when they are done.
    Step {
        /// How many.
        count: u64,
    },
    /// From pause: play at the mode's pace until this step is made, then pause. Answered when it is made.
    RunTo {
        /// The step, later than the present one.
        step: StepIndex,
    },
    /// Rebuild the world from the model; step 0. A playing clock plays on.
    Reset,
    /// Change the clock mode; lockstep begins with those members that the settings name.
    Mode(Mode),
    /// Begin another lockstep, with these members.
    Lockstep(Vec<Member>),
    /// Answered when every command sent before it has been taken in at a step boundary.
    Sync,
    /// End the run.
    Quit,
}

impl Control {
    /// How long its client waits for the physics thread. Requests that are answered when something is done wait for that.
    fn patience(&self) -> Option<Duration> {
        match self {
            Self::State => Some(STATE_PATIENCE),
            Self::Play { .. } | Self::Pause | Self::Reset | Self::Mode(_) | Self::Lockstep(_) | Self::Quit => {
                Some(CONTROL_PATIENCE)
            }
            Self::Step { .. } | Self::RunTo { .. } | Self::Sync => None,
        }
    }
}

/// Why a control request was not carried out.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ControlError {
    /// It does not fit the present state.
    #[error("{0}")]
    WrongState(String),
    /// The run is over.
    #[error("the run is over")]
    Over,
    /// More waits already than may wait.
    #[error(transparent)]
    Full(#[from] Full),
}

/// What travels to the physics thread. All kinds share one queue, so that their order is kept.
#[derive(Debug)]
pub enum Request {
    /// A command, and its place in the queue. It is no list of one: the physics thread would have to free that, and could wait for
    /// whoever the memory's arena is locked by.
    Command(Command, Reservation),
    /// Commands that act in the same step, and their place in the queue.
    Commands(Vec<Command>, Reservation),
    /// A client takes a member's seat.
    Join(Place, ClientId),
    /// A member has seen a step.
    Answer(Answer),
    /// A client has left its seat.
    Leave(Place, ClientId),
    /// A request to the clock, with the place for its answer.
    Control(Control, oneshot::Sender<Result<Status, ControlError>>),
    /// Something that belongs into the log.
    Note(Event),
}

/// A text of so many bytes costs as much to take in as one command more.
const BYTES_OF_A_COMMAND: usize = 64;

impl Request {
    /// What taking it in costs the physics thread, in short commands: it is copied into the record and the log.
    pub fn cost(&self) -> usize {
        match self {
            Self::Command(command, _) => cost_of(command),
            Self::Commands(commands, _) => commands.iter().map(cost_of).sum(),
            Self::Answer(answer) => 1 + answer.commands.iter().map(cost_of).sum::<usize>(),
            Self::Join(..) | Self::Leave(..) | Self::Control(..) | Self::Note(_) => 1,
        }
    }
}

fn cost_of(command: &Command) -> usize {
    1 + command.text.len() / BYTES_OF_A_COMMAND
}

/// What a member says to a step that it was asked about.
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
    /// What acts in the step behind the one it has seen.
    pub commands: Vec<Command>,
    /// Its place in the queue.
    pub place: Reservation,
}

/// What came of an acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acknowledged {
    /// The client has taken the seat; it is now sent every step.
    Joined,
    /// It has answered for the present step.
    Answered,
}

/// The step that a member answers for, which is the present one.
fn answered_step(answer: &Acknowledgement) -> Result<StepIndex, String> {
    let present = answer.present;
    match answer.seen.step {
        Some(step) if step == present => Ok(step),
        Some(step) if step > present => Err(format!("step {step} has not been made; the present one is {present}")),
        Some(step) => Err(format!("step {step} is over; the present one is {present}")),
        None => Err(format!("expected the step it answers for, as in ACK {present}")),
    }
}

/// The outside end: for sessions, sequences and the command line.
#[derive(Debug, Clone)]
pub struct Handle {
    requests: RequestSender,
    latest: watch::Receiver<Arc<StepRecord>>,
    told: Told,
    commanded: Commanded,
    layout: Arc<Layout>,
    timestep: Timestep,
    roll: Arc<Roll>,
    quota: Arc<Quota>,
    shared: Arc<Shared>,
}

/// The inside end: for the physics thread.
#[derive(Debug)]
pub struct Inbox {
    /// Requests in the order they came.
    pub requests: RequestReceiver,
    /// Where the latest record is shown.
    pub latest: watch::Sender<Arc<StepRecord>>,
    /// Who sits where in lockstep.
    pub roll: Arc<Roll>,
    /// Where events are told.
    pub teller: Teller,
    /// Where the physics thread shows how it stands.
    pub(super) shared: Arc<Shared>,
}

/// Makes both ends. `first` is the record of step 0.
pub fn channel(layout: Arc<Layout>, timestep: Timestep, first: StepRecord) -> (Handle, Inbox) {
    let (sender, requests) = request_queue(QUEUE);
    let shared = Arc::new(Shared::new(Status::at_start(&first, timestep)));
    let (shown, latest) = watch::channel(Arc::new(first));
    let roll = Arc::new(Roll::default());
    let (teller, told, commanded) = told::ring();
    let quota = Arc::default();
    let (seats, board) = (Arc::clone(&roll), Arc::clone(&shared));
    let handle = Handle { requests: sender, latest, told, commanded, layout, timestep, roll, quota, shared };
    (handle, Inbox { requests, latest: shown, roll: seats, teller, shared: board })
}

impl Handle {
    /// Puts a command in the queue for the next step boundary.
    ///
    /// # Errors
    /// When the queue is full, the client has as much waiting as it may have, or the run is over.
    pub fn command(&self, command: Command) -> Result<(), ControlError> {
        self.commands(vec![command])
    }

    /// Puts commands of one client in the queue that act in the same step: all of them or none.
    ///
    /// # Errors
    /// When the queue is full, the client has as much waiting as it may have, or the run is over.
    pub fn commands(&self, commands: Vec<Command>) -> Result<(), ControlError> {
        let present = Arc::clone(&self.latest.borrow());
        self.quota.admit(commands, &present, |commands, place| {
            self.send(match <[Command; 1]>::try_from(commands) {
                Ok([command]) => Request::Command(command, place),
                Err(commands) => Request::Commands(commands, place),
            })
        })
    }

    /// Whether there is a place in the queue for a command of this client. If there is none, there will be after a step.
    pub fn has_place(&self, client: ClientId) -> bool {
        self.quota.has_place(client)
    }

    /// Takes the seat of a member of the lockstep for a client, or answers for the present step if it sits there. Commands go
    /// with an answer and act in the next step; all of it is taken or nothing.
    ///
    /// # Errors
    /// When the clock is not in lockstep, the port is no member, a later connection sits there, the step is not the present one,
    /// or a client that has yet to join sends more than that; the text says what to do.
    pub fn acknowledge(&self, answer: Acknowledgement, commands: Vec<Command>) -> Result<Acknowledged, ControlError> {
        let mut seating = self.roll.lock();
        let seats: Vec<String> = seating.seats.iter().map(|(member, _)| self.layout.member_name(*member)).collect();
        let place = seating.seats.iter().position(|(member, _)| *member == answer.member);
        let Some(index) = place else {
            let name = self.layout.member_name(answer.member);
            return Err(ControlError::WrongState(match seats.is_empty() {
                true => format!("the clock is not in lockstep; MODE lockstep {name} on the control port begins it"),
                false => format!(
                    "{name} is no member of the lockstep; its members are {}, and MODE lockstep names others",
                    seats.join(", ")
                ),
            }));
        };
        match seating.seats[index].1 {
            Some(client) if client == answer.client => {
                let step = answered_step(&answer).map_err(ControlError::WrongState)?;
                let (epoch, next) = (answer.epoch, step.after(answer.seen.count));
                let send =
                    |commands, place| self.send(Request::Answer(Answer { client, step, epoch, next, commands, place }));
                match commands.is_empty() {
                    true => send(commands, self.quota.place(client)?)?,
                    false => self.quota.admit(commands, &Arc::clone(&self.latest.borrow()), send)?,
                }
                Ok(Acknowledged::Answered)
            }
            Some(client) if client > answer.client => Err(ControlError::WrongState(format!(
                "client {} has connected later and taken the place of {}; connect again to take it back",
                client.0, seats[index]
            ))),
            _ if answer.seen.count > 1 || !commands.is_empty() => Err(ControlError::WrongState(format!(
                "client {} is not in the lockstep; its first ACK joins and answers for no step, so send ACK alone",
                answer.client.0
            ))),
            _ => {
                self.send(Request::Join(Place { generation: seating.generation, index }, answer.client))?;
                seating.seats[index].1 = Some(answer.client);
                Ok(Acknowledged::Joined)
            }
        }
    }

    /// Leaves the seat that a client has in the lockstep, if it has one.
    ///
    /// # Errors
    /// When the queue is full or the run is over; the seat is then still taken.
    pub fn leave(&self, client: ClientId) -> Result<(), ControlError> {
        let mut seating = self.roll.lock();
        if let Some(index) = seating.seats.iter().position(|(_, seated)| *seated == Some(client)) {
            self.send(Request::Leave(Place { generation: seating.generation, index }, client))?;
            seating.seats[index].1 = None;
        }
        Ok(())
    }

    /// Asks something of the clock and waits for the answer.
    ///
    /// While a step takes long the status comes as it was before it, with [`Status::making`], and a request that changes the clock
    /// is answered with [`Status::is_pending`]: it is carried out when the step is made. QUIT ends the run also without it. `STEP`,
    /// `RUNTO` and `SYNC` are answered when they are done.
    ///
    /// # Errors
    /// When it does not fit the present state, the queue is full or the run is over.
    pub async fn control(&self, control: Control) -> Result<Status, ControlError> {
        let patience = control.patience();
        let (is_state, is_quit) = (control == Control::State, control == Control::Quit);
        let answer = async {
            match control {
                Control::Quit => self.quit().await,
                control => self.ask(control).await,
            }
        };
        let mut answer = pin!(answer);
        let Some(patience) = patience else { return answer.await };
        loop {
            match timeout(patience, answer.as_mut()).await {
                Ok(Err(ControlError::Full(_))) if is_state => return Ok(self.shared.status()),
                Ok(answer) => return answer,
                Err(_) if is_state => return Ok(self.shared.status()),
                Err(_) => {}
            }
            let left = self.shared.status();
            if left.making.is_some_and(|making| making >= patience) {
                let state = if is_quit { RunState::Quitting } else { left.state };
                return Ok(Status { state, is_pending: true, ..left });
            }
        }
    }

    async fn ask(&self, control: Control) -> Result<Status, ControlError> {
        let (sender, answer) = oneshot::channel();
        self.send(Request::Control(control, sender))?;
        answer.await.unwrap_or(Err(ControlError::Over))
    }

    /// Ends the run, however full the queue is and however long the step takes.
    async fn quit(&self) -> Result<Status, ControlError> {
        self.shared.ask_to_quit(os::now_ns());
        loop {
            match self.ask(Control::Quit).await {
                Err(ControlError::Full(_)) => sleep(QUIT_AGAIN).await,
                answer => return answer,
            }
        }
    }

    /// Puts an event into the log.
    ///
    /// # Errors
    /// When the queue is full or the run is over.
    pub fn note(&self, event: Event) -> Result<(), ControlError> {
        self.send(Request::Note(event))
    }

    /// The latest record, and a way to wait for the next. A slow reader finds the newest one, never a queue of old ones.
    pub fn latest(&self) -> watch::Receiver<Arc<StepRecord>> {
        self.latest.clone()
    }

    /// Events as they come, after the last `late` that came before.
    pub fn events(&self, late: u64) -> Told {
        self.told.with_last(late)
    }

    /// Commands as they take effect, after the latest of each sender.
    pub fn commanded(&self) -> Commanded {
        self.commanded.clone()
    }

    /// What stands where in a record.
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// The length of a step.
    pub fn timestep(&self) -> Timestep {
        self.timestep
    }

    fn send(&self, request: Request) -> Result<(), ControlError> {
        self.requests.send(request).map_err(|error| match error {
            SendError::Full => ControlError::Full(Full::Queue),
            SendError::Over => ControlError::Over,
        })
    }
}
