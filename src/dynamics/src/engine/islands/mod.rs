//! Islands: groups of trees that contacts and loop joints couple, each solved by itself.
//!
//! **Takes** trees, contacts and loop joints at the midpoint of a substep. **Gives** for each island the state at the
//! end of the substep, and how well it was solved ([`island`]). Energy gain is bounded ([`energy_bound`]), overlaps are
//! separated ([`overlaps`], [`separation`]), and the work is counted ([`work_budget`]). **Does not know** whether the
//! substep is repeated, nor what is reported of it.

mod constraint_solve;
pub(crate) mod energy_bound;
pub(crate) mod fallback_limits;
pub(crate) mod island;
pub(crate) mod outcome;
mod overlaps;
pub(crate) mod separation;
pub(crate) mod work_budget;
