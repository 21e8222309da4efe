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
        default("name", Name, "", "grasp", "name of the grasp"),
        default("minForce", NotNegative, "N", "0", "smallest normal force of a contact"),
        default("maxForce", Positive(1e9), "N", "1000", "largest normal force of a contact"),
        default("tilt", Within(0.0, PI), "rad", "0.5235987755982988", "largest tilt of gravity in a chart"),
        default(
            "tolerance",
            Positive(1e6),
            "",
            "1e-6",
            "tolerance of the program of 1994 (`--as-1994`) for each component of the sums of forces (N) and torques \
             (N m); nothing else uses it",
        ),
    ],
    Children(&[maybe("gravity"), maybe("load"), once("object"), any("contact")]),
);

pub(super) const LOAD: Element = element(
    "load",
    "External load on the object in addition to its weight: a force through its centre of mass, and a torque, world \
     axes.",
    &[
        default("x", Real, "N", "0", "force along x"),
        default("y", Real, "N", "0", "force along y"),
        default("z", Real, "N", "0", "force along z"),
        default("torqueX", Real, "N m", "0", "torque about x"),
        default("torqueY", Real, "N m", "0", "torque about y"),
        default("torqueZ", Real, "N m", "0", "torque about z"),
    ],
    Empty,
);

pub(super) const CONTACT: Element = element(
    "contact",
    "A contact of a finger with the object. `<pose>` or `<transformation>` is the frame of its surface patch in the \
     object's frame; z of the patch points out of the object. With a `<normal>`, only the position of the pose is \
     used. The x axis of the patch is then the object's x axis, projected to be perpendicular to the normal; if the \
     normal is within 26 degrees of x, it is the object's y axis.",
    &[
        NAME,
        required(
            "type",
            Word(&ContactKind::WORDS),
            "",
            "law of the contact. frictionless: pushes along the normal. frictional: pushes within the cone of Coulomb \
             friction. soft: also resists turning about the normal",
        ),
        optional("friction", NotNegative, "", "Coulomb friction coefficient of a frictional or soft contact"),
        optional(
            "radius",
            LENGTH,
            "m",
            "radius of the contact area of a soft contact. It resists a torque of 2/3 x friction x radius for each \
             newton of normal force; less if it also resists sliding, by an ellipsoid",
        ),
        optional("minForce", NotNegative, "N", "smallest normal force of this contact; without it, that of the grasp"),
        optional("maxForce", Positive(1e9), "N", "largest normal force of this contact; without it, that of the grasp"),
        default("atX", COORDINATE, "m", "0", "x of the finger in the frame of the patch"),
        default("atY", COORDINATE, "m", "0", "y of the finger in the frame of the patch; z follows from the patch"),
    ],
    Children(&[maybe("pose"), maybe("transformation"), maybe("normal"), maybe("patch")]),
);

pub(super) const NORMAL: Element = element(
    "normal",
    "The direction in which a finger pushes, into the object, in the object's frame; a vector of any length.",
    VECTOR,
    Empty,
);

pub(super) const PATCH: Element = element(
    "patch",
    "The surface of the object around a contact: z = xx x² + yy y² + xy x y + x x + y y + constant, in the frame of \
     the patch. Without the element, a plane.",
    &[
        default("xx", Real, "1/m", "0", "coefficient of x²; negative for a convex object"),
        default("yy", Real, "1/m", "0", "coefficient of y²"),
        default("xy", Real, "1/m", "0", "coefficient of x y"),
        default("x", Real, "", "0", "coefficient of x"),
        default("y", Real, "", "0", "coefficient of y"),
        default("constant", COORDINATE, "m", "0", "height at the origin of the patch"),
        optional(
            "range",
            LENGTH,
            "m",
            "extent of the patch from its origin, along x and along y; without it, ten times the size of the object \
             from the contact",
        ),
    ],
    Empty,
);
