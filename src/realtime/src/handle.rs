//! The interface of the physics thread: [`Handle`] for its clients, [`Inbox`] for the thread itself.

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
    image_sink::ImageSink,
    lockstep::{MemberSlot, MembershipTable},
    os,
    quota::{Full, QUEUE, Quota},
    records::{RecordReader, RecordWriter, record_channel},
    request::{Answer, ChangedRuts, Exchange, Request},
    request_queue::{RequestReceiver, RequestSender, SendError, request_queue},
    shared::Shared,
};
use simpartner_simulation::sim::Simulation;

/// Interval at which `QUIT` is retried while the queue is full: the shortest usual timestep, since each step empties
/// part of the queue.
const QUIT_RETRY_INTERVAL: Duration = Duration::from_millis(1);

/// The effect of an accepted `ACK`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acknowledged {
    /// The client now stands for the member and receives every step.
    Joined,
    /// The client has answered for the present step.
    Answered,
}

/// The step that an `ACK` answers for. It must be the present step.
fn answered_step(answer: &Acknowledgement) -> Result<StepIndex, String> {
    let present = answer.present;
    match answer.seen.step {
        Some(step) if step == present => Ok(step),
        Some(step) if step > present => Err(format!("step {step} has not been made; the present one is {present}")),
        Some(step) => Err(format!("step {step} is over; the present one is {present}")),
        None => Err(format!("expected the step it answers for, as in ACK {present}")),
    }
}

/// Translates the targets of commands from the ids of one layout to those of another. An error if a target was deleted.
fn renumber_commands(commands: Vec<Command>, from: &Layout, to: &Layout) -> Result<Vec<Command>, ControlError> {
    if from.world() == to.world() {
        return Ok(commands);
    }
    let numbers = Renumbering::new(from, to);
    let renumber = |command: Command| Some(Command { target: numbers.target(command.target)?, ..command });
    commands.into_iter().map(renumber).collect::<Option<_>>().ok_or_else(target_deleted)
}

fn target_deleted() -> ControlError {
    ControlError::WrongState("its device or robot has been removed".into())
}

/// The clients' end: used by sessions and by the code that runs the simulation.
#[derive(Debug, Clone)]
pub struct Handle {
    requests: RequestSender,
    records: RecordReader,
    events: EventReader,
    commands: CommandReader,
    /// Layout of the world that new requests refer to. Requests read-lock it, so none is sent while it is write-locked.
    layout: Arc<RwLock<Arc<Layout>>>,
    timestep: Timestep,
    members: Arc<MembershipTable>,
    quota: Arc<Quota>,
    shared: Arc<Shared>,
}

/// The physics thread's end.
#[derive(Debug)]
pub struct Inbox {
    /// Requests in the order of arrival.
    pub requests: RequestReceiver,
    /// Publishes records.
    pub(super) records: RecordWriter,
    /// Maps lockstep members to clients.
    pub members: Arc<MembershipTable>,
    /// Publishes events and command counts.
    pub events: EventWriter,
    /// Publishes the physics thread's status.
    pub(super) shared: Arc<Shared>,
}

/// Creates both ends. `first` is the record of step 0.
pub fn channel(layout: Arc<Layout>, timestep: Timestep, first: StepRecord) -> (Handle, Inbox) {
    let (sender, requests) = request_queue(QUEUE);
    let shared = Arc::new(Shared::new(Status::at_start(&first, timestep)));
    let (publish, records) = record_channel(&layout, timestep, first);
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
    /// Queues a command. The clock takes it in at the next step boundary.
    ///
    /// # Errors
    /// When the queue is full, the client's quota is used up, or the run is over.
    pub fn command(&self, command: Command) -> Result<(), ControlError> {
        self.commands(&self.layout(), vec![command])
    }

    /// Queues commands of one client that act in the same step: all of them or none. Their targets are ids of `layout`.
    ///
    /// # Errors
    /// When the queue is full, the client's quota is used up, the run is over, or a target has been deleted.
    pub fn commands(&self, layout: &Layout, commands: Vec<Command>) -> Result<(), ControlError> {
        let current = self.current_layout();
        let commands = renumber_commands(commands, layout, &current)?;
        let present = self.records.present();
        self.quota.admit(commands, &present, |commands, place| {
            self.send_request(match <[Command; 1]>::try_from(commands) {
                Ok([command]) => Request::Command(command, place),
                Err(commands) => Request::Commands(commands, place),
            })
        })
    }

    /// True if the queue can accept a command of this client. A full queue has room again after a step.
    pub fn has_place(&self, client: ClientId) -> bool {
        self.quota.has_slot(client)
    }

    /// Handles an `ACK`. A client's first `ACK` joins the lockstep for a member; each later one answers for the present
    /// step. Commands that come with an answer act in the next step. Answer and commands are accepted together or not
    /// at all.
    ///
    /// # Errors
    /// When the clock is not in lockstep, the port is no member, the member's client connected later than this one, the
    /// step is not the present one, or a client that has yet to join sends commands or skips steps. The text says what
    /// to do.
    pub fn acknowledge(
        &self,
        layout: &Layout,
        answer: Acknowledgement,
        commands: Vec<Command>,
    ) -> Result<Acknowledged, ControlError> {
        let current = self.current_layout();
        let mut membership = self.members.lock();
        let commands = renumber_commands(commands, layout, &current)?;
        let member = match layout.world() == current.world() {
            true => Some(answer.member),
            false => Renumbering::new(layout, &current).member(answer.member),
        };
        let Some(member) = member else { return Err(target_deleted()) };
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
                let send = |commands, place| {
                    self.send_request(Request::Answer(Answer { client, step, epoch, next, commands, place }))
                };
                match commands.is_empty() {
                    true => send(commands, self.quota.reserve_slot(client)?)?,
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
                self.send_request(Request::Join(slot, answer.client))?;
                membership.members[index].1 = Some(answer.client);
                Ok(Acknowledged::Joined)
            }
        }
    }

    /// Removes a client from the lockstep, if it stands for a member.
    ///
    /// # Errors
    /// When the queue is full or the run is over; the client then still stands for its member.
    pub fn leave(&self, client: ClientId) -> Result<(), ControlError> {
        let mut membership = self.members.lock();
        if let Some(index) = membership.members.iter().position(|(_, present)| *present == Some(client)) {
            self.send_request(Request::Leave(MemberSlot { generation: membership.generation, index }, client))?;
            membership.members[index].1 = None;
        }
        Ok(())
    }

    /// Sends a control request to the clock and waits for the answer.
    ///
    /// During a long step, the answer is the status before that step, with [`Status::making`] set. A request that
    /// changes the clock is then answered with [`Status::is_pending`] and carried out after the step. `QUIT` ends the
    /// run without waiting for the step. `STEP`, `RUNTO` and `SYNC` are answered when they are done.
    ///
    /// # Errors
    /// When the request does not fit the present state, the queue is full or the run is over.
    pub async fn control(&self, control: Control) -> Result<Status, ControlError> {
        let answer_timeout = control.answer_timeout();
        let (is_state, is_quit) = (control == Control::State, control == Control::Quit);
        let answer = async {
            match control {
                Control::Quit => self.end_run().await,
                control => self.send_control(control).await,
            }
        };
        let mut answer = pin!(answer);
        let Some(answer_timeout) = answer_timeout else { return answer.await };
        // A long step may begin while the request waits, so the status is polled several times.
        let interval = if is_state { answer_timeout } else { answer_timeout / 4 };
        loop {
            match timeout(interval, answer.as_mut()).await {
                Ok(Err(ControlError::Full(_))) if is_state => return Ok(self.shared.status()),
                Ok(answer) => return answer,
                Err(_) if is_state => return Ok(self.shared.status()),
                Err(_) => {}
            }
            let left = self.shared.status();
            if left.making.is_some_and(|making| making >= answer_timeout) {
                let state = if is_quit { RunState::Quitting } else { left.state };
                return Ok(Status { state, is_pending: true, ..left });
            }
        }
    }

    async fn send_control(&self, control: Control) -> Result<Status, ControlError> {
        let (sender, answer) = oneshot::channel();
        self.send_request(Request::Control(control, sender))?;
        answer.await.unwrap_or(Err(ControlError::Over))
    }

    /// Ends the run, even if the queue is full or the present step takes long.
    async fn end_run(&self) -> Result<Status, ControlError> {
        self.shared.request_quit(os::now_ns());
        loop {
            match self.send_control(Control::Quit).await {
                Err(ControlError::Full(_)) => sleep(QUIT_RETRY_INTERVAL).await,
                answer => return answer,
            }
        }
    }

    /// Queues an event for the log.
    ///
    /// # Errors
    /// When the queue is full or the run is over.
    pub fn note(&self, event: Event) -> Result<(), ControlError> {
        self.send_request(Request::Note(event))
    }

    /// Queues an event of the run with this epoch and this world for the log. It is dropped if that run has ended.
    ///
    /// # Errors
    /// When the queue is full or the run is over.
    pub fn note_of_run(&self, event: Event, epoch: u32, world: u32) -> Result<(), ControlError> {
        self.send_request(Request::NoteOfRun { epoch, world, event })
    }

    /// The rut tiles that have changed since the last call by any caller, at most as many as the capacity of `room`.
    ///
    /// Each change is returned once, so a single caller must collect the tiles for all readers.
    ///
    /// # Errors
    /// When the queue is full or the run is over.
    pub async fn changed_ruts(&self, room: Vec<RutTile>) -> Result<ChangedRuts, ControlError> {
        let (sender, answer) = oneshot::channel();
        self.send_request(Request::Ruts(room, sender))?;
        answer.await.map_err(|_| ControlError::Over)
    }

    /// Sets the receiver of records with images. A second call has no effect.
    pub fn set_image_sink(&self, sink: Arc<dyn ImageSink>) {
        self.shared.images.set_sink(sink);
    }

    /// True while steps have deadlines.
    pub fn has_deadlines(&self) -> bool {
        self.shared.is_paced()
    }

    /// A watch on the latest record. A slow reader skips records: it reads the newest, never a backlog.
    pub fn latest(&self) -> watch::Receiver<Arc<StepRecord>> {
        self.records.newest().clone()
    }

    /// A reader of records. After [`RecordReader::follow`] it reads every record in turn.
    pub fn records(&self) -> RecordReader {
        self.records.clone()
    }

    /// A reader of events that begins with the last `count` events of the run.
    pub fn events(&self, count: u64) -> EventReader {
        self.events.with_last(count)
    }

    /// A reader of command counts that begins with the latest command of each sender.
    pub fn command_counts(&self) -> CommandReader {
        self.commands.clone()
    }

    /// Replaces the world by the edited world `next`, at the next step boundary. The world number must be one more than
    /// the present one. Requests that are sent after this one refer to the new world.
    ///
    /// # Errors
    /// When the engine cannot continue in an edited world, the world number does not fit, the queue is full or the run
    /// is over. The present world then stays.
    pub async fn exchange(&self, next: Simulation, event: Event) -> Result<(), ControlError> {
        let (sender, answer) = oneshot::channel();
        let layout = Arc::clone(next.layout());
        {
            let mut current = self.layout.write().unwrap_or_else(PoisonError::into_inner);
            if !next.can_go_on() {
                let why = "this engine cannot continue in an edited world; use physics.engine = \"dynamics\"";
                return Err(ControlError::WrongState(why.into()));
            }
            if layout.world() != current.world() + 1 {
                return Err(ControlError::WrongState("the world has changed meanwhile; try again".into()));
            }
            let numbers = Renumbering::new(&current, &layout);
            let mut membership = self.members.lock();
            let exchange = Exchange { next, numbers: numbers.clone(), event };
            self.send_request(Request::Exchange(Box::new(exchange), sender))?;
            membership.renumber_members(&numbers);
            *current = layout;
        }
        match answer.await {
            // Free the previous world on this thread: that may take longer than a timestep.
            Ok(before) => before.map(drop),
            Err(_) => Err(ControlError::Over),
        }
    }

    /// Layout of the world that new requests refer to. Records of the previous world may still be under way.
    pub fn layout(&self) -> Arc<Layout> {
        Arc::clone(&self.current_layout())
    }

    fn current_layout(&self) -> RwLockReadGuard<'_, Arc<Layout>> {
        // The layout is replaced as a whole, so a panic elsewhere does not corrupt it.
        self.layout.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Length of a step.
    pub fn timestep(&self) -> Timestep {
        self.timestep
    }

    fn send_request(&self, request: Request) -> Result<(), ControlError> {
        self.requests.send(request).map_err(|error| match error {
            SendError::Full => ControlError::Full(Full::Queue),
            SendError::Over => ControlError::Over,
        })
    }
}
