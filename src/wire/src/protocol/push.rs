//! `PUSH`: a force, or a spring, on a body for some time.

use simpartner_model::BodyId;

use super::{
    Refusal,
    number::excerpt,
    place::{MAX_POSITION, body_named, read_fixed},
};
use crate::signal::{BodyPush, Layout, Pull};

/// Largest force and torque, N and N m: as of actuators' commands.
const MAX_PUSH: f64 = 1e9;
/// Longest push, s.
const MAX_DURATION_S: f64 = 3600.0;
/// Duration of a push that names none, s. A client that drags a body renews its push more often than that.
const DEFAULT_DURATION_S: f64 = 0.2;

/// The expected parameters, for errors.
pub(super) const PUSH_KEYS: &str =
    "force=X,Y,Z, torque=X,Y,Z or both, or else to=X,Y,Z; and perhaps at=X,Y,Z and seconds=S, each once";

/// Reads the parameters after the name in `PUSH name key=numbers ...`.
///
/// # Errors
/// A key is unknown, missing or repeated, or its numbers are too few, too many, not finite or out of range.
pub(super) fn read_push(text: &str) -> Result<BodyPush, Refusal> {
    let (mut force, mut torque, mut to, mut point, mut duration) = (None, None, None, None, None);
    for word in text.split_ascii_whitespace() {
        let (key, numbers) = word.split_once('=').unwrap_or((word, ""));
        let (place, highest) = match key {
            "force" => (&mut force, MAX_PUSH),
            "torque" => (&mut torque, MAX_PUSH),
            "to" => (&mut to, MAX_POSITION),
            "at" => (&mut point, MAX_POSITION),
            "seconds" => {
                let [seconds] = read_fixed(key, numbers, |_| true, MAX_DURATION_S)?;
                if !(0.0..=MAX_DURATION_S).contains(&seconds) {
                    let expected = format!("0 to {MAX_DURATION_S}");
                    return Err(Refusal::Range { name: key.to_owned(), expected, got: seconds });
                }
                if duration.replace(seconds).is_some() {
                    return Err(unexpected_keys(text));
                }
                continue;
            }
            _ => return Err(unexpected_keys(word)),
        };
        if place.replace(read_fixed(key, numbers, |value| value.abs() <= highest, highest)?).is_some() {
            return Err(unexpected_keys(text));
        }
    }
    let pull = match (force, torque, to) {
        (None, None, Some(to)) => Pull::Spring(to),
        (None, None, None) | (_, _, Some(_)) => return Err(unexpected_keys(text)),
        (force, torque, None) => Pull::Wrench { force: force.unwrap_or_default(), torque: torque.unwrap_or_default() },
    };
    Ok(BodyPush { point, pull, duration_s: duration.unwrap_or(DEFAULT_DURATION_S) })
}

fn unexpected_keys(got: &str) -> Refusal {
    Refusal::Parameter(format!("expected {PUSH_KEYS}, got '{}'", excerpt(got)))
}

/// The body that `PUSH` names: a robot's first for `robot`, one of its others for `robot/body`, otherwise an object.
///
/// # Errors
/// There is none of this name, and the text lists the names; or it is static.
pub fn pushable_body(layout: &Layout, name: &str) -> Result<BodyId, Refusal> {
    let body = body_named(layout, name, |info| !info.is_fixed)?;
    match layout.body_infos()[body.index()].is_fixed {
        true => Err(Refusal::State(format!("'{name}' cannot be pushed: it is static"))),
        false => Ok(body),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_push_is_a_wrench_or_a_spring() {
        let read = |text| read_push(text).unwrap();
        let pull = Pull::Wrench { force: [1.0, 0.0, -2.0], torque: [0.0; 3] };
        assert_eq!(read("force=1,0,-2"), BodyPush { point: None, pull, duration_s: 0.2 });
        let push = read("seconds=1.5 at=0,0.1,0 torque=0,3,0 force=0,0,1");
        let pull = Pull::Wrench { force: [0.0, 0.0, 1.0], torque: [0.0, 3.0, 0.0] };
        assert_eq!(push, BodyPush { point: Some([0.0, 0.1, 0.0]), pull, duration_s: 1.5 });
        assert_eq!(read("to=1,2,3 seconds=0").pull, Pull::Spring([1.0, 2.0, 3.0]));
    }

    #[test]
    fn nonsense_is_refused_with_what_was_expected() {
        for (text, code, part) in [
            ("", 8, "expected force=X,Y,Z"),
            ("at=0,0,0", 8, "expected force=X,Y,Z"),
            ("seconds=1", 8, "expected force=X,Y,Z"),
            ("force=1,0,0 to=1,0,0", 8, "or else to=X,Y,Z"),
            ("force=1,0,0 force=1,0,0", 8, "each once"),
            ("to=0,0,0 seconds=1 seconds=1", 8, "each once"),
            ("power=1,0,0", 8, "got 'power=1,0,0'"),
            ("force=1,0", 2, "expected 3 force numbers, got 2"),
            ("force=1,nan,0", 3, "number 2"),
            ("force=1,0,2e9", 4, "force: expected -1000000000 to 1000000000"),
            ("to=0,200000,0", 4, "to: expected -100000 to 100000"),
            ("to=0,0,0 seconds=-1", 4, "seconds: expected 0 to 3600"),
            ("to=0,0,0 seconds=4000", 4, "seconds: expected 0 to 3600"),
        ] {
            let refusal = read_push(text).unwrap_err();
            assert_eq!(refusal.code(), code, "{text}: {refusal}");
            assert!(refusal.to_string().contains(part), "{text}: {refusal}");
        }
    }
}
