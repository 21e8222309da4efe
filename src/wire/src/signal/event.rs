//! Events: each becomes a row of the `event` table.

use super::StepIndex;

/// The kinds of event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// The run began or was played on after a pause.
    Play,
    /// The run was paused.
    Pause,
    /// The world was rebuilt from the model.
    Reset,
    /// The clock fell too far behind and was re-anchored; the value is the lost time, s.
    ClockSlip,
    /// A client connected to a port.
    Connect,
    /// A client left or was sent away.
    Disconnect,
    /// An address has sent several wrong tokens; the value is their number.
    WrongToken,
    /// The physics diverged: the state of a body is not finite, or the body was disabled.
    Divergence,
    /// From this step on, steps are divided because a joint or body turns too fast; the value is the largest number of
    /// parts.
    Substeps,
    /// The solver of contacts stopped short of its tolerance; the value is the residual in m/s.
    Unconverged,
    /// A speed (m/s), joint error (m), penetration (m) or energy gain (J) exceeds its limit; the value.
    PhysicsLimit,
    /// A command could not take effect.
    CommandRefused,
    /// A fault was set or cleared; the value is that of the fault, if it has one.
    Fault,
    /// The pose of a body was set.
    Place,
    /// A robot was added to the world.
    Spawn,
    /// A robot or an object was removed.
    Remove,
    /// A parameter of the model was changed.
    Parameter,
    /// An actuator received no command for too long; the value is the time since the last one, s.
    Watchdog,
    /// A sequence that waits for a reading was aborted: the reading did not come in time, or its device no longer
    /// exists.
    SequenceBrokenOff,
    /// A client took the place of a member of the lockstep, or left it.
    Lockstep,
    /// A member of the lockstep has not answered for a step; the value is the waiting time, s.
    LockstepTimeout,
    /// A robot has tipped over: the base that carries its joints tilts by more than 60 degrees from its pose in the
    /// model. The event occurs again only after the robot was within 45 degrees; the value is the tilt in rad.
    TipOver,
    /// A robot has left the ground: after a contact, it had none for 0.1 s; the value is the simulated time of the last
    /// contact, s.
    LeftGround,
    /// An image was made for a client; the value is the step that it is of, and the text its hash.
    Image,
    /// Images of a camera were not made, because making them takes longer than the time between them; the value is
    /// their number.
    ImagesLeftOut,
    /// The log reached its size limit.
    LogLimit,
    /// The log's database went away, or is back; then the value is the duration of the outage, s.
    LogOutage,
}

impl EventKind {
    /// The name in the `event` table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Play => "play",
            Self::Pause => "pause",
            Self::Reset => "reset",
            Self::ClockSlip => "clockSlip",
            Self::Connect => "connect",
            Self::Disconnect => "disconnect",
            Self::WrongToken => "wrongToken",
            Self::Divergence => "divergence",
            Self::Substeps => "substeps",
            Self::Unconverged => "unconverged",
            Self::PhysicsLimit => "physicsLimit",
            Self::CommandRefused => "commandRefused",
            Self::Fault => "fault",
            Self::Place => "place",
            Self::Spawn => "spawn",
            Self::Remove => "remove",
            Self::Parameter => "parameter",
            Self::Watchdog => "watchdog",
            Self::SequenceBrokenOff => "sequenceBrokenOff",
            Self::Lockstep => "lockstep",
            Self::LockstepTimeout => "lockstepTimeout",
            Self::TipOver => "tipOver",
            Self::LeftGround => "leftGround",
            Self::Image => "image",
            Self::ImagesLeftOut => "imagesLeftOut",
            Self::LogLimit => "logLimit",
            Self::LogOutage => "logOutage",
        }
    }
}

/// An event.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The step after which it was seen.
    pub step: StepIndex,
    /// Kind.
    pub kind: EventKind,
    /// The body, device or part of the server concerned; empty for the whole run.
    pub subject: String,
    /// A sentence for people.
    pub text: String,
    /// Value of the event, in the unit of its kind; `None` without one.
    pub value: Option<f64>,
}
