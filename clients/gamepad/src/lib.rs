//! Drives a robot with a gamepad, as any client of the server's ports could, and records the commands.
//!
//! [`pad`] defines the inputs of a gamepad, [`mapping`] assigns them to devices, [`pilot`] makes commands of both,
//! [`link`] has them act at known steps, [`recording`] records them, and [`drive`] is the control loop. Real gamepads
//! are in [`real`], scripted ones in [`script`]. The crate does not depend on the physics.

pub mod drive;
pub mod link;
pub mod mapping;
pub mod pad;
pub mod pilot;
#[cfg(feature = "pad")]
pub mod real;
pub mod recording;
pub mod script;
