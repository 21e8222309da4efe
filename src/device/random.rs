//! Reproducible random numbers: each device has streams of its own.

use std::f64::consts::TAU;

use rand_pcg::{
    Pcg64,
    rand_core::{Rng, SeedableRng},
};
use serde::{Deserialize, Serialize};

/// What a device's streams are seeded with.
#[derive(Debug, Clone, Copy)]
pub(super) struct StreamSeed<'a> {
    /// `simulation.seed`.
    pub(super) seed: u64,
    /// The robot's name in the world.
    pub(super) robot: &'a str,
    /// The device's name.
    pub(super) device: &'a str,
}

impl StreamSeed<'_> {
    /// The stream for a purpose. It depends on the seed and the names alone, so that no other device, and no other purpose, changes
    /// any of its numbers.
    pub(super) fn stream(&self, purpose: &str) -> Stream {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.seed.to_le_bytes());
        for name in [self.robot, self.device, purpose] {
            hasher.update(&(name.len() as u64).to_le_bytes());
            hasher.update(name.as_bytes());
        }
        Stream(Pcg64::from_seed(*hasher.finalize().as_bytes()))
    }
}

/// A stream of random numbers: O'Neill's PCG XSL RR 128/64.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Stream(Pcg64);

impl Stream {
    /// Uniform from 0 to below 1.
    pub(super) fn uniform(&mut self) -> f64 {
        // The upper 53 bits: as many as the mantissa of a double has.
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// True with this probability.
    pub(super) fn happens(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.uniform() < probability
    }

    /// From the standard normal distribution, by Box and Muller with libm's functions: the same bits on every platform.
    pub(super) fn gaussian(&mut self) -> f64 {
        let (radius, angle) = (1.0 - self.uniform(), TAU * self.uniform());
        (-2.0 * libm::log(radius)).sqrt() * libm::cos(angle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_of_different_names_differ() {
        let first = |robot, device| StreamSeed { seed: 1, robot, device }.stream("noise");
        assert_eq!(first("a", "b"), first("a", "b"));
        assert_ne!(first("ab", "c"), first("a", "bc"));
        assert_ne!(first("a", "b"), StreamSeed { seed: 2, robot: "a", device: "b" }.stream("noise"));
    }

    /// Mean 0 ± 4 / sqrt(n), variance 1 ± 4 sqrt(2 / n), fourth moment 3 ± 4 sqrt(96 / n): four standard errors each.
    #[test]
    fn a_gaussian_has_its_moments() {
        let mut stream = StreamSeed { seed: 7, robot: "r", device: "d" }.stream("noise");
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
