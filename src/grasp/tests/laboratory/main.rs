//! Tests of the laboratory against the published figures and closed forms, and consistency on random grasps.

#![allow(clippy::unwrap_used, reason = "tests")]

mod chart;
mod equilibrium;
mod harker;
mod quality;
mod sample;
mod slip;
mod support;
mod task;
mod ways;
