//! The elements that scatter rocks.

use super::{
    builders::{any, default, element, optional, required},
    element::{
        Attribute,
        Content::{Children, Empty},
        Element,
    },
    kind::Kind::{Fraction, Name, NotNegative, Positive, Real, Whole, Word},
    materials::with_material,
    shared::{COORDINATE, LENGTH},
};

const X: Attribute = default("x", COORDINATE, "m", "0", "where its middle is");
const Z: Attribute = default("z", COORDINATE, "m", "0", "where its middle is");

/// `<rocks>`
pub(super) const ROCKS: Element = element(
    "rocks",
    "Rocks scattered over a rectangle of planes and terrain, as many of each size as on Mars: those of a diameter of at least D cover \
     the part k exp(-(1.79 + 0.152/k) D) of the ground (Golombek et al. 2003). Their number has Poisson's distribution, their places are \
     uniform; the seed alone says which they are, and smallest, largest and <clear> only leave some of them out. Each is an object, a \
     convex hull named after the element with its number, the largest first.",
    with_material![
        "1",
        default("name", Name, "", "Rock", "what the names of the rocks begin with: Rock1, Rock2 and so on"),
        default("seed", Whole(0, i64::MAX), "", "1", "another seed scatters other rocks"),
        required(
            "cover",
            Positive(1.0),
            "",
            "the part k of the ground that rocks of all sizes cover, those that are left out as well: 0.05 to 0.4 at landing sites on Mars"
        ),
        default(
            "smallest",
            Positive(1e3),
            "m",
            "0.1",
            "the smallest diameter: that of a circle with the area of the outline from above"
        ),
        default("largest", Positive(1e3), "m", "1", "the largest diameter"),
        required("width", LENGTH, "m", "extent of the rectangle along x"),
        required("depth", LENGTH, "m", "extent of the rectangle along z"),
        X,
        Z,
        default(
            "heightRatio",
            Positive(10.0),
            "",
            "0.5",
            "how high they stand above the ground, as a part of the diameter; 0.5 is an estimate for flat ground strewn with them"
        ),
        default(
            "looseBelow",
            NotNegative,
            "m",
            "0",
            "rocks of a smaller diameter lie loose on the ground, all others are fixed and half buried; one that would lie in another is left out then"
        ),
        default(
            "density",
            Positive(1e5),
            "kg/m³",
            "2900",
            "of loose rocks: that of basalt; their mass is that of an ellipsoid"
        ),
    ],
    Children(&[any("clear")]),
);

/// `<clear>`
pub(super) const CLEAR: Element = element(
    "clear",
    "A circle that rocks stay out of, such as where a robot starts.",
    &[X, Z, required("radius", LENGTH, "m", "its radius")],
    Empty,
);
