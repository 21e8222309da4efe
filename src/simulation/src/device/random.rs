//! Reproducible random numbers: each device has its own streams.

use simpartner_model::random::Stream;

/// Seed of a device's streams.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StreamSeed<'a> {
    /// `simulation.seed`.
    pub(crate) seed: u64,
    /// The robot's name in the world.
    pub(crate) robot: &'a str,
    /// The device's name.
    pub(crate) device: &'a str,
}

impl StreamSeed<'_> {
    /// The stream for a purpose. It depends only on the seed and the names, so that no other device and no other
    /// purpose changes its numbers.
    pub(crate) fn stream(&self, purpose: &str) -> Stream {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.seed.to_le_bytes());
        for name in [self.robot, self.device, purpose] {
            hasher.update(&(name.len() as u64).to_le_bytes());
            hasher.update(name.as_bytes());
        }
        Stream::from_bytes(*hasher.finalize().as_bytes())
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
}
