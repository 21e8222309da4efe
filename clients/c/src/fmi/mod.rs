//! The functions of FMI 2.0 and 3.0 for co-simulation.
//!
//! `core` is an instance, without C: its modes, its variables, its steps, its saved states. `instance` gives instances
//! to C: handles, the order of calls, messages. `fmi2` and `fmi3` are the functions of either version.

mod core;
mod fmi2;
mod fmi3;
mod instance;
mod saved;
