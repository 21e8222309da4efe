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
    "A file of assemblies, for robots to include.",
    &[],
    Children(&[any("include"), any("assembly")]),
);

/// `<include>`
pub(super) const INCLUDE: Element = element(
    "include",
    "Brings in the assemblies of another file.",
    &[required("file", Text, "", "path of a file of assemblies, from this file's folder")],
    Empty,
);

/// `<assembly>`
pub(super) const ASSEMBLY: Element = element(
    "assembly",
    "Bodies, joints and devices that are written once, in a frame of their own, and placed any number of times. It is \
     nothing until it is placed. A name in it means a body or joint of the assembly, or else one around it.",
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
    "A value that differs from place to place. In an assembly it declares one, with a default or without; anywhere in the \
     assembly `${name}` stands for its value. In `<place>` it gives the value; in a robot it gives it to all assemblies \
     that have a parameter of this name. What is given nearest to the place counts.",
    &[NAME, optional("value", Text, "", "the value, as it would be written in its place")],
    Empty,
);

/// `<place>`
pub(super) const PLACE: Element = element(
    "place",
    "Places an assembly. A mirror turns the signs of its positions along one axis before `<pose>` moves it, and shapes, \
     sensors and inertia with them; the axes of joints keep their directions, so that a positive angle turns both sides \
     the same way.",
    &[
        required("assembly", Name, "", "its name"),
        optional("suffix", Name, "", "put behind the name of each body, joint and device of the assembly"),
        optional("on", Name, "", "the body that it hangs on: the value of `${on}` in the assembly"),
        optional("mirror", Word(&["x", "y", "z"]), "", "the axis of the assembly's frame along which it is mirrored"),
        default("portOffset", Whole(-65_535, 65_535), "", "0", "added to the port of every device, unless that is 0"),
    ],
    Children(&[maybe("pose"), any("parameter")]),
);
