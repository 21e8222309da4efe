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
    "A list of commands, pauses and conditions, which are executed one after the other.",
    &[required("version", Text, "", "version of the sequence language: 1, or 2 for one with `<set>` and `<wait>`")],
    Children(&[any("command"), any("set"), any("wait"), any("repeat")]),
);

pub(super) const COMMAND: Element = element(
    "command",
    "A command for the device on a port. With port 0 it is a pause in simulated time instead.",
    &[],
    Children(&[once("commandString"), once("port")]),
);

pub(super) const COMMAND_STRING: Element =
    value("commandString", Text, "", "The numbers of the command, or the length of the pause in seconds.");

pub(super) const PORT: Element = value("port", NUMBER, "", "Port of the device in the model, or 0 for a pause.");

pub(super) const SET: Element = element(
    "set",
    "A command for a device by its name: either its numbers, or `field=number field=number`. Fields that are not named \
     keep their values. The name of a quantity stands for all of its fields. `simpartner devices` lists devices and \
     fields. Needs version 2.",
    &[required("device", Text, "", "name of the device, or robot/name if several robots have a device of this name")],
    Value(Text, ""),
);

pub(super) const WAIT: Element = element(
    "wait",
    "A pause: either for a simulated time, or until a reading of a sensor passes a bound. The reading is tested after \
     each step, and the next command acts in the step after that. If the reading does not pass the bound within the \
     timeout, the sequence ends with an error. Needs version 2.",
    &[
        optional(
            "for",
            Text,
            "",
            "length of the pause: a number of seconds, or a number with a suffix, such as 2.5s or 2500steps",
        ),
        optional(
            "until",
            Text,
            "",
            "condition: sensor.field, one of > >= < <=, and a number; in XML < is written &lt;",
        ),
        optional("timeout", Text, "", "longest wait for the condition, written as in `for`; required with `until`"),
    ],
    Empty,
);

pub(super) const REPEAT: Element = element(
    "repeat",
    "Elements that are executed several times.",
    &[required("count", Whole(1, 1_000_000), "", "number of repetitions")],
    Children(&[any("command"), any("set"), any("wait"), any("repeat")]),
);
