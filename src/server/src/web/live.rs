//! The WebSocket of an open page: frames and events out, commands and requests to the clock in.
//!
//! A frame is built from the newest record when it can be sent. While [`MAX_IN_FLIGHT`] frames are unacknowledged, no
//! frame is built and no event is sent, so that a stalled page costs nothing. Of the events that it missed, it then
//! gets as many as the ring of [`EventReader`] holds.

use std::{net::SocketAddr, pin::Pin, sync::Arc, task::Poll, time::Duration};

use axum::extract::ws::{Message, WebSocket};
use serde::Deserialize;
use serde_json::{Value, json};
use simpartner_wire::{
    protocol::{self, Accepted, DeviceSession, Refusal, Request, Session},
    signal::{ClientId, EventKind, StepRecord},
};
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{Interval, interval, timeout},
};

use super::{
    archive::{LoggedCommands, LoggedEvent},
    context::Web,
    frame::{self, Head},
    ruts::RutReader,
    timing::{changed, skipping_interval, tick},
};
use crate::{client_events::log_event, connection::CloseReason, control, device::wait_for_place, error::refusal};
use simpartner_realtime::{CommandCount, CommandReader, EpochEvent, EventReader, Mode, RunState, Status};

/// Largest number of frames and messages of ruts that a page has not acknowledged (`seen`).
const MAX_IN_FLIGHT: u32 = 3;

/// Frame rate until the page requests another, Hz.
const DEFAULT_HZ: f64 = 60.0;

/// Highest frame rate that a page can request, Hz.
const MAX_HZ: f64 = 1000.0;

/// Number of past events that a page is sent when it opens.
const EVENT_BACKLOG: u64 = 200;

/// Interval at which a page is sent new commands: ten times a second is as fast as a person reads.
const COMMAND_BATCH: Duration = Duration::from_millis(100);

/// Longest time for which a change of the world waits for answers to a page. Requests of the clock may take longer.
const ANSWER_TIME: Duration = Duration::from_secs(1);
/// Largest number of control requests of a page that are waiting for their answers.
const MAX_PENDING_ANSWERS: usize = 64;

/// Interval between pings to a page.
const PING_INTERVAL: Duration = Duration::from_secs(5);

/// Number of consecutive unanswered pings after which a page is disconnected.
const MAX_MISSED_PINGS: u32 = 3;

/// Phrase in a refusal: the messages that a page may send.
const USAGE: &str = "an object of id and set, of id and control, of seen, of watch, of ruts or of on_close";

/// A message from a page. The keys of the object identify the kind.
#[derive(Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum ClientMessage {
    /// A command for a device; the reply carries the id.
    Set { id: u64, set: DeviceCommand },
    /// A line for the control port; the reply carries the id.
    Control { id: u64, control: String },
    /// Acknowledgement and settings; at least one of the four is present. `seen` is the number of the last frame or
    /// message of ruts that the page has shown. `watch` and `ruts` are the requested rates. `on_close` lists commands
    /// for the end of the connection.
    View { seen: Option<u32>, watch: Option<Rate>, ruts: Option<Rate>, on_close: Option<Vec<DeviceCommand>> },
}

/// A command for a device, as text.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DeviceCommand {
    device: String,
    text: String,
}

/// Rate at which a page requests frames or ruts, Hz.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rate {
    hz: f64,
}

/// An open page.
struct Page {
    web: Arc<Web>,
    client: ClientId,
    /// Number of the world that the page shows. After a world edit it has to connect again.
    world: u32,
    latest: watch::Receiver<Arc<StepRecord>>,
    status: watch::Receiver<Option<Status>>,
    events: EventReader,
    commands: CommandReader,
    ruts: RutReader,
    /// Timer that permits the next message of commands.
    command_ticks: Interval,
    /// Timer that permits the next frame; `None` while the page wants no frames.
    pace: Option<Interval>,
    /// True from a tick of that timer until the frame is sent.
    due: bool,
    /// Number of the last frame or message of ruts that was sent.
    number: u32,
    /// Number of the last frame or message of ruts that the page has shown.
    seen: u32,
    /// Commands that are carried out when the connection ends.
    on_close: Vec<DeviceCommand>,
    /// Control requests whose answers are awaited; each task returns the request's id and the answer.
    pending: JoinSet<(u64, String)>,
}

/// An event that the loop of a page handles.
enum Wakeup {
    /// A message from the page, or the end of the connection.
    Received(Option<Result<Message, axum::Error>>),
    /// The next frame is permitted.
    Due,
    /// A frame is permitted, and there is something new to show.
    Frame,
    Events,
    Commands,
    Ruts,
    /// Id of a control request, and its answer.
    Answer(u64, String),
    /// The world has other robots or values.
    OtherWorld,
    Ping,
}

/// Serves a page until either side ends the connection, and then carries out its `on_close` commands.
pub(super) async fn talk(mut socket: WebSocket, web: Arc<Web>, address: SocketAddr) {
    let shared = Arc::clone(&web.shared);
    let client = shared.next_client();
    web.pages.send_modify(|pages| *pages += 1);
    log_event(&shared, EventKind::Connect, "viewer", format!("client {} from {address}", client.0)).await;
    let mut page = Page::new(web, client);
    let end = page.run(&mut socket).await.err().unwrap_or(CloseReason::Client);
    for order in std::mem::take(&mut page.on_close) {
        // A refusal has no reader left.
        let _ = page.send_command(&order);
    }
    let why = match end {
        CloseReason::Client => "left",
        CloseReason::Server => "was told that the run is over",
        CloseReason::Rule(rule) => rule,
    };
    log_event(&shared, EventKind::Disconnect, "viewer", format!("client {} {why}", client.0)).await;
    // The page may be gone already.
    let _ = timeout(shared.settings.limits.unread, socket.send(Message::Close(None))).await;
    page.web.pages.send_modify(|pages| *pages -= 1);
}

impl Page {
    fn new(web: Arc<Web>, client: ClientId) -> Self {
        let world = *web.shared.changes.borrow();
        let mut latest = web.shared.handle.latest();
        // The first frame shows the present state, even if no step is being computed.
        latest.mark_changed();
        Self {
            latest,
            status: web.status.clone(),
            events: web.shared.handle.events(EVENT_BACKLOG),
            commands: web.shared.handle.command_counts(),
            ruts: RutReader::new(&web.ruts),
            command_ticks: skipping_interval(COMMAND_BATCH),
            pace: rate_timer(DEFAULT_HZ),
            web,
            client,
            world,
            due: false,
            number: 0,
            seen: 0,
            on_close: Vec::new(),
            pending: JoinSet::new(),
        }
    }

    async fn run(&mut self, socket: &mut WebSocket) -> Result<(), CloseReason> {
        let mut closed = self.web.closed.clone();
        let mut changes = self.web.shared.changes.subscribe();
        let mut pings = interval(PING_INTERVAL);
        let mut missed_pings = 0;
        loop {
            let wake = tokio::select! {
                _ = closed.wait_for(|closed| *closed) => return Err(CloseReason::Server),
                Ok(()) = changes.changed() => Wakeup::OtherWorld,
                wake = self.next_wakeup(socket, &mut pings) => wake,
            };
            match wake {
                Wakeup::Received(Some(Ok(message))) => {
                    missed_pings = 0;
                    self.handle_message(socket, message).await?;
                }
                Wakeup::Received(Some(Err(_)) | None) => return Err(CloseReason::Client),
                Wakeup::Due => self.due = true,
                Wakeup::Frame => {
                    self.due = false;
                    if let Some(frame) = self.next_frame() {
                        self.send_message(socket, Message::Binary(frame.into())).await?;
                    }
                }
                Wakeup::Events => {
                    for event in self.events.take() {
                        self.send_json(socket, json!({ "event": json_of(&event.into()) })).await?;
                    }
                }
                Wakeup::Commands => {
                    let commands: Vec<_> =
                        self.commands.take().into_iter().filter_map(|commands| self.named_commands(commands)).collect();
                    self.send_json(socket, json!({ "commands": commands })).await?;
                }
                Wakeup::Ruts => {
                    self.number = self.number.wrapping_add(1);
                    let message = self.ruts.message(self.number);
                    self.send_message(socket, Message::Binary(message.into())).await?;
                }
                // The page connects again and asks for the scene.
                Wakeup::OtherWorld => {
                    self.send_pending_answers(socket).await?;
                    return Err(CloseReason::Rule("is to show another world"));
                }
                Wakeup::Answer(id, reply) => self.send_reply(socket, Some(id), &reply).await?,
                Wakeup::Ping if missed_pings == MAX_MISSED_PINGS => {
                    return Err(CloseReason::Rule("has stopped sending"));
                }
                Wakeup::Ping => {
                    missed_pings += 1;
                    self.send_message(socket, Message::Ping(Vec::new().into())).await?;
                }
            }
        }
    }

    /// Sends the answers of control requests under way, one of which may have changed the world.
    async fn send_pending_answers(&mut self, socket: &mut WebSocket) -> Result<(), CloseReason> {
        while let Ok(Some(answer)) = timeout(ANSWER_TIME, self.pending.join_next()).await {
            let Ok((id, reply)) = answer else { continue };
            self.send_reply(socket, Some(id), &reply).await?;
        }
        Ok(())
    }

    /// Waits for the next event. Cancel-safe.
    async fn next_wakeup(&mut self, socket: &mut WebSocket, pings: &mut Interval) -> Wakeup {
        let Self { latest, status, events, commands, ruts, command_ticks, pace, due, number, seen, pending, .. } = self;
        let flows = number.wrapping_sub(*seen) < MAX_IN_FLIGHT;
        tokio::select! {
            received = socket.recv() => Wakeup::Received(received),
            _ = tick(pace), if !*due => Wakeup::Due,
            () = changed(latest), if *due && flows => Wakeup::Frame,
            () = changed(status), if *due && flows => Wakeup::Frame,
            () = events.wait(), if flows => Wakeup::Events,
            () = async { command_ticks.tick().await; commands.wait().await }, if flows => Wakeup::Commands,
            () = ruts.wait(), if flows => Wakeup::Ruts,
            Some(answer) = pending.join_next() => match answer {
                Ok((id, reply)) => Wakeup::Answer(id, reply),
                // The task was aborted or has panicked, so there is no answer.
                Err(_) => Wakeup::Due,
            },
            _ = pings.tick() => Wakeup::Ping,
        }
    }

    async fn handle_message(&mut self, socket: &mut WebSocket, message: Message) -> Result<(), CloseReason> {
        let received = match &message {
            Message::Text(text) => serde_json::from_str(text).ok(),
            Message::Ping(_) | Message::Pong(_) => return Ok(()),
            Message::Close(_) => return Err(CloseReason::Client),
            Message::Binary(_) => None,
        };
        match received {
            Some(ClientMessage::Set { id, set }) => {
                wait_for_place(&self.web.shared.handle, self.client).await;
                let reply = self.send_command(&set).unwrap_or_else(|refusal| refusal.to_string());
                self.send_reply(socket, Some(id), &reply).await
            }
            Some(ClientMessage::Control { id, control }) => match self.send_control(id, &control).await {
                Some(reply) => self.send_reply(socket, Some(id), &reply).await,
                None => Ok(()),
            },
            Some(ClientMessage::View { seen, watch, ruts, on_close })
                if seen.is_some() || watch.is_some() || ruts.is_some() || on_close.is_some() =>
            {
                ruts.iter().for_each(|Rate { hz }| self.ruts.set_rate(*hz));
                self.update_view(seen, watch, on_close);
                Ok(())
            }
            Some(ClientMessage::View { .. }) | None => {
                let got = message.to_text().unwrap_or("binary").chars().take(60).collect();
                self.send_reply(socket, None, &Refusal::Verb { got, known: USAGE }.to_string()).await
            }
        }
    }

    /// Applies the acknowledgement and the settings of a page.
    fn update_view(&mut self, seen: Option<u32>, watch: Option<Rate>, on_close: Option<Vec<DeviceCommand>>) {
        // A number that was never sent is ignored.
        self.seen = seen.filter(|seen| *seen <= self.number).map_or(self.seen, |seen| seen.max(self.seen));
        if let Some(Rate { hz }) = watch {
            self.pace = rate_timer(hz);
            self.due = false;
            // A page that starts to watch gets the present state, even if no step is being computed.
            self.latest.mark_changed();
        }
        if let Some(orders) = on_close {
            self.on_close = orders;
        }
    }

    /// Carries out a command as the device's port would, and returns the answer of that port.
    fn send_command(&self, order: &DeviceCommand) -> Result<String, Refusal> {
        let shared = &self.web.shared;
        let handle = &shared.handle;
        if order.text.contains(['\n', '\r']) {
            return Err(Refusal::Message("expected a single line".into()));
        }
        let record = self.latest.borrow().clone();
        let served = shared.served(&record);
        let device = protocol::device_named(&served.layout, &order.device, &[])?;
        let mut session = DeviceSession::new(
            Arc::clone(&served.layout),
            Arc::clone(&served.board),
            handle.timestep(),
            device,
            self.client,
            served.devices[device.index()].address.port(),
        );
        let mut out = String::new();
        let send = |request| match request {
            Request::Commands(commands) => {
                handle.commands(&served.layout, commands).map(|()| Accepted::Queued).map_err(refusal)
            }
            Request::Acknowledge(..) => Err(Refusal::Parameter("ACK is for the device's port".into())),
        };
        session.take(&order.text, &record, send, &mut out);
        match session.is_subscribed() {
            true => Err(Refusal::Parameter("SUB is for the device's port; here the frames have all values".into())),
            false => Ok(out),
        }
    }

    /// Queues a control request. Returns the answer if it is available at once; otherwise a task waits for it, so that
    /// the page's other messages are not delayed.
    async fn send_control(&mut self, id: u64, text: &str) -> Option<String> {
        let request = match protocol::read_control(text) {
            Ok(request) => request,
            Err(refusal) => return Some(refusal.to_string()),
        };
        if self.pending.len() >= MAX_PENDING_ANSWERS {
            return Some(
                Refusal::Busy(format!("more than {MAX_PENDING_ANSWERS} requests are waiting for an answer"))
                    .to_string(),
            );
        }
        let (web, client) = (Arc::clone(&self.web), self.client);
        let mut answering = Box::pin(async move {
            let mut out = String::new();
            control::answer(&web.shared, client, request, &mut out).await;
            web.asker.ask_soon();
            out
        });
        // After the first poll the request is in the clock's queue, before the page's next message.
        let first = std::future::poll_fn(|context| Poll::Ready(Pin::as_mut(&mut answering).poll(context))).await;
        self.web.asker.ask_soon();
        match first {
            Poll::Ready(reply) => Some(reply),
            Poll::Pending => {
                self.pending.spawn(async move { (id, answering.await) });
                None
            }
        }
    }

    /// The newest record as a frame; `None` until the clock's status is known, or if the record is of another world.
    fn next_frame(&mut self) -> Option<Vec<u8>> {
        let status = self.status.borrow_and_update().clone()?;
        let record = self.latest.borrow_and_update().clone();
        let served = self.web.shared.served_as(self.world).filter(|_| record.world == self.world)?;
        let handle = &self.web.shared.handle;
        self.number = self.number.wrapping_add(1);
        let head = Head {
            step: record.step.0,
            time_s: handle.timestep().seconds_at(record.step),
            wall_s: record.timing.wall_ns as f64 * 1e-9,
            late_s: record.timing.late_ns as f64 * 1e-9,
            real_time_factor: status.real_time_factor,
            rate: status.rate,
            number: self.number,
            epoch: record.epoch,
            slips: u32::try_from(status.slips).unwrap_or(u32::MAX),
            state: state_code(status.state),
            mode: mode_code(status.mode),
            pages: *self.web.pages.borrow(),
        };
        let mut bytes = Vec::new();
        frame::write_frame(&head, &served.layout, &record, &mut bytes);
        Some(bytes)
    }

    /// A command count as JSON, with the device's name; `None` if it is of another world.
    fn named_commands(&self, commands: CommandCount) -> Option<Value> {
        let served = self.web.shared.served_as(commands.world).filter(|_| commands.world == self.world)?;
        let info = served.layout.device_info(commands.device);
        Some(json_of_commands(&LoggedCommands {
            step: commands.step.0,
            epoch: u64::from(commands.epoch),
            device: format!("{}/{}", info.robot, info.name),
            client: commands.client.0,
            text: commands.text,
            count: commands.count,
        }))
    }

    async fn send_reply(&self, socket: &mut WebSocket, to: Option<u64>, reply: &str) -> Result<(), CloseReason> {
        self.send_json(socket, json!({ "to": to, "reply": reply.trim_end() })).await
    }

    async fn send_json(&self, socket: &mut WebSocket, message: Value) -> Result<(), CloseReason> {
        self.send_message(socket, Message::Text(message.to_string().into())).await
    }

    /// Sends a message. An error if the page reads too slowly or the connection ends.
    async fn send_message(&self, socket: &mut WebSocket, message: Message) -> Result<(), CloseReason> {
        let mut closed = self.web.closed.clone();
        tokio::select! {
            _ = closed.wait_for(|closed| *closed) => Err(CloseReason::Server),
            sent = timeout(self.web.shared.settings.limits.unread, socket.send(message)) => match sent {
                Ok(Ok(())) => Ok(()),
                Ok(Err(_)) => Err(CloseReason::Client),
                Err(_) => Err(CloseReason::Rule("read too slowly")),
            },
        }
    }
}

impl From<EpochEvent> for LoggedEvent {
    fn from(EpochEvent { event, epoch }: EpochEvent) -> Self {
        Self {
            step: event.step.0,
            epoch: u64::from(epoch),
            kind: event.kind.name().to_owned(),
            subject: event.subject,
            text: event.text,
            value: event.value,
        }
    }
}

/// A timer with this rate, which first ticks at once. `None` if the rate is at most 0.001 Hz or NaN: no ticks.
fn rate_timer(hz: f64) -> Option<Interval> {
    // The comparison is false for NaN.
    (hz > 1e-3).then(|| skipping_interval(Duration::from_secs_f64(1.0 / hz.min(MAX_HZ))))
}

/// [`Head::state`] of a run state.
fn state_code(state: RunState) -> u8 {
    match state {
        RunState::Paused => 0,
        RunState::Playing => 1,
        RunState::Quitting => 2,
    }
}

/// [`Head::mode`] of a clock mode.
fn mode_code(mode: Mode) -> u8 {
    match mode {
        Mode::RealTime => 0,
        Mode::Fast => 1,
        Mode::Lockstep => 2,
    }
}

/// An event as JSON.
pub(super) fn json_of(event: &LoggedEvent) -> Value {
    json!({
        "step": event.step,
        "epoch": event.epoch,
        "kind": event.kind,
        "subject": event.subject,
        "text": event.text,
        "value": event.value,
    })
}

/// Commands as JSON.
pub(super) fn json_of_commands(commands: &LoggedCommands) -> Value {
    json!({
        "step": commands.step,
        "epoch": commands.epoch,
        "device": commands.device,
        "client": commands.client,
        "text": commands.text,
        "count": commands.count,
    })
}
