//! Drives a robot by gamepad, as any client of the server's ports could, and records what was driven.
//!
//! [`pad`] says what a pad can do, [`mapping`] what that means for which device, [`pilot`] makes commands of both,
//! [`link`] has them act at known steps, [`recording`] writes those down, and [`drive`] is the loop around them. Real
//! pads are in [`real`], made-up ones in [`script`]. Nothing here knows the physics.

pub mod drive;
pub mod link;
pub mod mapping;
pub mod pad;
pub mod pilot;
#[cfg(feature = "pad")]
pub mod real;
pub mod recording;
pub mod script;
