//! Couplings: gears, belts and mimic joints.

use crate::JointId;

/// An axis of a joint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JointAxis {
    /// The joint.
    pub joint: JointId,
    /// Its local axis, 0 to 2.
    pub axis: usize,
}

/// Couples the coordinate of a free axis to that of another one of the same robot: follower = ratio leader + offset. It
/// is ideal: bidirectional, without play and losses.
#[derive(Debug, Clone, PartialEq)]
pub struct Coupling {
    /// The axis that is followed.
    pub leader: JointAxis,
    /// The axis that follows.
    pub follower: JointAxis,
    /// Coordinate of the follower per coordinate of the leader, not zero.
    pub ratio: f64,
    /// Coordinate of the follower at the leader's zero, rad or m.
    pub offset: f64,
    /// `file:line:column` of its element, for messages.
    pub source: String,
}
