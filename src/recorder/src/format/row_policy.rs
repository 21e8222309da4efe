//! Rules by which rows of bodies, joints and readings are written or left out.

use super::cadence::Cadence;

/// Rule by which a row is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowPolicy {
    /// In every logged step.
    Always,
    /// When the row differs from the component's last row.
    Changed,
    /// All rows of a robot's bodies and joints when any of them differs from its last row, and the row of an object
    /// when it differs. Robots and objects that are asleep, fixed or at rest have no rows. A robot has all of its rows
    /// in a step or none, so that sums over the robot are right. Readings always have rows.
    Moving,
}

impl RowPolicy {
    /// Number of the policy in `simulation.on_change`.
    pub(crate) fn number(self) -> u64 {
        match self {
            Self::Always => 0,
            Self::Changed => 1,
            Self::Moving => 2,
        }
    }

    /// Policy of a number in `simulation.on_change`.
    pub(crate) fn from_number(number: u64) -> Self {
        match number {
            0 => Self::Always,
            2 => Self::Moving,
            _ => Self::Changed,
        }
    }

    /// Interval after which all rows are written again, in multiples of the run's first spacing. It limits the range
    /// that a reader has to search backwards. For [`Self::Moving`] these rows are a hundredth of a full log, and a
    /// reader looks back a tenth of a second at 1 kHz. [`Self::Changed`] is for the smallest logs, and its interval is
    /// ten times longer.
    pub(crate) fn refresh_interval(self) -> u64 {
        match self {
            Self::Always => 1,
            Self::Changed => 1000,
            Self::Moving => 100,
        }
    }

    /// Largest number of steps that a reader has to look back for the newest row of each body and joint.
    pub(crate) fn reach(self, cadence: Cadence) -> u64 {
        match self {
            Self::Always => 0,
            Self::Changed | Self::Moving => {
                self.refresh_interval().saturating_mul(cadence.every()).saturating_add(cadence.widest() - 1)
            }
        }
    }
}
