//! Arithmetic on two numbers at once, which fit a register of any 64-bit processor: without branches, and with
//! functions as accurate as soil needs them. All operations give the same bits on every machine.

use std::{
    f64::consts::FRAC_PI_2,
    ops::{Add, Sub},
};

use bevy_math::DVec3;
use wide::f64x2;

pub(super) const LANES: usize = 2;
pub(super) type Lanes = f64x2;

/// Two vectors, one in each lane.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Vectors {
    x: Lanes,
    y: Lanes,
    z: Lanes,
}

impl Vectors {
    pub(super) fn splat(v: DVec3) -> Self {
        Self { x: Lanes::splat(v.x), y: Lanes::splat(v.y), z: Lanes::splat(v.z) }
    }

    pub(super) fn set(&mut self, lane: usize, v: DVec3) {
        for (lanes, v) in [&mut self.x, &mut self.y, &mut self.z].into_iter().zip(v.to_array()) {
            lanes.as_mut_array()[lane] = v;
        }
    }

    pub(super) fn get(&self, lane: usize) -> DVec3 {
        DVec3::from_array([self.x, self.y, self.z].map(|lanes| lanes.as_array()[lane]))
    }

    /// Components of both vectors along one vector.
    pub(super) fn along(self, v: DVec3) -> Lanes {
        self.x * v.x + self.y * v.y + self.z * v.z
    }

    pub(super) fn dot(self, other: Self) -> Lanes {
        self.x * other.x + self.y * other.y + self.z * other.z
    }

    pub(super) fn cross(self, other: Self) -> Self {
        Self {
            x: self.y * other.z - self.z * other.y,
            y: self.z * other.x - self.x * other.z,
            z: self.x * other.y - self.y * other.x,
        }
    }

    pub(super) fn times(self, factors: Lanes) -> Self {
        Self { x: self.x * factors, y: self.y * factors, z: self.z * factors }
    }

    pub(super) fn components(self) -> [Lanes; 3] {
        [self.x, self.y, self.z]
    }

    pub(super) fn sum(self) -> DVec3 {
        DVec3::new(sum(self.x), sum(self.y), sum(self.z))
    }
}

impl Add for Vectors {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { x: self.x + other.x, y: self.y + other.y, z: self.z + other.z }
    }
}

impl Sub for Vectors {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self { x: self.x - other.x, y: self.y - other.y, z: self.z - other.z }
    }
}

/// Sum of both lanes. The one of `wide` goes through an iterator.
#[inline(always)]
pub(super) fn sum(x: Lanes) -> f64 {
    let [a, b] = x.to_array();
    a + b
}

/// Larger one of both lanes.
#[inline(always)]
pub(super) fn max_lane(x: Lanes) -> f64 {
    let [a, b] = x.to_array();
    a.max(b)
}

/// Smaller one of both lanes.
#[inline(always)]
pub(super) fn min_lane(x: Lanes) -> f64 {
    let [a, b] = x.to_array();
    a.min(b)
}

/// `one` in each lane where `a` is above `b`, `other` elsewhere.
#[inline(always)]
pub(super) fn select_above(a: Lanes, b: Lanes, one: Lanes, other: Lanes) -> Lanes {
    a.simd_gt(b).bitselect(one, other)
}

#[inline(always)]
pub(super) fn at_least(x: Lanes, least: f64) -> Lanes {
    x.fast_max(Lanes::splat(least))
}

/// Adding this to a number below 2^51 rounds it to an integer, which is then in the lowest bits.
const ROUND_TO_INTEGER: f64 = 6_755_399_441_055_744.0;

/// Largest integers not above x, for numbers below 2^51.
#[inline(always)]
pub(super) fn floor(x: Lanes) -> Lanes {
    let nearest = (x + ROUND_TO_INTEGER) - ROUND_TO_INTEGER;
    nearest - (nearest.simd_gt(x) & Lanes::ONE)
}

/// Integers below 2^51, from the lowest 51 bits.
#[inline(always)]
pub(super) fn to_integers(x: Lanes) -> [usize; LANES] {
    (x + ROUND_TO_INTEGER).to_array().map(|x| x.to_bits() as usize)
}

/// Argument below which [`mean_decay_and_inverse`] uses a series: the next term is 2e-9 of it.
const SERIES_LIMIT: f64 = 0.5;

/// (1 - exp(-x)) / x for x ≥ 0, and 1 / y, with a single division.
#[inline(always)]
pub(super) fn mean_decay_and_inverse(x: Lanes, y: Lanes) -> [Lanes; 2] {
    if max_lane(x) < SERIES_LIMIT {
        let square = x * x;
        let even = (square * (1.0 / 30240.0) - 1.0 / 720.0) * square + 1.0 / 12.0;
        let series = even * square + x * 0.5 + 1.0;
        let both = Lanes::ONE / (series * y);
        return [y * both, series * both];
    }
    [mean_decay_exact(x), Lanes::ONE / y]
}

/// (1 - exp(-x)) / x for any x. Steps with such long slides are rare.
#[cold]
fn mean_decay_exact(x: Lanes) -> Lanes {
    let exact = |x: f64| if x > 0.0 { -libm::expm1(-x) / x } else { 1.0 };
    Lanes::new(x.to_array().map(exact))
}

/// xⁿ for positive x, with a relative error of 1e-12 if the logarithm of the result is at most a few tens.
pub(super) fn power(x: Lanes, n: f64) -> Lanes {
    exp(ln(x) * n)
}

/// Coefficients of the exponential series, 1/0! to 1/11!.
const EXP_TERMS: [f64; 12] = [
    1.0,
    1.0,
    1.0 / 2.0,
    1.0 / 6.0,
    1.0 / 24.0,
    1.0 / 120.0,
    1.0 / 720.0,
    1.0 / 5040.0,
    1.0 / 40_320.0,
    1.0 / 362_880.0,
    1.0 / 3_628_800.0,
    1.0 / 39_916_800.0,
];
/// Coefficients of the series of artanh(x)/x in x².
const ARTANH_TERMS: [f64; 8] = [1.0, 1.0 / 3.0, 1.0 / 5.0, 1.0 / 7.0, 1.0 / 9.0, 1.0 / 11.0, 1.0 / 13.0, 1.0 / 15.0];

/// A polynomial with these coefficients, lowest first, whose number is a multiple of four. It is evaluated in groups of
/// four, so that few products wait for others.
#[inline(always)]
fn polynomial<const N: usize>(x: Lanes, terms: &[f64; N]) -> Lanes {
    let square = x * x;
    let fourth = square * square;
    terms
        .as_chunks()
        .0
        .iter()
        .rev()
        .fold(Lanes::ZERO, |sum, [a, b, c, d]| sum * fourth + ((x * *d + *c) * square + (x * *b + *a)))
}

/// Position of the exponent bits in a number, and the stored value of the exponent 0.
const EXPONENT_SHIFT: u32 = 52;
const EXPONENT_BIAS: u64 = 1023;

/// Natural logarithm of positive normal numbers.
#[inline(always)]
fn ln(x: Lanes) -> Lanes {
    // The mantissa is between √½ and √2: the exponent steps at the bits of √½.
    let one = 1.0f64.to_bits();
    let bits = x.to_bits().to_array();
    let steps = bits.map(|bits| bits.wrapping_add(one - std::f64::consts::FRAC_1_SQRT_2.to_bits()) >> EXPONENT_SHIFT);
    let [a, b] = steps;
    let part = |bits: u64, steps: u64| f64::from_bits(bits.wrapping_add(one).wrapping_sub(steps << EXPONENT_SHIFT));
    let mantissa = Lanes::new([part(bits[0], a), part(bits[1], b)]);
    let exponent = Lanes::new([a as i64 as f64, b as i64 as f64]) - EXPONENT_BIAS as f64;
    // The next term of the series is below 1e-13.
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    exponent * std::f64::consts::LN_2 + s * polynomial(s * s, &ARTANH_TERMS) * 2.0
}

#[inline(always)]
fn exp(x: Lanes) -> Lanes {
    let x = x.fast_max(Lanes::splat(-700.0)).fast_min(Lanes::splat(700.0));
    let rounded = x * std::f64::consts::LOG2_E + ROUND_TO_INTEGER;
    let rest = x - (rounded - ROUND_TO_INTEGER) * std::f64::consts::LN_2;
    // The next term of the series is below 1e-13.
    let sum = polynomial(rest, &EXP_TERMS);
    sum * Lanes::new(
        rounded
            .to_array()
            .map(|rounded| f64::from_bits(rounded.to_bits().wrapping_add(EXPONENT_BIAS) << EXPONENT_SHIFT)),
    )
}

/// Coefficients of the series of sin(x)/x and of cos(x) in x², the highest power first, without the leading 1.
const SINE_TERMS: [f64; 8] = series_terms(2);
const COSINE_TERMS: [f64; 8] = series_terms(1);

/// Series coefficients 1/(first + 1)!, 1/(first + 3)! and so on, with alternating signs from minus on, in reverse
/// order.
const fn series_terms(first: usize) -> [f64; 8] {
    let (mut terms, mut term, mut k) = ([0.0; 8], 1.0, 0);
    while k < 8 {
        let number = 2 * k + first;
        term /= -((number * (number + 1)) as f64);
        terms[7 - k] = term;
        k += 1;
    }
    terms
}

/// Angle below which the series have three terms less, rad: the next term is below 1e-11.
const SMALL_ANGLE: f64 = 1.2;

/// Sine and cosine of angles from -pi to pi, to 1e-11.
#[inline(always)]
pub(super) fn sin_cos(x: Lanes) -> [Lanes; 2] {
    // Half-angle formulas on the series.
    let half = x * 0.5;
    let [sine, cosine] =
        if max_lane(x.abs()) < SMALL_ANGLE { sin_cos_series::<3>(half) } else { sin_cos_series::<0>(half) };
    [sine * cosine * 2.0, Lanes::ONE - sine * sine * 2.0]
}

/// Coefficients of the polynomial a in arcsin x = pi/2 - √(1 - x) a(x), for x from 0 to 1: accurate to 7e-5 rad
/// (Abramowitz and Stegun 4.4.45).
const ARCSINE_TERMS: [f64; 4] = [1.570_728_8, -0.212_114_4, 0.074_261, -0.018_729_3];

/// Arcsine in rad, from -pi/2 to pi/2, accurate to 7e-5 rad.
#[inline(always)]
pub(super) fn arcsine(sine: Lanes) -> Lanes {
    let size = sine.abs().fast_min(Lanes::ONE);
    let angle = Lanes::splat(FRAC_PI_2) - (Lanes::ONE - size).sqrt() * polynomial(size, &ARCSINE_TERMS);
    select_above(sine, Lanes::ZERO, angle, -angle)
}

/// Sine and cosine by series shortened by `LESS` terms.
#[inline(always)]
fn sin_cos_series<const LESS: usize>(x: Lanes) -> [Lanes; 2] {
    let square = x * x;
    let (mut sine, mut cosine) = (Lanes::splat(SINE_TERMS[LESS]), Lanes::splat(COSINE_TERMS[LESS]));
    for k in LESS + 1..8 {
        (sine, cosine) = (sine * square + SINE_TERMS[k], cosine * square + COSINE_TERMS[k]);
    }
    [x * (sine * square + 1.0), cosine * square + 1.0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_those_of_libm() {
        for k in 0..4000 {
            let x = f64::from(k) / 4000.0;
            let both = |f: fn(f64, f64) -> f64| Lanes::new([f(x, 0.25), f(x, 0.75)]);
            let near = |what: &str, found: Lanes, expected: [f64; LANES], within: f64| {
                for (lane, expected) in expected.into_iter().enumerate() {
                    let off = (found.as_array()[lane] - expected).abs();
                    assert!(off <= within * expected.abs().max(1e-3), "{what} {x}, lane {lane}: {off:e}");
                }
            };
            let slides = both(|x, k| 3.0 * x * k);
            let exact = slides.to_array().map(|x| if x > 0.0 { -libm::expm1(-x) / x } else { 1.0 });
            let [gone, inverse] = mean_decay_and_inverse(slides, slides + 0.1);
            near("gone", gone, exact, 1e-8);
            near("inverse", inverse, slides.to_array().map(|x| 1.0 / (x + 0.1)), 1e-12);
            let depths = both(|x, k| libm::exp(20.0 * (x + k) - 25.0));
            for n in [0.3, 0.5, 1.0, 1.1, 1.6, 3.0] {
                near("power", power(depths, n), depths.to_array().map(|x| libm::pow(x, n)), 1e-11);
            }
            let angles = both(|x, k| std::f64::consts::PI * (2.0 * x - 1.0) * (1.0 - k));
            let [sine, cosine] = sin_cos(angles);
            near("sin", sine, angles.to_array().map(libm::sin), 1e-8);
            near("cos", cosine, angles.to_array().map(libm::cos), 1e-8);
        }
    }
}
