//! A simulation of robots with their devices, one fixed timestep at a time.
//!
//! [`sim::Simulation`] takes commands and advances the world. Each step fills a record with the readings, poses, forces
//! and events. [`device`] holds the sensors and actuators, [`camera`] makes the images of cameras. None of them knows a
//! clock, a socket or a database, so equal models, settings and commands give equal bits on any machine and at any
//! speed.

pub mod camera;
pub mod device;
mod fluid;
pub mod sim;
