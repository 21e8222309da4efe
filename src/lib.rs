//! SimPartner: a dynamic robot simulator server.
//!
//! An XML world and XML robots become a [`World`](simpartner_description::World); [`sim::Simulation`] advances it one
//! fixed timestep at a time; [`realtime`] gives the steps a clock; [`server`] offers every device on its own TCP port;
//! [`recorder`] writes every step into SQL; [`run`](run::run) composes them as a [`Config`](config::Config) asks for,
//! and [`replay`] repeats what was logged. Each module may use only the modules below it (ARCHITECTURE.md lists the
//! layers, `tests/it/tidy.rs` checks them). Start reading at [`sim`].
//!
//! Five libraries lie below: `simpartner_model` (mechanisms), `simpartner_dynamics` (engines), `simpartner_wire` (the
//! protocol, which clients link), `simpartner_description` (worlds, devices, sequences and their files) and
//! `simpartner_terminal` (what the command lines of server and clients share).
//!
//! A stone that falls for a second, without a clock, ports or a log:
//!
//! ```
//! use std::sync::Arc;
//!
//! use simpartner::sim::Simulation;
//! use simpartner_description::xml;
//! use simpartner_dynamics::Settings;
//! use simpartner_model::Timestep;
//!
//! let text = r#"
//!     <world name="well">
//!       <gravity y="-10"/>
//!       <object name="Stone"><mass>1</mass><pose y="5"/><sphere radius="0.1"/></object>
//!     </world>"#;
//! let xml::Document::World(world) = xml::read_text("well.xml", text)? else { unreachable!("its root is a world") };
//!
//! let mut simulation = Simulation::new(Arc::new(world), Timestep::MILLISECOND, Settings::default())?;
//! let mut record = simulation.observe();
//! for _ in 0..1000 {
//!     simulation.step(&mut record);
//! }
//!
//! let stone = simulation.world().mechanism.body_named(None, "Stone").ok_or("the file has a stone")?;
//! let height = record.values[simulation.layout().pose(stone)][1];
//! assert!((height - (5.0 - 10.0 / 2.0)).abs() < 1e-9, "{height}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use simpartner_analysis as analysis;
pub use simpartner_experiments::{benchmark, draw, grasp_batch, mobility, verify};
pub use simpartner_plot as plot;
pub use simpartner_realtime as realtime;
pub use simpartner_recorder as recorder;
pub use simpartner_server as server;
pub use simpartner_simulation::{camera, device, sim};

pub mod cli;
pub mod config;
pub mod fmu;
pub mod replay;
pub mod run;
pub mod sweep;
