//! The elements that scatter rocks.

use super::{
    builders::{any, default, element, optional, required},
    element::{
        Attribute,
        Content::{Children, Empty},
        Element,
    },
    kind::Kind::{Fraction, Name, NotNegative, Positive, Real, Whole, Within, Word},
    materials::with_material,
    shared::{COORDINATE, LENGTH},
};

const X: Attribute = default("x", COORDINATE, "m", "0", "x of the middle");
const Z: Attribute = default("z", COORDINATE, "m", "0", "z of the middle");

/// `<rocks>`
pub(super) const ROCKS: Element = element(
    "rocks",
    "Rocks scattered at random over a rectangle of planes and terrain, with the size distribution of Mars: rocks with \
     a diameter of at least D, in m, cover the fraction k exp(-(1.79 + 0.152/k) D) of the ground (Golombek et al. \
     2003). Their number follows Poisson's distribution, and their positions are uniform. The seed alone determines \
     all rocks; smallest, largest and `<clear>` only leave some of them out. Each rock is an object with a convex \
     hull. Its name is that of the element with a number, the largest rock first.",
    with_material![
        "1",
        default("name", Name, "", "Rock", "first part of the names of the rocks: Rock1, Rock2, ..."),
        default("seed", Whole(0, i64::MAX), "", "1", "seed of the random rocks"),
        required(
            "cover",
            Positive(1.0),
            "",
            "fraction k of the ground that rocks of all sizes cover, with those that are left out; 0.05 to 0.4 at \
             landing sites on Mars"
        ),
        default(
            "smallest",
            Positive(1e3),
            "m",
            "0.1",
            "smallest diameter: that of a circle with the area of the rock's outline, seen from above"
        ),
        default("largest", Positive(1e3), "m", "1", "largest diameter"),
        required("width", LENGTH, "m", "extent of the rectangle along x"),
        required("depth", LENGTH, "m", "extent of the rectangle along z"),
        X,
        Z,
        default(
            "heightRatio",
            Positive(10.0),
            "",
            "0.5",
            "height of the rocks above the ground, as a fraction of the diameter; 0.5 is an estimate for flat ground \
             strewn with rocks"
        ),
        default(
            "looseBelow",
            NotNegative,
            "m",
            "0",
            "diameter below which rocks lie loose on the ground; larger ones are fixed and half buried; with a value \
             above 0, a loose rock that would overlap another rock is left out"
        ),
        default(
            "density",
            Positive(1e5),
            "kg/m³",
            "2900",
            "density of loose rocks, by default that of basalt; the mass is that of an ellipsoid"
        ),
    ],
    Children(&[any("clear")]),
);

/// `<clear>`
pub(super) const CLEAR: Element = element(
    "clear",
    "A circle without rocks, for example where a robot starts.",
    &[X, Z, required("radius", LENGTH, "m", "radius of the circle")],
    Empty,
);
