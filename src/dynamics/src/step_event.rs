//! The exceptional events of a step, such as a divergence or an overloaded motor, and the checks that report them.

use simpartner_model::BodyId;

/// An exceptional event of a step.
#[derive(Debug, Clone, PartialEq)]
pub struct StepEvent {
    /// The check that reported it.
    pub check: StepCheck,
    /// The bodies concerned, the most affected first.
    pub bodies: Vec<BodyId>,
    /// Description, including the value.
    pub text: String,
    /// Value, in the unit stated at the check.
    pub value: f64,
}

/// The checks of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepCheck {
    /// A body's state is not finite, or beyond the largest meaningful speed or distance (m/s, rad/s, m). The engine
    /// keeps the state finite, but the state is no longer meaningful.
    Divergence,
    /// From this step on, steps are divided into this number of parts.
    Substeps,
    /// The contact solver did not reach its tolerance; residual in m/s.
    Unconverged,
    /// A body exceeds the speed limit of the settings, m/s; or would exceed the permitted growth of speed by this
    /// factor.
    Speed,
    /// A motor reached the largest effort or rate of its axis; N m or N, rad/s or m/s.
    Motor,
    /// A loop joint is open by more than the limit of the settings, m.
    JointError,
    /// Two bodies penetrate deeper than the limit of the settings, or overlap and cannot separate; depth in m.
    Penetration,
    /// The reaction of a joint along its axis differs from the sum of motor, stop and passive efforts: an error in the
    /// engine. The difference relative to the forces in the joint.
    Imbalance,
    /// The world gained more energy in a step than its motors supplied, or would have gained it had it not been slowed
    /// down, J.
    Energy,
}
