//! The requests of a device's port: their parsing and their answers.

use std::{borrow::Cow, collections::HashSet, ops::Range};

use simpartner_model::{StepIndex, Timestep};

use super::{
    Refusal,
    configure::configure,
    fault::read_fault,
    framing::verb_and_rest,
    number::{excerpt, frame, read_number, read_numbers, write_numbers},
};
use crate::{
    near::did_you_mean,
    signal::{Action, AppliedCommand, CameraOptics, DeviceInfo, DeviceKind, Field, Seen},
};

/// A message for a device, understood.
#[derive(Debug, Clone, PartialEq)]
pub enum DeviceRequest {
    /// `<>` or an empty line: the reading or the state, as a frame.
    Poll,
    /// `GET`: the reading with step and time.
    Get,
    /// `SUB n [all]`: the same every n-th step; 0 ends it.
    Subscribe(Samples),
    /// `INFO`.
    Info,
    /// `ACK [step[+count]]`, with a command for the next step or without.
    Acknowledge {
        /// Its steps.
        seen: Seen,
        /// The command.
        command: Option<FrameCommand>,
    },
    /// A command: a frame, `SET @step`, `CFG` or `FAULT`.
    Command {
        /// Its action.
        action: Action,
        /// The step in which it acts; `None` is the next one.
        at: Option<StepIndex>,
        /// The form of its answer.
        answer: Answer,
    },
}

/// Which samples a client wants to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Samples {
    /// Number of steps between samples; 0 for none.
    pub interval: u64,
    /// True to send a late client every sample, false for the newest only.
    pub all: bool,
}

/// A command that was sent as a frame after a verb.
#[derive(Debug, Clone, PartialEq)]
pub struct FrameCommand {
    /// The frame.
    pub text: String,
    /// Its action.
    pub action: Action,
}

/// Form of the answer to an accepted command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// With the state before it, as a frame.
    PreviousState,
    /// With `OK`.
    Ok,
}

/// Reads a message for this device.
///
/// # Errors
/// The device does not support it, or its numbers do not fit.
pub fn read_request(info: &DeviceInfo, text: &str) -> Result<DeviceRequest, Refusal> {
    let hears_all = info.kind == DeviceKind::EchoSensor;
    let (verb, rest) = match verb_and_rest(text) {
        // A lower-case message to an echo sensor is a text, not a verb.
        (Cow::Owned(_), _) if hears_all => (Cow::Borrowed(text), ""),
        found => found,
    };
    match (&*verb, rest) {
        ("", _) => Ok(DeviceRequest::Poll),
        ("GET", "") => Ok(DeviceRequest::Get),
        ("INFO", "") => Ok(DeviceRequest::Info),
        ("SUB", _) => read_samples(rest).map(DeviceRequest::Subscribe),
        ("ACK", _) => read_acknowledge(info, rest),
        ("SET", _) if !hears_all => read_set(info, rest),
        ("CFG", _) if !hears_all => {
            configure(info, rest).map(|action| DeviceRequest::Command { action, at: None, answer: Answer::Ok })
        }
        ("FAULT", _) if !hears_all => {
            command(info, text).map(|action| DeviceRequest::Command { action, at: None, answer: Answer::Ok })
        }
        _ => {
            command(info, text).map(|action| DeviceRequest::Command { action, at: None, answer: Answer::PreviousState })
        }
    }
}

impl DeviceRequest {
    /// True if the request needs a device with power.
    pub fn wants_power(&self) -> bool {
        match self {
            Self::Subscribe(_) | Self::Info | Self::Acknowledge { command: None, .. } => false,
            Self::Command { action: Action::Fault(_), .. } => false,
            Self::Poll | Self::Get | Self::Command { .. } | Self::Acknowledge { .. } => true,
        }
    }
}

/// Action of a message for this device, if it is a command.
pub fn action(info: &DeviceInfo, text: &str) -> Option<Action> {
    match read_request(info, text) {
        Ok(DeviceRequest::Command { action, .. }) => Some(action),
        Ok(_) | Err(_) => None,
    }
}

/// Reads a command for this device, with or without its brackets: a frame, fields by their names, or `FAULT mode`.
///
/// # Errors
/// When the device takes no commands, or the numbers do not fit it.
pub fn command(info: &DeviceInfo, text: &str) -> Result<Action, Refusal> {
    let text = text.trim();
    let text = text.strip_prefix('<').and_then(|text| text.strip_suffix('>')).unwrap_or(text);
    if info.kind == DeviceKind::EchoSensor {
        return Ok(Action::Hear);
    }
    let (verb, mode) = verb_and_rest(text);
    if verb == "FAULT" {
        return read_fault(mode).map(Action::Fault);
    }
    let lengths = info.kind.command_lengths();
    if !lengths.is_empty() && text.contains('=') {
        return read_named(info, text).map(Action::Drive);
    }
    if lengths.is_empty() || text.starts_with(|c: char| c.is_ascii_alphabetic()) {
        let known = if lengths.is_empty() { SENSOR_VERBS } else { ACTUATOR_VERBS };
        return Err(Refusal::Verb { got: excerpt(text), known });
    }
    let values = read_numbers(text)?;
    check_command(info, &values)?;
    Ok(Action::Drive(values))
}

/// Checks the numbers of a command for an actuator. A field that is NaN keeps its value.
///
/// # Errors
/// Their count is none that the actuator takes, or a number is out of its field's range.
pub fn check_command(info: &DeviceInfo, values: &[f64]) -> Result<(), Refusal> {
    let lengths = info.kind.command_lengths();
    if !lengths.contains(&values.len()) {
        let expected = lengths.iter().map(usize::to_string).collect::<Vec<_>>().join(" or ");
        return Err(Refusal::Count { expected, got: values.len() });
    }
    // A short frame is the end of the long one: the fields before it do not change.
    let fields = &info.fields[info.fields.len() - values.len()..];
    fields
        .iter()
        .zip(values)
        .filter(|(_, value)| !value.is_nan())
        .try_for_each(|(field, &value)| check_range(field, value))
}

/// Reads `name=number name=number`, with blanks or commas between them, as new values of all fields: NaN for those that
/// are not named. A name is a field's, or a quantity's for all of its fields.
fn read_named(info: &DeviceInfo, text: &str) -> Result<Vec<f64>, Refusal> {
    let mut values = vec![f64::NAN; info.fields.len()];
    let parts = text.split([',', ' ', '\t', '\r', '\n']).filter(|part| !part.is_empty());
    for (index, part) in parts.enumerate() {
        let (name, number) = part.split_once('=').ok_or_else(|| {
            Refusal::Parameter(format!("expected name=number without blanks around '=', got '{}'", excerpt(part)))
        })?;
        let value = read_number(number, index + 1)?;
        let fields = fields_named(info, name)?;
        if values[fields.clone()].iter().any(|value| !value.is_nan()) {
            return Err(Refusal::Parameter(format!("expected each field once, got '{name}' again")));
        }
        for index in fields {
            check_range(&info.fields[index], value)?;
            values[index] = value;
        }
    }
    Ok(values)
}

/// The places of the field or of all fields of the quantity with this name.
fn fields_named(info: &DeviceInfo, name: &str) -> Result<Range<usize>, Refusal> {
    if let Some(index) = info.fields.iter().position(|field| field.name == name) {
        return Ok(index..index + 1);
    }
    let mut start = 0;
    for quantity in info.kind.description().quantities {
        let end = start + quantity.fields.len();
        if quantity.name == name {
            return Ok(start..end);
        }
        start = end;
    }
    let quantities = info.kind.description().quantities.iter().map(|quantity| quantity.name);
    let mut known: Vec<&str> = quantities.chain(info.fields.iter().map(|field| field.name.as_str())).collect();
    let mut seen = HashSet::new();
    known.retain(|name| seen.insert(*name));
    let near = did_you_mean(name, known.iter().copied());
    Err(Refusal::Parameter(format!("expected one of {}, got '{}'{near}", known.join(", "), excerpt(name))))
}

fn check_range(field: &Field, value: f64) -> Result<(), Refusal> {
    if (field.lowest..=field.highest).contains(&value) {
        return Ok(());
    }
    let expected = format!("{} to {} {}", field.lowest, field.highest, field.unit);
    Err(Refusal::Range { name: field.name.clone(), expected, got: value })
}

const SENSOR_VERBS: &str = "<>, GET, SUB n [all], INFO, CFG key=value, FAULT mode or ACK step";
const ACTUATOR_VERBS: &str =
    "a frame of numbers, field=number, <>, GET, SUB n [all], INFO, SET @step frame, FAULT mode or ACK step";

/// `SUB n`, or `SUB n all`
pub(super) fn read_samples(text: &str) -> Result<Samples, Refusal> {
    let (interval, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let interval = whole_number("SUB", interval)?;
    match rest.trim_start() {
        "" => Ok(Samples { interval, all: false }),
        all if all.eq_ignore_ascii_case("all") => Ok(Samples { interval, all: true }),
        other => {
            Err(Refusal::Parameter(format!("expected SUB n or SUB n all, got '{}' behind the number", excerpt(other))))
        }
    }
}

/// `SET @step v,v,...`, or `SET v,v,...` for the next step.
fn read_set(info: &DeviceInfo, rest: &str) -> Result<DeviceRequest, Refusal> {
    let (at, frame) = scheduled(rest)?;
    Ok(DeviceRequest::Command { action: command(info, frame)?, at, answer: Answer::Ok })
}

/// The step after an `@`, if there is one, and the rest.
pub(super) fn scheduled(text: &str) -> Result<(Option<StepIndex>, &str), Refusal> {
    let Some(text) = text.strip_prefix('@') else { return Ok((None, text)) };
    let (step, frame) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    Ok((Some(StepIndex(whole_number("SET @", step)?)), frame))
}

/// `ACK step+count v,v,...`
fn read_acknowledge(info: &DeviceInfo, rest: &str) -> Result<DeviceRequest, Refusal> {
    let (seen, frame) = acknowledged(rest)?;
    let read = |text: &str| command(info, text).map(|action| FrameCommand { text: text.to_owned(), action });
    let command = if frame.is_empty() { None } else { Some(read(frame)?) };
    Ok(DeviceRequest::Acknowledge { seen, command })
}

/// Parameters of `ACK`: the step, the number of steps, and the rest of the line.
pub(super) fn acknowledged(text: &str) -> Result<(Seen, &str), Refusal> {
    let (steps, frame) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let (step, count) = steps.split_once('+').map_or((steps, None), |(step, count)| (step, Some(count)));
    let count = count.map_or(Ok(1), |count| whole_number("ACK step+", count))?;
    if count == 0 {
        return Err(Refusal::Parameter("expected at least one step behind ACK step+, got 0".into()));
    }
    let step = if steps.is_empty() { None } else { Some(StepIndex(whole_number("ACK", step)?)) };
    Ok((Seen { step, count }, frame.trim_start()))
}

pub(super) fn whole_number(what: &str, text: &str) -> Result<u64, Refusal> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse()
        .ok()
        .filter(|_| digits)
        .ok_or_else(|| Refusal::Parameter(format!("expected a whole number behind {what}, got '{}'", excerpt(text))))
}

/// `S step time v,v,...`, with ` dropped=n` if samples were missed.
pub fn write_sample(step: StepIndex, timestep: Timestep, values: &[f64], dropped: u64, text: &mut String) {
    text.push_str(&format!("S {step} {} ", timestep.seconds_at(step)));
    write_numbers(values, text);
    if dropped > 0 {
        text.push_str(&format!(" dropped={dropped}"));
    }
    text.push('\n');
}

/// Answer of a device to a command, as a frame: the previous state of an actuator, or the received text of an echo
/// sensor. (The sender of `SET` gets just `OK`.)
pub fn reply(applied: &AppliedCommand) -> String {
    match &applied.command.action {
        Action::Drive(_) => frame(applied.before.numbers()),
        Action::Configure(_) | Action::Fault(_) | Action::Place(_) | Action::Push(_) => "OK".to_owned(),
        Action::Hear => format!("<{}>", applied.command.text),
    }
}

/// `OK name=.. kind=.. robot=.. body=.. port=.. rate=.. fields=name[unit],...`
pub fn describe(info: &DeviceInfo, timestep: Timestep, port: u16) -> String {
    let fields: Vec<String> = named_fields(info).collect();
    let rate = 1.0 / (info.interval_steps as f64 * timestep.seconds());
    format!(
        "OK name={} kind={} robot={} {}={} port={port} rate={rate} fields={}{}",
        info.name,
        info.kind,
        info.robot,
        info.attachment.noun(),
        info.attachment.name(),
        fields.join(","),
        info.camera.map(|optics| describe_optics(&optics, info.kind)).unwrap_or_default(),
    )
}

/// The geometry of a camera's images, behind the fields of `INFO`.
fn describe_optics(optics: &CameraOptics, kind: DeviceKind) -> String {
    let encodings: Vec<&str> = optics.encodings(kind).iter().map(|encoding| encoding.name()).collect();
    let CameraOptics { width, height, focal: [fx, fy], principal_point: [cx, cy], lens, near, far, .. } = optics;
    let mut text = format!(
        " width={width} height={height} encodings={} fx={fx} fy={fy} cx={cx} cy={cy} near={near} far={far} lens={}",
        encodings.join(","),
        lens.name()
    );
    lens.coefficients().iter().for_each(|(name, value)| text.push_str(&format!(" {name}={value}")));
    text
}

/// `name[unit]` of each field; blanks in units are written as dots.
pub(super) fn named_fields(info: &DeviceInfo) -> impl Iterator<Item = String> {
    info.fields.iter().map(|field| format!("{}[{}]", field.name, field.unit.replace(' ', ".")))
}
