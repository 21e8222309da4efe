//! The wire, as seen by any client in any language: plain text over TCP, one port for every sensor and actuator, one
//! for every robot as a whole, and one for the clock. This page is the contract.
//!
//! The module is sans-IO: bytes, records and time are arguments. It knows nothing of sockets, threads and the physics.
//! Start at [`DeviceSession`], then [`RobotSession`].
//!
//! A client in Rust needs little more than a socket and this:
//!
//! ```
//! use simpartner_wire::protocol::{Decoder, Message, frame, read_numbers};
//!
//! // What arrives is split into messages, wherever the segments of the stream begin and end.
//! let mut decoder = Decoder::default();
//! let bytes = b"<1000,1000,100,0,0,0>\r\nOK\n";
//! let (taken, message) = decoder.feed(bytes);
//! let Some(Message::Text(state)) = message else { panic!("{message:?}") };
//! assert_eq!(read_numbers(state)?[2], 100.0);
//! assert!(matches!(decoder.feed(&bytes[taken..]), (_, Some(Message::Text("OK")))));
//!
//! // Numbers are written in the fewest digits that read back as the same f64.
//! assert_eq!(frame(&[1000.0, 1000.0, 100.0, 0.0, 0.0, 0.1]), "<1000,1000,100,0,0,0.1>");
//! # Ok::<(), simpartner_wire::protocol::Refusal>(())
//! ```
#![doc = concat!("\n\n", include_str!("../../PROTOCOL.md"))]

mod answer;
mod board;
mod camera;
mod combined;
mod configure;
mod control;
mod device;
mod fault;
mod framing;
mod number;
mod place;
mod push;
mod refusal;
mod request;
mod robot;
mod session;
mod spawn;
mod stream;
mod truth;
mod unknown_name;

/// The specification of the protocol, in Markdown.
pub const SPECIFICATION: &str = include_str!("../../PROTOCOL.md");

pub use answer::word;
pub use board::{CommandBoard, Order};
pub use camera::{CameraSession, ImageForm, ImageRequest, image_header};
pub use control::{
    CONTROL_VERBS, ControlRequest, body_action, device_named, faulty_device, lockstep_member, read_control,
};
pub use device::{action, check_command, command, describe, reply};
pub use framing::{Decoder, Flow, MAX_COMBINED, MAX_MESSAGE, Message};
pub use number::{excerpt, frame, read_numbers};
pub use place::placeable_body;
pub use push::pushable_body;
pub use refusal::Refusal;
pub use request::{Accepted, Request};
pub use robot::RobotSession;
pub use session::{DeviceSession, Session};
pub use spawn::{MAX_GIVEN, Spawn, SpawnSource};
pub use truth::{TRUTH_OF_BODY, TRUTH_OF_JOINT, write_truth};
