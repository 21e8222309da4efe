//! A simulation inside another program, without clock, socket and log. The Python module is built on it.
//!
//! A program steps an [`EmbeddedSimulation`] itself. Commands and readings are flat arrays of `f64`; [`Channels`] have
//! their order. Requests of the protocol are answered in the words of a server. A [`Batch`] has many simulations of one
//! world, and steps them on several threads. Equal models, settings, seeds and commands give the same bits here as in a
//! server.
//!
//! ```
//! use simpartner_description::Parameters;
//! use simpartner_embed::{EmbeddedSimulation, Options, read_world_text};
//!
//! // A body falls from 2 m for half a second.
//! let text = r#"<world name="fall"><gravity y="-10"/><robot name="Ball">
//!   <body name="b"><mass>1</mass><pose y="2"/><sphere radius="0.1"/></body>
//!   <sensor type="PositionSensor" name="Place" body="b" port="0"/></robot></world>"#;
//! let world = read_world_text("fall.xml", text, &Parameters::default())?;
//! let mut simulation = EmbeddedSimulation::new(world, Options::default())?;
//! simulation.advance(500)?;
//! let mut readings = [0.0; 3];
//! simulation.read(&mut readings)?;
//! assert!((readings[1] - 0.75).abs() < 1e-9);
//! # Ok::<(), simpartner_embed::EmbedError>(())
//! ```

mod batch;
mod cameras;
mod channels;
mod edit;
mod error;
mod images;
mod requests;
mod simulation;

pub use batch::Batch;
pub use channels::{Channel, Channels};
pub use error::EmbedError;
pub use simulation::{EmbeddedSimulation, Options, read_world, read_world_text};
