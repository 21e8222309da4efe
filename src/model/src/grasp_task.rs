//! A grasp task: a gripper approaches an object, closes, and lifts.

use bevy_math::DVec3;

use crate::{BodyId, JointAxis, Pose, RobotId, Timestep};

/// A gripper's task with an object, for many target poses. Bodies and joints are those of the mechanism of the same
/// file.
#[derive(Debug, Clone)]
pub struct GraspTask {
    /// Its name.
    pub name: String,
    /// The object to grasp.
    pub object: BodyId,
    /// The robot that grasps it.
    pub gripper: RobotId,
    /// The body of the gripper that carries the tool frame.
    pub tool: BodyId,
    /// The tool frame, `tool_from_tcp`: z points the way the gripper approaches, x is the line along which two jaws
    /// close.
    pub tcp: Pose,
    /// The closing joints.
    pub fingers: Vec<Finger>,
    /// A suction cup; `None` for a gripper without one.
    pub suction: Option<Suction>,
    /// Displacement from the start of a task to its target, tool frame, m.
    pub approach: DVec3,
    /// The way from there that lifts, world frame, m.
    pub retract: DVec3,
    /// Acceleration of the object during the lift in addition to gravity: a force of mass times this through its centre
    /// of mass, world frame, m/s².
    pub acceleration: DVec3,
    /// Motion law of the hand.
    pub drive: Drive,
    /// When a state ends.
    pub conditions: Conditions,
    /// Sampling of targets, if none are given.
    pub sampling: Sampling,
    /// Targets, `object_from_tcp`, in the order of the file.
    pub targets: Vec<Pose>,
    /// Timestep of the physics.
    pub timestep: Timestep,
}

/// A joint of the gripper that a motor closes. Others may follow it by couplings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Finger {
    /// Which.
    pub axis: JointAxis,
    /// Its coordinate when open, rad or m.
    pub open: f64,
    /// The coordinate that it is sent to.
    pub closed: f64,
    /// The largest effort, N m or N.
    pub max_effort: f64,
}

/// Model of a suction cup: while it is sealed, cup and object attract each other along the tool's z axis with a
/// constant force. The lateral forces are those of friction at their contact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Suction {
    /// The body that is the cup.
    pub cup: BodyId,
    /// The force, N: the cup's area times the vacuum.
    pub force: f64,
    /// Number of contact points with the object that seal it.
    pub points: usize,
}

/// Motion law of the three slides that carry the hand: a straight line with a trapezoidal speed profile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drive {
    /// Kind of the drive.
    pub kind: DriveKind,
    /// The largest speed, m/s.
    pub speed: f64,
    /// The acceleration, m/s².
    pub acceleration: f64,
}

/// The law of a drive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DriveKind {
    /// The hand follows its path exactly, with unlimited force.
    Kinematic,
    /// A spring and a damper for each slide, damped critically for the mass that the slide carries.
    Dynamic {
        /// Undamped natural frequency of the slide on its spring, Hz.
        bandwidth: f64,
    },
}

/// When a state of a task ends. The defaults are those of RobWorkSim's GraspTaskSimulator.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Conditions {
    /// Interval at which conditions are evaluated, s.
    pub period: f64,
    /// The hand has arrived when it is so near to its target, m.
    pub arrival: f64,
    /// Time after the end of the approach during which rest is not detected, s.
    pub settling: f64,
    /// A finger rests below this rate, m/s.
    pub rest_speed: f64,
    /// A finger that turns rests below this rate, rad/s.
    pub rest_spin: f64,
    /// The fingers rest when they were found at rest more often than this without a break.
    pub rest_count: u32,
    /// They must have been at rest for so long, counted from when they were found so for the third time, s.
    pub rest_time: f64,
    /// The time of a task at which the hand lifts, at rest or not, s.
    pub grasp_limit: f64,
    /// The lift has ended when the hand is so near to its end, m,
    pub lift_arrival: f64,
    /// and was found so more often than this.
    pub lift_count: u32,
    /// An object that slips farther than this counts as slipped, m.
    pub slip: f64,
    /// The time after which a task ends, s.
    pub time_limit: f64,
    /// The steps after which it ends.
    pub step_limit: u64,
    /// Distance from the start beyond which an object counts as lost by the simulation, m.
    pub farthest: f64,
}

impl Default for Conditions {
    fn default() -> Self {
        Self {
            period: 0.005,
            arrival: 0.002,
            settling: 0.5,
            rest_speed: 0.001,
            rest_spin: 0.3,
            rest_count: 5,
            rest_time: 1.5,
            grasp_limit: 8.0,
            lift_arrival: 0.001,
            lift_count: 5,
            slip: 0.01,
            time_limit: 10.0,
            step_limit: 1_000_000,
            farthest: 50.0,
        }
    }
}

/// Sampling of tool poses on the surface of an object.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampling {
    /// Which poses.
    pub mode: SamplingMode,
    /// The tool's origin is so far before the surface along its z axis, drawn evenly from the first to the second, m.
    pub distance: [f64; 2],
    /// True for the fault of RobWork's sampler: the rotation is drawn again after the retraction, so that the tool
    /// points anywhere.
    pub rotation_fault: bool,
    /// Largest angle between the tool's z axis and the inward normal of the surface, rad. It filters the samples of
    /// `Surface`.
    pub tilt: f64,
    /// The tool's z axis is within the angle, rad, of a direction in the object's frame.
    pub approach: Option<(DVec3, f64)>,
    /// Friction coefficient of antipodal poses: its cone must contain the line between the two points, at both of them.
    pub friction: f64,
    /// Opening of antipodal poses: the largest distance of the two points, m.
    pub opening: f64,
}

/// Which poses are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SamplingMode {
    /// Any rotation at any point of the surface.
    Surface,
    /// The tool's z axis along the normal into the surface, turned about it by any angle.
    Normal,
    /// The tool between two points of the surface that face each other along its x axis, turned about that by any
    /// angle.
    Antipodal,
}

impl SamplingMode {
    /// The words of a file, in the order of the variants.
    pub const WORDS: [&str; 3] = ["surface", "normal", "antipodal"];

    /// The mode of this word.
    pub fn named(word: &str) -> Option<Self> {
        let all = [Self::Surface, Self::Normal, Self::Antipodal];
        Self::WORDS.iter().position(|known| *known == word).map(|index| all[index])
    }
}
