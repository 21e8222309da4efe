//! Options and outcome of an attempt at a substep of an island.

use crate::engine::solvers::solver::SolveOutcome;

/// Options of an attempt at a substep of an island.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct IslandOptions {
    /// Accept this attempt even if a check would reject it. Speeds and energy are then clamped to the permitted values.
    pub(crate) accept_unconverged: bool,
}

/// Outcome of an attempt at a substep of an island. The step checks read it; several conditions can hold at once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IslandOutcome {
    /// Residual and cost of the constraint solver.
    pub(crate) solve: SolveOutcome,
    /// The work budget ran out before another pass or a smaller substep.
    pub(crate) budget_exhausted: bool,
    /// A joint turned farther than the accuracy of the integrator allows in one substep.
    pub(crate) rotation_too_large: bool,
    /// Gauss's method did not find its stages for a long tree, so the midpoint scheme made the substep.
    pub(crate) stages_not_found: bool,
    /// The state was not finite. The island was restored to the start of the substep, at rest.
    pub(crate) non_finite: bool,
    /// Energy after the substep minus energy before it and work done on it
    /// ([`crate::engine::state::workspace::Work::substep_work`]), J.
    pub(crate) energy_error: f64,
    /// Energy removed to clamp the island's energy to the permitted value, J.
    pub(crate) energy_removed: f64,
    /// Largest speed in the island over the permitted maximum; 0 if none exceeded it.
    pub(crate) overspeed: f64,
    /// Penetration at which a contact first pressed, m, and its index: the deepest relative to the size of its shapes.
    pub(crate) max_penetration: Option<(f64, usize)>,
    /// Depth of the deepest overlap that the position correction could not separate, m, and the index of its contact.
    pub(crate) unseparated: Option<(f64, usize)>,
}

impl IslandOutcome {
    /// Outcome of an island without constraints, before its substep is solved.
    pub(crate) const UNSOLVED: Self = Self {
        solve: SolveOutcome { sweeps: 0.0, residual: 0.0, velocity_change: 0.0, converged: true },
        budget_exhausted: false,
        rotation_too_large: false,
        stages_not_found: false,
        non_finite: false,
        energy_error: 0.0,
        energy_removed: 0.0,
        overspeed: 0.0,
        max_penetration: None,
        unseparated: None,
    };
}

impl Default for IslandOutcome {
    fn default() -> Self {
        Self::UNSOLVED
    }
}
