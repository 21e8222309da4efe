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
    /// The clock fell too far behind and was re-anchored; the value is the time given up, in seconds.
    ClockSlip,
    /// A client connected to a port.
    Connect,
    /// A client left or was sent away.
    Disconnect,
    /// An address has shown several wrong tokens; the value is how many.
    WrongToken,
    /// The physics went wrong: a body was found in a state that is not finite, or was put out of action.
    Divergence,
    /// From this step on, steps are made in parts, up to as many as the value says, because something turns too fast
    /// for one.
    Substeps,
    /// The solver of contacts stopped short of its tolerance; the value is the residual in m/s.
    Unconverged,
    /// A speed (m/s), joint error (m), penetration (m) or gain of energy (J) beyond what is thought right; the value.
    PhysicsLimit,
    /// A command could not take effect.
    CommandRefused,
    /// A fault was put into a device or taken out of it; the value is its figure, if it has one.
    Fault,
    /// A body was put elsewhere.
    Place,
    /// A robot has come to the world.
    Spawn,
    /// A robot or an object has gone.
    Remove,
    /// An actuator went without a command for too long; the value is the time since the last one, s.
    Watchdog,
    /// A sequence that waits for a reading was broken off: the reading did not come in time, or its device is gone.
    SequenceBrokenOff,
    /// A client took the place of a member of the lockstep, or left it.
    Lockstep,
    /// A member of the lockstep has not answered for a step; the value is the waiting time, s.
    LockstepTimeout,
    /// A robot has tipped over: the base that its joints hang on leans by more than 60 degrees from its pose in the
    /// model. It is told again only after the robot was within 45 degrees; the value is the tilt in rad.
    TipOver,
    /// A robot has left the ground: after a contact nothing has touched it for 0.1 s; the value is the simulated time
    /// of the last contact in s.
    LeftGround,
    /// The log came to the size it is bounded by.
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
            Self::Watchdog => "watchdog",
            Self::SequenceBrokenOff => "sequenceBrokenOff",
            Self::Lockstep => "lockstep",
            Self::LockstepTimeout => "lockstepTimeout",
            Self::TipOver => "tipOver",
            Self::LeftGround => "leftGround",
            Self::LogLimit => "logLimit",
            Self::LogOutage => "logOutage",
        }
    }
}

/// One event.
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
    /// The figure that belongs to it, where there is one, in the unit its kind states.
    pub value: Option<f64>,
}
