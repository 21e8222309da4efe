//! Bridges a SimPartner server to ROS 2, without a ROS installation. Start at [`bridge`].
//!
//! | module | |
//! |---|---|
//! | [`bridge`], [`node`] | the loop from connection to connection; what stays when the world changes |
//! | [`robot`], [`sensors`], [`actuators`] | a robot's topics; the table from device kinds to messages |
//! | [`cameras`], [`images`], [`lens`] | the images of cameras, their calibrations and clouds of points |
//! | [`links`], [`frames`], [`description`], [`mesh`] | frames, y up here and z up there; the URDF and its meshes |
//! | [`services`], [`action`], [`placing`], [`spawning`], [`interfaces`] | `simulation_interfaces` |
//! | [`scene`], [`link`] | what the server tells, and the connections to it |
//! | [`ros`], [`messages`] | the node, and the messages of the standard packages |
//! | [`config`], [`lockstep`] | the file of settings; a clock that waits for a subscriber |

pub mod action;
pub mod actuators;
pub mod bridge;
pub mod cameras;
pub mod config;
pub mod config_error;
pub mod description;
mod entities;
pub mod frames;
pub mod images;
pub mod interfaces;
pub mod lens;
pub mod link;
pub mod links;
pub mod lockstep;
pub mod mesh;
pub mod messages;
pub mod node;
pub mod odometry;
pub mod placing;
pub mod robot;
pub mod ros;
pub mod scene;
pub mod sensors;
pub mod services;
pub mod spawning;

/// The node's name.
pub const NODE: &str = "simpartner";
