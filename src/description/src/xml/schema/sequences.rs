//! The elements of a sequence file.

use super::{
    builders::{any, element, once, optional, required, value},
    element::{
        Content::{Children, Empty, Value},
        Element,
    },
    kind::Kind::{Text, Whole},
    shared::{PORT as NUMBER, SEQUENCE as ROOT},
};

pub(super) const SEQUENCE: Element = element(
    ROOT,
    "Commands, pauses and conditions, one after the other.",
    &[required("version", Text, "", "version of the sequence language: 1, or 2 for one with `<set>` and `<wait>`")],
    Children(&[any("command"), any("set"), any("wait"), any("repeat")]),
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

pub(super) const SET: Element = element(
    "set",
    "A command for the device of this name: `field=number field=number`, where fields that are not named keep their values, or its \
     numbers. The name of a quantity stands for all of its fields. `simpartner devices` lists devices and fields. Version 2.",
    &[required("device", Text, "", "name of the device, or robot/name where several robots have one of that name")],
    Value(Text, ""),
);

pub(super) const WAIT: Element = element(
    "wait",
    "Lets simulated time pass: a time, or until a reading of a sensor is beyond a bound. Give one of the two. The reading is looked at after \
     each step, and what follows acts in the step after. A reading that does not come within the timeout ends the sequence with an error. \
     Version 2.",
    &[
        optional("for", Text, "", "the time: seconds, or with a suffix as 2.5s or 2500steps"),
        optional("until", Text, "", "sensor.field, one of > >= < <= and a number; in XML < is written &lt;"),
        optional("timeout", Text, "", "the longest wait for the reading, written as a time; required with `until`"),
    ],
    Empty,
);

pub(super) const REPEAT: Element = element(
    "repeat",
    "The same several times.",
    &[required("count", Whole(1, 1_000_000), "", "how often")],
    Children(&[any("command"), any("set"), any("wait"), any("repeat")]),
);
