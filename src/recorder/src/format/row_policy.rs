//! When a row of a body, joint or reading is written, and how far a reader has to look back for one that was not.

use super::cadence::Cadence;

/// When a row is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowPolicy {
    /// In every logged step.
    Always,
    /// When it differs from the one before.
    Changed,
    /// Rows of a robot's bodies and joints when any of them differs, rows of an object when it does: what is asleep, fixed or at
    /// rest has none, and a robot has all of its rows in a step or none, so that sums over it are right. Readings always.
    Moving,
}

impl RowPolicy {
    /// The number that `simulation.on_change` has for it.
    pub(crate) fn number(self) -> u64 {
        match self {
            Self::Always => 0,
            Self::Changed => 1,
            Self::Moving => 2,
        }
    }

    /// The policy of a number.
    pub(crate) fn from_number(number: u64) -> Self {
        match number {
            0 => Self::Always,
            2 => Self::Moving,
            _ => Self::Changed,
        }
    }

    /// After how many multiples of the run's first spacing all rows are written again, so that a reader need not look back farther.
    /// For [`Self::Moving`] these rows are a hundredth of what logging everything would take, and a reader looks back a tenth of a
    /// second at 1 kHz; [`Self::Changed`] is for the smallest logs, and takes ten times longer.
    pub(crate) fn refresh_interval(self) -> u64 {
        match self {
            Self::Always => 1,
            Self::Changed => 1000,
            Self::Moving => 100,
        }
    }

    /// How many steps a reader has to look back at most for the newest row of each body and joint.
    pub(crate) fn reach(self, cadence: Cadence) -> u64 {
        match self {
            Self::Always => 0,
            Self::Changed | Self::Moving => {
                self.refresh_interval().saturating_mul(cadence.every()).saturating_add(cadence.widest() - 1)
            }
        }
    }
}
