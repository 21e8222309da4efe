//! State of a sequence with conditions on readings, which the simulation itself plays.

use std::collections::VecDeque;

use simpartner_description::Section;
use simpartner_model::StepIndex;

/// The sequence with conditions that is being played.
pub(super) struct Playback {
    /// The present section and the following ones.
    pub(super) sections: VecDeque<Section>,
    /// The last step before the present section.
    pub(super) start: StepIndex,
}

/// End of a sequence with conditions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SequenceEnd {
    /// The sequence was played completely.
    Played,
    /// The sequence was broken off; the text says why.
    BrokenOff(String),
}
