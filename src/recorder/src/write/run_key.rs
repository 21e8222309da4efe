//! Random keys of processes. The key of a run is the key of its process and the run's number.

use std::hash::{BuildHasher, Hasher, RandomState};

/// A key that no other process has: 128 bits in hexadecimal, from the standard library's seeds, which are random.
pub(super) fn random_key() -> String {
    let random = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", random(), random())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_differ() {
        let (one, other) = (random_key(), random_key());
        assert_ne!(one, other);
        assert_eq!(one.len(), 32);
    }
}
