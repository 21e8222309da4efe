//! The elements of a sequence file.

use super::{
    Content::Children,
    Element,
    Kind::{Text, Whole},
    table::PORT as NUMBER,
    words::{any, element, once, required, value},
};

pub(super) const SEQUENCE: Element = element(
    super::SEQUENCE,
    "Commands and pauses, one after the other.",
    &[required("version", Text, "", "version of the sequence language: 1")],
    Children(&[any("command"), any("repeat")]),
);

pub(super) const COMMAND: Element = element(
    "command",
    "A command for the device on a port; port 0 lets so many seconds of simulated time pass instead.",
    &[],
    Children(&[once("commandString"), once("port")]),
);

pub(super) const COMMAND_STRING: Element =
    value("commandString", Text, "", "The command's numbers, or the length of the pause in seconds.");

pub(super) const PORT: Element = value("port", NUMBER, "", "The device's port in the model, or 0 for a pause.");

pub(super) const REPEAT: Element = element(
    "repeat",
    "The same several times.",
    &[required("count", Whole(1, 1_000_000), "", "how often")],
    Children(&[any("command"), any("repeat")]),
);
