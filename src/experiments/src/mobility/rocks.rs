//! Mean free path among rocks: how far a vehicle gets on average before a rock that it cannot climb touches it.
//!
//! Rocks of diameter D are a Poisson process of n(D) for each square metre and metre of diameter ([`RockSizes`]). A rock touches a vehicle of
//! width w that goes straight if its middle is within (w + D)/2 of the middle of its way. So the way to the first of at least the diameter
//! D0 is exponential, with the mean 1 / ∫ n(D)(w + D) dD from D0 on. With n(D) = a exp(-q D)/D², a = 4 k q/pi, that integral is
//! a (w (exp(-q D0)/D0 - q E1(q D0)) + E1(q D0)).

use std::ops::Range;

use serde::Serialize;
use simpartner_model::{RockField, RockSizes};

/// Rocks so much rarer than those that just stop a vehicle are left out of fields: exp(-21) is less than 1e-9.
const RARE: f64 = 21.0;
/// How long fields are, in mean free paths: in one of twenty the vehicle meets nothing, and the mean takes account of it.
const FIELD: f64 = 3.0;
/// The most random tries that fields of a study take: a second's work.
const MOST_TRIES: f64 = 2e7;

/// How far a vehicle gets among rocks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FreePath {
    /// The part k of the ground that rocks cover.
    pub cover: f64,
    /// The mean free path by the formula, m.
    pub formula_m: f64,
    /// By fields of rocks: all ways that were driven, over the number of rocks that ended one; m. `None` where none did, or where fields
    /// would have had too many rocks.
    pub fields_m: Option<f64>,
    /// The standard deviation of that, m.
    pub sigma_m: Option<f64>,
    /// How many fields there were.
    pub fields: u64,
}

impl FreePath {
    /// Among rocks that cover this part of the ground, of which those of at least a diameter, m, stop a vehicle of a width, m; from the fields of
    /// these seeds.
    pub fn new(cover: f64, diameter: f64, width: f64, seeds: Range<u64>) -> Self {
        let formula_m = mean_free_path(RockSizes { cover }, diameter, width);
        let mut path =
            Self { cover, formula_m, fields_m: None, sigma_m: None, fields: seeds.end.saturating_sub(seeds.start) };
        let field = field(RockSizes { cover }, diameter, width, formula_m);
        if field.tries() * path.fields as f64 > MOST_TRIES {
            path.fields = 0;
            return path;
        }
        let (mut driven, mut stopped) = (0.0, 0.0);
        for seed in seeds {
            let met = first_touch(&RockField { seed, ..field }, width);
            driven += met.map_or(length(&field), |met| met.way);
            stopped += if met.is_some() { 1.0 } else { 0.0 };
        }
        if stopped > 0.0 {
            let mean = driven / stopped;
            // Of an exponential law whose long ways are cut off (Epstein and Sobel 1953).
            (path.fields_m, path.sigma_m) = (Some(mean), Some(mean / stopped.sqrt()));
        }
        path
    }
}

/// The mean way, m, of a vehicle of a width, m, to the first rock of at least a diameter, m, above 0.
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
    // The continued fraction from its end: 100 terms are enough at 1, fewer beyond.
    let fraction = (1..=100).rev().fold(0.0, |tail, n| {
        let n = f64::from(n);
        n / (1.0 + n / (x + tail))
    });
    libm::exp(-x) / (x + fraction)
}

/// A field to drive through along x, for a vehicle of a width, m, that has this mean free path, m.
pub fn field(sizes: RockSizes, diameter: f64, width: f64, path: f64) -> RockField {
    let largest = diameter + RARE / sizes.decay();
    // Its front starts where no rock is cut off by the field's edge.
    let (long, wide) = (FIELD * path + largest, width + largest);
    RockField { seed: 0, sizes, smallest: diameter, largest, width: long, depth: wide }
}

/// How far the front can go in a field, m: from half the largest rock behind its edge to the other edge.
fn length(field: &RockField) -> f64 {
    field.width - field.largest
}

/// Where a vehicle's straight front of a width, m, first touches a rock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Touch {
    /// How far the front came, m.
    pub way: f64,
    /// The middle of the rock: how far ahead of where the front began, and to the right of the vehicle's middle, m.
    pub place: [f64; 2],
    /// Its diameter, m.
    pub diameter: f64,
}

/// The first rock that the front of a vehicle touches which goes through a field along x, if there is one. Rocks are round.
pub fn first_touch(field: &RockField, width: f64) -> Option<Touch> {
    let start = -0.5 * field.width + 0.5 * field.largest;
    let touches = field.rocks().filter_map(|rock| {
        let radius = 0.5 * rock.diameter;
        // The front is a line: the nearest of its points is beside the rock's middle, or its end.
        let beyond = (rock.place[1].abs() - 0.5 * width).max(0.0);
        let reach = (beyond < radius).then(|| (radius * radius - beyond * beyond).sqrt())?;
        let way = rock.place[0] - reach - start;
        let place = [rock.place[0] - start, rock.place[1]];
        (way >= 0.0 && way < length(field)).then_some(Touch { way, place, diameter: rock.diameter })
    });
    touches.min_by(|a, b| a.way.total_cmp(&b.way))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Table 5.1 of Abramowitz and Stegun, and where the two ways to compute it meet.
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
