//! Interface of the engine between steps.
//!
//! **Takes** a mechanism, commands, snapshots and edits of the world. **Gives** a built world ([`build`]), its
//! equations for inspection ([`probe`]), its state as bytes ([`snapshot`]), bodies moved to a new pose ([`set_pose`]),
//! and a state carried to an edited world ([`world_migration`]). **Does not know** how a step is made.

pub(crate) mod build;
pub(crate) mod command_limits;
mod engine;
pub(crate) mod probe;
pub(crate) mod set_pose;
pub(crate) mod snapshot;
pub(crate) mod world_migration;
