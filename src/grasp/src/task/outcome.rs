//! The outcome of a task: status, times, poses, contacts and measures.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use simpartner_model::Pose;

use crate::quality::Quality;

/// The end of a task. Names and numbers are those of RobWork's `GraspResult`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Status {
    /// The object was lifted, and slipped by less than the bound.
    Success = 1,
    /// The fingers came to rest without contact with the object.
    ObjectMissed = 3,
    /// The object was not in contact with the gripper at the end of the lift.
    ObjectDropped = 4,
    /// The object was lifted, and slipped by the bound or more.
    ObjectSlipped = 5,
    /// The limit of time or of steps was reached.
    TimeOut = 6,
    /// The engine's state diverged, or the object moved farther away than the task allows.
    SimulationFailure = 7,
    /// No pose that passes the filters was found.
    Filtered = 16,
    /// At the start the gripper overlapped the object.
    CollisionObjectInitially = 11,
    /// At the start the gripper overlapped another body or a ground.
    CollisionEnvironmentInitially = 12,
}

impl Status {
    /// All statuses, in the order of their numbers.
    pub const ALL: [Self; 9] = [
        Self::Success,
        Self::ObjectMissed,
        Self::ObjectDropped,
        Self::ObjectSlipped,
        Self::TimeOut,
        Self::SimulationFailure,
        Self::CollisionObjectInitially,
        Self::CollisionEnvironmentInitially,
        Self::Filtered,
    ];

    /// Name of the status, as in RobWork.
    pub fn name(self) -> &'static str {
        match self {
            Self::Success => "Success",
            Self::ObjectMissed => "ObjectMissed",
            Self::ObjectDropped => "ObjectDropped",
            Self::ObjectSlipped => "ObjectSlipped",
            Self::TimeOut => "TimeOut",
            Self::SimulationFailure => "SimulationFailure",
            Self::Filtered => "Filtered",
            Self::CollisionObjectInitially => "CollisionObjectInitially",
            Self::CollisionEnvironmentInitially => "CollisionEnvironmentInitially",
        }
    }

    /// Number of the status in a file of RobWork.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// True if the gripper began to lift an object that it touched, so that the result depends on the quality of the
    /// grasp.
    pub fn is_lift(self) -> bool {
        matches!(self, Self::Success | Self::ObjectDropped | Self::ObjectSlipped)
    }
}

/// A contact of gripper and object, in the object's frame.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TaskContact {
    /// Position, m.
    pub position: [f64; 3],
    /// Unit normal into the object.
    pub normal: [f64; 3],
    /// Force on the object, N.
    pub force: [f64; 3],
    /// Component of the force along the normal, N.
    pub normal_force: f64,
    /// Coefficient of friction.
    pub friction: f64,
}

/// The measures of a grasp ([`crate::quality`]). Where a measure has bounds, it is the lower one, which is certified.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Measures {
    /// Largest wrench that is resisted in every direction.
    pub epsilon: f64,
    /// Largest force that is resisted in every direction.
    pub force: f64,
    /// Largest force that is resisted in every direction under the worst torque.
    pub force_under_torque: f64,
    /// Largest torque that is resisted about every axis.
    pub torque: f64,
    /// Volume of the wrench space.
    pub volume: f64,
    /// Closeness of the mean contact point to the centre of mass ([`Quality::centroid`]); 1 at the centre of mass.
    pub centroid: f64,
    /// Sum of the normal forces, N.
    pub squeeze: f64,
}

impl Measures {
    /// Names of the measures, in the order of [`Measures::values`].
    pub const NAMES: [&str; 7] = ["epsilon", "force", "force_under_torque", "torque", "volume", "centroid", "squeeze"];

    pub(super) fn new(quality: &Quality, contacts: &[TaskContact]) -> Self {
        Self {
            epsilon: quality.epsilon.lower,
            force: quality.force.lower,
            force_under_torque: quality.force_under_torque.lower,
            torque: quality.torque.lower,
            volume: quality.volume.lower,
            centroid: quality.centroid,
            squeeze: contacts.iter().map(|contact| contact.normal_force).sum(),
        }
    }

    /// Values of all measures.
    pub fn values(&self) -> [f64; 7] {
        [self.epsilon, self.force, self.force_under_torque, self.torque, self.volume, self.centroid, self.squeeze]
    }
}

/// Simulated times, s, at which the states ended; `None` for states that were not reached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// End of the approach.
    pub approached: Option<f64>,
    /// End of the grasp, when the lift begins.
    pub grasped: Option<f64>,
    /// Time of the end of the task.
    pub ended: f64,
    /// Number of steps.
    pub steps: u64,
}

/// Result of a task. Poses are x, y, z in m, and a quaternion x, y, z, w.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Status at the end of the task.
    pub status: Status,
    /// Cause of the end, if the status does not say it.
    pub cause: Option<String>,
    /// Target of the tool, `object_from_tcp`.
    pub target: [f64; 7],
    /// Pose of the object in the tool's frame at the end of the approach, `tcp_from_object`.
    pub approach: Option<[f64; 7]>,
    /// Pose of the object in the tool's frame before the lift, `tcp_from_object`.
    pub grasp: Option<[f64; 7]>,
    /// Pose of the object in the tool's frame after the lift, `tcp_from_object`.
    pub lift: Option<[f64; 7]>,
    /// Displacement, in the tool's frame, of the mean contact point during the lift, m.
    pub slip: Option<f64>,
    /// Rating of the lift: 1 for no slip, falling to 0 at 2 cm and more.
    pub lift_result: Option<f64>,
    /// Coordinates of the fingers before the lift, rad or m.
    pub fingers: Vec<f64>,
    /// Coordinates of the fingers after the lift, rad or m.
    pub fingers_after: Vec<f64>,
    /// Measures of the grasp before the lift.
    pub quality: Option<Measures>,
    /// Measures of the grasp after the lift.
    pub quality_after: Option<Measures>,
    /// Contacts before the lift, sorted by descending normal force, then by x, y and z.
    pub contacts: Vec<TaskContact>,
    /// Contacts after the lift, in the same order.
    pub contacts_after: Vec<TaskContact>,
    /// True if the gripper touched the object during the approach.
    pub touched_on_the_way: bool,
    /// Times of the states.
    pub times: Times,
    /// Number of exceptional events of the engine, by the name of the check.
    pub notices: BTreeMap<String, u64>,
}

impl Outcome {
    /// The outcome of a task that has not begun.
    pub fn of(status: Status, target: &Pose) -> Self {
        Self {
            status,
            cause: None,
            target: target.to_array(),
            approach: None,
            grasp: None,
            lift: None,
            slip: None,
            lift_result: None,
            fingers: Vec::new(),
            fingers_after: Vec::new(),
            quality: None,
            quality_after: None,
            contacts: Vec::new(),
            contacts_after: Vec::new(),
            touched_on_the_way: false,
            times: Times::default(),
            notices: BTreeMap::new(),
        }
    }
}
