//! Kinematic trees: structure, coordinates, workspace, and forward kinematics.
//!
//! **Takes** links and joints. **Gives** a [`tree::Tree`]: its fixed structure ([`topology`]), the state that a
//! snapshot holds ([`tree_state::State`]), the workspace of a step ([`workspace::Work`]), and poses and velocities of
//! its links ([`kinematics`]). **Does not know** forces, contacts or time integration.

pub(crate) mod addresses;
pub(crate) mod kinematics;
pub(crate) mod link;
pub(crate) mod topology;
pub(crate) mod tree;
pub(crate) mod tree_state;
pub(crate) mod workspace;
