//! A substep: its length, and how it came from the division of a step.

/// A part of a step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Substep {
    /// Length of this part, and remaining step including it, s.
    pub(crate) h: f64,
    pub(crate) left: f64,
    /// Number of halvings, and of impacts that divided the step before.
    pub(crate) halvings: u32,
    pub(crate) impact_count: u32,
    /// True if it ends at an impact, and no impact occurs before.
    pub(crate) ends_at_impact: bool,
}

impl Substep {
    /// A substep of `h` seconds, with `left` seconds of the step remaining.
    pub(crate) fn undivided(h: f64, left: f64) -> Self {
        Self { h, left, halvings: 0, impact_count: 0, ends_at_impact: false }
    }

    pub(super) fn split_in_halves(self) -> [Self; 2] {
        let first = Self { h: 0.5 * self.h, halvings: self.halvings + 1, ..self };
        [first, Self { left: self.left - first.h, ..first }]
    }

    /// Fair share of the remaining work: its length over the rest of the step.
    pub(super) fn budget_fraction(self) -> f64 {
        (self.h / self.left).min(1.0)
    }

    /// Number of divisions before this part.
    pub(crate) fn refinement_level(self) -> u32 {
        self.halvings + self.impact_count
    }
}
