//! A sequence file.

use simpartner_wire::signal::Port;

use super::{
    limits::{MAX_UNROLLED, MAX_UNROLLED_BYTES},
    reading::{Reading, child, shorten},
    schema::read_real,
    tree::Node,
};
use crate::{Sequence, SequenceItem};

/// The versions of the language that are known.
pub(super) const VERSION: &str = "1";

/// Reads the root of a sequence file. What cannot be read is left out; then there are problems.
pub(super) fn read(reading: &Reading, root: &Node) -> Sequence {
    if let Some(version) = reading.text(root, "version").filter(|version| *version != VERSION) {
        let message = format!("sequence language version '{}' is not known", shorten(version));
        reading.problem_with_help(
            reading.place(root, "version"),
            message,
            format!("this program knows version {VERSION}"),
        );
    }
    let sequence = Sequence { items: read_items(reading, root) };
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

fn read_items(reading: &Reading, node: &Node) -> Vec<SequenceItem> {
    let items = node.children.iter().filter_map(|child| match child.name.as_str() {
        "command" => read_command(reading, child),
        "repeat" => Some(SequenceItem::Repeat {
            count: u32::try_from(reading.whole(child, "count")?).ok()?,
            items: read_items(reading, child),
        }),
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
        return Some(SequenceItem::Command { port, text: text.into(), source: reading.source(node).into() });
    }
    match read_real(text).filter(|seconds| (0.0..=1e9).contains(seconds)) {
        Some(seconds) => Some(SequenceItem::Pause { seconds }),
        None => {
            let place = child(node, "commandString").map_or(node.offset, |child| child.text_offset);
            let message = format!("a pause (port 0) lasts from 0 to 1e9 seconds, got '{}'", shorten(text));
            reading.problem(place, message);
            None
        }
    }
}
