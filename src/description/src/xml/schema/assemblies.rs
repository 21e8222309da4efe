//! The part of the table that is about assemblies.

use super::{
    builders::{any, default, element, maybe, optional, required},
    element::{
        Content::{Children, Empty},
        Element,
    },
    kind::Kind::{Name, Text, Whole, Word},
    shared::{ASSEMBLIES, NAME},
};

/// `<assemblies>`
pub(super) const FILE: Element = element(
    ASSEMBLIES,
    "A file of assemblies, which robot files can include.",
    &[],
    Children(&[any("include"), any("assembly")]),
);

/// `<include>`
pub(super) const INCLUDE: Element = element(
    "include",
    "Makes the assemblies of another file available.",
    &[required("file", Text, "", "path of a file of assemblies, relative to this file's folder")],
    Empty,
);

/// `<assembly>`
pub(super) const ASSEMBLY: Element = element(
    "assembly",
    "A group of bodies, joints and devices in a frame of its own, for parts that occur several times. `<place>` makes \
     a copy; without it, the assembly has no effect. A name in an assembly refers to a body or joint of the assembly, \
     or else to one of the robot around it.",
    &[NAME],
    Children(&[
        any("parameter"),
        any("place"),
        any("body"),
        any("joint"),
        any("coupling"),
        any("exclude"),
        any("sensor"),
        any("actuator"),
    ]),
);

/// `<parameter>`
pub(super) const PARAMETER: Element = element(
    "parameter",
    "A parameter of an assembly. In `<assembly>` it declares the parameter, with or without a default, and `${name}` \
     stands for its value anywhere in the assembly. In `<place>` it sets the value of this copy. In `<robot>` it sets \
     the value for all assemblies that have a parameter of this name. The value nearest to the `<place>` takes \
     precedence.",
    &[NAME, optional("value", Text, "", "the value: a text that replaces `${name}`")],
    Empty,
);

/// `<place>`
pub(super) const PLACE: Element = element(
    "place",
    "A copy of an assembly in the robot. With `mirror`, positions, shapes, sensors and inertias are mirrored along one \
     axis before `<pose>` moves the copy. The axes of joints keep their directions, so that a positive angle turns \
     both sides in the same direction.",
    &[
        required("assembly", Name, "", "name of the assembly"),
        optional("suffix", Name, "", "suffix that is appended to the name of each body, joint and device of the copy"),
        optional("on", Name, "", "name of the body that the copy is attached to: the value of `${on}` in the assembly"),
        optional("mirror", Word(&["x", "y", "z"]), "", "axis of the assembly's frame along which the copy is mirrored"),
        default(
            "portOffset",
            Whole(-65_535, 65_535),
            "",
            "0",
            "number that is added to the port of every device, except to port 0",
        ),
    ],
    Children(&[maybe("pose"), any("parameter")]),
);
