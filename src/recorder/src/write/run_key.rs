//! The key of a run.

use std::hash::{BuildHasher, Hasher, RandomState};

/// A key that no other process has: 128 bits from the standard library's seeds, which are random.
pub(super) fn random() -> String {
    let random = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", random(), random())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_differ() {
        let (one, other) = (random(), random());
        assert_ne!(one, other);
        assert_eq!(one.len(), 32);
    }
}
