//! A mechanism as resolved data: bodies, joints and grounds in flat lists, all references as ids, all numbers in SI
//! units, world frame right-handed with y up. The builder of a mechanism checks it; its users need no checks.
//!
//! The crate depends on no devices, ports, file formats and physics engines. Start at [`Mechanism`], or at [`Grasp`].

mod assembly;
mod body;
mod color;
mod coupling;
mod ellipsoid_surface;
mod fluid;
mod graph;
mod grasp;
mod grasp_task;
mod ground;
mod heightfield;
mod hull;
mod id;
mod joint;
mod look;
mod moment;
mod norm;
mod pose;
mod posture;
pub mod random;
mod rocks;
mod rut;
mod scenery;
mod shape;
mod soil;
mod time;
mod wheel;

pub use assembly::close_loops;
pub use body::{
    Body, CollisionFilter, ContactDimensions, CrossFriction, FrictionDirection, FrictionRule, Inertia, Material,
    SurfaceMotion,
};
pub use color::{Color, NotAColor};
pub use coupling::{Coupling, JointAxis};
pub use ellipsoid_surface::ellipsoid_surface;
pub use fluid::{Air, FluidDamping, FluidDrag, FluidProperties, FluidState, Fluids, Water, Wing};
pub use graph::{Graph, SpanningForest, Tree, TreeEdge};
pub use grasp::{Contact, ContactKind, Grasp, Patch};
pub use grasp_task::{Conditions, Drive, DriveKind, Finger, GraspTask, Sampling, SamplingMode, Suction};
pub use ground::{Ground, GroundMesh, Plane};
pub use heightfield::Heightfield;
pub use hull::quickhull;
pub use id::{BodyId, DeviceId, JointId, RobotId};
pub use joint::{Axis, Coordinate, FreeAxis, Joint, JointKind};
pub use look::{Corners, Look, NO_CORNER, Paint, Texture, Tiling};
pub use moment::Moment;
pub use norm::Norm;
pub use pose::Pose;
pub use posture::{OpenLoop, take_initial_positions};
pub use rocks::{Rock, RockField, RockSizes};
pub use rut::{RUT_CELL, RUT_TILE, RutDepths, rut_cell};
pub use scenery::{Brightness, Lamp, LampKind, Scenery};
pub use shape::{Placed, Shape, Visual};
pub use soil::{NamedSoil, PressureLaw, Soil};
pub use time::{StepIndex, Timestep, TimestepError};
pub use wheel::{AXLE_TOLERANCE, Wheel};

use bevy_math::DVec3;

/// Bodies, joints, couplings and grounds.
#[derive(Debug, Clone, Default)]
pub struct Mechanism {
    /// Gravity, world frame, m/s².
    pub gravity: DVec3,
    /// Grounds of the world, in the order of its file.
    pub grounds: Vec<Ground>,
    /// The robots, in the order of their ids.
    pub robots: Vec<Robot>,
    /// Objects first, then the robots' bodies, in the order of their ids.
    pub bodies: Vec<Body>,
    /// Joints in the same order.
    pub joints: Vec<Joint>,
    /// Pairs of bodies that never collide, in addition to those with a common joint.
    pub apart: Vec<[BodyId; 2]>,
    /// Couplings of their axes.
    pub couplings: Vec<Coupling>,
    /// Air and water.
    pub fluids: Fluids,
    /// Light, for pictures.
    pub scenery: Scenery,
}

/// A robot: the bodies and joints that carry its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Robot {
    /// Name, unique in the mechanism.
    pub name: String,
    /// Name of the model that it is a copy of.
    pub model: String,
    /// True if bodies of this robot collide with each other (bodies that share a joint never do).
    pub self_collision: bool,
    /// Position of its description, such as `file:line:column`, for messages.
    pub source: String,
}

impl Mechanism {
    /// The body of an id.
    pub fn body(&self, body: BodyId) -> &Body {
        &self.bodies[body.index()]
    }

    /// The joint of an id.
    pub fn joint(&self, joint: JointId) -> &Joint {
        &self.joints[joint.index()]
    }

    /// The robot of an id.
    pub fn robot(&self, robot: RobotId) -> &Robot {
        &self.robots[robot.index()]
    }

    /// All bodies with their ids.
    pub fn bodies(&self) -> impl Iterator<Item = (BodyId, &Body)> {
        self.bodies.iter().enumerate().map(|(index, body)| (BodyId::new(index), body))
    }

    /// All joints with their ids.
    pub fn joints(&self) -> impl Iterator<Item = (JointId, &Joint)> {
        self.joints.iter().enumerate().map(|(index, joint)| (JointId::new(index), joint))
    }

    /// The name of a body among all: that of its robot before it.
    pub fn qualified_name(&self, body: &Body) -> String {
        match body.robot {
            Some(robot) => format!("{}/{}", self.robot(robot).name, body.name),
            None => body.name.clone(),
        }
    }

    /// The body of this name, of the robot or among the objects.
    pub fn body_named(&self, robot: Option<RobotId>, name: &str) -> Option<BodyId> {
        self.bodies().find(|(_, body)| body.robot == robot && body.name == name).map(|(id, _)| id)
    }

    /// The joint of this name, of the robot or among the objects.
    pub fn joint_named(&self, robot: Option<RobotId>, name: &str) -> Option<JointId> {
        self.joints().find(|(_, joint)| joint.robot == robot && joint.name == name).map(|(id, _)| id)
    }
}
