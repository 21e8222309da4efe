//! The parameters of a substep that all floors above read.

use bevy_math::DVec3;

use crate::Integrator;

/// The part of a step's settings that the assembly needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scheme {
    /// Seconds of the step.
    pub(crate) h: f64,
    /// What part of the timestep that is.
    pub(crate) time_fraction: f64,
    /// From the middle of the substep to that of the next, s.
    pub(crate) lookahead: f64,
    /// True if it is no step but the instant of an impact.
    pub(crate) is_impact_instant: bool,
    pub(crate) gravity: DVec3,
    /// Part of a position error that is taken out in a step.
    pub(crate) correction: f64,
    /// Largest speed at which penetration is taken out, m/s.
    pub(crate) correction_speed: f64,
    /// Penetration that is left alone, m.
    pub(crate) surface_layer: f64,
    /// Work that a step may cost an island, in sweeps; what part of what is left of it falls to the length of the substep.
    pub(crate) budget: f64,
    pub(crate) budget_fraction: f64,
    /// The scheme of what moves freely.
    pub(crate) integrator: Integrator,
}
