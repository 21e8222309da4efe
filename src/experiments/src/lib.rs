//! Experiments on worlds, robots and grasps, without ports and without a log.
//!
//! - [`verify`]: experiments with a known outcome, compared with theory.
//! - [`mobility`]: slopes, obstacles and stability of wheeled robots, in closed form and simulated.
//! - [`benchmark`]: a published benchmark of grasps, and the same with other engines.
//! - [`grasp_batch`]: many grasp tasks on several threads, one row of a file for each.
//! - [`draw`]: pictures of worlds as SVG.

pub mod benchmark;
pub mod draw;
pub mod grasp_batch;
pub mod mobility;
pub mod verify;
