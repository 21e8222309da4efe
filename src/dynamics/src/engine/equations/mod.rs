//! Equations of motion of one tree, and its midpoint step.
//!
//! **Takes** a tree, gravity, external forces, and whitened impulses. **Gives** the mass matrix and bias
//! ([`mass_and_bias`]), factors of the mass matrix ([`mass_factor`]), velocities at the end of the substep
//! ([`midpoint`]), joint reactions and motor efforts ([`motors`]). **Does not know** contacts, loop joints, islands, or
//! where impulses come from.

pub(crate) mod damping;
pub(crate) mod external_forces;
pub(crate) mod free_bodies;
pub(crate) mod free_rotation;
pub(crate) mod mass_and_bias;
pub(crate) mod mass_factor;
pub(crate) mod midpoint;
pub(crate) mod motors;
pub(crate) mod position_update;
