//! The way in and out of the physics thread.

use std::{
    pin::pin,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard},
    time::Duration,
};

use simpartner_dynamics::RutTile;
use simpartner_model::{StepIndex, Timestep};
use simpartner_wire::signal::{Acknowledgement, ClientId, Command, Event, Layout, Renumbering, StepRecord};
use tokio::{
    sync::{oneshot, watch},
    time::{sleep, timeout},
};

use super::{
    control::{Control, ControlError, RunState, Status},
    events::{CommandReader, EventReader, EventWriter, event_ring},
    lockstep::{MemberSlot, MembershipTable},
    os,
    quota::{Full, QUEUE, Quota},
    records::{RecordReader, RecordWriter, records},
    request::{Answer, ChangedRuts, Exchange, Request},
    request_queue::{RequestReceiver, RequestSender, SendError, request_queue},
    shared::Shared,
};
use simpartner_simulation::sim::Simulation;

/// How soon QUIT tries again while the queue is full: the shortest usual step, which takes requests out of it.
const QUIT_AGAIN: Duration = Duration::from_millis(1);

/// The result of an acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acknowledged {
    /// The client is the member's now; it receives every step.
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

/// Commands with the numbers of another layout.
fn renumbered(commands: Vec<Command>, from: &Layout, to: &Layout) -> Result<Vec<Command>, ControlError> {
    if from.world() == to.world() {
        return Ok(commands);
    }
    let numbers = Renumbering::new(from, to);
    let renumber = |command: Command| Some(Command { target: numbers.target(command.target)?, ..command });
    commands.into_iter().map(renumber).collect::<Option<_>>().ok_or_else(gone)
}

fn gone() -> ControlError {
    ControlError::WrongState("what this is for has been deleted".into())
}

/// The outside end: for sessions and for the code that runs the simulation.
#[derive(Debug, Clone)]
pub struct Handle {
    requests: RequestSender,
    records: RecordReader,
    events: EventReader,
    commands: CommandReader,
    /// That of the world which the requests to come are for. While it is locked, none comes.
    layout: Arc<RwLock<Arc<Layout>>>,
    timestep: Timestep,
    members: Arc<MembershipTable>,
    quota: Arc<Quota>,
    shared: Arc<Shared>,
}

/// The inside end: for the physics thread.
#[derive(Debug)]
pub struct Inbox {
    /// Requests in the order they came.
    pub requests: RequestReceiver,
    /// Where records are published.
    pub(super) records: RecordWriter,
    /// Which client stands for which member in lockstep.
    pub members: Arc<MembershipTable>,
    /// Where events and command counts are published.
    pub events: EventWriter,
    /// Where the physics thread publishes its status.
    pub(super) shared: Arc<Shared>,
}

/// Makes both ends. `first` is the record of step 0.
pub fn channel(layout: Arc<Layout>, timestep: Timestep, first: StepRecord) -> (Handle, Inbox) {
    let (sender, requests) = request_queue(QUEUE);
    let shared = Arc::new(Shared::new(Status::at_start(&first, timestep)));
    let (publish, records) = records(&layout, timestep, first);
    let members = Arc::new(MembershipTable::default());
    let (writer, events, commands) = event_ring();
    let inbox = Inbox {
        requests,
        records: publish,
        members: Arc::clone(&members),
        events: writer,
        shared: Arc::clone(&shared),
    };
    let quota = Arc::default();
    let layout = Arc::new(RwLock::new(layout));
    (Handle { requests: sender, records, events, commands, layout, timestep, members, quota, shared }, inbox)
}

impl Handle {
    /// Puts a command in the queue for the next step boundary.
    ///
    /// # Errors
    /// When the queue is full, the client has as much waiting as it may have, or the run is over.
    pub fn command(&self, command: Command) -> Result<(), ControlError> {
        self.commands(&self.layout(), vec![command])
    }

    /// Puts commands of one client in the queue that act in the same step: all of them or none. Their targets have the numbers of this layout.
    ///
    /// # Errors
    /// When the queue is full, the client has as much waiting as it may have, the run is over, or a target is gone.
    pub fn commands(&self, layout: &Layout, commands: Vec<Command>) -> Result<(), ControlError> {
        let current = self.current();
        let commands = renumbered(commands, layout, &current)?;
        let present = self.records.present();
        self.quota.admit(commands, &present, |commands, place| {
            self.send(match <[Command; 1]>::try_from(commands) {
                Ok([command]) => Request::Command(command, place),
                Err(commands) => Request::Commands(commands, place),
            })
        })
    }

    /// Whether the queue has a place for a command of this client. If not, it will after a step.
    pub fn has_place(&self, client: ClientId) -> bool {
        self.quota.has_place(client)
    }

    /// Makes a client that of a member of the lockstep, or answers for the present step if it is already. Commands come with an
    /// answer and act in the next step; all of it is taken or nothing.
    ///
    /// # Errors
    /// When the clock is not in lockstep, the port is no member, a client that connected later is the member's, the step is not
    /// the present one, or a client that has yet to join sends commands or skips steps; the text says what to do.
    pub fn acknowledge(
        &self,
        layout: &Layout,
        answer: Acknowledgement,
        commands: Vec<Command>,
    ) -> Result<Acknowledged, ControlError> {
        let current = self.current();
        let mut membership = self.members.lock();
        let commands = renumbered(commands, layout, &current)?;
        let member = match layout.world() == current.world() {
            true => Some(answer.member),
            false => Renumbering::new(layout, &current).member(answer.member),
        };
        let Some(member) = member else { return Err(gone()) };
        let answer = Acknowledgement { member, ..answer };
        let members = &membership.members;
        let names: Vec<String> = members.iter().map(|(member, _)| current.member_name(*member)).collect();
        let Some(index) = members.iter().position(|(member, _)| *member == answer.member) else {
            let name = current.member_name(answer.member);
            return Err(ControlError::WrongState(match names.is_empty() {
                true => format!("the clock is not in lockstep; MODE lockstep {name} on the control port begins it"),
                false => format!(
                    "{name} is no member of the lockstep; its members are {}, and MODE lockstep names others",
                    names.join(", ")
                ),
            }));
        };
        let (_, present) = members[index];
        match present {
            Some(client) if client == answer.client => {
                let step = answered_step(&answer).map_err(ControlError::WrongState)?;
                let (epoch, next) = (answer.epoch, step.after(answer.seen.count));
                let send =
                    |commands, place| self.send(Request::Answer(Answer { client, step, epoch, next, commands, place }));
                match commands.is_empty() {
                    true => send(commands, self.quota.place(client)?)?,
                    false => self.quota.admit(commands, &self.records.present(), send)?,
                }
                Ok(Acknowledged::Answered)
            }
            Some(client) if client > answer.client => Err(ControlError::WrongState(format!(
                "client {} has connected later and taken the place of {}; connect again to take it back",
                client.0, names[index]
            ))),
            _ if answer.seen.count > 1 || !commands.is_empty() => Err(ControlError::WrongState(format!(
                "client {} is not in the lockstep; its first ACK joins and answers for no step, so send ACK alone",
                answer.client.0
            ))),
            _ => {
                let slot = MemberSlot { generation: membership.generation, index };
                self.send(Request::Join(slot, answer.client))?;
                membership.members[index].1 = Some(answer.client);
                Ok(Acknowledged::Joined)
            }
        }
    }

    /// Takes a client out of the lockstep, if it is in it.
    ///
    /// # Errors
    /// When the queue is full or the run is over; the client is then still the member's.
    pub fn leave(&self, client: ClientId) -> Result<(), ControlError> {
        let mut membership = self.members.lock();
        if let Some(index) = membership.members.iter().position(|(_, present)| *present == Some(client)) {
            self.send(Request::Leave(MemberSlot { generation: membership.generation, index }, client))?;
            membership.members[index].1 = None;
        }
        Ok(())
    }

    /// Asks something of the clock and waits for the answer.
    ///
    /// While a step takes long, the answer is the status before it with [`Status::making`], and for a request that changes the
    /// clock with [`Status::is_pending`]: the clock carries it out after the step. QUIT ends the run without waiting for the step.
    /// `STEP`, `RUNTO` and `SYNC` are answered when they are done.
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
        // The step that is waited for may begin while the request waits, so it is looked at several times.
        let interval = if is_state { patience } else { patience / 4 };
        loop {
            match timeout(interval, answer.as_mut()).await {
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

    /// Asks for the ruts that have changed since anybody asked before, as many tiles as `room` has a place for, and waits for the answer. They
    /// are told once, so one asker keeps them for all readers.
    ///
    /// # Errors
    /// When the queue is full or the run is over.
    pub async fn changed_ruts(&self, room: Vec<RutTile>) -> Result<ChangedRuts, ControlError> {
        let (sender, answer) = oneshot::channel();
        self.send(Request::Ruts(room, sender))?;
        answer.await.map_err(|_| ControlError::Over)
    }

    /// The latest record, and a way to wait for the next. A slow reader finds the newest one, never a queue of old ones.
    pub fn latest(&self) -> watch::Receiver<Arc<StepRecord>> {
        self.records.newest().clone()
    }

    /// A reader of records, which can follow them one by one.
    pub fn records(&self) -> RecordReader {
        self.records.clone()
    }

    /// A reader of events that begins with the last `count` there have been.
    pub fn events(&self, count: u64) -> EventReader {
        self.events.with_last(count)
    }

    /// A reader of command counts that begins with the latest command of each sender.
    pub fn command_counts(&self) -> CommandReader {
        self.commands.clone()
    }

    /// Lets the simulation go on in the next world, whose number is one more, from the next step boundary on. Requests that come after this one are
    /// for that world.
    ///
    /// # Errors
    /// When its engine cannot, its number is another one, the queue is full or the run is over; then all is as before.
    pub async fn exchange(&self, next: Simulation, event: Event) -> Result<(), ControlError> {
        let (sender, answer) = oneshot::channel();
        let layout = Arc::clone(next.layout());
        {
            let mut current = self.layout.write().unwrap_or_else(PoisonError::into_inner);
            if !next.can_go_on() {
                let why = "this engine cannot go on in another world; use physics.engine = \"dynamics\"";
                return Err(ControlError::WrongState(why.into()));
            }
            if layout.world() != current.world() + 1 {
                return Err(ControlError::WrongState("the world has changed meanwhile; try again".into()));
            }
            let numbers = Renumbering::new(&current, &layout);
            let mut membership = self.members.lock();
            let exchange = Exchange { next, numbers: numbers.clone(), event };
            self.send(Request::Exchange(Box::new(exchange), sender))?;
            membership.go_on_in(&numbers);
            *current = layout;
        }
        match answer.await {
            // The world before is freed here: it may take longer than a step.
            Ok(before) => before.map(drop),
            Err(_) => Err(ControlError::Over),
        }
    }

    /// The layout of the world that requests are for now. Records of the world before it may still be under way.
    pub fn layout(&self) -> Arc<Layout> {
        Arc::clone(&self.current())
    }

    fn current(&self) -> RwLockReadGuard<'_, Arc<Layout>> {
        // It is whole between any two statements, so a panic elsewhere does not corrupt it.
        self.layout.read().unwrap_or_else(PoisonError::into_inner)
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
