//! The vocabulary of server and clients: ids, steps, the layout of readings, commands and step records.
//!
//! It depends on no physics, XML, sockets, SQL or clock. Start at [`StepRecord`], the flat record of a step that the
//! protocol, the database and the viewer read, and at [`Layout`], which has the index of each quantity in it.

mod acknowledgement;
mod budget;
mod camera;
mod chain;
mod client;
mod command;
mod contact;
mod event;
mod kind;
mod layout;
mod member;
mod port;
mod record;
mod renumbering;
mod text;

pub use acknowledgement::{Acknowledgement, Seen};
pub use budget::{Budget, Overdrawn, Reservation};
pub use camera::{CameraOptics, Encoding, Lens};
pub use chain::StateChain;
pub use client::ClientId;
pub use command::{
    Action, ActuatorState, AppliedCommand, BodyPlacement, BodyPush, Command, Configuration, Fault, MAX_STATE_NUMBERS,
    NoiseFigure, Pull, Target, set_fields,
};
pub use contact::{Contact, Contacts, MOST_CONTACTS};
pub use event::{Event, EventKind};
pub use kind::{Description, DeviceKind, MountedOn, NoiseLaw, Quantity};
pub use layout::{
    Attachment, BodyInfo, DeviceInfo, Field, JOINT_WIDTH, Layout, MOST_FIELDS_IN_RECORD, POSE_WIDTH, RobotInfo,
    TWIST_WIDTH, WRENCH_WIDTH,
};
pub use member::Member;
pub use port::{Port, PortError};
pub use record::{LongReading, StepRecord, StepTiming};
pub use renumbering::{Renumbering, places};
pub use simpartner_model::{BodyId, DeviceId, JointId, RobotId, StepIndex, Timestep, TimestepError};
pub use text::{ControlCharacter, printable};
