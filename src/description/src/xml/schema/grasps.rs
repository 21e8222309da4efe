//! The elements of a grasp file.

use std::f64::consts::PI;

use simpartner_model::ContactKind;

use super::{
    builders::{any, default, element, maybe, once, optional, required},
    element::{
        Content::{Children, Empty},
        Element,
    },
    kind::Kind::{Name, NotNegative, Positive, Real, Within, Word},
    shared::{COORDINATE, GRASP as ROOT, LENGTH, NAME, VECTOR},
};

pub(super) const GRASP: Element = element(
    ROOT,
    "A grasp: an object, and the contacts of fingers with it. `simpartner grasp check|chart|quality|slip FILE`.",
    &[
        default("name", Name, "", "grasp", "its name"),
        default("minForce", NotNegative, "N", "0", "smallest normal force of a contact"),
        default("maxForce", Positive(1e9), "N", "1000", "largest normal force of a contact"),
        default("tilt", Within(0.0, PI), "rad", "0.5235987755982988", "how far a chart tilts gravity"),
        default(
            "tolerance",
            Positive(1e6),
            "",
            "1e-6",
            "how far sums of forces (N) and torques (N m) may be off zero in the program of 1994; nothing else uses it",
        ),
    ],
    Children(&[maybe("gravity"), maybe("load"), once("object"), any("contact")]),
);

pub(super) const LOAD: Element = element(
    "load",
    "What acts on the object beside its weight: a force through its centre of mass, and a torque, along the world's axes.",
    &[
        default("x", Real, "N", "0", "force along x"),
        default("y", Real, "N", "0", "along y"),
        default("z", Real, "N", "0", "along z"),
        default("torqueX", Real, "N m", "0", "torque about x"),
        default("torqueY", Real, "N m", "0", "about y"),
        default("torqueZ", Real, "N m", "0", "about z"),
    ],
    Empty,
);

pub(super) const CONTACT: Element = element(
    "contact",
    "A finger's contact, in the object's frame. Its `<pose>` or `<transformation>` is the frame of its patch of surface, whose z points out \
     of the object. With a `<normal>` the pose is a place alone; x of the patch is then the object's x, or its y where the normal is within \
     26 degrees of x, made square to the normal.",
    &[
        NAME,
        required(
            "type",
            Word(&ContactKind::WORDS),
            "",
            "frictionless: pushes along the normal; frictional: within the cone of Coulomb friction; soft: resists turning about the \
             normal, too",
        ),
        optional("friction", NotNegative, "", "Coulomb friction coefficient, of frictional and soft ones"),
        optional(
            "radius",
            LENGTH,
            "m",
            "of the area that a soft one covers: it resists a torque of 2/3 friction radius for each newton of normal force, less where \
             it resists sliding, by an ellipsoid",
        ),
        optional("minForce", NotNegative, "N", "smallest normal force, in place of the grasp's"),
        optional("maxForce", Positive(1e9), "N", "largest normal force, in place of the grasp's"),
        default("atX", COORDINATE, "m", "0", "where the finger is, in the patch's frame"),
        default("atY", COORDINATE, "m", "0", "likewise; z follows from the patch"),
    ],
    Children(&[maybe("pose"), maybe("transformation"), maybe("normal"), maybe("patch")]),
);

pub(super) const NORMAL: Element =
    element("normal", "The direction that a finger pushes in, into the object, of any length.", VECTOR, Empty);

pub(super) const PATCH: Element = element(
    "patch",
    "The surface around a contact, z = xx x² + yy y² + xy x y + x x + y y + constant. Without it, a plane.",
    &[
        default("xx", Real, "1/m", "0", "coefficient of x²; below zero the object bulges"),
        default("yy", Real, "1/m", "0", "of y²"),
        default("xy", Real, "1/m", "0", "of x y"),
        default("x", Real, "", "0", "of x"),
        default("y", Real, "", "0", "of y"),
        default("constant", COORDINATE, "m", "0", "the height at the origin"),
        optional(
            "range",
            LENGTH,
            "m",
            "how far from its origin the patch reaches; without it, ten times the object's size from the contact",
        ),
    ],
    Empty,
);
