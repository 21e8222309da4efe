//! Requests of the protocol, answered without sockets in the words of a server.

use std::sync::Arc;

use simpartner_description::Parameter;
use simpartner_model::{BodyId, DeviceId, RobotId, StepIndex};
use simpartner_wire::{
    protocol::{
        self, Accepted, ControlRequest, DeviceSession, Order, Refusal, Request, RobotSession, Session, read_control,
    },
    signal::{Action, ClientId, Command, DeviceKind, Fault, Reservation, Target},
};

use crate::{EmbedError, EmbeddedSimulation};

/// The verbs of the control port that an embedded simulation answers.
const EMBEDDED_VERBS: &str = "STATE, STEP [n], RUNTO seconds, RESET, DEVICES, ROBOTS, TRUTH, SYNC token, FAULT robot/device mode, \
     PLACE name position=X,Y,Z .., PUSH name force=X,Y,Z .., SPAWN file=NAME .., REMOVE name, SPAWNABLES or PARAM [path value]";

impl EmbeddedSimulation {
    /// Answers a request for the control port. Requests for a clock, such as `PLAY`, are refused.
    pub fn ask(&mut self, text: &str) -> String {
        let mut out = String::new();
        match read_control(text).and_then(|request| self.answer_request(request, &mut out)) {
            Ok(()) => out,
            Err(refusal) => format!("{refusal}\n"),
        }
    }

    /// Answers a request for a device. Streams are refused, since no step is made meanwhile.
    pub fn ask_device(&mut self, device: DeviceId, text: &str) -> String {
        let (layout, board, client) = (Arc::clone(self.layout()), Arc::clone(&self.board), ClientId::default());
        if is_stream(text) && layout.device_info(device).kind != DeviceKind::EchoSensor {
            return format!("{}\n", no_stream());
        }
        let mut session = DeviceSession::new(layout, board, self.timestep(), device, client, 0);
        self.answer_line(&mut session, text)
    }

    /// Answers a request for a robot's combined port, likewise.
    pub fn ask_robot(&mut self, robot: RobotId, text: &str) -> String {
        if is_stream(text) {
            return format!("{}\n", no_stream());
        }
        let (layout, board, client) = (Arc::clone(self.layout()), Arc::clone(&self.board), ClientId::default());
        let mut session = RobotSession::new(layout, board, self.timestep(), robot, client, 0);
        self.answer_line(&mut session, text)
    }

    fn answer_line(&mut self, session: &mut impl Session, text: &str) -> String {
        let (simulation, mut out) = (&mut self.simulation, String::new());
        let line = format!("{}\n", text.replace(['\n', '\r'], " "));
        let send = |request| submit_commands(request, |command| simulation.submit(command));
        session.receive(line.as_bytes(), &self.record, send, &mut out);
        out
    }

    fn answer_request(&mut self, request: ControlRequest, out: &mut String) -> Result<(), Refusal> {
        match request {
            ControlRequest::State => {}
            ControlRequest::Step(count) => self.advance(count).map_err(refusal_of)?,
            ControlRequest::RunTo(time) => {
                let goal = StepIndex(self.timestep().steps_in(time));
                self.advance(goal.0.saturating_sub(self.step_index().0)).map_err(refusal_of)?;
            }
            ControlRequest::Reset => self.reset(None).map_err(refusal_of)?,
            ControlRequest::Sync(token) => {
                out.push_str(&format!("DONE {} {token}\n", self.step_index()));
                return Ok(());
            }
            ControlRequest::Devices => return self.list_devices(out),
            ControlRequest::Robots => return self.list_robots(out),
            ControlRequest::Truth => {
                protocol::write_truth(self.layout(), &self.record, self.timestep(), out);
                return Ok(());
            }
            ControlRequest::Fault { device, fault, text } => return self.set_fault(&device, fault, text, out),
            ControlRequest::Place { name, placement, text } => {
                let body = protocol::placeable_body(self.layout(), &name)?;
                return self.command_body(body, Action::Place(placement), text, out);
            }
            ControlRequest::Push { name, push, text } => {
                let body = protocol::pushable_body(self.layout(), &name)?;
                return self.command_body(body, Action::Push(push), text, out);
            }
            ControlRequest::Spawn(spawn) => {
                let name = self.spawn(&spawn).map_err(refusal_of)?;
                out.push_str(&format!("OK name={name}\n"));
                return Ok(());
            }
            ControlRequest::Remove(name) => {
                self.remove(&name).map_err(refusal_of)?;
                out.push_str("OK\n");
                return Ok(());
            }
            ControlRequest::SetParameter { path, value } => return self.set_parameter(&path, &value, out),
            ControlRequest::Parameters => return self.list_parameters(out),
            ControlRequest::Spawnables => return self.list_spawnables(out),
            ControlRequest::Help => {
                out.push_str(&format!("OK {EMBEDDED_VERBS}\n"));
                return Ok(());
            }
            ControlRequest::Play(_)
            | ControlRequest::Pause
            | ControlRequest::Scene
            | ControlRequest::Lockstep(_)
            | ControlRequest::Mode { .. }
            | ControlRequest::Quit => {
                let what = format!("a simulation in this process has no clock and no page; expected {EMBEDDED_VERBS}");
                return Err(Refusal::State(what));
            }
        }
        self.write_state(out);
        Ok(())
    }

    fn write_state(&self, out: &mut String) {
        out.push_str(&format!(
            "OK state=PAUSED step={} time={} timestep={} mode=embedded rate=1 rtf=0 slips=0 epoch={}\n",
            self.step_index(),
            self.time_s(),
            self.timestep().seconds(),
            self.simulation.epoch(),
        ));
    }

    fn list_devices(&self, out: &mut String) -> Result<(), Refusal> {
        let devices = self.layout().devices();
        for info in devices {
            out.push_str(&format!(
                "DEVICE name={} kind={} robot={} {}={} port={} bound=0\n",
                info.name,
                info.kind,
                info.robot,
                info.attachment.noun(),
                info.attachment.name(),
                info.port,
            ));
        }
        out.push_str(&format!("OK {}\n", devices.len()));
        Ok(())
    }

    fn list_robots(&self, out: &mut String) -> Result<(), Refusal> {
        let robots = self.layout().robots();
        robots.iter().for_each(|info| out.push_str(&format!("ROBOT name={} port={} bound=0\n", info.name, info.port)));
        out.push_str(&format!("OK {}\n", robots.len()));
        Ok(())
    }

    fn list_spawnables(&self, out: &mut String) -> Result<(), Refusal> {
        let files = self.spawnables();
        files.iter().for_each(|file| out.push_str(&format!("SPAWNABLE file={file}\n")));
        out.push_str(&format!("OK {}\n", files.len()));
        Ok(())
    }

    fn list_parameters(&self, out: &mut String) -> Result<(), Refusal> {
        let parameters = self.parameters();
        parameters.iter().for_each(|parameter| out.push_str(&format!("PARAM {parameter}\n")));
        out.push_str(&format!("OK {}\n", parameters.iter().count()));
        Ok(())
    }

    fn set_parameter(&mut self, path: &str, value: &str, out: &mut String) -> Result<(), Refusal> {
        let parameter = Parameter::of_parts(path, value).map_err(|error| Refusal::Parameter(error.to_string()))?;
        self.set_parameters(&[parameter]).map_err(refusal_of)?;
        out.push_str("OK\n");
        Ok(())
    }

    fn set_fault(&mut self, device: &str, fault: Fault, text: String, out: &mut String) -> Result<(), Refusal> {
        let layout = Arc::clone(self.layout());
        let device = protocol::faulty_device(&layout, device)?;
        let order = Order { device, client: ClientId::default(), at: None, text, action: Action::Fault(fault) };
        let simulation = &mut self.simulation;
        self.board.accept(order, &layout, &self.record, |command| {
            simulation.submit(command);
            Ok(())
        })?;
        out.push_str("OK\n");
        Ok(())
    }

    fn command_body(&mut self, body: BodyId, action: Action, text: String, out: &mut String) -> Result<(), Refusal> {
        self.simulation.submit(Command {
            target: Target::Body(body),
            at: None,
            client: ClientId::default(),
            sequence: 0,
            text,
            action,
            memory: Reservation::default(),
        });
        out.push_str("OK\n");
        Ok(())
    }
}

/// True for a request after which a server sends samples by itself, or waits for a member of the lockstep.
fn is_stream(text: &str) -> bool {
    let verb = text.split_whitespace().next().unwrap_or_default();
    verb.eq_ignore_ascii_case("SUB") || verb.eq_ignore_ascii_case("ACK")
}

fn no_stream() -> Refusal {
    Refusal::State("a simulation in this process makes steps only when it is asked to; read after each of them".into())
}

fn submit_commands(request: Request, submit: impl FnMut(Command)) -> Result<Accepted, Refusal> {
    match request {
        Request::Commands(commands) => {
            commands.into_iter().for_each(submit);
            Ok(Accepted::Queued)
        }
        Request::Acknowledge(..) => Err(no_stream()),
    }
}

/// The error of a request, in one line as a server answers it.
fn refusal_of(error: EmbedError) -> Refusal {
    match error {
        EmbedError::Refused(refusal) => refusal,
        EmbedError::Files(problems) => Refusal::Parameter(problems.one_line()),
        EmbedError::World(error) => Refusal::Parameter(error.to_string()),
        error => Refusal::State(error.to_string()),
    }
}
