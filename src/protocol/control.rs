//! What a client may say on the control port.

use super::{
    Refusal,
    device::whole_number,
    number::{excerpt, read_numbers},
};

/// A message for the control port, understood. What each does is told in the room's documentation.
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
    /// `MODE realtime|fast`; true is fast
    Mode {
        /// True for `fast`.
        fast: bool,
    },
    /// `SYNC token`
    Sync(String),
    /// `QUIT`
    Quit,
    /// `HELP`
    Help,
}

/// All verbs, for `HELP` and for errors.
pub const CONTROL_VERBS: &str =
    "STATE, PLAY [rate], PAUSE, STEP [n], RUNTO seconds, RESET, DEVICES, MODE realtime|fast, SYNC token, QUIT or HELP";

/// Reads a message for the control port. An empty one asks for the state.
///
/// # Errors
/// When the verb is unknown or its parameter does not fit.
pub fn read_control(text: &str) -> Result<ControlRequest, Refusal> {
    let (verb, rest) = text.split_once(char::is_whitespace).map_or((text, ""), |(verb, rest)| (verb, rest.trim()));
    Ok(match (verb, rest) {
        ("" | "STATE", "") => ControlRequest::State,
        ("PLAY", "") => ControlRequest::Play(None),
        ("PLAY", rate) => ControlRequest::Play(Some(positive("PLAY", rate, 1000.0)?)),
        ("PAUSE", "") => ControlRequest::Pause,
        ("STEP", "") => ControlRequest::Step(1),
        ("STEP", count) => ControlRequest::Step(whole_number("STEP", count)?),
        ("RUNTO", time) => ControlRequest::RunTo(positive("RUNTO", time, 1e9)?),
        ("RESET", "") => ControlRequest::Reset,
        ("DEVICES", "") => ControlRequest::Devices,
        ("MODE", "realtime") => ControlRequest::Mode { fast: false },
        ("MODE", "fast") => ControlRequest::Mode { fast: true },
        ("MODE", other) => {
            return Err(Refusal::Parameter(format!("expected MODE realtime or MODE fast, got '{}'", excerpt(other))));
        }
        ("SYNC", token) => ControlRequest::Sync(token.to_owned()),
        ("QUIT", "") => ControlRequest::Quit,
        ("HELP", "") => ControlRequest::Help,
        _ => return Err(Refusal::Verb { got: excerpt(text), known: CONTROL_VERBS }),
    })
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
