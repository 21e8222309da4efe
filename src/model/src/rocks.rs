//! Rocks scattered over ground, as on Mars.
//!
//! Rocks with a diameter of at least D cover the fraction F(D) = k exp(-q D) of the ground, with q = 1.79 + 0.152/k and
//! the fraction k that all of them cover (Golombek et al. 2003, *Rock Size-Frequency Distributions at the Mars
//! Exploration Rover Landing Sites*, NTRS 20030111177). A rock covers pi D²/4, so a square metre has n(D) = k q exp(-q
//! D) 4/(pi D²) rocks per metre of diameter. Their positions are a Poisson process: independent of each other.

use std::f64::consts::{FRAC_PI_4, PI, TAU};

use bevy_math::DVec3;

use super::random::Stream;

/// Size distribution of rocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RockSizes {
    /// The part k of the ground that all rocks cover, above 0 and at most 1. The model was fitted to landing sites of
    /// 0.05 to 0.4.
    pub cover: f64,
}

impl RockSizes {
    /// Decay constant q of the size distribution, 1/m: the covered fraction falls with the diameter D as exp(-q D).
    pub fn decay(self) -> f64 {
        1.79 + 0.152 / self.cover
    }

    /// F: the part of the ground that rocks of at least this diameter, m, cover.
    pub fn cover_above(self, diameter: f64) -> f64 {
        self.cover * libm::exp(-self.decay() * diameter)
    }

    /// n: rocks per square metre of ground and metre of diameter, at this diameter, m.
    pub fn density(self, diameter: f64) -> f64 {
        self.scale() * libm::exp(-self.decay() * diameter) / (diameter * diameter)
    }

    /// 4 k q / pi, 1/m: the factor of exp(-q D)/D² in [`Self::density`].
    fn scale(self) -> f64 {
        self.cover * self.decay() / FRAC_PI_4
    }
}

/// A rectangle of ground with rocks on it. The same field has the same rocks on every platform.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RockField {
    /// The seed of all chance in it.
    pub seed: u64,
    /// Size distribution of rocks.
    pub sizes: RockSizes,
    /// The smallest diameter, m, above 0. It only omits rocks: larger ones do not depend on it.
    pub smallest: f64,
    /// The largest diameter, m; likewise.
    pub largest: f64,
    /// Extent along x, m: from -width/2 to width/2.
    pub width: f64,
    /// Extent along z, m.
    pub depth: f64,
}

impl RockField {
    /// The mean number of random trials in [`Self::rocks`]; slightly above the number of rocks, unless the cover is
    /// small.
    pub fn tries(&self) -> f64 {
        self.width * self.depth * self.sizes.scale() / self.smallest
    }

    /// The rocks, from the largest to the smallest: their number has Poisson's distribution, their places are uniform.
    ///
    /// With s = 1/D the rocks per square metre and unit of s are n(D) D² = 4 k q/pi exp(-q D). So the tries are a
    /// Poisson process of the constant rate 4 k q/pi along s, with exponential gaps between them, and each is a rock
    /// with the probability exp(-q D) (thinning: Lewis and Shedler 1979).
    pub fn rocks(&self) -> impl Iterator<Item = Rock> + use<> {
        let field = *self;
        let (rate, decay) = (self.width * self.depth * self.sizes.scale(), self.sizes.decay());
        let mut stream = Stream::from_number(self.seed);
        let mut inverse = 0.0;
        let tries = std::iter::from_fn(move || {
            inverse -= libm::log(1.0 - stream.uniform()) / rate;
            let diameter = 1.0 / inverse;
            // All numbers are drawn in every trial, so that rocks are independent of each other.
            let (chance, x, z, seed) = (stream.uniform(), stream.uniform(), stream.uniform(), stream.number());
            let place = [(x - 0.5) * field.width, (z - 0.5) * field.depth];
            let is_rock = chance < libm::exp(-decay * diameter);
            (diameter >= field.smallest).then_some(is_rock.then_some(Rock { place, diameter, seed }))
        });
        tries.flatten().filter(move |rock| rock.diameter <= field.largest)
    }
}

/// A rock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rock {
    /// x and z of its middle in the field, m.
    pub place: [f64; 2],
    /// Diameter, m: that of a circle with the area of its outline from above.
    pub diameter: f64,
    /// The seed of its shape.
    pub seed: u64,
}

/// Number of corners of a rock: enough that rocks look different, and few enough that faces are visible.
const ROCK_CORNERS: usize = 18;
/// The largest ratio of a rock's length to its width, before its corners are drawn.
const MAX_ASPECT_RATIO: f64 = 1.3;
/// Smallest distance of a corner from the middle, as a fraction of the distance to the ellipsoid.
const MIN_CORNER_FRACTION: f64 = 0.8;

impl Rock {
    /// Corners of which it is the convex hull: about an ellipsoid, irregular, `up` metres high above its middle and
    /// `down` metres deep below it. Its outline from above has the area of a circle of its diameter.
    pub fn corners(&self, up: f64, down: f64) -> Vec<DVec3> {
        let mut stream = Stream::from_number(self.seed);
        let (length, heading) = (1.0 + (MAX_ASPECT_RATIO - 1.0) * stream.uniform(), TAU * stream.uniform());
        let (sine, cosine) = libm::sincos(heading);
        // Heights that are uniform are uniform on a ball (Archimedes), and turns by the golden angle keep corners
        // apart.
        let golden = PI * (3.0 - 5.0_f64.sqrt());
        let mut corner = |index: usize| {
            let height = 1.0 - 2.0 * (index as f64 + stream.uniform()) / ROCK_CORNERS as f64;
            let (side, front) = libm::sincos(golden * (index as f64 + 0.5 * stream.uniform()));
            let level = (1.0 - height * height).sqrt();
            let out = MIN_CORNER_FRACTION + (1.0 - MIN_CORNER_FRACTION) * stream.uniform();
            let (x, z) = (length * level * front, level * side);
            DVec3::new(cosine * x - sine * z, height, sine * x + cosine * z) * out
        };
        let mut corners: Vec<DVec3> = (0..ROCK_CORNERS).map(&mut corner).collect();
        let wide = (FRAC_PI_4 * self.diameter * self.diameter / outline_area(&corners)).sqrt();
        let (low, high) = corners.iter().fold((0.0_f64, 0.0_f64), |(low, high), at| (low.min(at.y), high.max(at.y)));
        for at in &mut corners {
            let tall = if at.y > 0.0 { up / high } else { -down / low };
            *at *= DVec3::new(wide, tall, wide);
        }
        corners
    }
}

/// The area of the convex hull of points seen from above (Andrew's monotone chain).
fn outline_area(points: &[DVec3]) -> f64 {
    let mut level: Vec<[f64; 2]> = points.iter().map(|point| [point.x, point.z]).collect();
    level.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
    let turn = |a: [f64; 2], b: [f64; 2], c: [f64; 2]| (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
    let mut area = 0.0;
    let mut half = |points: &mut dyn Iterator<Item = [f64; 2]>| {
        let mut chain: Vec<[f64; 2]> = Vec::new();
        for point in points {
            while let [.., a, b] = chain[..]
                && turn(a, b, point) <= 0.0
            {
                chain.pop();
            }
            chain.push(point);
        }
        area += 0.5 * chain.windows(2).map(|pair| pair[0][0] * pair[1][1] - pair[1][0] * pair[0][1]).sum::<f64>();
    };
    half(&mut level.iter().copied());
    half(&mut level.iter().rev().copied());
    area
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(seed: u64, cover: f64) -> RockField {
        let sizes = RockSizes { cover };
        RockField { seed, sizes, smallest: 0.1, largest: 2.0, width: 20.0, depth: 10.0 }
    }

    /// The integral of a function of the diameter from the smallest to the largest, by the midpoint rule over 1/D.
    fn integral(field: &RockField, of: impl Fn(f64) -> f64) -> f64 {
        let (from, to, parts) = (1.0 / field.largest, 1.0 / field.smallest, 20_000);
        let step = (to - from) / f64::from(parts);
        (0..parts).map(|part| 1.0 / (from + (f64::from(part) + 0.5) * step)).map(|d| of(d) * d * d * step).sum()
    }

    /// Over 1000 fields the number of rocks has the mean and the variance of Poisson's distribution with the integral
    /// of n(D), within four standard errors: of the mean sqrt(m/1000), of the variance sqrt((m + 2 m²)/1000). So has
    /// the cover, which is known in closed form: F(0.1) - F(2).
    #[test]
    fn numbers_and_cover_are_those_of_the_model() {
        for cover in [0.03, 0.1, 0.3] {
            let fields: Vec<Vec<Rock>> = (0..1000).map(|seed| field(seed, cover).rocks().collect()).collect();
            let any = field(0, cover);
            let mean = any.width * any.depth * integral(&any, |d| any.sizes.density(d));
            let counts = || fields.iter().map(|rocks| rocks.len() as f64);
            let found = counts().sum::<f64>() / 1000.0;
            assert!((found - mean).abs() < 4.0 * (mean / 1000.0).sqrt(), "{cover}: {found}, by the model {mean}");
            let spread = counts().map(|count| (count - mean) * (count - mean)).sum::<f64>() / 1000.0;
            let error = ((mean + 2.0 * mean * mean) / 1000.0).sqrt();
            assert!((spread - mean).abs() < 4.0 * error, "{cover}: variance {spread}, by the model {mean}");
            let area = |diameter: f64| FRAC_PI_4 * diameter * diameter;
            let covered = fields.iter().flatten().map(|rock| area(rock.diameter)).sum::<f64>() / (1000.0 * 200.0);
            let wanted = any.sizes.cover_above(0.1) - any.sizes.cover_above(2.0);
            let one = integral(&any, |d| area(d) * area(d) * any.sizes.density(d));
            let error = (one / (1000.0 * 200.0)).sqrt();
            assert!((covered - wanted).abs() < 4.0 * error, "{cover}: {covered}, by the model {wanted} ± {error}");
        }
    }

    /// The mean of uniform positions is 0, the mean of their squares a twelfth of the squared extent, and neighbours in
    /// the list are uncorrelated; within four standard errors.
    #[test]
    fn places_are_uniform_and_independent() {
        let rocks: Vec<Rock> = (0..300).flat_map(|seed| field(seed, 0.1).rocks()).collect();
        let n = rocks.len() as f64;
        for (axis, extent) in [20.0, 10.0].into_iter().enumerate() {
            let at: Vec<f64> = rocks.iter().map(|rock| rock.place[axis] / extent).collect();
            let mean = |of: &dyn Fn(f64) -> f64| at.iter().map(|at| of(*at)).sum::<f64>() / n;
            assert!(at.iter().all(|at| at.abs() <= 0.5));
            assert!(mean(&|at| at).abs() < 4.0 / (12.0 * n).sqrt());
            assert!((mean(&|at| at * at) - 1.0 / 12.0).abs() < 4.0 / (180.0 * n).sqrt());
            let together = at.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / n;
            assert!(together.abs() < 4.0 / (12.0 * n.sqrt()), "{together}");
        }
        let first: Vec<Rock> = (0..1000).filter_map(|seed| field(seed, 0.1).rocks().next()).collect();
        let together = first.windows(2).map(|pair| pair[0].place[0] * pair[1].place[0] / 400.0).sum::<f64>() / 1000.0;
        assert!(together.abs() < 4.0 / (12.0 * 1000.0_f64.sqrt()), "seeds that follow each other: {together}");
    }

    #[test]
    fn a_seed_has_its_rocks_whatever_sizes_are_kept() {
        let all: Vec<Rock> = field(5, 0.1).rocks().collect();
        assert_eq!(all, field(5, 0.1).rocks().collect::<Vec<_>>());
        assert_ne!(all, field(6, 0.1).rocks().collect::<Vec<_>>());
        assert!(all.is_sorted_by(|a, b| a.diameter >= b.diameter) && all.len() > 20);
        let some = RockField { smallest: 0.2, largest: 0.3, ..field(5, 0.1) };
        let kept: Vec<Rock> = all.into_iter().filter(|rock| (0.2..=0.3).contains(&rock.diameter)).collect();
        assert_eq!(some.rocks().collect::<Vec<_>>(), kept);
        assert!(!kept.is_empty());
    }

    #[test]
    fn the_first_rock_of_a_seed_is_the_same_on_every_platform() {
        let first = field(1, 0.1).rocks().next().unwrap();
        let bits = [first.place[0], first.place[1], first.diameter].map(f64::to_bits);
        assert_eq!(bits, [0x4017_0089_da9d_c212, 0x4006_5957_affe_c60c, 0x3fe6_85c4_bce6_d6c0]);
        assert_eq!(first.seed, 4_143_333_075_589_417_939);
    }

    #[test]
    fn a_rock_has_the_area_and_the_heights_that_it_is_asked_for() {
        for rock in field(3, 0.2).rocks() {
            let corners = rock.corners(0.4, 0.1);
            let area = FRAC_PI_4 * rock.diameter * rock.diameter;
            assert!((outline_area(&corners) - area).abs() < 1e-12 * area);
            let high = corners.iter().map(|corner| corner.y).fold(f64::NEG_INFINITY, f64::max);
            let low = corners.iter().map(|corner| corner.y).fold(f64::INFINITY, f64::min);
            assert!((high - 0.4).abs() < 1e-15 && (low + 0.1).abs() < 1e-15, "{high} {low}");
            let reach = corners.iter().map(|corner| libm::hypot(corner.x, corner.z)).fold(0.0, f64::max);
            assert!(reach < rock.diameter, "{reach} of {}", rock.diameter);
        }
    }
}
