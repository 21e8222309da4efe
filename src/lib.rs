//! SimPartner: a dynamic robot simulator server.
//!
//! An XML world and XML robots become a [`model::World`]; [`sim::Simulation`] advances it one fixed timestep at a time;
//! [`realtime`] gives the steps a clock; [`server`] offers every device on its own TCP port; [`recorder`] writes every
//! step into SQL. Each room may use only the rooms below it (ARCHITECTURE.md draws the ladder, `tests/it/tidy.rs` holds
//! it). Start reading at [`signal`], then [`sim`].

pub mod analysis;
pub mod cli;
pub mod device;
pub mod draw;
pub mod model;
pub mod physics;
pub mod plot;
pub mod protocol;
pub mod realtime;
pub mod recorder;
pub mod server;
pub mod signal;
pub mod sim;
pub mod verify;
pub mod xml;
