//! Two numbers at once, as many as a register of any 64-bit processor holds: arithmetic without branches, and functions
//! that are as good as soil needs them. They are made of operations that are the same bits everywhere.

use std::{
    f64::consts::FRAC_PI_2,
    ops::{Add, Sub},
};

use bevy_math::DVec3;
use wide::f64x2;

pub(super) const LANES: usize = 2;
pub(super) type Lanes = f64x2;

/// Two vectors.
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

/// Their sum: that of `wide` goes through an iterator.
#[inline(always)]
pub(super) fn sum(x: Lanes) -> f64 {
    let [a, b] = x.to_array();
    a + b
}

/// The largest of them.
#[inline(always)]
pub(super) fn largest(x: Lanes) -> f64 {
    let [a, b] = x.to_array();
    a.max(b)
}

/// The smallest of them.
#[inline(always)]
pub(super) fn least(x: Lanes) -> f64 {
    let [a, b] = x.to_array();
    a.min(b)
}

/// Of each lane the one number where `a` is above `b`, otherwise the other.
#[inline(always)]
pub(super) fn select_above(a: Lanes, b: Lanes, one: Lanes, other: Lanes) -> Lanes {
    a.simd_gt(b).bitselect(one, other)
}

#[inline(always)]
pub(super) fn at_least(x: Lanes, least: f64) -> Lanes {
    x.fast_max(Lanes::splat(least))
}

/// Adding this to a number of less than 2^51 rounds it to a whole one, which then is the lowest bits.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// The largest whole numbers that are not above others, of less than 2^51.
#[inline(always)]
pub(super) fn floor(x: Lanes) -> Lanes {
    let nearest = (x + ROUND) - ROUND;
    nearest - (nearest.simd_gt(x) & Lanes::ONE)
}

/// Whole numbers of less than 2^51 in the lowest 51 bits.
#[inline(always)]
pub(super) fn whole(x: Lanes) -> [usize; LANES] {
    (x + ROUND).to_array().map(|x| x.to_bits() as usize)
}

/// Below this, [`gone_and_inverse`] has a series: the next term is 2e-9 of it.
const SERIES: f64 = 0.5;

/// (1 - exp(-x)) / x for x from 0 on, and 1 / y, with one division.
#[inline(always)]
pub(super) fn gone_and_inverse(x: Lanes, y: Lanes) -> [Lanes; 2] {
    if largest(x) < SERIES {
        let square = x * x;
        let even = (square * (1.0 / 30240.0) - 1.0 / 720.0) * square + 1.0 / 12.0;
        let series = even * square + x * 0.5 + 1.0;
        let both = Lanes::ONE / (series * y);
        return [y * both, series * both];
    }
    [gone_far(x), Lanes::ONE / y]
}

/// (1 - exp(-x)) / x of any x: hardly a step slides so far.
#[cold]
fn gone_far(x: Lanes) -> Lanes {
    let exact = |x: f64| if x > 0.0 { -libm::expm1(-x) / x } else { 1.0 };
    Lanes::new(x.to_array().map(exact))
}

/// xⁿ for positive x, to 1e-12 of it where the logarithm of that is no larger than some tens.
pub(super) fn power(x: Lanes, n: f64) -> Lanes {
    exp(ln(x) * n)
}

/// 1/0! to 1/11!: the terms of the exponential function.
const EXP: [f64; 12] = [
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
/// The terms of the inverse hyperbolic tangent of x over x, in the square of x.
const ARTANH: [f64; 8] = [1.0, 1.0 / 3.0, 1.0 / 5.0, 1.0 / 7.0, 1.0 / 9.0, 1.0 / 11.0, 1.0 / 13.0, 1.0 / 15.0];

/// A polynomial with these terms, the lowest first, whose number is a multiple of four: in fours, so that few products
/// wait for others.
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

/// The bits of an exponent begin here in a number, and what an exponent of 0 is stored as.
const EXPONENT: u32 = 52;
const BIAS: u64 = 1023;

/// Of positive normal numbers.
#[inline(always)]
fn ln(x: Lanes) -> Lanes {
    // A mantissa between √½ and √2: the bits of √½ are where it begins anew.
    let one = 1.0f64.to_bits();
    let bits = x.to_bits().to_array();
    let steps = bits.map(|bits| bits.wrapping_add(one - std::f64::consts::FRAC_1_SQRT_2.to_bits()) >> EXPONENT);
    let [a, b] = steps;
    let part = |bits: u64, steps: u64| f64::from_bits(bits.wrapping_add(one).wrapping_sub(steps << EXPONENT));
    let mantissa = Lanes::new([part(bits[0], a), part(bits[1], b)]);
    let exponent = Lanes::new([a as i64 as f64, b as i64 as f64]) - BIAS as f64;
    // The next term of the series is below 1e-13.
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    exponent * std::f64::consts::LN_2 + s * polynomial(s * s, &ARTANH) * 2.0
}

#[inline(always)]
fn exp(x: Lanes) -> Lanes {
    let x = x.fast_max(Lanes::splat(-700.0)).fast_min(Lanes::splat(700.0));
    let rounded = x * std::f64::consts::LOG2_E + ROUND;
    let rest = x - (rounded - ROUND) * std::f64::consts::LN_2;
    // The next term of the series is below 1e-13.
    let sum = polynomial(rest, &EXP);
    sum * Lanes::new(rounded.to_array().map(|rounded| f64::from_bits(rounded.to_bits().wrapping_add(BIAS) << EXPONENT)))
}

/// The series of a sine over the angle and of a cosine: terms of the square of the angle but the first, which is 1, the
/// last first.
const SINE: [f64; 8] = terms(2);
const COSINE: [f64; 8] = terms(1);

const fn terms(first: usize) -> [f64; 8] {
    let (mut terms, mut term, mut k) = ([0.0; 8], 1.0, 0);
    while k < 8 {
        let number = 2 * k + first;
        term /= -((number * (number + 1)) as f64);
        terms[7 - k] = term;
        k += 1;
    }
    terms
}

/// Angles of less than this have three terms less in their series, rad: the next is below 1e-11.
const SMALL_ANGLE: f64 = 1.2;

/// Sine and cosine of angles from -pi to pi, to 1e-11.
#[inline(always)]
pub(super) fn sin_cos(x: Lanes) -> [Lanes; 2] {
    // Of half the angle, by their series.
    let half = x * 0.5;
    let [sine, cosine] = if largest(x.abs()) < SMALL_ANGLE { series::<3>(half) } else { series::<0>(half) };
    [sine * cosine * 2.0, Lanes::ONE - sine * sine * 2.0]
}

/// The arcsine over the root of the distance to 1, for numbers from 0 to 1: to 7e-5 rad (Abramowitz and Stegun 4.4.45).
const ARCSINE: [f64; 4] = [1.570_728_8, -0.212_114_4, 0.074_261, -0.018_729_3];

/// The angles from -pi/2 to pi/2 with these sines, to 7e-5 rad.
#[inline(always)]
pub(super) fn arcsine(sine: Lanes) -> Lanes {
    let size = sine.abs().fast_min(Lanes::ONE);
    let angle = Lanes::splat(FRAC_PI_2) - (Lanes::ONE - size).sqrt() * polynomial(size, &ARCSINE);
    select_above(sine, Lanes::ZERO, angle, -angle)
}

/// Sine and cosine by series with so many terms less.
#[inline(always)]
fn series<const LESS: usize>(x: Lanes) -> [Lanes; 2] {
    let square = x * x;
    let (mut sine, mut cosine) = (Lanes::splat(SINE[LESS]), Lanes::splat(COSINE[LESS]));
    for k in LESS + 1..8 {
        (sine, cosine) = (sine * square + SINE[k], cosine * square + COSINE[k]);
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
            let [gone, inverse] = gone_and_inverse(slides, slides + 0.1);
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
