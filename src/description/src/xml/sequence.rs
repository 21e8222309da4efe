//! A sequence file.

use simpartner_model::Moment;
use simpartner_wire::signal::Port;

use super::{
    node::Node,
    reading::{Reading, is_given},
};
use crate::{
    limits::{MAX_UNROLLED, MAX_UNROLLED_BYTES},
    sequence::{Comparison, Condition, DeviceReference, Sequence, SequenceItem},
    text::{
        numbers::{read_real, shorten},
        tree::child,
    },
};

/// The newest version of the language.
pub(super) const NEWEST_VERSION: &str = "2";

/// The version without `<set>` and `<wait>`, whose files read as ever.
const FIRST_VERSION: &str = "1";

/// The longest pause and the longest wait, s.
const LONGEST_WAIT: f64 = 1e9;

/// Reads the root of a sequence file. Unreadable parts are omitted; then there are problems.
pub(super) fn read(reading: &Reading, root: &Node) -> Sequence {
    let version = reading.attribute_text(root, "version").unwrap_or(NEWEST_VERSION);
    if ![FIRST_VERSION, NEWEST_VERSION].contains(&version) {
        let message = format!("sequence language version '{}' is not known", shorten(version));
        reading.problem_with_help(
            reading.attribute_offset(root, "version"),
            message,
            format!("this program knows versions {FIRST_VERSION} and {NEWEST_VERSION}"),
        );
    }
    let sequence = Sequence { items: read_items(reading, root, version == FIRST_VERSION) };
    let (count, bytes) = (sequence.unrolled_len(), sequence.unrolled_bytes());
    if count > MAX_UNROLLED {
        let message = format!("the sequence unrolls to {count} commands, at most {MAX_UNROLLED} are taken");
        reading.problem(root.offset, message);
    } else if bytes > MAX_UNROLLED_BYTES {
        let message = format!(
            "the commands that the sequence unrolls to are {bytes} bytes long, at most {MAX_UNROLLED_BYTES} are taken"
        );
        reading.problem(root.offset, message);
    }
    sequence
}

fn read_items(reading: &Reading, node: &Node, is_first_version: bool) -> Vec<SequenceItem> {
    let items = node.children.iter().filter_map(|child| match child.name.as_str() {
        "command" => read_command(reading, child),
        "repeat" => Some(SequenceItem::Repeat {
            count: u32::try_from(reading.attribute_whole(child, "count")?).ok()?,
            items: read_items(reading, child, is_first_version),
        }),
        "set" | "wait" if is_first_version => {
            let message = format!("<{}> is not known in version {FIRST_VERSION} of the sequence language", child.name);
            reading.problem_with_help(child.offset, message, format!("write <sequence version=\"{NEWEST_VERSION}\">"));
            None
        }
        "set" => Some(SequenceItem::Command {
            device: DeviceReference::Name(reading.attribute_text(child, "device")?.into()),
            text: child.text.trim().into(),
            source: reading.source(child).into(),
        }),
        "wait" => read_wait(reading, child),
        _ => None,
    });
    items.collect()
}

fn read_command(reading: &Reading, node: &Node) -> Option<SequenceItem> {
    let text = reading.child_text(node, "commandString")?;
    let port: u16 = reading.child_text(node, "port")?.parse().ok()?;
    if let Err(error) = Port::new(i64::from(port)) {
        let place = child(node, "port").map_or(node.offset, |child| child.text_offset);
        reading.problem(place, format!("<port>: {error}"));
        return None;
    }
    if port != 0 {
        let device = DeviceReference::Port(port);
        return Some(SequenceItem::Command { device, text: text.into(), source: reading.source(node).into() });
    }
    match read_real(text).filter(|seconds| (0.0..=LONGEST_WAIT).contains(seconds)) {
        Some(seconds) => Some(SequenceItem::Pause(Moment::of_seconds(seconds))),
        None => {
            let place = child(node, "commandString").map_or(node.offset, |child| child.text_offset);
            let message = format!("a pause (port 0) lasts from 0 to 1e9 seconds, got '{}'", shorten(text));
            reading.problem(place, message);
            None
        }
    }
}

/// A wait for a time, or for a reading within a time.
fn read_wait(reading: &Reading, node: &Node) -> Option<SequenceItem> {
    let wrong = |message: &str| {
        reading.problem_with_help(
            node.offset,
            message,
            "write <wait for=\"2.5s\"/> or <wait until=\"Position.x > 2\" timeout=\"10s\"/>",
        );
        None
    };
    match (is_given(node, "for"), is_given(node, "until"), is_given(node, "timeout")) {
        (true, false, false) => Some(SequenceItem::Pause(read_time(reading, node, "for")?)),
        (true, _, _) => wrong("<wait> takes either 'for' alone or 'until' with 'timeout'"),
        (false, false, _) => wrong("<wait> has neither 'for' nor 'until'"),
        (false, true, false) => {
            wrong("<wait> with 'until' lacks a 'timeout', after which the sequence ends with an error")
        }
        (false, true, true) => {
            let timeout = read_time(reading, node, "timeout")?;
            let condition = read_condition(reading.attribute_text(node, "until")?, timeout, reading.source(node));
            if condition.is_none() {
                let got = reading.attribute_text(node, "until").unwrap_or_default();
                let message = format!(
                    "attribute 'until': expected SENSOR.FIELD, one of > >= < <= and a number, as 'Position.x > 2', got '{}'",
                    shorten(got)
                );
                reading.problem(reading.attribute_offset(node, "until"), message);
            }
            condition.map(|condition| SequenceItem::Until(condition.into()))
        }
    }
}

fn read_time(reading: &Reading, node: &Node, name: &str) -> Option<Moment> {
    let text = reading.attribute_text(node, name)?;
    let time = Moment::or_seconds(text.trim()).and_then(|time| {
        let is_short = time.nanoseconds(simpartner_model::Timestep::MILLISECOND) as f64 <= LONGEST_WAIT * 1e9;
        is_short.then_some(time).ok_or_else(|| "expected at most 1e9 s".into())
    });
    match time {
        Ok(time) => Some(time),
        Err(expected) => {
            let message = format!("attribute '{name}': {expected}, got '{}'", shorten(text));
            reading.problem(reading.attribute_offset(node, name), message);
            None
        }
    }
}

/// Reads `sensor.field > bound`. A name may have dots, a field has none.
fn read_condition(text: &str, timeout: Moment, source: String) -> Option<Condition> {
    let at = text.find(['>', '<'])?;
    let (reading, rest) = text.split_at(at);
    let comparison = Comparison::ALL.into_iter().find(|comparison| rest.starts_with(comparison.sign()))?;
    let bound = read_real(rest[comparison.sign().len()..].trim())?;
    let (device, field) = reading.trim().rsplit_once('.')?;
    let is_name = |name: &str| !name.is_empty() && !name.contains(char::is_whitespace);
    (is_name(device) && is_name(field)).then(|| Condition {
        device: device.into(),
        field: field.into(),
        comparison,
        bound,
        timeout,
        source: source.into(),
    })
}
