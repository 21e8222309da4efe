//! What is known of a sequence that waits for readings while it is played from inside the process.

use std::collections::VecDeque;

use simpartner_description::Section;
use simpartner_model::StepIndex;

/// A sequence under way that waits for readings.
pub(super) struct Playback {
    /// The section under way and those after it.
    pub(super) sections: VecDeque<Section>,
    /// The step after which the section under way began.
    pub(super) start: StepIndex,
}

/// How a sequence that waits for readings ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SequenceEnd {
    /// All of it was played.
    Played,
    /// It was broken off, and why.
    BrokenOff(String),
}
