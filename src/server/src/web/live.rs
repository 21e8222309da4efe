//! The WebSocket of an open page: frames and events out, commands and requests to the clock in.
//!
//! A frame is made when it can be sent, of the newest record. While [`UNDER_WAY`] of them have not been taken up, no frame is
//! made and no event is sent, so that a page which stands still costs nothing; of the events it missed it finds as many as the
//! ring of [`EventReader`] holds.

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
    timing::{changed, grid, tick},
};
use crate::{client_events::note, connection::End, control, device::wait_for_place, error::refusal};
use simpartner_realtime::{CommandCount, CommandReader, EpochEvent, EventReader, Mode, RunState, Status};

/// How many frames may be on their way to a page.
const UNDER_WAY: u32 = 3;

/// Frames a second until the page says otherwise.
const HZ: f64 = 60.0;

/// The most frames a second that a page may ask for.
const HIGHEST_HZ: f64 = 1000.0;

/// How many recent events a page is sent first.
const LATE: u64 = 200;

/// How long commands are gathered before a page is sent them: ten times a second is as fast as anybody reads.
const GATHER: Duration = Duration::from_millis(100);

/// How many answers a page may wait for.
const PENDING: usize = 64;

/// How often a page is pinged, and how many pings in a row it may leave unanswered.
const PING: Duration = Duration::from_secs(5);
const SILENCE: u32 = 3;

/// What a page may send.
const KNOWN: &str = "an object of id and set, of id and control, of seen, of watch, of ruts or of on_close";

/// What a page sends. The keys of the object tell which message it is.
#[derive(Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum ClientMessage {
    /// A command for a device; the reply carries the id.
    Set { id: u64, set: Order },
    /// A line for the control port; the reply carries the id.
    Control { id: u64, control: String },
    /// What the page has shown and what it wants from now on, at least one of the four.
    View { seen: Option<u32>, watch: Option<Watch>, ruts: Option<Watch>, on_close: Option<Vec<Order>> },
}

/// A command for a device, as text.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Order {
    device: String,
    text: String,
}

/// How often a page wants to be sent frames, or ruts.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Watch {
    hz: f64,
}

/// A page.
struct Page {
    web: Arc<Web>,
    client: ClientId,
    /// The number of the world that it shows. When there is another one, it has to connect again.
    world: u32,
    latest: watch::Receiver<Arc<StepRecord>>,
    status: watch::Receiver<Option<Status>>,
    events: EventReader,
    commands: CommandReader,
    ruts: RutReader,
    /// Ticks when commands may be sent.
    gathered: Interval,
    /// Ticks when the next frame may be made; `None` while none is wanted.
    pace: Option<Interval>,
    /// True from such a tick to the frame.
    due: bool,
    /// The number of the last frame or message of ruts sent, and of the last that the page has taken up.
    number: u32,
    seen: u32,
    on_close: Vec<Order>,
    pending: JoinSet<(u64, String)>,
}

/// What the loop of a page woke up for.
enum Wake {
    Received(Option<Result<Message, axum::Error>>),
    Due,
    Frame,
    Events,
    Commands,
    Ruts,
    Answer(u64, String),
    Ping,
}

/// Serves a page until either side ends the connection, and then carries out its `on_close` commands.
pub(super) async fn talk(mut socket: WebSocket, web: Arc<Web>, address: SocketAddr) {
    let shared = Arc::clone(&web.shared);
    let client = shared.next_client();
    web.pages.send_modify(|pages| *pages += 1);
    note(&shared, EventKind::Connect, "viewer", format!("client {} from {address}", client.0)).await;
    let mut page = Page::new(web, client);
    let end = page.run(&mut socket).await.err().unwrap_or(End::Client);
    for order in std::mem::take(&mut page.on_close) {
        // A refusal has no reader left.
        let _ = page.set(&order);
    }
    let why = match end {
        End::Client => "left",
        End::Server => "was told that the run is over",
        End::Rule(rule) => rule,
    };
    note(&shared, EventKind::Disconnect, "viewer", format!("client {} {why}", client.0)).await;
    // The page may have gone already.
    let _ = timeout(shared.settings.limits.unread, socket.send(Message::Close(None))).await;
    page.web.pages.send_modify(|pages| *pages -= 1);
}

impl Page {
    fn new(web: Arc<Web>, client: ClientId) -> Self {
        let world = *web.shared.changes.borrow();
        let mut latest = web.shared.handle.latest();
        // The first frame is of what there is, whether or not anything moves.
        latest.mark_changed();
        Self {
            latest,
            status: web.status.clone(),
            events: web.shared.handle.events(LATE),
            commands: web.shared.handle.command_counts(),
            ruts: RutReader::new(&web.ruts),
            gathered: grid(GATHER),
            pace: pace(HZ),
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

    async fn run(&mut self, socket: &mut WebSocket) -> Result<(), End> {
        let mut closed = self.web.closed.clone();
        let mut changes = self.web.shared.changes.subscribe();
        let mut pings = interval(PING);
        let mut silent = 0;
        loop {
            let wake = tokio::select! {
                _ = closed.wait_for(|closed| *closed) => return Err(End::Server),
                // The page connects again and asks for the scene.
                Ok(()) = changes.changed() => return Err(End::Rule("is to show another world")),
                wake = self.wake(socket, &mut pings) => wake,
            };
            match wake {
                Wake::Received(Some(Ok(message))) => {
                    silent = 0;
                    self.receive(socket, message).await?;
                }
                Wake::Received(Some(Err(_)) | None) => return Err(End::Client),
                Wake::Due => self.due = true,
                Wake::Frame => {
                    self.due = false;
                    if let Some(frame) = self.frame() {
                        self.send(socket, Message::Binary(frame.into())).await?;
                    }
                }
                Wake::Events => {
                    for event in self.events.take() {
                        self.send_json(socket, json!({ "event": json_of(&event.into()) })).await?;
                    }
                }
                Wake::Commands => {
                    let commands: Vec<_> =
                        self.commands.take().into_iter().filter_map(|commands| self.named(commands)).collect();
                    self.send_json(socket, json!({ "commands": commands })).await?;
                }
                Wake::Ruts => {
                    self.number = self.number.wrapping_add(1);
                    let message = self.ruts.message(self.number);
                    self.send(socket, Message::Binary(message.into())).await?;
                }
                Wake::Answer(id, reply) => self.reply(socket, Some(id), &reply).await?,
                Wake::Ping if silent == SILENCE => return Err(End::Rule("said nothing any more")),
                Wake::Ping => {
                    silent += 1;
                    self.send(socket, Message::Ping(Vec::new().into())).await?;
                }
            }
        }
    }

    /// Waits for something to do. Cancelling it loses nothing.
    async fn wake(&mut self, socket: &mut WebSocket, pings: &mut Interval) -> Wake {
        let Self { latest, status, events, commands, ruts, gathered, pace, due, number, seen, pending, .. } = self;
        let flows = number.wrapping_sub(*seen) < UNDER_WAY;
        tokio::select! {
            received = socket.recv() => Wake::Received(received),
            _ = tick(pace), if !*due => Wake::Due,
            () = changed(latest), if *due && flows => Wake::Frame,
            () = changed(status), if *due && flows => Wake::Frame,
            () = events.wait(), if flows => Wake::Events,
            () = async { gathered.tick().await; commands.wait().await }, if flows => Wake::Commands,
            () = ruts.wait(), if flows => Wake::Ruts,
            Some(answer) = pending.join_next() => match answer {
                Ok((id, reply)) => Wake::Answer(id, reply),
                // Only a task that was ended or has panicked has no answer, and neither goes on.
                Err(_) => Wake::Due,
            },
            _ = pings.tick() => Wake::Ping,
        }
    }

    async fn receive(&mut self, socket: &mut WebSocket, message: Message) -> Result<(), End> {
        let received = match &message {
            Message::Text(text) => serde_json::from_str(text).ok(),
            Message::Ping(_) | Message::Pong(_) => return Ok(()),
            Message::Close(_) => return Err(End::Client),
            Message::Binary(_) => None,
        };
        match received {
            Some(ClientMessage::Set { id, set }) => {
                wait_for_place(&self.web.shared.handle, self.client).await;
                let reply = self.set(&set).unwrap_or_else(|refusal| refusal.to_string());
                self.reply(socket, Some(id), &reply).await
            }
            Some(ClientMessage::Control { id, control }) => match self.control(id, &control).await {
                Some(reply) => self.reply(socket, Some(id), &reply).await,
                None => Ok(()),
            },
            Some(ClientMessage::View { seen, watch, ruts, on_close })
                if seen.is_some() || watch.is_some() || ruts.is_some() || on_close.is_some() =>
            {
                ruts.iter().for_each(|Watch { hz }| self.ruts.want(*hz));
                self.view(seen, watch, on_close);
                Ok(())
            }
            Some(ClientMessage::View { .. }) | None => {
                let got = message.to_text().unwrap_or("binary").chars().take(60).collect();
                self.reply(socket, None, &Refusal::Verb { got, known: KNOWN }.to_string()).await
            }
        }
    }

    /// Takes in what the page has shown and what it wants.
    fn view(&mut self, seen: Option<u32>, watch: Option<Watch>, on_close: Option<Vec<Order>>) {
        // A number that was never sent is no reason to send more.
        self.seen = seen.filter(|seen| *seen <= self.number).map_or(self.seen, |seen| seen.max(self.seen));
        if let Some(Watch { hz }) = watch {
            self.pace = pace(hz);
            self.due = false;
            // A page that begins to watch wants the present state, whether or not anything moves.
            self.latest.mark_changed();
        }
        if let Some(orders) = on_close {
            self.on_close = orders;
        }
    }

    /// Carries out a command as the device's port would, and returns what that would answer.
    fn set(&self, order: &Order) -> Result<String, Refusal> {
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

    /// Puts a request to the clock on its way, and returns the answer if there is one at once. What has to be waited for is
    /// answered later, and holds nothing back.
    async fn control(&mut self, id: u64, text: &str) -> Option<String> {
        let request = match protocol::read_control(text) {
            Ok(request) => request,
            Err(refusal) => return Some(refusal.to_string()),
        };
        if self.pending.len() >= PENDING {
            return Some(Refusal::Busy(format!("more than {PENDING} answers are waited for")).to_string());
        }
        let (web, client) = (Arc::clone(&self.web), self.client);
        let mut answering = Box::pin(async move {
            let mut out = String::new();
            control::answer(&web.shared, client, request, &mut out).await;
            web.asker.ask_soon();
            out
        });
        // Once polled, the request is in the clock's queue, before whatever the page says next.
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

    /// The newest record as bytes, once the clock's status is known.
    fn frame(&mut self) -> Option<Vec<u8>> {
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
            state: state(status.state),
            mode: mode(status.mode),
            pages: *self.web.pages.borrow(),
        };
        let mut bytes = Vec::new();
        frame::write(&head, &served.layout, &record, &mut bytes);
        Some(bytes)
    }

    /// With the device's name.
    fn named(&self, commands: CommandCount) -> Option<Value> {
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

    async fn reply(&self, socket: &mut WebSocket, to: Option<u64>, reply: &str) -> Result<(), End> {
        self.send_json(socket, json!({ "to": to, "reply": reply.trim_end() })).await
    }

    async fn send_json(&self, socket: &mut WebSocket, message: Value) -> Result<(), End> {
        self.send(socket, Message::Text(message.to_string().into())).await
    }

    /// Sends, or gives the page up.
    async fn send(&self, socket: &mut WebSocket, message: Message) -> Result<(), End> {
        let mut closed = self.web.closed.clone();
        tokio::select! {
            _ = closed.wait_for(|closed| *closed) => Err(End::Server),
            sent = timeout(self.web.shared.settings.limits.unread, socket.send(message)) => match sent {
                Ok(Ok(())) => Ok(()),
                Ok(Err(_)) => Err(End::Client),
                Err(_) => Err(End::Rule("read too slowly")),
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

/// So many ticks a second, at once and then on a grid; `None` for none.
fn pace(hz: f64) -> Option<Interval> {
    // Slower than one in a thousand seconds is never, and what is no number is not faster than that.
    (hz > 1e-3).then(|| grid(Duration::from_secs_f64(1.0 / hz.min(HIGHEST_HZ))))
}

fn state(state: RunState) -> u8 {
    match state {
        RunState::Paused => 0,
        RunState::Playing => 1,
        RunState::Quitting => 2,
    }
}

fn mode(mode: Mode) -> u8 {
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
