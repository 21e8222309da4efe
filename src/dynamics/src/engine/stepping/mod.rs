//! A step of the whole world.
//!
//! **Takes** a world and a timestep. **Gives** the world one timestep later, the loads of that step ([`step_outputs`])
//! and its events ([`step_validation`]). Substeps that fail a check are repeated at half the length
//! ([`adaptive_substepping`]), impacts are events in time ([`impacts`]), and objects at rest fall asleep ([`sleep`]).
//! **Does not know** how the world was built, nor files, clocks or sockets.

pub(crate) mod adaptive_substepping;
pub(crate) mod check_memory;
pub(crate) mod impact_search;
pub(crate) mod impacts;
pub(crate) mod retry_groups;
pub(crate) mod sleep;
mod step_events;
pub(crate) mod step_outputs;
pub(crate) mod step_validation;
mod substep;
pub(crate) mod world;
