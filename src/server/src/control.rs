//! The session of a client of the control port.

use std::sync::Arc;

use simpartner_description::Parameters;
use simpartner_model::{BodyId, StepIndex};
use simpartner_wire::{
    protocol::{self, CONTROL_VERBS, ControlRequest, Decoder, MAX_GIVEN, MAX_MESSAGE, Message, Order, Refusal},
    signal::{Action, ClientId, Command, Fault, Layout, Reservation, Target},
};

use super::{
    connection::{CloseReason, Connection, READ_CHUNK, Wakeup},
    error::refusal,
    shared::Shared,
    world_edit::{self, WorldEdit},
};
use simpartner_realtime::{Control, Mode, Status};

/// Serves the client until it leaves or the server closes. Requests are answered one after the other, so a client that
/// waits for `RUNTO` has to send `PAUSE` on another connection.
pub(super) async fn serve(connection: &mut Connection<'_>, client: ClientId, first: &[u8]) -> Result<(), CloseReason> {
    let shared = connection.shared;
    let takes_long_messages = shared.entities().is_ok();
    let mut decoder = Decoder::with_limit(if takes_long_messages { MAX_GIVEN } else { MAX_MESSAGE });
    let mut out = String::new();
    let mut buffer = [0; READ_CHUNK];
    let mut received = first;
    connection.expect_request();
    loop {
        while !received.is_empty() {
            let (taken, message) = decoder.feed(received);
            received = &received[taken..];
            let request = match message {
                None => continue,
                Some(Message::Http | Message::NotText) => return Err(CloseReason::Rule("did not speak this protocol")),
                Some(Message::TooLong) => Err(decoder.too_long()),
                // Only SPAWN, which may carry the text of a robot file, may be longer.
                Some(Message::Text(text)) if text.len() > MAX_MESSAGE && !text.starts_with("SPAWN ") => {
                    Err(Refusal::Message(format!("expected a message of at most {MAX_MESSAGE} bytes")))
                }
                Some(Message::Text(text)) => protocol::read_control(text),
            };
            connection.note_request();
            match request {
                Ok(request) => {
                    connection.set_served(true);
                    connection.unless_closed(answer(shared, client, request, &mut out)).await?;
                    connection.set_served(false);
                }
                Err(refusal) => out.push_str(&format!("{refusal}\n")),
            }
            connection.send(&mut out).await?;
        }
        let wake = connection.wait(&mut buffer, decoder.is_within_message(), std::future::pending()).await?;
        received = match wake {
            Wakeup::Bytes(count) => &buffer[..count],
            Wakeup::Other => &[],
        };
    }
}

/// Carries out a request and writes the answer. A request to the clock is in its queue once this has been polled.
pub(super) async fn answer(shared: &Arc<Shared>, client: ClientId, request: ControlRequest, out: &mut String) {
    let control = match &request {
        ControlRequest::State => Control::State,
        ControlRequest::Play(rate) => Control::Play { rate: *rate },
        ControlRequest::Pause => Control::Pause,
        ControlRequest::Step(count) => Control::Step { count: *count },
        ControlRequest::RunTo(time) => Control::RunTo { step: StepIndex(shared.handle.timestep().steps_in(*time)) },
        ControlRequest::Reset => Control::Reset,
        ControlRequest::Lockstep(names) => match lockstep_control(shared, names) {
            Ok(control) => control,
            Err(refusal) => return out.push_str(&format!("{refusal}\n")),
        },
        ControlRequest::Mode { fast } => Control::Mode(if *fast { Mode::Fast } else { Mode::RealTime }),
        ControlRequest::Sync(_) => Control::Sync,
        ControlRequest::Quit => Control::Quit,
        ControlRequest::Devices => return list_devices(shared, out),
        ControlRequest::Robots => return list_robots(shared, out),
        ControlRequest::Scene => return write_scene(shared, out),
        ControlRequest::Truth => return write_truth(shared, out),
        ControlRequest::Fault { device, fault, text } => {
            return write_ok(send_fault(shared, client, device, *fault, text), out);
        }
        ControlRequest::Place { name, placement, text } => {
            let layout = shared.handle.layout();
            let body = protocol::placeable_body(&layout, name);
            return write_ok(send_to_body(shared, client, (&layout, body), Action::Place(*placement), text), out);
        }
        ControlRequest::Push { name, push, text } => {
            let layout = shared.handle.layout();
            let body = protocol::pushable_body(&layout, name);
            return write_ok(send_to_body(shared, client, (&layout, body), Action::Push(*push), text), out);
        }
        ControlRequest::Spawn(spawn) => {
            return match world_edit::edit_world(shared, WorldEdit::Spawn(spawn.clone())).await {
                Ok(name) => out.push_str(&format!("OK name={name}\n")),
                Err(refusal) => out.push_str(&format!("{refusal}\n")),
            };
        }
        ControlRequest::Remove(name) => {
            return write_ok(world_edit::edit_world(shared, WorldEdit::Remove(name.clone())).await.map(drop), out);
        }
        ControlRequest::Spawnables => return list_spawnables(shared, out),
        ControlRequest::SetParameter { path, value } => {
            let change = WorldEdit::Parameter(path.clone(), value.clone());
            return write_ok(world_edit::edit_world(shared, change).await.map(drop), out);
        }
        ControlRequest::Parameters => return list_parameters(shared, out),
        ControlRequest::Help => {
            out.push_str(&format!("OK {CONTROL_VERBS}\n"));
            return;
        }
    };
    match (shared.handle.control(control).await, request) {
        (Ok(status), ControlRequest::Sync(token)) => out.push_str(&format!("DONE {} {token}\n", status.step)),
        (Ok(status), _) => write_status(&status, shared, out),
        (Err(error), _) => out.push_str(&format!("{}\n", refusal(error))),
    }
}

/// The request for lockstep with the named members; without names, with those of the settings.
fn lockstep_control(shared: &Shared, names: &[String]) -> Result<Control, Refusal> {
    let mut members = Vec::new();
    for name in names {
        let member = protocol::lockstep_member(&shared.handle.layout(), name)?;
        if !members.contains(&member) {
            members.push(member);
        }
    }
    Ok(if members.is_empty() { Control::Mode(Mode::Lockstep) } else { Control::Lockstep(members) })
}

/// Queues a fault for a device, as that device's own port would.
fn send_fault(shared: &Shared, client: ClientId, device: &str, fault: Fault, text: &str) -> Result<(), Refusal> {
    let record = shared.handle.latest().borrow().clone();
    let served = shared.served(&record);
    let layout = &served.layout;
    let device = protocol::faulty_device(layout, device)?;
    let order = Order { device, client, at: None, text: text.to_owned(), action: Action::Fault(fault) };
    let send = |command| shared.handle.commands(layout, vec![command]).map_err(refusal);
    served.board.accept(order, layout, &record, send).map(drop)
}

/// Queues a command for a body. Its id is one of the layout, which another world may replace meanwhile.
fn send_to_body(
    shared: &Shared,
    client: ClientId,
    (layout, body): (&Arc<Layout>, Result<BodyId, Refusal>),
    action: Action,
    text: &str,
) -> Result<(), Refusal> {
    let command = Command {
        target: Target::Body(body?),
        at: None,
        client,
        sequence: 0,
        text: text.to_owned(),
        action,
        memory: Reservation::default(),
    };
    shared.handle.commands(layout, vec![command]).map_err(refusal)
}

fn write_ok(accepted: Result<(), Refusal>, out: &mut String) {
    match accepted {
        Ok(()) => out.push_str("OK\n"),
        Err(refusal) => out.push_str(&format!("{refusal}\n")),
    }
}

fn write_status(status: &Status, shared: &Shared, out: &mut String) {
    out.push_str(&format!(
        "OK state={} step={} time={} timestep={} mode={} rate={} rtf={} slips={} epoch={}",
        status.state.name(),
        status.step,
        status.time_s,
        shared.handle.timestep().seconds(),
        status.mode.name(),
        status.rate,
        status.real_time_factor,
        status.slips,
        status.epoch,
    ));
    if let Some(log) = shared.log.get() {
        let megabytes = |bytes: f64| bytes * 1e-6;
        let (size, rate) = (megabytes(log.bytes() as f64), megabytes(log.bytes_per_second()));
        out.push_str(&format!(" log_mb={size:.3} log_mb_per_s={rate:.6}"));
    }
    if let Some(lockstep) = &status.lockstep {
        out.push_str(&format!(" lockstep={lockstep}"));
    }
    if status.priority > 0 {
        out.push_str(&format!(" priority={}", status.priority));
    }
    if let Some(making) = status.making {
        out.push_str(&format!(" making={} making_s={:.3}", status.step.after(1), making.as_secs_f64()));
    }
    if status.is_pending {
        out.push_str(" pending=true");
    }
    out.push('\n');
}

fn write_scene(shared: &Shared, out: &mut String) {
    match shared.scene() {
        Some(scene) => {
            out.push_str("OK ");
            out.push_str(&scene);
            out.push('\n');
        }
        None => {
            let refusal = Refusal::State("expected a world that this server can describe; it was given none".into());
            out.push_str(&format!("{refusal}\n"));
        }
    }
}

fn write_truth(shared: &Shared, out: &mut String) {
    let record = shared.handle.latest().borrow().clone();
    protocol::write_truth(&shared.served(&record).layout, &record, shared.handle.timestep(), out);
}

fn list_spawnables(shared: &Shared, out: &mut String) {
    let served = shared.current();
    let files = shared.entities().map(|entities| served.world.get().map(|world| entities.spawnable(world)));
    match files {
        Ok(files) => {
            let files = files.unwrap_or_default();
            files.iter().for_each(|file| out.push_str(&format!("SPAWNABLE file={file}\n")));
            out.push_str(&format!("OK {}\n", files.len()));
        }
        Err(refusal) => out.push_str(&format!("{refusal}\n")),
    }
}

/// Lists the values of the model's files that are replaced.
fn list_parameters(shared: &Shared, out: &mut String) {
    let served = shared.current();
    let parameters = served.world.get().map(|world| Parameters::of_sources(&world.sources)).unwrap_or_default();
    parameters.iter().for_each(|parameter| out.push_str(&format!("PARAM {parameter}\n")));
    out.push_str(&format!("OK {}\n", parameters.iter().count()));
}

fn list_devices(shared: &Shared, out: &mut String) {
    let served = shared.current();
    let devices = served.layout.devices();
    for (info, port) in devices.iter().zip(&served.devices) {
        out.push_str(&format!(
            "DEVICE name={} kind={} robot={} {}={} port={} bound={}\n",
            info.name,
            info.kind,
            info.robot,
            info.attachment.noun(),
            info.attachment.name(),
            info.port,
            port.address.port(),
        ));
    }
    out.push_str(&format!("OK {}\n", devices.len()));
}

fn list_robots(shared: &Shared, out: &mut String) {
    let served = shared.current();
    let robots = served.layout.robots();
    for (info, port) in robots.iter().zip(&served.robots) {
        out.push_str(&format!("ROBOT name={} port={} bound={}\n", info.name, info.port, port.address.port()));
    }
    out.push_str(&format!("OK {}\n", robots.len()));
}
