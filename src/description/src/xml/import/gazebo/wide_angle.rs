//! The lenses of wide-angle cameras as our fisheye.
//!
//! A ray at the angle θ from the axis meets the image at the distance r = F fun(θ / c2) from its middle. F follows from
//! the field of view, which fills the width. Our fisheye has r = f θ (1 + k1 θ² + k2 θ⁴ + k3 θ⁶ + k4 θ⁸).

use std::f64::consts::PI;

use super::super::{
    camera::{MAX_FIELD_OF_VIEW, lens},
    model::Part,
};

/// Number of angles at which a fisheye is compared with the lens that it stands for.
const COMPARED_ANGLES: u32 = 64;

/// Place of a ray in the image.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Mapping {
    function: Function,
    /// The angle is divided by it.
    c2: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Function {
    Identity,
    Sine,
    Tangent,
}

impl Mapping {
    /// A function of SDF: `id`, `sin` or `tan`.
    pub(super) fn new(function: &str, c2: f64) -> Option<Self> {
        let function = match function {
            "id" => Function::Identity,
            "sin" => Function::Sine,
            "tan" => Function::Tangent,
            _ => return None,
        };
        (c2 > 0.0).then_some(Self { function, c2 })
    }

    /// A type of lens of SDF.
    pub(super) fn named(kind: &str) -> Option<Self> {
        match kind {
            "gnomonical" => Self::new("tan", 1.0),
            "stereographic" => Self::new("tan", 2.0),
            "equidistant" => Self::new("id", 1.0),
            "equisolid_angle" => Self::new("sin", 2.0),
            "orthographic" => Self::new("sin", 1.0),
            _ => None,
        }
    }

    /// The lens of ours for images of this width in pixels and this field of view in rad, and its largest error up to
    /// the edge of the image, in pixels. `None` if the image would be infinitely wide, or if rays of different angles
    /// would meet.
    pub(super) fn lens(self, width: f64, field_of_view: f64) -> Option<(Part, f64)> {
        let edge = 0.5 * field_of_view;
        let half_turn = match self.function {
            Function::Identity => 2.0 * PI,
            Function::Sine => 0.5 * PI * self.c2,
            Function::Tangent => 0.5 * MAX_FIELD_OF_VIEW * self.c2,
        };
        if !(edge > 0.0 && edge <= PI && edge <= half_turn) {
            return None;
        }
        let scale = 0.5 * width / self.value_at(edge);
        if self.function == Function::Tangent && self.c2 == 1.0 {
            return Some((lens("pinhole", vec![("focalX", scale)]), 0.0));
        }
        let focal = scale / self.c2;
        let series = match self.function {
            Function::Identity => [0.0; 4],
            Function::Sine => [-1.0 / 6.0, 1.0 / 120.0, -1.0 / 5040.0, 1.0 / 362_880.0],
            Function::Tangent => [1.0 / 3.0, 2.0 / 15.0, 17.0 / 315.0, 62.0 / 2835.0],
        };
        let mut power = 1.0;
        let coefficients = series.map(|coefficient| {
            power *= self.c2 * self.c2;
            coefficient / power
        });
        let polynomial = |angle: f64| {
            let square = angle * angle;
            let sum = coefficients.iter().rev().fold(0.0, |sum, coefficient| (sum + coefficient) * square);
            focal * angle * (1.0 + sum)
        };
        let error = (1..=COMPARED_ANGLES).map(|part| {
            let angle = edge * f64::from(part) / f64::from(COMPARED_ANGLES);
            (polynomial(angle) - scale * self.value_at(angle)).abs()
        });
        let error = error.fold(0.0, f64::max);
        let named = ["k1", "k2", "k3", "k4"].into_iter().zip(coefficients).filter(|(_, value)| *value != 0.0);
        Some((lens("fisheye", [("focalX", focal)].into_iter().chain(named).collect()), error))
    }

    fn value_at(self, angle: f64) -> f64 {
        let angle = angle / self.c2;
        match self.function {
            Function::Identity => angle,
            Function::Sine => libm::sin(angle),
            Function::Tangent => libm::tan(angle),
        }
    }
}
