//! SimPartner: a dynamic robot simulator server.
//!
//! An XML world and XML robots become a [`model::World`]; [`sim::Simulation`] advances it one fixed timestep at a time;
//! [`realtime`] gives the steps a clock; [`server`] offers every device on its own TCP port; [`recorder`] writes every
//! step into SQL; [`run`] puts these together as a [`config`] asks for, and [`replay`] repeats what was logged. Each module may use
//! only the modules below it (ARCHITECTURE.md lists them by layer, `tests/it/tidy.rs` checks it). Start reading at [`signal`], then
//! [`sim`].

pub mod analysis;
pub mod cli;
pub mod config;
pub mod device;
pub mod model;
pub mod physics;
pub mod plot;
pub mod protocol;
pub mod realtime;
pub mod recorder;
pub mod replay;
pub mod run;
pub mod server;
pub mod signal;
pub mod sim;
pub mod verify;
pub mod xml;
