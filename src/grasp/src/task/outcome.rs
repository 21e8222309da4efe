//! What comes of a task.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use simpartner_model::Pose;

use crate::quality::Quality;

/// How a task ended. Names and numbers are those of RobWork's `GraspResult`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Status {
    /// It was lifted, and slipped by less than the bound.
    Success = 1,
    /// The fingers came to rest, and touched nothing.
    ObjectMissed = 3,
    /// The lift ended without contact.
    ObjectDropped = 4,
    /// It was lifted, and slipped by more.
    ObjectSlipped = 5,
    /// Time or steps ran out.
    TimeOut = 6,
    /// The engine's state was not sound any more.
    SimulationFailure = 7,
    /// No pose could be drawn that passes the filters.
    Filtered = 16,
    /// At the start the gripper was in the object,
    CollisionObjectInitially = 11,
    /// or in something else.
    CollisionEnvironmentInitially = 12,
}

impl Status {
    /// All of them, in the order of their numbers.
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

    /// Its name.
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

    /// Its number in a file of RobWork.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// Whether the hand lifted an object that it touched, so that it tells something of a grasp's quality.
    pub fn is_lift(self) -> bool {
        matches!(self, Self::Success | Self::ObjectDropped | Self::ObjectSlipped)
    }
}

/// A contact of gripper and object, in the object's frame.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TaskContact {
    /// Where, m.
    pub position: [f64; 3],
    /// The unit normal into the object.
    pub normal: [f64; 3],
    /// The force on the object, N.
    pub force: [f64; 3],
    /// Its part along the normal, N.
    pub normal_force: f64,
    /// The coefficient of friction.
    pub friction: f64,
}

/// The measures of a grasp ([`crate::quality`]), each the lower bound that was proved.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Measures {
    /// The largest wrench in every direction.
    pub epsilon: f64,
    /// The largest force in every direction.
    pub force: f64,
    /// The same under the worst torque.
    pub force_under_torque: f64,
    /// The largest torque about every axis.
    pub torque: f64,
    /// The volume of the wrench space.
    pub volume: f64,
    /// How central the contacts are.
    pub centroid: f64,
    /// The sum of the normal forces, N.
    pub squeeze: f64,
}

impl Measures {
    /// Their names, in the order of [`Measures::values`].
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

    /// All of them.
    pub fn values(&self) -> [f64; 7] {
        [self.epsilon, self.force, self.force_under_torque, self.torque, self.volume, self.centroid, self.squeeze]
    }
}

/// When the states ended, simulated s; `None` for those that were not reached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// The approach.
    pub approached: Option<f64>,
    /// The grasp.
    pub grasped: Option<f64>,
    /// The task.
    pub ended: f64,
    /// Steps made.
    pub steps: u64,
}

/// All that is known of a task at its end. Poses are x, y, z, m, and a quaternion x, y, z, w.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// How it ended.
    pub status: Status,
    /// Why, where the status does not say it.
    pub cause: Option<String>,
    /// Where the tool was to go, `object_from_tcp`.
    pub target: [f64; 7],
    /// The object in the tool's frame, `tcp_from_object`, at the end of the approach,
    pub approach: Option<[f64; 7]>,
    /// before the lift,
    pub grasp: Option<[f64; 7]>,
    /// and after it.
    pub lift: Option<[f64; 7]>,
    /// How far the mean of the contacts moved in the hand while it was lifted, m.
    pub slip: Option<f64>,
    /// 1 for no slip, 0 for 2 cm and more.
    pub lift_result: Option<f64>,
    /// Coordinates of the fingers before the lift, rad or m.
    pub fingers: Vec<f64>,
    /// Likewise after it.
    pub fingers_after: Vec<f64>,
    /// Quality before the lift,
    pub quality: Option<Measures>,
    /// and after it.
    pub quality_after: Option<Measures>,
    /// Contacts before the lift, the largest normal force first, and then by x, y and z.
    pub contacts: Vec<TaskContact>,
    /// After it.
    pub contacts_after: Vec<TaskContact>,
    /// Whether the gripper touched the object before it had arrived.
    pub touched_on_the_way: bool,
    /// When.
    pub times: Times,
    /// How often the engine's guards spoke.
    pub notices: BTreeMap<String, u64>,
}

impl Outcome {
    /// Of a task that has not begun.
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
