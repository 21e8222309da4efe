//! Free rotation of a body (Euler's equations): angular momentum and kinetic energy are conserved to rounding.
//!
//! In the principal axes, the angular momentum l obeys l' = l x w with w = I⁻¹ l. Gauss and Legendre's method of two
//! stages conserves l² and l · w, which are quadratic, exactly (Cooper 1987; Hairer, Lubich and Wanner 2006, IV.2.1).
//! The orientation follows from w by Magnus's series to fourth order. A last small rotation restores the angular
//! momentum in world axes.

use bevy_math::{DQuat, DVec3};
use simpartner_model::Norm;

use crate::engine::algebra::{gauss_legendre::STAGE_WEIGHTS, spatial::rotation_by};

/// Largest number of rounds of the fixed point for the stages. Each round leaves the fraction h w of the error: at 1 ms
/// and 10 rad/s seven reach rounding.
const MAX_ROUNDS: usize = 16;
/// The iteration ends when a round changes every stage by less than this fraction: four times the spacing of doubles.
const STAGE_TOLERANCE: f64 = 1e-15;

/// Rotation, rad, above which the step is divided, and largest number of parts: stages are found up to about 1 rad. A
/// body that rotates by more than 32 rad is too fast for any timestep. Its orientation is then arbitrary, but angular
/// momentum and energy are conserved.
const MAX_TURN: f64 = 0.5;
const MAX_PARTS: f64 = 64.0;

/// Rotation, rad, below which the first order suffices: the second order is its square, below rounding.
const SMALL_TURN: f64 = 1e-9;

/// Orientation and angular velocity, world axes, after `h` seconds, for these principal moments of inertia.
pub(crate) fn rotate_freely(principal: DVec3, rotation: DQuat, velocity: DVec3, h: f64) -> (DQuat, DVec3) {
    let turn = velocity.norm() * h;
    if turn < SMALL_TURN {
        let (w, turned) = (rotate(rotation.inverse(), velocity), rotation_by(velocity * h) * rotation);
        return (turned.normalized(), velocity + rotate(rotation, (principal * w).cross(w) / principal) * h);
    }
    let parts = (turn / MAX_TURN).ceil().clamp(1.0, MAX_PARTS);
    let part = |(rotation, velocity), _| rotate_freely_once(principal, rotation, velocity, h / parts);
    (0..parts as usize).fold((rotation, velocity), part)
}

/// Orientation and angular velocity after one part of the step.
fn rotate_freely_once(principal: DVec3, rotation: DQuat, velocity: DVec3, h: f64) -> (DQuat, DVec3) {
    let w = rotate(rotation.inverse(), velocity);
    let l = principal * w;
    let momentum = rotate(rotation, l);
    let turned = (rotation * rotation_by(rotation_vector(principal, w, h))).normalized();
    let there = rotate(turned.inverse(), momentum);
    // If the stages are not found, the angular momentum stays constant in the body, and so does the energy.
    let now = if l.cross(w) == DVec3::ZERO { there } else { momentum_after(principal, l, h).unwrap_or(l) };
    // Both have the length of the angular momentum, so this rotation takes one onto the other.
    let (from, to) = (now.normalized_or_zero(), there.normalized_or_zero());
    let axis = from.cross(to);
    let onto = DQuat::from_xyzw(axis.x, axis.y, axis.z, 1.0 + from.dot(to));
    // Half a turn about any perpendicular axis.
    let onto = if onto.length_squared() > 1e-6 { onto } else { DQuat::from_rotation_arc(from, to) };
    let turned = (turned * onto.normalized()).normalized();
    let velocity = rotate(turned, now / principal);
    // Rounding would lengthen the angular momentum by half the spacing of doubles in each step. This correction makes
    // the next step start with the same length.
    let next = principal * rotate(turned.inverse(), velocity);
    let size = l.length_squared().max(f64::MIN_POSITIVE);
    (turned, velocity + velocity * (0.5 * (l.length_squared() - next.length_squared()) / size))
}

/// Rotates a vector. Quaternions have length 1 only up to rounding, which would change the vector's length
/// systematically from step to step. Division by a number near 1 would, too, as doubles are twice as dense below 1.
fn rotate(rotation: DQuat, vector: DVec3) -> DVec3 {
    let turned = rotation * vector;
    turned + turned * ((1.0 - rotation.w * rotation.w) - rotation.xyz().length_squared())
}

/// Angular momentum in the body's axes after `h` seconds. `None` if the rotation is so fast that the stages are not
/// found.
fn momentum_after(principal: DVec3, l: DVec3, h: f64) -> Option<DVec3> {
    let rate = |l: DVec3| l.cross(l / principal);
    let mut rates = [rate(l); 2];
    for _ in 0..MAX_ROUNDS {
        let mut change = 0.0f64;
        for stage in 0..2 {
            let [a, b] = STAGE_WEIGHTS[stage];
            let new = rate(l + (rates[0] * a + rates[1] * b) * h);
            change = change.max((new - rates[stage]).abs().max_element());
            rates[stage] = new;
        }
        if change * h <= STAGE_TOLERANCE * l.abs().max_element() {
            // An overflow has a NaN change.
            return Some(l + (rates[0] + rates[1]) * (0.5 * h)).filter(|l| l.is_finite());
        }
    }
    None
}

/// Rotation vector, in its own axes, of a free rotation for `h` seconds from the angular velocity `w`: four terms of
/// its Taylor series by Euler's equations, I w' = l x w and l' = l x w (Magnus 1954).
fn rotation_vector(principal: DVec3, w: DVec3, h: f64) -> DVec3 {
    let l = principal * w;
    let l1 = l.cross(w);
    let w1 = l1 / principal;
    let l2 = l1.cross(w) + l.cross(w1);
    let w2 = l2 / principal;
    let w3 = (l2.cross(w) + l1.cross(w1) * 2.0 + l.cross(w2)) / principal;
    let third = w2 / 6.0 + w.cross(w1) / 12.0;
    ((((w3 + w.cross(w2)) * (h / 24.0) + third) * h + w1 * 0.5) * h + w) * h
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A body that hardly turns moves as by the whole method, up to rounding.
    #[test]
    fn what_hardly_turns_turns_as_all_else() {
        let (principal, rotation) =
            (DVec3::new(1.0, 2.0, 4.0), DQuat::from_rotation_arc(DVec3::X, DVec3::ONE.normalize()));
        let (h, velocity) = (1e-3, DVec3::new(3e-7, -5e-7, 4e-7));
        let (one, other) =
            (rotate_freely(principal, rotation, velocity, h), rotate_freely_once(principal, rotation, velocity, h));
        let apart = (one.0 * other.0.inverse()).xyz().length();
        assert!(velocity.length() * h < SMALL_TURN && apart < 1e-15, "{apart}");
        let (change, off) = ((one.1 - velocity).length(), (one.1 - other.1).length());
        assert!(change > 1e-17 && off < 1e-3 * change + 1e-21, "{change} {off}");
    }
}
