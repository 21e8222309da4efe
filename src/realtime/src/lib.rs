//! The clock: the physics thread computes the steps, on time or as fast as it can, and publishes a record of each.
//!
//! It knows nothing of sockets and SQL. Other modules use it through a [`Handle`]. Commands and control requests go in
//! through one bounded queue, which keeps their order. Out come the latest record (a watch channel), every record for
//! readers that follow (a broadcast channel), and events (a ring). Start at [`Handle`], then [`PhysicsThread`].

mod background;
mod control;
mod events;
mod handle;
mod image_sink;
mod lockstep;
mod log_queue;
mod os;
mod pace;
mod physics_loop;
mod print;
mod priority;
mod publisher;
mod queue_figures;
mod quota;
mod records;
mod report;
mod request;
mod request_queue;
mod settings;
mod shared;
mod speed;
mod thread;

pub use control::{Control, ControlError, RunState, Status};
pub use events::{CommandCount, CommandReader, EpochEvent, EventReader};
pub use handle::{Acknowledged, Handle, Inbox, channel};
pub use image_sink::ImageSink;
pub use lockstep::{LockstepSettings, LockstepState, MemberSlot, MembershipTable, OnTimeout};
pub use log_queue::{LogFlags, LogReceiver, LogSender, log_queue, text_bytes};
pub use os::{Grants, Scheduling, now_ns};
pub use pace::{Lateness, Pace};
pub use priority::{BackgroundNiceness, DeadlineNiceness};
pub use quota::{COMMAND_MEMORY, COMMANDS_OF_A_STEP, Full, QUEUE};
pub use records::RecordReader;
pub use report::{ClockReport, Outcome, Percentiles, QueueUse};
pub use request::{Answer, ChangedRuts, Request};
pub use request_queue::RequestReceiver;
pub use settings::{ClockSettings, Mode, OnOverrun};
pub use thread::{Outputs, PhysicsThread, ThreadError};
