//! Reproducible random numbers.

use std::f64::consts::TAU;

use rand_pcg::{
    Pcg64,
    rand_core::{Rng, SeedableRng},
};
use serde::{Deserialize, Serialize};

/// A stream of random numbers: O'Neill's PCG XSL RR 128/64. The same seed has the same numbers on every platform.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stream(Pcg64);

impl Stream {
    /// From all of its state, such as the bytes of a hash.
    pub fn from_bytes(seed: [u8; 32]) -> Self {
        Self(Pcg64::from_seed(seed))
    }

    /// Creates a stream from a number; streams of consecutive numbers are independent (SplitMix64, Steele et al. 2014).
    pub fn from_number(seed: u64) -> Self {
        let mut state = seed;
        let words = [(); 4].map(|()| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^ (mixed >> 31)
        });
        let mut bytes = [0; 32];
        bytes.chunks_exact_mut(8).zip(words).for_each(|(bytes, word)| bytes.copy_from_slice(&word.to_le_bytes()));
        Self::from_bytes(bytes)
    }

    /// A random 64-bit number, which may be the seed of another stream.
    pub fn number(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform from 0 to below 1.
    pub fn uniform(&mut self) -> f64 {
        // The upper 53 bits: as many as the mantissa of a double has.
        (self.number() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform from `low` to below `high`.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    /// A random number from 0 to `count` - 1, uniform up to 1 in 2^64 / `count`.
    ///
    /// # Panics
    /// `count` is 0.
    pub fn below(&mut self, count: usize) -> usize {
        (self.number() % count as u64) as usize
    }

    /// True with this probability.
    pub fn happens(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.uniform() < probability
    }

    /// From the standard normal distribution, by Box and Muller with libm's functions: the same bits on every platform.
    pub fn gaussian(&mut self) -> f64 {
        let (radius, angle) = (1.0 - self.uniform(), TAU * self.uniform());
        (-2.0 * libm::log(radius)).sqrt() * libm::cos(angle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean 0 ± 4 / sqrt(n), variance 1 ± 4 sqrt(2 / n), fourth moment 3 ± 4 sqrt(96 / n): four standard errors each.
    #[test]
    fn a_gaussian_has_its_moments() {
        let mut stream = Stream::from_number(7);
        let count = 200_000;
        let mut moments = [0.0; 4];
        for _ in 0..count {
            let value = stream.gaussian();
            (0..4).for_each(|power| moments[power] += value.powi(power as i32 + 1) / f64::from(count));
        }
        let n = f64::from(count);
        assert!(moments[0].abs() < 4.0 / n.sqrt(), "{moments:?}");
        assert!((moments[1] - 1.0).abs() < 4.0 * (2.0 / n).sqrt(), "{moments:?}");
        assert!((moments[3] - 3.0).abs() < 4.0 * (96.0 / n).sqrt(), "{moments:?}");
    }
}
