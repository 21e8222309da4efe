//! The clock: a thread of its own makes the steps, on time or as fast as it can, and hands out their records.
//!
//! It knows nothing of sockets and SQL. The rooms above talk to it through a [`Handle`]: commands and control requests go
//! in through one bounded queue and so keep their order, the latest record comes out through a watch channel and events
//! through a ring. Start at [`Handle`], then [`PhysicsThread`].

mod hand_over;
mod handle;
mod lockstep;
mod log_queue;
mod os;
mod pace;
mod print;
mod priority;
mod quota;
mod report;
mod request_queue;
mod run;
mod shared;
mod speed;
mod thread;
mod told;

pub use handle::{
    Acknowledged, Answer, Control, ControlError, Handle, Inbox, Mode, Request, RunState, Status, channel,
};
pub use lockstep::{LockstepSettings, LockstepState, OnTimeout, Place, Roll};
pub use log_queue::{LogFlags, LogReceiver, LogSender, log_queue, text_bytes};
pub use os::{Grants, Scheduling, now_ns};
pub use pace::{Lateness, Pace};
pub use priority::Haste;
pub use quota::{COMMAND_MEMORY, COMMANDS_OF_A_STEP, Full, QUEUE};
pub use report::{ClockReport, Outcome, Percentiles, QueueUse};
pub use request_queue::RequestReceiver;
pub use thread::{ClockSettings, OnOverrun, Outputs, PhysicsThread, ThreadError};
pub use told::{Commanded, Told, ToldCommands, ToldEvent};
