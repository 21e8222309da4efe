//! The grasp laboratory: is a grasp in equilibrium, how stable is it, how good is it?
//!
//! A [`Grasp`](simpartner_model::Grasp) is data of the model. [`Statics`] makes its grasp map: which wrenches its contacts can exert.
//! From there [`check`] finds forces or proves that there are none, [`chart`](mod@chart) tilts gravity, [`slip`](mod@slip) lets go, and
//! [`quality`](mod@quality) measures the grasp wrench space. [`sample`] draws poses of a gripper on an object, and [`task`] lets it grasp and
//! lift in the engine. [`harker`] is the program of 1994 as it was, with its files.
//!
//! Wrenches are taken about the centre of mass, in the object's frame, force first, N and N m. A twist, dual to them, has the velocity of the
//! centre of mass first. Every verdict is checked here, without the solver that found it, before anyone sees it: forces by adding
//! them up, a certificate by the few lines of [`Certificate::gap`].
//!
//! The crate knows nothing of files but [`harker`]'s, of clocks, sockets, databases and the command line.

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
