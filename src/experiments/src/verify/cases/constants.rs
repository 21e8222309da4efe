//! Numbers that several groups of cases share.

/// Gravity of the thesis, m/s².
pub(super) const G: f64 = 9.81;

/// Largest speed of a resting contact point that counts as solved, m/s.
pub(super) const SOLVED_SPEED: f64 = 1e-6;

/// Depth to which rigid bodies may overlap without being pushed apart, m.
pub(super) const CONTACT_LAYER: f64 = 1e-6;
