//! The grasp laboratory: is a grasp in equilibrium, how stable is it, how good is it?
//!
//! A [`Grasp`](simpartner_model::Grasp) is data of the model. Start at [`Statics`], its grasp map: which wrenches its
//! contacts can exert. The other modules build on that:
//!
//! - [`check`] finds contact forces that balance the load, or proves that there are none;
//! - [`chart`](mod@chart) tilts gravity, or adds disturbances, in all directions;
//! - [`slip`](mod@slip) releases the object and computes its motion against the fingers;
//! - [`quality`](mod@quality) measures the grasp wrench space;
//! - [`sample`] draws poses of a gripper on an object;
//! - [`task`] simulates a gripper that grasps and lifts an object, in the engine;
//! - [`harker`] is the program of 1994 as it was, with its file formats.
//!
//! Wrenches are taken about the centre of mass, in the object's frame, force first, in N and N m. Twists, dual to them,
//! have the velocity of the centre of mass first. Every verdict is checked here, without the solver that found it,
//! before anyone sees it: forces by adding them up, a certificate by the few lines of [`Certificate::gap`].
//!
//! The crate knows nothing of clocks, sockets, databases and the command line, nor of any files but those of
//! [`harker`].

pub mod chart;
mod conic;
mod equilibrium;
pub mod harker;
pub mod quality;
pub mod sample;
pub mod slip;
mod statics;
pub mod task;

pub use conic::{Program, Solution};
pub use equilibrium::{Certificate, Equilibrium, Forces, Verdict, check, programs, verdict};
pub use statics::{ContactForce, ContactMap, GraspError, Section, Statics, Vector6};
