//! The numbers of a run's rows and components.
//!
//! They follow from the run's own number, its simulationID, which the database gives. So servers that begin runs at the same time
//! need no lock, and none has to know of the others.

use simpartner_model::StepIndex;

/// Bits of a component's number that count within its run: robots, and in one sequence of their own bodies, joints and devices. A world
/// has at most 200 000 elements, less than 2^20.
const COMPONENT_BITS: u32 = 20;

/// Bits of a simulationRowID that count steps: 2^32 steps are 50 days at 1 kHz.
const STEP_BITS: u32 = 32;

/// Numbers that a run has for its rows.
pub(crate) const ROWS_PER_RUN: i64 = 1 << STEP_BITS;

/// The last step that fits into a simulationRowID; the recorder ends a log there.
pub(crate) const LAST_STEP: u64 = u32::MAX as u64;

/// The simulationRowIDs of a run: the first of its own, and the first of the next run's. A damaged log may have any number, so this
/// saturates.
pub(crate) fn rows_of(run: i64) -> (i64, i64) {
    (run.saturating_mul(ROWS_PER_RUN), run.saturating_add(1).saturating_mul(ROWS_PER_RUN))
}

/// The numbers that a run's rows refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RunIds {
    pub(crate) simulation: i64,
    /// Number of the first body; the others follow, then the joints, then the devices.
    pub(crate) first_component: i64,
}

impl RunIds {
    /// Those of a new run. A damaged log may have any number, so this wraps around; its rows are then not found.
    pub(crate) fn new(simulation: i64) -> Self {
        Self { simulation, first_component: simulation.wrapping_shl(COMPONENT_BITS) }
    }

    /// The simulationRowID of a step.
    pub(crate) fn row(self, step: StepIndex) -> i64 {
        (self.simulation << STEP_BITS).wrapping_add(step.0 as i64)
    }

    /// The robotID of a robot, counted in its run.
    pub(crate) fn robot(self, index: u32) -> i64 {
        (self.simulation << COMPONENT_BITS).wrapping_add(i64::from(index))
    }

    /// The number of a body, joint or device, counted in its run.
    pub(crate) fn component(self, index: u32) -> i64 {
        self.first_component.wrapping_add(i64::from(index))
    }
}
