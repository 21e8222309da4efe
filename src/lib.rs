//! SimPartner: a dynamic robot simulator server.
//!
//! An XML world and XML robots become a [`World`](simpartner_description::World); [`sim::Simulation`] advances it one fixed
//! timestep at a time; [`realtime`] gives the steps a clock; [`server`] offers every device on its own TCP port; [`recorder`]
//! writes every step into SQL; [`run`](run::run) composes them as a [`Config`](config::Config) asks for, and [`replay`] repeats what
//! was logged. Each module may use only the modules below it (ARCHITECTURE.md lists the layers, `tests/it/tidy.rs` checks them).
//! Start reading at [`sim`].
//!
//! Four libraries lie below: `simpartner_model` (mechanisms), `simpartner_dynamics` (engines), `simpartner_wire` (the protocol,
//! which clients link) and `simpartner_description` (worlds, devices, sequences and their files).

pub mod analysis;
pub mod cli;
pub mod config;
pub mod device;
pub mod plot;
pub mod realtime;
pub mod recorder;
pub mod replay;
pub mod run;
pub mod server;
pub mod sim;
pub mod verify;
