//! Joints: the edges of the robot graph.

use bevy_math::{DQuat, DVec3};

use crate::{BodyId, RobotId};

/// A joint between two different bodies. At step 0 every joint coordinate is zero.
#[derive(Debug, Clone, PartialEq)]
pub struct Joint {
    /// Name, unique in its robot or among the objects.
    pub name: String,
    /// The robot it is part of; `None` for a joint between objects.
    pub robot: Option<RobotId>,
    /// Kind, as written.
    pub kind: JointKind,
    /// The body whose frame carries the axes.
    pub parent: BodyId,
    /// The body that moves along them.
    pub child: BodyId,
    /// The joint's origin at step 0, world frame, metres. It is fixed to the child.
    pub anchor: DVec3,
    /// The joint's frame at step 0, `world_from_joint`: its three local axes are the columns of the rotation.
    pub frame: DQuat,
    /// What may move along each local axis. A hinge and a slider move along the third.
    pub axes: [Axis; 3],
    /// `file:line:column` of its element, for messages.
    pub source: String,
}

/// The kinds of joint in the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JointKind {
    /// Nothing moves.
    Fixed,
    /// Turns about its third axis.
    Hinge,
    /// Slides along its third axis.
    Slider,
    /// Turns any way, without stops or motor.
    Ball,
    /// Turns about its first axis and then its second.
    Universal,
    /// Turns about those of its three axes that are not locked, first to third, each with stops and a motor.
    Constrained,
}

impl JointKind {
    /// The word in XML.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Hinge => "hinge",
            Self::Slider => "slider",
            Self::Ball => "ball",
            Self::Universal => "universal",
            Self::Constrained => "constrained",
        }
    }

    /// True if its axes are lengths in metres, false if they are angles in radians.
    pub fn is_linear(self) -> bool {
        self == Self::Slider
    }
}

/// One local axis of a joint.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Axis {
    /// Nothing moves here.
    Locked,
    /// It moves, within its stops.
    Free(FreeAxis),
}

impl Axis {
    /// The motion, unless it is locked.
    pub fn free(&self) -> Option<&FreeAxis> {
        match self {
            Self::Locked => None,
            Self::Free(axis) => Some(axis),
        }
    }
}

/// The motion along a free axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FreeAxis {
    /// Lower stop, rad or m, minus infinity without one.
    pub lower: f64,
    /// Upper stop, rad or m, infinity without one.
    pub upper: f64,
    /// Viscous damping, N m s/rad or N s/m.
    pub damping: f64,
    /// Dry friction, N m or N.
    pub friction: f64,
    /// Stiffness of a spring, N m/rad or N/m.
    pub stiffness: f64,
    /// Where that spring is at rest, rad or m.
    pub spring_position: f64,
    /// Inertia of the rotor that turns with the axis, kg m² or kg (MuJoCo's armature).
    pub armature: f64,
}

impl Default for FreeAxis {
    fn default() -> Self {
        Self {
            lower: f64::NEG_INFINITY,
            upper: f64::INFINITY,
            damping: 0.0,
            friction: 0.0,
            stiffness: 0.0,
            spring_position: 0.0,
            armature: 0.0,
        }
    }
}

impl Joint {
    /// A joint without a name whose three axes are locked, and along those of the world at step 0.
    pub fn new(kind: JointKind, parent: BodyId, child: BodyId, anchor: DVec3) -> Self {
        Self {
            name: String::new(),
            robot: None,
            kind,
            parent,
            child,
            anchor,
            frame: DQuat::IDENTITY,
            axes: [Axis::Locked; 3],
            source: String::new(),
        }
    }

    /// Degrees of freedom, 0 to 3.
    pub fn degrees_of_freedom(&self) -> usize {
        self.axes.iter().filter(|axis| axis.free().is_some()).count()
    }

    /// Unit of a joint coordinate.
    pub fn position_unit(&self) -> &'static str {
        if self.kind.is_linear() { "m" } else { "rad" }
    }
}
