//! Two numbers at once, as many as a register of any 64-bit processor holds: arithmetic without branches, which the compiler makes vector instructions of, and functions that are as good
//! as soil needs them. They are made of operations that are the same bits everywhere.

use std::ops::{Add, Sub};

use bevy_math::{DVec2, DVec3};

pub(super) const LANES: usize = 2;
pub(super) type Lanes = DVec2;

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
        (self.x[lane], self.y[lane], self.z[lane]) = (v.x, v.y, v.z);
    }

    pub(super) fn get(&self, lane: usize) -> DVec3 {
        DVec3::new(self.x[lane], self.y[lane], self.z[lane])
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
        DVec3::new(self.x.element_sum(), self.y.element_sum(), self.z.element_sum())
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

/// Of each lane the one number where `a` is above `b`, otherwise the other.
#[inline(always)]
pub(super) fn select_above(a: Lanes, b: Lanes, one: Lanes, other: Lanes) -> Lanes {
    let lane = |k: usize| if a[k] > b[k] { one[k] } else { other[k] };
    Lanes::new(lane(0), lane(1))
}

#[inline(always)]
pub(super) fn at_least(x: Lanes, least: f64) -> Lanes {
    x.max(Lanes::splat(least))
}

/// The largest whole numbers that are not above others, of less than 2^63.
#[inline(always)]
pub(super) fn floor(x: Lanes) -> Lanes {
    let lane = |x: f64| {
        let whole = x as i64 as f64;
        if whole > x { whole - 1.0 } else { whole }
    };
    Lanes::new(lane(x.x), lane(x.y))
}

#[inline(always)]
pub(super) fn sqrt(x: Lanes) -> Lanes {
    Lanes::new(x.x.sqrt(), x.y.sqrt())
}

/// Below this, [`gone`] is a series: the next term is 2e-9 of it.
const SERIES: f64 = 0.5;

/// (1 - exp(-x)) / x for x from 0 on.
pub(super) fn gone(x: Lanes) -> Lanes {
    if x.max_element() < SERIES {
        let square = x * x;
        let even = (square * (1.0 / 30240.0) - 1.0 / 720.0) * square + 1.0 / 12.0;
        return Lanes::ONE / (even * square + x * 0.5 + 1.0);
    }
    let exact = |x: f64| if x > 0.0 { -libm::expm1(-x) / x } else { 1.0 };
    Lanes::new(exact(x.x), exact(x.y))
}

/// xⁿ for positive x, to 1e-12 of it where the logarithm of that is no larger than some tens.
pub(super) fn power(x: Lanes, n: f64) -> Lanes {
    exp(ln(x) * n)
}

/// 1/11 to 1.
const INVERSES: [f64; 11] = [
    1.0 / 11.0,
    1.0 / 10.0,
    1.0 / 9.0,
    1.0 / 8.0,
    1.0 / 7.0,
    1.0 / 6.0,
    1.0 / 5.0,
    1.0 / 4.0,
    1.0 / 3.0,
    1.0 / 2.0,
    1.0,
];

/// The bits of an exponent begin here in a number, and what an exponent of 0 is stored as.
const EXPONENT: u32 = 52;
const BIAS: i64 = 1023;

/// Of positive normal numbers.
fn ln(x: Lanes) -> Lanes {
    let (mut mantissa, mut exponent) = (Lanes::ZERO, Lanes::ZERO);
    // A mantissa between √½ and √2: the bits of √½ are where it begins anew.
    let first = std::f64::consts::FRAC_1_SQRT_2.to_bits();
    for lane in 0..LANES {
        let bits = x[lane].to_bits();
        let steps = (bits.wrapping_sub(first) as i64) >> EXPONENT;
        mantissa[lane] = f64::from_bits(bits.wrapping_sub((steps << EXPONENT) as u64));
        exponent[lane] = steps as f64;
    }
    // The series of the inverse hyperbolic tangent; the next term is below 1e-13.
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let square = s * s;
    let series = [1.0 / 13.0, 1.0 / 11.0, 1.0 / 9.0, 1.0 / 7.0, 1.0 / 5.0, 1.0 / 3.0];
    let sum = series.into_iter().fold(Lanes::splat(1.0 / 15.0), |sum, term| sum * square + term);
    exponent * std::f64::consts::LN_2 + s * (sum * square + 1.0) * 2.0
}

fn exp(x: Lanes) -> Lanes {
    // Adding this rounds to a whole number.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    let x = x.clamp(Lanes::splat(-700.0), Lanes::splat(700.0));
    let whole = (x * std::f64::consts::LOG2_E + ROUND) - ROUND;
    let rest = x - whole * std::f64::consts::LN_2;
    // Taylor's series: the next term is below 1e-13.
    let sum = INVERSES.into_iter().fold(Lanes::ONE, |sum, inverse| sum * rest * inverse + 1.0);
    let scale = |whole: f64| f64::from_bits(((whole as i64 + BIAS) << EXPONENT) as u64);
    sum * Lanes::new(scale(whole.x), scale(whole.y))
}

/// Factors of the series of a sine and a cosine, each times the square of the angle: -1/(2k (2k + 1)) and -1/((2k - 1) 2k), the last first.
const SINE: [f64; 8] = factors(2);
const COSINE: [f64; 8] = factors(1);

const fn factors(first: usize) -> [f64; 8] {
    let (mut factors, mut k) = ([0.0; 8], 0);
    while k < 8 {
        let number = 2 * (7 - k) + first;
        factors[k] = -1.0 / (number * (number + 1)) as f64;
        k += 1;
    }
    factors
}

/// Angles of less than this have two terms less in their series, rad: the next is below 1e-14.
const SMALL_ANGLE: f64 = 1.2;

/// Sine and cosine of angles from -pi to pi, to 1e-11.
pub(super) fn sin_cos(x: Lanes) -> [Lanes; 2] {
    // Of half the angle, by their series.
    let half = x * 0.5;
    let square = half * half;
    let less = if x.abs().max_element() < SMALL_ANGLE { 2 } else { 0 };
    // sin h = h (1 - h²/6 (1 - h²/20 (...))), cos h = 1 - h²/2 (1 - h²/12 (...)).
    let mut sums = [Lanes::ZERO; 2];
    for (sine, cosine) in SINE[less..].iter().zip(&COSINE[less..]) {
        sums[0] = (sums[0] + 1.0) * square * *sine;
        sums[1] = (sums[1] + 1.0) * square * *cosine;
    }
    let [sine, cosine] = [half * (sums[0] + 1.0), sums[1] + 1.0];
    [sine * cosine * 2.0, Lanes::ONE - sine * sine * 2.0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_those_of_libm() {
        for k in 0..4000 {
            let x = f64::from(k) / 4000.0;
            let both = |f: fn(f64, f64) -> f64| Lanes::new(f(x, 0.25), f(x, 0.75));
            let near = |what: &str, found: Lanes, expected: [f64; LANES], within: f64| {
                for (lane, expected) in expected.into_iter().enumerate() {
                    let off = (found[lane] - expected).abs();
                    assert!(off <= within * expected.abs().max(1e-3), "{what} {x}, lane {lane}: {off:e}");
                }
            };
            let slides = both(|x, k| 3.0 * x * k);
            let exact = slides.to_array().map(|x| if x > 0.0 { -libm::expm1(-x) / x } else { 1.0 });
            near("gone", gone(slides), exact, 1e-8);
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
