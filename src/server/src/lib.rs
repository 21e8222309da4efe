//! The ports: one for every device, one for every robot, one for the clock, one for the viewer's page. This module
//! moves bytes; [`protocol`](simpartner_wire::protocol) defines what they mean.
//!
//! Everything is bounded: the number of connections (`connections`), the bytes read from a client at a time, the bytes
//! that wait for a client, and the time for an unfinished message or an unread answer. A client that breaks a bound is
//! disconnected and costs the others nothing. The physics never waits for a client.
//!
//! The module knows nothing of the log and of how steps are computed. Start at [`Server`].

mod accept;
mod bind;
mod cameras;
mod client_events;
mod connection;
mod connections;
mod control;
mod descriptors;
mod device;
mod endpoint;
mod entities;
mod error;
mod grasp;
mod holder;
mod outward;
mod ports_file;
mod scene;
mod served;
mod server;
mod settings;
mod shared;
mod token_attempts;
mod web;
mod world_edit;

pub use descriptors::raise_descriptor_limit;
pub use entities::Entities;
pub use error::ServerError;
pub use grasp::grasp_scene;
pub use outward::reachable;
pub use server::Server;
pub use settings::{Limits, PortChoice, Settings};
pub use shared::LogFigures;
pub use web::{
    Answer, Archive, ArchiveError, GraspServer, LoggedCommands, LoggedEvent, LoggedRun, RunModel, Viewer, grasp_page,
};
