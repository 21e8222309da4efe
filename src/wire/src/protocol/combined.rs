//! The requests of a robot's combined port: all readings in one line, all commands in one line.

use simpartner_model::{DeviceId, RobotId, StepIndex, Timestep};

use super::{
    Refusal,
    device::{Samples, acknowledged, command, named_fields, read_samples, scheduled, write_sample},
    framing::verb_and_rest,
    number::excerpt,
    unknown_name::unknown_name,
};
use crate::signal::{Action, Layout, Seen, StepRecord};

/// A message for a robot, understood.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum RobotRequest {
    /// `<>` or an empty line: all readings, as a frame.
    Poll,
    /// `GET`: the readings with step and time.
    Get,
    /// `SUB n [all]`: the same every n-th step; 0 ends it.
    Subscribe(Samples),
    /// `INFO`.
    Info,
    /// `ACK [step[+count]]`, with commands for the next step or without.
    Acknowledge {
        /// Its steps.
        seen: Seen,
        /// Each command with its text.
        commands: Vec<RobotCommand>,
    },
    /// A line of commands.
    Commands {
        /// Each with its text.
        commands: Vec<RobotCommand>,
        /// The step in which they act; `None` is the next one.
        at: Option<StepIndex>,
    },
}

/// A part of a line of commands.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RobotCommand {
    pub(super) device: DeviceId,
    pub(super) text: String,
    pub(super) action: Action,
}

const COMBINED_VERBS: &str = "a frame with the numbers of all actuators, Name=v,v,...;Name2=v,v,..., <>, GET, SUB n [all], INFO, SET @step and a frame, or ACK step and a frame";

pub(super) fn read_request(layout: &Layout, robot: RobotId, text: &str) -> Result<RobotRequest, Refusal> {
    let (verb, rest) = verb_and_rest(text);
    match (&*verb, rest) {
        ("", _) => Ok(RobotRequest::Poll),
        ("GET", "") => Ok(RobotRequest::Get),
        ("INFO", "") => Ok(RobotRequest::Info),
        ("SUB", _) => read_samples(rest).map(RobotRequest::Subscribe),
        ("ACK", _) => {
            let (seen, frame) = acknowledged(rest)?;
            let commands = if frame.is_empty() { Vec::new() } else { read_commands(layout, robot, frame)? };
            Ok(RobotRequest::Acknowledge { seen, commands })
        }
        ("SET", _) => {
            let (at, frame) = scheduled(rest)?;
            Ok(RobotRequest::Commands { commands: read_commands(layout, robot, frame)?, at })
        }
        _ => Ok(RobotRequest::Commands { commands: read_commands(layout, robot, text)?, at: None }),
    }
}

/// A line of commands: groups `Name=v,v,...;Name2=v,...`, or the numbers of all actuators in sequence. All commands are
/// accepted, or none.
fn read_commands(layout: &Layout, robot: RobotId, text: &str) -> Result<Vec<RobotCommand>, Refusal> {
    let text = text.trim();
    let text = text.strip_prefix('<').and_then(|text| text.strip_suffix('>')).unwrap_or(text).trim();
    if text.contains('=') {
        return read_groups(layout, robot, text);
    }
    let actuators = &layout.robot_info(robot).actuators;
    if actuators.is_empty() || text.starts_with(|c: char| c.is_alphabetic()) {
        return Err(Refusal::Verb { got: excerpt(text), known: COMBINED_VERBS });
    }
    let width = |&device: &DeviceId| layout.device_info(device).fields.len();
    let expected: usize = actuators.iter().map(width).sum();
    let mut numbers: Vec<&str> = text.split(',').collect();
    if numbers.len() != expected {
        return Err(Refusal::Count { expected: expected.to_string(), got: numbers.len() });
    }
    let mut commands = Vec::with_capacity(actuators.len());
    for device in actuators {
        let rest = numbers.split_off(width(device));
        commands.push(read_command(layout, *device, &numbers.join(","))?);
        numbers = rest;
    }
    Ok(commands)
}

fn read_groups(layout: &Layout, robot: RobotId, text: &str) -> Result<Vec<RobotCommand>, Refusal> {
    let actuators = &layout.robot_info(robot).actuators;
    let mut commands: Vec<RobotCommand> = Vec::new();
    // A semicolon after the last group is permitted.
    for group in text.trim_end_matches([';', ' ']).split(';') {
        let (name, numbers) = group.split_once('=').unwrap_or((group, ""));
        let name = name.trim();
        let device = actuators.iter().find(|device| layout.device_info(**device).name == name);
        let device = *device.ok_or_else(|| {
            let names: Vec<String> = actuators.iter().map(|device| layout.device_info(*device).name.clone()).collect();
            unknown_name(&names, name, "INFO")
        })?;
        if commands.iter().any(|command| command.device == device) {
            return Err(Refusal::Parameter(format!("expected each actuator once, got '{}' again", excerpt(name))));
        }
        commands.push(read_command(layout, device, numbers)?);
    }
    Ok(commands)
}

/// The numbers of one actuator. A refusal names the actuator.
fn read_command(layout: &Layout, device: DeviceId, numbers: &str) -> Result<RobotCommand, Refusal> {
    let info = layout.device_info(device);
    let text = numbers.trim().to_owned();
    match command(info, &text) {
        Ok(action @ Action::Drive(_)) => Ok(RobotCommand { device, text, action }),
        Ok(_) => Err(Refusal::Verb { got: excerpt(&text), known: COMBINED_VERBS }),
        Err(refusal) => Err(Refusal::Of { device: info.name.clone(), refusal: Box::new(refusal) }),
    }
}

/// All readings of a robot, in the order of its sensors.
pub(super) fn readings(layout: &Layout, robot: RobotId, record: &StepRecord) -> Vec<f64> {
    let sensors = layout.robot_info(robot).sensors.iter();
    sensors.flat_map(|&sensor| record.device(layout, sensor).iter().copied()).collect()
}

/// `S step time v,v,...`, with ` dropped=n` if samples were missed and ` off=Name,Name` if devices are off.
pub(super) fn write_robot_sample(
    layout: &Layout,
    robot: RobotId,
    record: &StepRecord,
    timestep: Timestep,
    dropped: u64,
    out: &mut String,
) {
    write_sample(record.step, timestep, &readings(layout, robot, record), dropped, out);
    let info = layout.robot_info(robot);
    let off = info.sensors.iter().chain(&info.actuators).filter(|device| record.off[device.index()]);
    let off: Vec<&str> = off.map(|&device| layout.device_info(device).name.as_str()).collect();
    if !off.is_empty() {
        out.truncate(out.trim_end().len());
        out.push_str(&format!(" off={}\n", off.join(",")));
    }
}

/// `OK name=.. kind=Robot port=.. readings=Device.field[unit],.. commands=Device.field[unit],..`
pub(super) fn describe_robot(layout: &Layout, robot: RobotId, port: u16) -> String {
    let info = layout.robot_info(robot);
    let fields = |devices: &[DeviceId]| {
        let of = |&device: &DeviceId| {
            let info = layout.device_info(device);
            named_fields(info).map(|field| format!("{}.{field}", info.name)).collect::<Vec<_>>()
        };
        devices.iter().flat_map(of).collect::<Vec<_>>().join(",")
    };
    let (readings, commands) = (fields(&info.sensors), fields(&info.actuators));
    format!("OK name={} kind=Robot port={port} readings={readings} commands={commands}", info.name)
}
