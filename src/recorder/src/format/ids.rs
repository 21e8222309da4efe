//! Numbering of a run's rows and components.
//!
//! All numbers follow from the run's own number, its simulationID, which the database assigns. So servers that begin
//! runs at the same time need no lock, and need not know of each other.

use simpartner_model::StepIndex;

/// Number of bits of a robotID, and of a component's number, that count within the run. Bodies, joints and devices
/// share one sequence. A world has at most 200 000 elements, less than 2^20.
const COMPONENT_BITS: u32 = 20;

/// Number of bits of a simulationRowID that count steps: 2^32 steps are 50 days at 1 kHz.
const STEP_BITS: u32 = 32;

/// Number of simulationRowIDs reserved for a run.
pub(crate) const ROWS_PER_RUN: i64 = 1 << STEP_BITS;

/// Last step that fits into a simulationRowID. The recorder ends a log there.
pub(crate) const LAST_STEP: u64 = u32::MAX as u64;

/// First simulationRowID of a run, and first one of the next run. The computation saturates, because a damaged log may
/// have any number.
pub(crate) fn rows_of(run: i64) -> (i64, i64) {
    (run.saturating_mul(ROWS_PER_RUN), run.saturating_add(1).saturating_mul(ROWS_PER_RUN))
}

/// Numbers of a run, to which its rows refer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RunIds {
    pub(crate) simulation: i64,
    /// Number of the first body. The other bodies follow, then the joints, then the devices.
    pub(crate) first_component: i64,
}

impl RunIds {
    /// Numbers of a new run. The computation wraps around, because a damaged log may have any number; the rows are then
    /// not found.
    pub(crate) fn new(simulation: i64) -> Self {
        Self { simulation, first_component: simulation.wrapping_shl(COMPONENT_BITS) }
    }

    /// The simulationRowID of a step of the run.
    pub(crate) fn row(self, step: StepIndex) -> i64 {
        (self.simulation << STEP_BITS).wrapping_add(step.0 as i64)
    }

    /// The robotID of a robot. `index` counts within the run.
    pub(crate) fn robot(self, index: u32) -> i64 {
        (self.simulation << COMPONENT_BITS).wrapping_add(i64::from(index))
    }

    /// The number of a body, joint or device. `index` counts within the run.
    pub(crate) fn component(self, index: u32) -> i64 {
        self.first_component.wrapping_add(i64::from(index))
    }
}
