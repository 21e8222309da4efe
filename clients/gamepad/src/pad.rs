//! Inputs and events of a pad of any make.

use std::time::Duration;

use serde::Deserialize;

/// A stick or a trigger that gives a number. Sticks read from -1 to 1, up and right positive, triggers from 0 to 1.
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

/// A button. `South` is the lowest of the four at the right thumb: A on one make of pad, a cross on another.
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

/// Something that happens on a pad.
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
    /// Whoever drives has had enough.
    End,
}

/// Where events come from.
pub trait Backend {
    /// Puts the events since the last call behind those in `events`, and waits for none. `now` is the time since the
    /// start.
    ///
    /// # Errors
    /// When no event will ever come again.
    fn poll(&mut self, now: Duration, events: &mut Vec<Event>) -> anyhow::Result<()>;
}
