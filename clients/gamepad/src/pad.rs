//! Inputs and events of a gamepad of any make.

use std::time::Duration;

use serde::Deserialize;

/// A stick or a trigger with a numeric value. Sticks read from -1 to 1, up and right positive, triggers from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[expect(missing_docs, reason = "the names are those that pads are described with everywhere")]
pub enum Axis {
    LeftStickX,
    LeftStickY,
    RightStickX,
    RightStickY,
    LeftTrigger2,
    RightTrigger2,
    LeftZ,
    RightZ,
}

/// A button. `South` is the lowest of the four at the right thumb: A on some gamepads, a cross on others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[expect(missing_docs, reason = "the names are those that pads are described with everywhere")]
pub enum Button {
    South,
    East,
    North,
    West,
    C,
    Z,
    LeftTrigger,
    LeftTrigger2,
    RightTrigger,
    RightTrigger2,
    Select,
    Start,
    Mode,
    LeftThumb,
    RightThumb,
    DPadUp,
    DPadDown,
    DPadLeft,
    DPadRight,
}

/// An event of a gamepad.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// There is a pad now; all its sticks are at rest.
    Found(String),
    /// There is none any more.
    Lost,
    /// A stick or trigger has moved to this value.
    Axis(Axis, f64),
    /// A button went down (true) or up.
    Button(Button, bool),
    /// The user ends the drive.
    End,
}

/// Source of events.
pub trait Backend {
    /// Appends the events since the last call to `events`, without waiting. `now` is the time since the start.
    ///
    /// # Errors
    /// No event can come any more.
    fn poll(&mut self, now: Duration, events: &mut Vec<Event>) -> anyhow::Result<()>;
}
