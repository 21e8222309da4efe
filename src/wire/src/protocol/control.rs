//! Requests of the control port.

use simpartner_model::{DeviceId, RobotId};

use super::{
    Refusal,
    device::whole_number,
    fault::{FAULT_WORDS, read_fault},
    framing::{refuse_control_characters, verb_and_rest},
    number::{excerpt, read_numbers},
    place::{PLACEMENT_KEYS, read_placement},
    push::{PUSH_KEYS, read_push},
    spawn::{Spawn, read_spawn},
    unknown_name::{MAX_LISTED_NAMES, unknown_name},
};
use crate::signal::{Action, BodyPlacement, BodyPush, Fault, Layout, Member};

/// A parsed message for the control port. The module's documentation describes each request.
#[derive(Debug, Clone, PartialEq)]
pub enum ControlRequest {
    /// `STATE`
    State,
    /// `PLAY [rate]`
    Play(Option<f64>),
    /// `PAUSE`
    Pause,
    /// `STEP [n]`
    Step(u64),
    /// `RUNTO time`, in seconds
    RunTo(f64),
    /// `RESET`
    Reset,
    /// `DEVICES`
    Devices,
    /// `ROBOTS`
    Robots,
    /// `SCENE`
    Scene,
    /// `TRUTH`
    Truth,
    /// `MODE lockstep [member ...]`, with the names of the members
    Lockstep(Vec<String>),
    /// `MODE realtime|fast`; true is fast
    Mode {
        /// True for `fast`.
        fast: bool,
    },
    /// `SYNC token`
    Sync(String),
    /// `FAULT robot/device mode [value]`
    Fault {
        /// The device, with its robot's name before it or without.
        device: String,
        /// Its fault from now on.
        fault: Fault,
        /// The text as the device's own port would receive it.
        text: String,
    },
    /// `PLACE name key=numbers ...`
    Place {
        /// A robot, `robot/body` or an object.
        name: String,
        /// Pose and velocity to set.
        placement: BodyPlacement,
        /// The text as received.
        text: String,
    },
    /// `PUSH name key=numbers ...`
    Push {
        /// A robot, `robot/body` or an object.
        name: String,
        /// Force or spring to apply.
        push: BodyPush,
        /// The text as received.
        text: String,
    },
    /// `SPAWN file=name ..`
    Spawn(Box<Spawn>),
    /// `REMOVE name`
    Remove(String),
    /// `SPAWNABLES`
    Spawnables,
    /// `PARAM path value`
    SetParameter {
        /// Path of a value of the model.
        path: String,
        /// Its replacement.
        value: String,
    },
    /// `PARAM`
    Parameters,
    /// `QUIT`
    Quit,
    /// `HELP`
    Help,
}

/// All verbs, for `HELP` and for errors.
pub const CONTROL_VERBS: &str = "STATE, PLAY [rate], PAUSE, STEP [n], RUNTO seconds, RESET, DEVICES, ROBOTS, SCENE, TRUTH, MODE realtime|fast|lockstep [member ...], SYNC token, FAULT robot/device \
     mode, PLACE name position=X,Y,Z .., PUSH name force=X,Y,Z .., SPAWN file=NAME .., REMOVE name, SPAWNABLES, PARAM [path value], QUIT or HELP";

/// Reads a message for the control port. An empty one asks for the state.
///
/// # Errors
/// The verb is unknown, or its parameter does not fit.
pub fn read_control(text: &str) -> Result<ControlRequest, Refusal> {
    refuse_control_characters(text)?;
    let (verb, rest) = verb_and_rest(text);
    Ok(match (&*verb, rest) {
        ("" | "STATE", "") => ControlRequest::State,
        ("PLAY", "") => ControlRequest::Play(None),
        ("PLAY", rate) => ControlRequest::Play(Some(positive("PLAY", rate, 1000.0)?)),
        ("PAUSE", "") => ControlRequest::Pause,
        ("STEP", "") => ControlRequest::Step(1),
        ("STEP", count) => ControlRequest::Step(whole_number("STEP", count)?),
        ("RUNTO", time) => ControlRequest::RunTo(positive("RUNTO", time, 1e9)?),
        ("RESET", "") => ControlRequest::Reset,
        ("DEVICES", "") => ControlRequest::Devices,
        ("ROBOTS", "") => ControlRequest::Robots,
        ("SCENE", "") => ControlRequest::Scene,
        ("TRUTH", "") => ControlRequest::Truth,
        ("MODE", mode) if mode.eq_ignore_ascii_case("realtime") => ControlRequest::Mode { fast: false },
        ("MODE", mode) if mode.eq_ignore_ascii_case("fast") => ControlRequest::Mode { fast: true },
        ("MODE", other) => {
            let mut words = other.split([' ', '\t', ',']).filter(|word| !word.is_empty());
            if words.next().is_some_and(|mode| mode.eq_ignore_ascii_case("lockstep")) {
                return Ok(ControlRequest::Lockstep(words.map(str::to_owned).collect()));
            }
            let expected = "expected MODE realtime, MODE fast or MODE lockstep [member ...]";
            return Err(Refusal::Parameter(format!("{expected}, got '{}'", excerpt(other))));
        }
        ("SYNC", token) => ControlRequest::Sync(token.to_owned()),
        ("FAULT", rest) => {
            let (device, mode) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            if mode.is_empty() {
                return Err(Refusal::Parameter(format!(
                    "expected FAULT robot/device and {FAULT_WORDS}, got '{}'",
                    excerpt(rest)
                )));
            }
            let text = format!("FAULT {}", mode.trim());
            ControlRequest::Fault { device: device.to_owned(), fault: read_fault(mode.trim())?, text }
        }
        ("PLACE", rest) => {
            let (name, placement) = name_and_keys("PLACE", rest, PLACEMENT_KEYS)?;
            let placement = read_placement(placement)?;
            ControlRequest::Place { name, placement, text: format!("PLACE {rest}") }
        }
        ("PUSH", rest) => {
            let (name, push) = name_and_keys("PUSH", rest, PUSH_KEYS)?;
            ControlRequest::Push { name, push: read_push(push)?, text: format!("PUSH {rest}") }
        }
        ("SPAWN", rest) => ControlRequest::Spawn(Box::new(read_spawn(rest)?)),
        ("REMOVE", name) => ControlRequest::Remove(removed(name)?),
        ("SPAWNABLES", "") => ControlRequest::Spawnables,
        ("PARAM", "") => ControlRequest::Parameters,
        ("PARAM", rest) => new_parameter(rest)?,
        ("QUIT", "") => ControlRequest::Quit,
        ("HELP", "") => ControlRequest::Help,
        _ => return Err(Refusal::Verb { got: excerpt(text), known: CONTROL_VERBS }),
    })
}

/// The name of a body after a verb, and the text with its keys.
fn name_and_keys<'t>(verb: &str, text: &'t str, keys: &str) -> Result<(String, &'t str), Refusal> {
    let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    match name.is_empty() || name.contains('=') {
        true => Err(Refusal::Parameter(format!("expected {verb}, a name and {keys}, got '{}'", excerpt(text)))),
        false => Ok((name.to_owned(), rest)),
    }
}

fn removed(name: &str) -> Result<String, Refusal> {
    if name.is_empty() || name.contains(char::is_whitespace) {
        let what = format!("expected REMOVE and the name of a robot or an object, got '{}'", excerpt(name));
        return Err(Refusal::Parameter(what));
    }
    Ok(name.to_owned())
}

/// Reads the path, which ends at the first blank outside of quotation marks, and the value.
fn new_parameter(text: &str) -> Result<ControlRequest, Refusal> {
    let mut is_quoted = false;
    let end = text.find(|letter: char| {
        is_quoted ^= letter == '"';
        letter.is_whitespace() && !is_quoted
    });
    let (path, value) = text.split_at(end.unwrap_or(text.len()));
    let value = value.trim();
    if value.is_empty() {
        let what = format!("expected PARAM, a path such as surface.friction and its value, got '{}'", excerpt(text));
        return Err(Refusal::Parameter(what));
    }
    Ok(ControlRequest::SetParameter { path: path.to_owned(), value: value.to_owned() })
}

/// Action of a logged `PLACE name ...` or `PUSH name ...`; `None` for another text.
pub fn body_action(text: &str) -> Option<Action> {
    match read_control(text) {
        Ok(ControlRequest::Place { placement, .. }) => Some(Action::Place(placement)),
        Ok(ControlRequest::Push { push, .. }) => Some(Action::Push(push)),
        Ok(_) | Err(_) => None,
    }
}

fn positive(verb: &str, text: &str, highest: f64) -> Result<f64, Refusal> {
    let numbers = read_numbers(text)?;
    match numbers[..] {
        [number] if number > 0.0 && number <= highest => Ok(number),
        [number] => {
            Err(Refusal::Range { name: verb.to_owned(), expected: format!("above 0 to {highest}"), got: number })
        }
        _ => Err(Refusal::Count { expected: "1".to_owned(), got: numbers.len() }),
    }
}

/// The device of this name that can fail: `robot/device`, or `device` if only one robot has it.
///
/// # Errors
/// There is no such device, more than one, or it has no faults; the text lists the devices.
pub fn faulty_device(layout: &Layout, name: &str) -> Result<DeviceId, Refusal> {
    let device = device_named(layout, name, &[])?;
    let info = layout.device_info(device);
    match info.fields.is_empty() {
        true => Err(Refusal::Parameter(format!("a {} has no faults", info.kind))),
        false => Ok(device),
    }
}

/// The lockstep member of this name: a robot for its combined port, `robot/device`, or `device` if only one robot has
/// it.
///
/// # Errors
/// There is none of this name, or more than one; the text lists the members.
pub fn lockstep_member(layout: &Layout, name: &str) -> Result<Member, Refusal> {
    let robots: Vec<&str> = layout.robots().iter().map(|robot| robot.name.as_str()).collect();
    match robots.iter().position(|robot| *robot == name) {
        Some(index) => Ok(Member::Robot(RobotId::new(index))),
        None => device_named(layout, name, &robots).map(Member::Device),
    }
}

/// The device of this name: `robot/device`, or `device` if only one robot has it. `others` are further valid names.
///
/// # Errors
/// There is no such device, or more than one; the text lists the devices.
pub fn device_named(layout: &Layout, name: &str, others: &[&str]) -> Result<DeviceId, Refusal> {
    let full = |index: usize| format!("{}/{}", layout.devices()[index].robot, layout.devices()[index].name);
    let found: Vec<usize> = (0..layout.devices().len())
        .filter(|&index| full(index) == name || layout.devices()[index].name == name)
        .collect();
    match found[..] {
        [index] => Ok(DeviceId::new(index)),
        [] => {
            let others = others.iter().map(|&other| other.to_owned());
            let known: Vec<String> = others.chain((0..layout.devices().len()).map(full)).collect();
            Err(unknown_name(&known, name, "DEVICES"))
        }
        _ => {
            let which: Vec<String> = found.into_iter().take(MAX_LISTED_NAMES).map(full).collect();
            Err(Refusal::Parameter(format!("'{}' is one of {}; say which", excerpt(name), which.join(", "))))
        }
    }
}
