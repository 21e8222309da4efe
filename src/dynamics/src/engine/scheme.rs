//! Parameters of a substep, which all modules above read.

use bevy_math::DVec3;

use crate::Integrator;

/// Parameters of a substep.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scheme {
    /// Length of the substep, s.
    pub(crate) h: f64,
    /// Length as a fraction of the timestep.
    pub(crate) time_fraction: f64,
    /// Time from the midpoint of the substep to that of the next one, s.
    pub(crate) lookahead: f64,
    /// True for an impact, which has no duration.
    pub(crate) is_impact_instant: bool,
    /// Gravity, world axes, m/s².
    pub(crate) gravity: DVec3,
    /// Fraction of a position error that is removed in a step.
    pub(crate) correction: f64,
    /// Largest speed at which penetration is removed, m/s.
    pub(crate) correction_speed: f64,
    /// Penetration that is left uncorrected, m.
    pub(crate) surface_layer: f64,
    /// Work budget of an island in a step, in sweeps; and the fair share of the substep: the fraction of the remaining
    /// work that corresponds to its length.
    pub(crate) budget: f64,
    pub(crate) budget_fraction: f64,
    /// The integrator of free motion.
    pub(crate) integrator: Integrator,
}
