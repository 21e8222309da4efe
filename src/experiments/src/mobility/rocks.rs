//! Mean free path among rocks: the mean distance that a vehicle drives before it touches a rock that it cannot climb.
//!
//! Rocks of diameter D are a Poisson process with a density of n(D) per square metre and metre of diameter
//! ([`RockSizes`]). A vehicle of width w that drives straight touches a rock whose middle is within (w + D)/2 of the
//! vehicle's middle line. The distance to the first rock of at least the diameter D0 is therefore exponentially
//! distributed, with the mean 1 / ∫ n(D)(w + D) dD from D0 to infinity. With n(D) = a exp(-q D)/D² and a = 4 k q/pi,
//! that integral is a (w (exp(-q D0)/D0 - q E1(q D0)) + E1(q D0)).

use std::ops::Range;

use serde::Serialize;
use simpartner_model::{RockField, RockSizes};

/// Largest exponent q (D - D0) of the rocks in a field. Larger rocks are rarer than those of the diameter D0 by
/// exp(-21), less than 1e-9, and are left out.
const MAX_RARITY: f64 = 21.0;
/// Length of a field in mean free paths. In one field of twenty the vehicle touches no rock; the mean accounts for
/// that.
const FIELD_LENGTH: f64 = 3.0;
/// Largest number of random draws for the fields of a study: a second of work.
const MAX_TRIES: f64 = 2e7;

/// Mean free path of a vehicle among rocks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FreePath {
    /// Fraction k of the ground that rocks cover.
    pub cover: f64,
    /// Mean free path by the formula, m.
    pub formula_m: f64,
    /// Mean free path from random fields, m: the sum of the distances driven over the number of rocks touched. `None`
    /// if no rock was touched, or if the fields would have too many rocks.
    pub fields_m: Option<f64>,
    /// Standard deviation of `fields_m`, m.
    pub sigma_m: Option<f64>,
    /// Number of fields.
    pub fields: u64,
}

impl FreePath {
    /// Computes the mean free path among rocks that cover a fraction of the ground. Rocks of at least `diameter`, m,
    /// stop the vehicle, which has a `width`, m. One field is made for each of the seeds.
    pub fn new(cover: f64, diameter: f64, width: f64, seeds: Range<u64>) -> Self {
        let formula_m = mean_free_path(RockSizes { cover }, diameter, width);
        let mut path =
            Self { cover, formula_m, fields_m: None, sigma_m: None, fields: seeds.end.saturating_sub(seeds.start) };
        let field = field(RockSizes { cover }, diameter, width, formula_m);
        if field.tries() * path.fields as f64 > MAX_TRIES {
            path.fields = 0;
            return path;
        }
        let (mut driven, mut stopped) = (0.0, 0.0);
        for seed in seeds {
            let met = first_touch(&RockField { seed, ..field }, width);
            driven += met.map_or(drive_length(&field), |met| met.way);
            stopped += if met.is_some() { 1.0 } else { 0.0 };
        }
        if stopped > 0.0 {
            let mean = driven / stopped;
            // The estimate for an exponential distribution with censored long distances (Epstein and Sobel 1953).
            (path.fields_m, path.sigma_m) = (Some(mean), Some(mean / stopped.sqrt()));
        }
        path
    }
}

/// Mean free path, m, of a vehicle of a width, m, among rocks of at least a diameter, m, which is above 0.
pub fn mean_free_path(sizes: RockSizes, diameter: f64, width: f64) -> f64 {
    let (decay, x) = (sizes.decay(), sizes.decay() * diameter);
    let integral = exponential_integral(x);
    let scale = sizes.density(diameter) * diameter * diameter * libm::exp(x);
    1.0 / (scale * (width * (libm::exp(-x) / diameter - decay * integral) + integral))
}

/// E1(x), the integral of exp(-t)/t from x, above 0, to infinity (Abramowitz and Stegun 5.1.11 and 5.1.22).
fn exponential_integral(x: f64) -> f64 {
    /// Euler's constant.
    const GAMMA: f64 = 0.577_215_664_901_532_9;
    if x < 1.0 {
        let (mut sum, mut term) = (-GAMMA - libm::log(x), 1.0);
        // The 20th term is below 1e-19.
        for n in 1..=20 {
            term *= -x / f64::from(n);
            sum -= term / f64::from(n);
        }
        return sum;
    }
    // The continued fraction, evaluated from its end: 100 terms suffice at x = 1, fewer beyond.
    let fraction = (1..=100).rev().fold(0.0, |tail, n| {
        let n = f64::from(n);
        n / (1.0 + n / (x + tail))
    });
    libm::exp(-x) / (x + fraction)
}

/// A field to drive through along x, for a vehicle of a width, m, with this mean free path, m.
pub fn field(sizes: RockSizes, diameter: f64, width: f64, path: f64) -> RockField {
    let largest = diameter + MAX_RARITY / sizes.decay();
    // The vehicle's front starts so far inside that no rock there is cut off by the field's edge.
    let (long, wide) = (FIELD_LENGTH * path + largest, width + largest);
    RockField { seed: 0, sizes, smallest: diameter, largest, width: long, depth: wide }
}

/// Distance that a vehicle's front can drive in a field, m: from half of the largest rock's diameter behind one edge to
/// the same distance before the other.
fn drive_length(field: &RockField) -> f64 {
    field.width - field.largest
}

/// The first contact of a vehicle's straight front with a rock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Touch {
    /// Distance that the front has driven, m.
    pub way: f64,
    /// Middle of the rock, m: distance ahead of the front at the start, and to the right of the vehicle's middle.
    pub place: [f64; 2],
    /// Diameter of the rock, m.
    pub diameter: f64,
}

/// The first rock that the front of a vehicle of a width, m, touches on its way through a field along x, if there is
/// one. Rocks are round.
pub fn first_touch(field: &RockField, width: f64) -> Option<Touch> {
    let start = -0.5 * field.width + 0.5 * field.largest;
    let touches = field.rocks().filter_map(|rock| {
        let radius = 0.5 * rock.diameter;
        // The front is a line: its nearest point is at the height of the rock's middle, or at the end of the line.
        let beyond = (rock.place[1].abs() - 0.5 * width).max(0.0);
        let reach = (beyond < radius).then(|| (radius * radius - beyond * beyond).sqrt())?;
        let way = rock.place[0] - reach - start;
        let place = [rock.place[0] - start, rock.place[1]];
        (way >= 0.0 && way < drive_length(field)).then_some(Touch { way, place, diameter: rock.diameter })
    });
    touches.min_by(|a, b| a.way.total_cmp(&b.way))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of table 5.1 of Abramowitz and Stegun, and the point at which the two formulas meet.
    #[test]
    fn the_exponential_integral_is_that_of_the_tables() {
        for (x, value) in [
            (0.01, 4.037_929_577),
            (0.5, 0.559_773_595),
            (1.0, 0.219_383_934),
            (2.0, 0.048_900_511),
            (10.0, 4.156_968_93e-6),
        ] {
            assert!((exponential_integral(x) / value - 1.0).abs() < 1e-8, "{x}: {}", exponential_integral(x));
        }
        let (below, above) = (exponential_integral(1.0 - 1e-12), exponential_integral(1.0 + 1e-12));
        assert!((below / above - 1.0).abs() < 1e-10, "{below} {above}");
    }
}
