//! Lengths of vectors and quaternions with the square root of the standard library.
//!
//! glam, as it is built here, uses that of `libm`, an SSE instruction in assembly. Between AVX instructions it costs
//! some hundred cycles on Intel processors, a quarter of a robot's step. Square roots are correctly rounded, so both
//! give the same bits.

use std::ops::Mul;

use bevy_math::{DQuat, DVec2, DVec3};

/// A vector with a length.
pub trait Norm: Copy + Mul<f64, Output = Self> {
    /// The zero vector or the identity.
    const NONE: Self;

    /// The square of its length.
    fn squared(self) -> f64;

    /// Its length.
    #[inline(always)]
    fn norm(self) -> f64 {
        self.squared().sqrt()
    }

    /// The same of length 1; not a number if it has no length.
    #[inline(always)]
    fn normalized(self) -> Self {
        self * (1.0 / self.norm())
    }

    /// The same of length 1, if it has a length.
    #[inline(always)]
    fn try_normalized(self) -> Option<Self> {
        let scale = 1.0 / self.norm();
        (scale.is_finite() && scale > 0.0).then(|| self * scale)
    }

    /// The same direction with length 1, or the zero value if the length is zero.
    #[inline(always)]
    fn normalized_or_zero(self) -> Self {
        self.try_normalized().unwrap_or(Self::NONE)
    }
}

macro_rules! has_norm {
    ($($own:ty: $none:expr),*) => {
        $(impl Norm for $own {
            const NONE: Self = $none;

            #[inline(always)]
            fn squared(self) -> f64 {
                self.length_squared()
            }
        })*
    };
}

has_norm!(DVec2: Self::ZERO, DVec3: Self::ZERO, DQuat: Self::from_xyzw(0.0, 0.0, 0.0, 0.0));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_the_bits_of_glam() {
        let mut stream = crate::random::Stream::from_number(1);
        let mut number = || stream.between(-1.0, 1.0) * stream.between(0.0, 1.0).powi(20);
        for _ in 0..10_000 {
            let [x, y, z, w] = [number(), number(), number(), number()];
            let (vector, turn) = (DVec3::new(x, y, z), DQuat::from_xyzw(x, y, z, w));
            assert_eq!((vector.norm(), turn.norm()), (vector.length(), turn.length()));
            assert_eq!((vector.normalized(), turn.normalized()), (vector.normalize(), turn.normalize()));
            assert_eq!(vector.try_normalized(), vector.try_normalize());
        }
        for vector in [DVec3::ZERO, DVec3::splat(1e-200), DVec3::splat(1e200), DVec3::splat(f64::NAN)] {
            assert_eq!(vector.try_normalized(), vector.try_normalize());
            assert_eq!(vector.normalized_or_zero(), vector.normalize_or_zero());
        }
    }
}
