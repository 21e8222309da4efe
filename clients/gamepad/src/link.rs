//! The server: its devices that the mapping names, and commands that act at known steps.
//!
//! Every command is sent for a step a little ahead of the present one. When all commands are answered, the control
//! port's `SYNC` returns the number of the last step. If it is before the commands' step, they act in that step. If it
//! is after it, the link asks each device whether its command acted. So the step of every command is known, or that the
//! command did not act.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow, bail, ensure};
use simpartner_sequencer::wire::{self, Clock, Connection, State, word};
use simpartner_wire::{
    protocol::{frame, read_numbers},
    signal::{DeviceKind, StepIndex, Timestep},
};

use crate::{mapping::Mapping, pilot::Found, recording::Acted};

/// Time limit for the server to accept or to answer before it counts as lost.
const SERVER_TIMEOUT: Duration = Duration::from_secs(2);
/// The farthest that commands are sent ahead, in seconds on the wall.
const LONGEST_LEAD_S: f64 = 0.5;
/// Largest simulated time per wall time for which a lead is computed.
const MAX_RATE: f64 = 1e4;

/// Whom to talk to.
#[derive(Debug, Clone, PartialEq)]
pub struct Server {
    /// `host:port` of the control port.
    pub address: String,
    /// The token that a server requires on an address that other machines reach.
    pub token: Option<String>,
    /// The robot to drive, if several robots have the devices of the mapping.
    pub robot: Option<String>,
    /// Lead of commands before a playing clock, in seconds of wall time.
    pub lead_s: f64,
}

/// Reason why the connection is absent or was lost.
#[derive(Debug)]
pub enum Broken {
    /// The server is gone or silent; a reconnection may succeed.
    Lost(anyhow::Error),
    /// The world was rebuilt.
    Reset,
    /// The server is there, and the mapping or the token does not fit it.
    Unfit(anyhow::Error),
}

/// Connections to a server's control port and to the devices of a mapping.
#[derive(Debug)]
pub struct Link {
    control: Connection,
    devices: Vec<Device>,
    timestep: Timestep,
    epoch: u32,
    /// The newest step that is known to be complete.
    step: StepIndex,
    /// The step that the last commands were sent for.
    sent_for: StepIndex,
    clock: Clock,
    lead_s: f64,
    /// Devices whose commands are on their way, and the step these are for.
    under_way: Vec<(usize, Vec<f64>)>,
}

#[derive(Debug)]
struct Device {
    connection: Connection,
    name: String,
    /// In the model.
    port: u16,
    /// Its state, with the commands that are certain to act.
    present: Vec<f64>,
    /// Its last refusal, which is printed once.
    refusal: Option<String>,
}

/// Outcome of commands.
#[derive(Debug, Default, PartialEq)]
pub struct Outcome {
    /// Commands that acted, or are certain to.
    pub acted: Vec<Acted>,
    /// Number of commands that came too late to act.
    pub late: u64,
    /// Notices for the user.
    pub notices: Vec<String>,
}

/// State of a lost link.
#[derive(Debug)]
pub struct Memory {
    step: StepIndex,
    epoch: u32,
    sent_for: StepIndex,
    devices: Vec<Remembered>,
}

#[derive(Debug)]
struct Remembered {
    name: String,
    port: u16,
    present: Vec<f64>,
    /// The command that was on its way to it.
    under_way: Option<Vec<f64>>,
}

impl Link {
    /// Connects to a server and to those devices of the mapping that it has. Those that it has not are the second
    /// value.
    ///
    /// # Errors
    /// When there is no server, or none that the mapping fits.
    pub fn open(server: &Server, mapping: &Mapping) -> Result<(Self, Vec<Found>, Vec<String>), Broken> {
        let mut control = open(&server.address, "the control port", server.token.as_deref()).map_err(Broken::Lost)?;
        let first = control.ask("STATE").map_err(Broken::Lost)?;
        if first.starts_with("ERR 1 ") && server.token.is_some() {
            return Err(Broken::Unfit(anyhow!("the server wants no token; leave --token out")));
        }
        if first.starts_with("ERR 9 ") {
            return Err(Broken::Unfit(anyhow!("the server answers: {first}\nhelp: give its token with --token")));
        }
        // Read before any device sends its state, so that the states include all commands for this step or earlier
        // ones.
        let state = State::read(&first).map_err(Broken::Lost)?;
        let known = list(&mut control).map_err(Broken::Lost)?;
        let (named, missing) = choose(&known, mapping, server.robot.as_deref()).map_err(Broken::Unfit)?;
        let mut found = Vec::new();
        let mut devices = Vec::new();
        for (group, device) in named {
            let (device, fields) = connect(&control, device, server.token.as_deref()).map_err(Broken::Lost)?;
            found.push(Found { name: device.name.clone(), group, fields, present: device.present.clone() });
            devices.push(device);
        }
        let link = Self {
            control,
            devices,
            timestep: state.timestep,
            epoch: state.epoch,
            step: state.step,
            sent_for: StepIndex(0),
            clock: state.clock,
            lead_s: server.lead_s,
            under_way: Vec::new(),
        };
        Ok((link, found, missing))
    }

    /// Number of devices.
    pub fn len(&self) -> usize {
        self.devices.len()
    }

    /// True if there is no device, which never happens.
    pub fn is_empty(&self) -> bool {
        self.devices.is_empty()
    }

    /// A device's state, with the commands that are certain to act.
    pub fn present(&self, device: usize) -> &[f64] {
        &self.devices[device].present
    }

    /// The length of a step.
    pub fn timestep(&self) -> Timestep {
        self.timestep
    }

    /// The last driven step: the newest one known to be complete, or the one in which the last command acts.
    pub fn last_step(&self) -> StepIndex {
        self.step.max(self.sent_for)
    }

    /// True if all commands have acted, or a paused clock delays them.
    pub fn is_at_rest(&self) -> bool {
        self.step >= self.sent_for || self.clock == Clock::Paused
    }

    /// Sends commands, each to another device, and determines the outcome of each. Without commands it only checks that
    /// the server is connected and its world is the same.
    ///
    /// # Errors
    /// The server or its world is lost.
    pub fn send(&mut self, commands: Vec<(usize, Vec<f64>)>) -> Result<Outcome, Broken> {
        let state = state(&mut self.control).map_err(Broken::Lost)?;
        if state.epoch != self.epoch {
            return Err(Broken::Reset);
        }
        (self.step, self.clock) = (state.step, state.clock);
        if commands.is_empty() {
            return Ok(Outcome::default());
        }
        let speed = state.speed.clamp(1e-3, MAX_RATE);
        let lead = self.timestep.steps_in(self.lead_s * speed).max(1);
        // Never before commands sent earlier, should the clock have been slowed down: recordings are in order of time.
        self.sent_for = self.step.after(lead).max(self.sent_for);
        self.under_way = commands;
        let outcome = self.deliver().map_err(Broken::Lost)?;
        self.under_way.clear();
        Ok(outcome)
    }

    fn deliver(&mut self) -> Result<Outcome> {
        let (at, commands) = (self.sent_for, self.under_way.clone());
        for (device, values) in &commands {
            let values = frame(values);
            self.devices[*device].connection.send_line(&format!("SET @{at} {}", values.trim_matches(['<', '>'])))?;
        }
        let mut outcome = Outcome::default();
        let mut taken = Vec::new();
        for (device, values) in commands {
            let answer = self.devices[device].connection.read_line()?;
            if answer == "OK" {
                self.devices[device].refusal = None;
                taken.push((device, values));
            } else if answer.starts_with("ERR 7 step ") {
                outcome.late += 1;
            } else {
                outcome.notices.extend(self.devices[device].refuses(answer));
            }
        }
        let made = self.sync()?;
        for (device, values) in taken {
            if made < at || self.devices[device].acts_on(&values, at)? {
                self.devices[device].present.clone_from(&values);
                outcome.acted.push(Acted { step: at, port: self.devices[device].port, frame: values });
            } else {
                outcome.late += 1;
            }
        }
        self.step = self.step.max(made);
        if outcome.late > 0 && self.lead_s < LONGEST_LEAD_S {
            self.lead_s = (self.lead_s * 2.0).clamp(1e-3, LONGEST_LEAD_S);
            let lead = self.lead_s * 1e3;
            outcome.notices.push(format!("commands came too late; from now on they are sent {lead} ms ahead"));
        }
        Ok(outcome)
    }

    /// The last complete step when all commands sent before had been received.
    fn sync(&mut self) -> Result<StepIndex> {
        let answer = self.control.ask("SYNC pad")?;
        let step =
            answer.strip_prefix("DONE ").and_then(|rest| rest.split(' ').next()).and_then(|step| step.parse().ok());
        step.map(StepIndex).with_context(|| format!("expected 'DONE step pad', got '{answer}'"))
    }

    /// Its state, for the next link.
    pub fn into_memory(self) -> Memory {
        let Self { step, epoch, sent_for, mut under_way, devices, .. } = self;
        let mut command = |index: usize| {
            let place = under_way.iter().position(|(device, _)| *device == index)?;
            Some(under_way.swap_remove(place).1)
        };
        let remember = |(index, device): (usize, Device)| {
            let Device { name, port, present, .. } = device;
            Remembered { name, port, present, under_way: command(index) }
        };
        let devices = devices.into_iter().enumerate().map(remember).collect();
        Memory { step, epoch, sent_for, devices }
    }

    /// For the world of a lost link: the pending commands that acted, and true if this is known of all of them. `None`
    /// for another world.
    pub fn recognise(&mut self, memory: &Memory) -> Option<(Vec<Acted>, bool)> {
        if self.epoch != memory.epoch || self.step < memory.step || self.devices.len() != memory.devices.len() {
            return None;
        }
        let (mut acted, mut known) = (Vec::new(), true);
        for (device, before) in self.devices.iter().zip(&memory.devices) {
            let is_sent = before.under_way.as_ref() == Some(&device.present);
            let is_same = device.name == before.name && device.port == before.port;
            if !is_same || (device.present != before.present && !is_sent) {
                return None;
            }
            match &before.under_way {
                Some(frame) if is_sent => {
                    acted.push(Acted { step: memory.sent_for, port: device.port, frame: frame.clone() });
                }
                // A clock before that step may still execute it.
                Some(_) => known &= self.step >= memory.sent_for,
                None => {}
            }
        }
        self.sent_for = memory.sent_for;
        Some((acted, known))
    }
}

impl Memory {
    /// The last driven step: the newest one known to be complete, or the one in which the last command acts.
    pub fn last_step(&self) -> StepIndex {
        self.step.max(self.sent_for)
    }
}

impl Device {
    /// Message about a refusal, if it is a new one.
    fn refuses(&mut self, answer: String) -> Option<String> {
        let is_new = self.refusal.as_ref() != Some(&answer);
        let notice = format!("'{}' answers: {answer}", self.name);
        self.refusal = Some(answer);
        is_new.then_some(notice)
    }

    /// True if the device acts on these values after a step that is complete by now, or nearly so.
    fn acts_on(&mut self, values: &[f64], at: StepIndex) -> Result<bool> {
        let deadline = Instant::now() + SERVER_TIMEOUT;
        loop {
            let answer = self.connection.ask("GET")?;
            if answer.starts_with("ERR ") {
                return Ok(false);
            }
            let (step, present) = read_sample(&answer).with_context(|| format!("'{}' answers: {answer}", self.name))?;
            if step >= at {
                return Ok(present == values);
            }
            ensure!(Instant::now() < deadline, "'{}' stays at step {step}", self.name);
        }
    }
}

fn open(address: &str, who: &str, token: Option<&str>) -> Result<Connection> {
    Connection::open_within(address, who, token, SERVER_TIMEOUT, SERVER_TIMEOUT)
}

fn state(control: &mut Connection) -> Result<State> {
    State::read(&control.ask("STATE")?)
}

fn list(control: &mut Connection) -> Result<Vec<wire::Device>> {
    control.send_line("DEVICES")?;
    let mut known = Vec::new();
    while let Some(device) = wire::Device::read(&control.read_line()?)? {
        known.push(device);
    }
    Ok(known)
}

type Chosen<'a> = (Vec<(usize, &'a wire::Device)>, Vec<String>);

/// The devices of the mapping that are there, with their groups, and the names of those that are not.
fn choose<'a>(known: &'a [wire::Device], mapping: &Mapping, robot: Option<&str>) -> Result<Chosen<'a>> {
    let mut robots: Vec<&str> = known.iter().map(|device| device.robot.as_str()).collect();
    robots.dedup();
    if let Some(robot) = robot {
        ensure!(robots.contains(&robot), "the server has no robot '{robot}'; it has {}", robots.join(", "));
        robots = vec![robot];
    }
    let names = mapping
        .groups
        .iter()
        .enumerate()
        .flat_map(|(index, group)| group.devices.iter().map(move |name| (index, name)));
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for (group, name) in names {
        let mut same = known.iter().filter(|device| device.name == *name && robots.contains(&device.robot.as_str()));
        let Some(device) = same.next() else {
            missing.push(name.clone());
            continue;
        };
        if let Some(other) = same.next() {
            bail!("robots {} and {} both have '{name}'; say which with --robot", device.robot, other.robot);
        }
        let is_actuator = DeviceKind::named(&device.kind).is_some_and(DeviceKind::is_actuator);
        ensure!(is_actuator, "'{name}' is a {}, which moves nothing", device.kind);
        found.push((group, device));
    }
    ensure!(!found.is_empty(), "the server has none of the mapping's devices, such as '{}'", missing[0]);
    Ok((found, missing))
}

/// Connects to a device; the second value is the names of its fields.
fn connect(control: &Connection, device: &wire::Device, token: Option<&str>) -> Result<(Device, Vec<String>)> {
    let (name, port) = (device.name.clone(), device.port);
    let address = SocketAddr::new(control.host()?, device.bound).to_string();
    let mut connection = open(&address, &format!("'{name}'"), token)?;
    let greeting = connection.read_line()?;
    ensure!(!greeting.starts_with("ERR 9 "), "'{name}' answers: {greeting}");
    let info = connection.ask("INFO")?;
    let fields = word(&info, "fields").with_context(|| format!("'{name}' answers INFO with: {info}"))?;
    let fields: Vec<String> =
        fields.split(',').map(|field| field.split('[').next().unwrap_or_default().into()).collect();
    // A device that is powered off sends no state; its last command is unknown.
    let present = match greeting.starts_with("ERR ") {
        true => vec![f64::NAN; fields.len()],
        false => numbers(&greeting).with_context(|| format!("'{name}' says: {greeting}"))?,
    };
    Ok((Device { connection, name, port, present, refusal: None }, fields))
}

fn numbers(text: &str) -> Result<Vec<f64>> {
    read_numbers(text.trim_matches(['<', '>'])).map_err(|refusal| anyhow!("{refusal}"))
}

/// Reads `S step time v,v,...`.
fn read_sample(line: &str) -> Result<(StepIndex, Vec<f64>)> {
    let words: Vec<&str> = line.split(' ').collect();
    match words[..] {
        ["S", step, _, values, ..] => Ok((StepIndex(step.parse()?), numbers(values)?)),
        _ => bail!("expected 'S step time values'"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_read_as_the_server_writes_it() {
        assert_eq!(read_sample("S 12 0.012 1,-0.5").unwrap(), (StepIndex(12), vec![1.0, -0.5]));
        assert_eq!(read_sample("S 12 0.012 1 dropped=3").unwrap(), (StepIndex(12), vec![1.0]));
        assert!(read_sample("<1,2>").is_err() && read_sample("S x 1 1").is_err());
    }

    fn device(name: &str, robot: &str, kind: &str) -> wire::Device {
        wire::Device { name: name.into(), kind: kind.into(), robot: robot.into(), port: 1, bound: 2 }
    }

    #[test]
    fn devices_are_found_by_name_and_robot() {
        let text = "[devices.a]\nnames = ['M', 'N']\nframe = [0]\n[[button]]\ninput = 'South'\nmoves = 'a'\nfield = 'v'\nscale = 1";
        let mapping = Mapping::read("m", text).unwrap();
        let motor = |name, robot| device(name, robot, "JointController");
        let (one, two) = ([motor("M", "r"), motor("O", "r")], [motor("M", "r"), motor("M", "s")]);
        let (found, missing) = choose(&one, &mapping, None).unwrap();
        assert_eq!((found, missing), (vec![(0, &one[0])], vec!["N".to_owned()]));
        assert_eq!(choose(&two, &mapping, Some("s")).unwrap().0, [(0, &two[1])]);
        let wrong = |known: &[wire::Device], robot| choose(known, &mapping, robot).unwrap_err().to_string();
        assert_eq!(wrong(&two, None), "robots r and s both have 'M'; say which with --robot");
        assert_eq!(wrong(&two, Some("t")), "the server has no robot 't'; it has r, s");
        assert_eq!(wrong(&two[..0], None), "the server has none of the mapping's devices, such as 'M'");
        assert_eq!(wrong(&[device("M", "r", "EchoSensor")], None), "'M' is a EchoSensor, which moves nothing");
    }
}
