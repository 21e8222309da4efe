//! Pressure of a patch: its chords, with the load that each of them carries.
//!
//! The pressure is linear over the patch, and its centre is that of the loads of the contact points. Where it would
//! pull, the patch is smaller: a line whose load is beyond its middle third carries on three times the distance from
//! the load to its end, as a row of equal springs does.

use bevy_math::DVec2;
use simpartner_model::Norm;

use crate::engine::solvers::patch_friction::{Chord, MAX_CHORDS, PatchFriction};

/// Number of chords of a face. Their nodes and weights on -1 to 1 are those of Gauss and Legendre, of order 6: the
/// largest moment of a rectangle about its middle is exact to 0.1 %.
const FACE_CHORDS: usize = 6;
const QUADRATURE_NODES: [(f64, f64); FACE_CHORDS] = [
    (-0.932_469_514_203_152, 0.171_324_492_379_170_3),
    (-0.661_209_386_466_264_5, 0.360_761_573_048_138_6),
    (-0.238_619_186_083_196_9, 0.467_913_934_572_691),
    (0.238_619_186_083_196_9, 0.467_913_934_572_691),
    (0.661_209_386_466_264_5, 0.360_761_573_048_138_6),
    (0.932_469_514_203_152, 0.171_324_492_379_170_3),
];
/// Effective half width of a strip over its half width. The mean of log |t| over a strip of half width c is log(c / e),
/// which would be 0.37. The moment of a square is then 0.8 % too large; with this value the excess is 0.13 %.
const EFFECTIVE_WIDTH: f64 = 0.15;
/// Most contacts of a face: four corners, and one point that is deeper.
pub(super) const MAX_CORNERS: usize = 5;
/// Distance from a circle within which a corner lies on it, as a fraction of the radius.
const SAME_CIRCLE: f64 = 1e-4;
/// Width below which a face is a line, as a fraction of its length.
const LINE_WIDTH: f64 = 1e-6;

/// Outline of a patch in its plane, about its reference point, m. The first axis is along its chords.
#[derive(Debug, Clone, Copy)]
pub(super) enum Form<'a> {
    /// From the least to the largest coordinate.
    Line([f64; 2]),
    /// Corners in order around.
    Polygon(&'a [DVec2]),
    /// About the reference point.
    Disc(f64),
}

/// A part of the patch: middle, half length, half width of its strip, m, and its area without a common factor.
#[derive(Debug, Clone, Copy, Default)]
struct Strip {
    middle: DVec2,
    half: f64,
    width: f64,
    area: f64,
}

/// Load of the patch without tilt of the pressure, and with it: the strips' pressure is 1 + gradient · (x - centre).
struct Strips {
    strips: [Strip; MAX_CHORDS],
    count: usize,
    /// Bounding box.
    low: DVec2,
    high: DVec2,
}

impl Form<'_> {
    /// The law of a patch of this form whose load is centred at `centre`; lengths are divided by `unit`.
    pub(super) fn patch_friction(&self, centre: DVec2, unit: f64) -> PatchFriction {
        let strips = self.cut_strips();
        let (area_centre, spread) = strips.area_moments();
        let gradient = strips.limited_gradient(self, centre - area_centre, area_centre, &spread);
        let reached = area_centre + spread.times(gradient);
        let scale = strips.scale_about(centre, reached);
        let mut friction = PatchFriction { count: strips.count, ..PatchFriction::default() };
        let total: f64 = strips.strips[..strips.count].iter().map(|strip| strip.area).sum();
        for (chord, strip) in friction.chords.iter_mut().zip(&strips.strips[..strips.count]) {
            let pressure = 1.0 + gradient.dot(strip.middle - area_centre);
            let middle = (centre + scale * (strip.middle - reached)) / unit;
            *chord = Chord {
                along: middle.x,
                across: middle.y,
                half: scale.x * strip.half / unit,
                width: EFFECTIVE_WIDTH * scale.y * strip.width / unit,
                load: strip.area * pressure / total,
                tilt: if pressure > 0.0 { gradient.x * strip.half / pressure } else { 0.0 },
            };
        }
        friction
    }

    /// Centre of its area, m.
    pub(super) fn pressure_centre(&self) -> DVec2 {
        self.cut_strips().area_moments().0
    }

    /// Its strips.
    fn cut_strips(&self) -> Strips {
        let mut found =
            Strips { strips: [Strip::default(); MAX_CHORDS], count: 1, low: DVec2::ZERO, high: DVec2::ZERO };
        match *self {
            Self::Line([low, high]) => {
                found.strips[0] =
                    Strip { middle: DVec2::X * (0.5 * (low + high)), half: 0.5 * (high - low), width: 0.0, area: 1.0 };
                (found.low, found.high) = (DVec2::X * low, DVec2::X * high);
            }
            Self::Polygon(corners) => {
                (found.low, found.high) = corners
                    .iter()
                    .fold((corners[0], corners[0]), |(low, high), &corner| (low.min(corner), high.max(corner)));
                let half = 0.5 * (found.high.y - found.low.y);
                for (strip, (node, weight)) in found.strips.iter_mut().zip(QUADRATURE_NODES) {
                    let across = found.low.y + half * (1.0 + node);
                    let [low, high] = section_ends(corners, across);
                    let (middle, length) = (DVec2::new(0.5 * (low + high), across), high - low);
                    *strip = Strip { middle, half: 0.5 * length, width: 0.5 * weight * half, area: weight * length };
                }
                found.count = FACE_CHORDS;
                found.match_moments(corners);
            }
            Self::Disc(radius) => {
                (found.low, found.high) = (DVec2::splat(-radius), DVec2::splat(radius));
                // Chords at equal angles: Gauss's quadrature with the weight of a circle (Chebyshev).
                for (place, strip) in found.strips.iter_mut().enumerate() {
                    let angle = std::f64::consts::PI * (place + 1) as f64 / (MAX_CHORDS + 1) as f64;
                    let (sine, cosine) = libm::sincos(angle);
                    let width = 0.5 * radius * sine * std::f64::consts::PI / (MAX_CHORDS + 1) as f64;
                    let middle = DVec2::new(0.0, radius * cosine);
                    *strip = Strip { middle, half: radius * sine, width, area: sine * sine };
                }
                found.count = MAX_CHORDS;
            }
        }
        found
    }

    /// The smallest of 1 + gradient · (x - centre) over the patch.
    fn least_pressure(&self, gradient: DVec2, centre: DVec2) -> f64 {
        let at = |point: DVec2| 1.0 + gradient.dot(point - centre);
        match *self {
            Self::Line(ends) => ends.into_iter().map(|x| at(DVec2::X * x)).fold(f64::INFINITY, f64::min),
            Self::Polygon(corners) => corners.iter().map(|&x| at(x)).fold(f64::INFINITY, f64::min),
            Self::Disc(radius) => at(DVec2::ZERO) - gradient.norm() * radius,
        }
    }
}

/// Symmetric matrix of two by two: xx, xy, yy.
struct Spread([f64; 3]);

impl Spread {
    fn times(&self, of: DVec2) -> DVec2 {
        let [xx, xy, yy] = self.0;
        DVec2::new(xx * of.x + xy * of.y, xy * of.x + yy * of.y)
    }

    /// The vector that this matrix maps to `of`. An axis without extent has no part in it.
    fn solve_spread(&self, of: DVec2) -> DVec2 {
        let [xx, xy, yy] = self.0;
        let det = xx * yy - xy * xy;
        if det > 1e-12 * xx * yy {
            return DVec2::new(yy * of.x - xy * of.y, xx * of.y - xy * of.x) / det;
        }
        if xx > 0.0 { DVec2::new(of.x / xx, 0.0) } else { DVec2::ZERO }
    }
}

impl Strips {
    /// Centre of the area, and its second moments about it over the area.
    fn area_moments(&self) -> (DVec2, Spread) {
        let strips = &self.strips[..self.count];
        let area: f64 = strips.iter().map(|strip| strip.area).sum();
        let centre = strips.iter().map(|strip| strip.middle * strip.area).sum::<DVec2>() / area;
        let mut spread = [0.0; 3];
        for strip in strips {
            let (from, share) = (strip.middle - centre, strip.area / area);
            spread[0] += share * (from.x * from.x + strip.half * strip.half / 3.0);
            spread[1] += share * from.x * from.y;
            spread[2] += share * from.y * from.y;
        }
        (centre, Spread(spread))
    }

    /// Moves and scales the strips along both axes such that they have the area moments of the polygon: its width has a
    /// kink at each corner, which the nodes do not see. The moment of a pentagon was 1.7 % too large.
    fn match_moments(&mut self, corners: &[DVec2]) {
        let ((own, Spread([xx, _, yy])), (centre, Spread(wanted))) = (self.area_moments(), polygon_moments(corners));
        let factor = |wanted: f64, found: f64| if found > 0.0 { (wanted / found).sqrt() } else { 1.0 };
        let scale = DVec2::new(factor(wanted[0], xx), factor(wanted[2], yy));
        for strip in &mut self.strips[..self.count] {
            strip.middle = centre + scale * (strip.middle - own);
            (strip.half, strip.width) = (scale.x * strip.half, scale.y * strip.width);
        }
    }

    /// Gradient of the pressure that moves its centre by `offset`, or as far as it stays a pressure.
    fn limited_gradient(&self, form: &Form, offset: DVec2, area_centre: DVec2, spread: &Spread) -> DVec2 {
        let gradient = spread.solve_spread(offset);
        let least = form.least_pressure(gradient, area_centre);
        if least < 0.0 { gradient / (1.0 - least) } else { gradient }
    }

    /// Factors along both axes by which the patch shrinks, so that it stays within its bounds when its centre of
    /// pressure moves from `reached` to `centre`.
    fn scale_about(&self, centre: DVec2, reached: DVec2) -> DVec2 {
        let along = |centre: f64, reached: f64, low: f64, high: f64| {
            let side = |to: f64, from: f64| if from > 0.0 { (to / from).clamp(0.0, 1.0) } else { 1.0 };
            side(centre - low, reached - low).min(side(high - centre, high - reached))
        };
        DVec2::new(
            along(centre.x, reached.x, self.low.x, self.high.x),
            along(centre.y, reached.y, self.low.y, self.high.y),
        )
    }
}

/// Centre of the area of a polygon, and its second moments about it over the area, m².
fn polygon_moments(corners: &[DVec2]) -> (DVec2, Spread) {
    let (start, mut area, mut first, mut second) = (corners[0], 0.0, DVec2::ZERO, [0.0; 3]);
    // Triangles between the first corner and each side.
    for pair in corners[1..].windows(2) {
        let [one, other] = [pair[0] - start, pair[1] - start];
        let (twice, sum) = (one.perp_dot(other), one + other);
        area += 0.5 * twice;
        first += sum * (twice / 6.0);
        second[0] += twice / 24.0 * (one.x * one.x + other.x * other.x + sum.x * sum.x);
        second[1] += twice / 24.0 * (one.x * one.y + other.x * other.y + sum.x * sum.y);
        second[2] += twice / 24.0 * (one.y * one.y + other.y * other.y + sum.y * sum.y);
    }
    let centre = first / area;
    let about = [centre.x * centre.x, centre.x * centre.y, centre.y * centre.y];
    (start + centre, Spread(std::array::from_fn(|c| second[c] / area - about[c])))
}

/// The least and the largest first coordinate of a convex polygon at a second coordinate within it.
fn section_ends(corners: &[DVec2], across: f64) -> [f64; 2] {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for (place, &from) in corners.iter().enumerate() {
        let to = corners[(place + 1) % corners.len()];
        if (from.y - across) * (to.y - across) <= 0.0 && from.y != to.y {
            let x = from.x + (to.x - from.x) * (across - from.y) / (to.y - from.y);
            (low, high) = (low.min(x), high.max(x));
        }
    }
    if low <= high { [low, high] } else { [corners[0].x; 2] }
}

/// The form of a patch from its contacts, in any order about their mean, and all corners of its face, if these are
/// more. It is a disc if the contacts lie on a circle with one of the radii `round`, m. The coordinates are turned so
/// that the chords lie along the longest side; its direction is returned.
pub(super) fn form_of<'a>(contacts: &'a mut [DVec2], face: &'a mut Vec<DVec2>, round: [f64; 2]) -> (Form<'a>, DVec2) {
    if let [first, second] = *contacts {
        let along = (second - first).normalized_or_zero();
        return (Form::Line([along.dot(first), along.dot(second)]), along);
    }
    contacts.sort_by(|one, other| libm::atan2(one.y, one.x).total_cmp(&libm::atan2(other.y, other.x)));
    if let Some(radius) = disc_radius(contacts)
        && round.iter().any(|of| (of - radius).abs() < SAME_CIRCLE * radius)
    {
        return (Form::Disc(radius), DVec2::X);
    }
    keep_convex_hull(face);
    let corners = if face.len() > contacts.len() { &mut face[..] } else { contacts };
    let sides = (0..corners.len()).map(|place| corners[(place + 1) % corners.len()] - corners[place]);
    let longest = sides.fold(DVec2::ZERO, |longest, side| {
        if side.length_squared() > longest.length_squared() * (1.0 + 1e-9) { side } else { longest }
    });
    let along = longest.normalized_or_zero();
    corners.iter_mut().for_each(|corner| *corner = DVec2::new(along.dot(*corner), along.perp_dot(*corner)));
    let (low, high) = corners.iter().fold((corners[0], corners[0]), |(l, h), &x| (l.min(x), h.max(x)));
    if high.y - low.y < LINE_WIDTH * (high.x - low.x) {
        return (Form::Line([low.x, high.x]), along);
    }
    (Form::Polygon(corners), along)
}

/// Keeps the corners of the convex hull of points, in order around (Andrew 1979). Of points within [`LINE_WIDTH`] of a
/// side, only the ends stay.
fn keep_convex_hull(points: &mut Vec<DVec2>) {
    points.sort_by(|one, other| one.x.total_cmp(&other.x).then(one.y.total_cmp(&other.y)));
    let count = points.len();
    // The hull is built behind the points: first along the lower side, then back along the upper one.
    for upper in [false, true] {
        let start = points.len();
        for place in 0..count {
            let point = points[if upper { count - 1 - place } else { place }];
            while points.len() > start + 1 {
                let [from, at] = [points[points.len() - 2], points[points.len() - 1]];
                let (side, next) = (at - from, point - from);
                if side.perp_dot(next) > LINE_WIDTH * side.norm() * next.norm() {
                    break;
                }
                points.pop();
            }
            points.push(point);
        }
        // The last point of each side is the first of the other.
        points.pop();
    }
    points.drain(..count);
}

/// Radius of the circle about the origin on whose rim four corners lie at right angles; `None` if they do not.
fn disc_radius(corners: &[DVec2]) -> Option<f64> {
    let [first, second, third, fourth] = *corners else { return None };
    let radius = first.norm();
    let near = SAME_CIRCLE * radius;
    let is_disc =
        (first + third).norm() < near && (second + fourth).norm() < near && (second - first.perp()).norm() < near;
    is_disc.then_some(radius)
}
