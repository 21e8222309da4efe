//! The table's part on light.

use std::f64::consts::PI;

use super::{
    builders::{default, element, optional},
    element::{Content::Empty, Element},
    kind::Kind::{self, Color, NotNegative, Positive, Real, Within, Word},
    shared::COORDINATE,
};

const CONE_ANGLE: Kind = Within(0.0, PI);

/// `<illumination>`
pub(super) const ILLUMINATION_ELEMENT: Element = element(
    "illumination",
    "Light of sun and sky in pictures. What is left out is as in a world without the element: a clear day.",
    &[
        default("sunX", Real, "", "0.55", "x component of the direction to the sun"),
        default("sunY", Real, "", "0.8", "y component of the direction to the sun"),
        default("sunZ", Real, "", "-0.24", "z component of the direction to the sun"),
        optional("sun", Color, "", "colour of the light of the sun; #000000 for none"),
        default("sunFactor", NotNegative, "", "1", "factor on the light of the attribute sun"),
        optional("ambient", Color, "", "ambient light on surfaces that face up"),
        optional("ambientBelow", Color, "", "ambient light on surfaces that face down; without it, as ambient"),
        optional("zenith", Color, "", "sky straight up"),
        optional("horizon", Color, "", "sky at the horizon and below; without it, as zenith"),
    ],
    Empty,
);

/// `<light>`
pub(super) const LIGHT_ELEMENT: Element = element(
    "light",
    "A light in pictures, beside the sun. At the distance d its light is divided by constant + linear d + quadratic d²; \
     white light of the factor 1 makes a white surface that faces it white.",
    &[
        default("type", Word(&["point", "spot", "directional"]), "", "point", "form of the light"),
        default("x", COORDINATE, "m", "0", "place"),
        default("y", COORDINATE, "m", "0", "place"),
        default("z", COORDINATE, "m", "0", "place"),
        default("directionX", Real, "", "0", "direction of the light of a spot or directional light"),
        default("directionY", Real, "", "-1", "direction along y"),
        default("directionZ", Real, "", "0", "direction along z"),
        default("color", Color, "", "#ffffff", "colour"),
        default("factor", NotNegative, "", "1", "factor on the colour, in linear light"),
        default("constant", NotNegative, "", "0", "constant attenuation of a point or spot light"),
        default("linear", NotNegative, "1/m", "0", "linear attenuation"),
        default("quadratic", NotNegative, "1/m²", "1", "quadratic attenuation"),
        optional("range", Positive(f64::MAX), "m", "distance beyond which it does not reach; none without it"),
        default("innerAngle", CONE_ANGLE, "rad", "0.5", "angle from the axis of a spot light within which it is full"),
        default("outerAngle", CONE_ANGLE, "rad", "0.7", "angle from the axis beyond which there is none"),
        default("shadow", Kind::BOOLEAN, "", "true", "true if bodies throw shadows in it"),
    ],
    Empty,
);
