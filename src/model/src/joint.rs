//! Joints: the edges of the robot graph.

use bevy_math::{DQuat, DVec3};

use crate::{BodyId, RobotId};

/// A joint between two different bodies. At step 0 its coordinates are the initial positions of its axes.
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
    /// The joint's frame at step 0 as its parent carries it, `world_from_joint`: its three local axes are the columns
    /// of the rotation.
    pub frame: DQuat,
    /// Axis laws of its three coordinates; [`JointKind::coordinate`] has the local axis of each. The three axes of a
    /// ball joint have the same stiffness, which pulls it to its zero coordinates; the stops of the third axis are
    /// those of its twist.
    pub axes: [Axis; 3],
    /// Swing limit of a ball joint: the largest angle, rad, between its third axis on the child and on the parent;
    /// infinity without a limit. The twist is the rotation about that axis that remains after the shortest rotation has
    /// aligned the two.
    pub swing: f64,
    /// `file:line:column` of its element, for messages.
    pub source: String,
}

/// The kinds of joint in the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JointKind {
    /// Turns about its third axis.
    Hinge,
    /// Slides along its third axis.
    Slider,
    /// Slides along its third axis and turns about it.
    Cylindrical,
    /// Slides along its first and second axis and turns about its third.
    Planar,
    /// Turns any way. Its coordinates are the rotation vector, its rates the angular velocity along its three axes as
    /// the parent carries them. Its stops are a cone and a range of twist ([`Joint::swing`]).
    Ball,
    /// Turns about its first axis and then its second.
    Universal,
    /// Turns about those of its three axes that are not locked, first to third, each with stops and a motor.
    Constrained,
    /// No motion.
    Fixed,
}

/// Meaning of a joint coordinate: the displacement along a local axis of the joint, or the angle about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coordinate {
    /// The local axis, 0 to 2.
    pub axis: usize,
    /// True for a way in metres, false for an angle in radians.
    pub linear: bool,
}

impl JointKind {
    /// All kinds, in the order of the format's manual.
    pub const ALL: [Self; 8] = [
        Self::Hinge,
        Self::Slider,
        Self::Cylindrical,
        Self::Planar,
        Self::Ball,
        Self::Universal,
        Self::Constrained,
        Self::Fixed,
    ];

    /// Their words in XML, in the same order.
    pub const NAMES: [&'static str; Self::ALL.len()] = {
        let mut names = [""; Self::ALL.len()];
        let mut index = 0;
        while index < names.len() {
            names[index] = Self::ALL[index].name();
            index += 1;
        }
        names
    };

    /// The word in XML.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hinge => "hinge",
            Self::Slider => "slider",
            Self::Cylindrical => "cylindrical",
            Self::Planar => "planar",
            Self::Ball => "ball",
            Self::Universal => "universal",
            Self::Constrained => "constrained",
            Self::Fixed => "fixed",
        }
    }

    /// The kind of this word.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Meanings of its coordinates (0 to 2); `None` for a locked one. They act in sequence, the first on the parent:
    /// the axis of each is moved by the coordinates before it. Sliding coordinates come first, so that the child turns
    /// about its own origin, and a turning coordinate has the number of its axis.
    pub fn coordinates(self) -> [Option<Coordinate>; 3] {
        let along = |axis| Some(Coordinate { axis, linear: true });
        let about = |axis| Some(Coordinate { axis, linear: false });
        match self {
            Self::Hinge => [None, None, about(2)],
            Self::Slider => [None, None, along(2)],
            Self::Cylindrical => [None, along(2), about(2)],
            Self::Planar => [along(0), along(1), about(2)],
            Self::Ball | Self::Constrained => [about(0), about(1), about(2)],
            Self::Universal => [about(0), about(1), None],
            Self::Fixed => [None; 3],
        }
    }

    /// Meaning of a coordinate; `None` if the kind locks it.
    pub fn coordinate(self, index: usize) -> Option<Coordinate> {
        self.coordinates().get(index).copied().flatten()
    }

    /// True if a coordinate is a displacement in metres.
    pub fn is_linear(self, index: usize) -> bool {
        self.coordinate(index).is_some_and(|coordinate| coordinate.linear)
    }

    /// True if each of its coordinates is an independent motion with its own stops; false for a ball joint.
    pub fn has_axes(self) -> bool {
        !matches!(self, Self::Fixed | Self::Ball)
    }

    /// True if anything moves in it, which a motor can drive.
    pub fn moves(self) -> bool {
        self != Self::Fixed
    }

    /// All its coordinates free, without stops and losses.
    pub fn free_axes(self) -> [Axis; 3] {
        self.coordinates().map(|coordinate| coordinate.map_or(Axis::Locked, |_| Axis::Free(FreeAxis::default())))
    }
}

/// The motion in one coordinate of a joint.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Axis {
    /// No motion.
    Locked,
    /// A free axis, within its stops.
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
    /// Lower stop, rad or m; minus infinity without a stop.
    pub lower: f64,
    /// Upper stop, rad or m; infinity without a stop.
    pub upper: f64,
    /// Viscous damping, N m s/rad or N s/m.
    pub damping: f64,
    /// Dry friction, N m or N.
    pub friction: f64,
    /// Stiffness of a spring, N m/rad or N/m.
    pub stiffness: f64,
    /// Rest position of that spring, rad or m.
    pub spring_position: f64,
    /// Inertia of the rotor that turns with the axis, kg m² or kg (MuJoCo's armature).
    pub armature: f64,
    /// The largest effort of any motor on it, N m or N.
    pub max_effort: f64,
    /// Largest rate of its motors, rad/s or m/s, above 0. At higher rates, a motor brakes.
    pub max_rate: f64,
    /// Largest power of its motors, W; infinity without a limit. While the axis moves in the direction of the effort,
    /// the effort is at most this power divided by the rate. Braking has no power limit.
    pub max_power: f64,
    /// Coordinate at step 0, rad or m.
    pub initial_position: f64,
    /// Rate at step 0, rad/s or m/s; `None` for the rate that follows from the velocities of its bodies.
    pub initial_rate: Option<f64>,
}

impl FreeAxis {
    /// The default of the largest effort, N m or N: a hundred times that of the strongest motors.
    pub const MAX_EFFORT: f64 = 1e9;
    /// The default of the largest rate, rad/s or m/s: 95,000 turns a minute, faster than all but miniature turbines.
    pub const MAX_RATE: f64 = 1e4;
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
            max_effort: Self::MAX_EFFORT,
            max_rate: Self::MAX_RATE,
            max_power: f64::INFINITY,
            initial_position: 0.0,
            initial_rate: None,
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
            swing: f64::INFINITY,
            source: String::new(),
        }
    }

    /// Degrees of freedom, 0 to 3.
    pub fn degrees_of_freedom(&self) -> usize {
        self.axes.iter().filter(|axis| axis.free().is_some()).count()
    }

    /// The free coordinates in their order, each with its number (0 to 2).
    pub fn free_coordinates(&self) -> impl DoubleEndedIterator<Item = (usize, Coordinate)> {
        let free = |index: usize| self.axes[index].free().and(self.kind.coordinate(index));
        (0..3).filter_map(move |index| Some((index, free(index)?)))
    }

    /// Direction, world frame, of the axis along or about which a coordinate moves, at zero coordinates.
    pub fn direction(&self, coordinate: Coordinate) -> DVec3 {
        self.frame * DVec3::AXES[coordinate.axis]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_found_by_its_word() {
        for (kind, name) in JointKind::ALL.into_iter().zip(JointKind::NAMES) {
            assert_eq!((kind.name(), JointKind::named(name)), (name, Some(kind)));
        }
        assert_eq!(JointKind::named("hings"), None);
    }

    /// Assumptions of the engines: sliding coordinates come before turning ones, no axis slides or turns twice, and a
    /// turning coordinate has the number of its axis.
    #[test]
    fn the_coordinates_of_every_kind_are_in_order() {
        for kind in JointKind::ALL {
            let coordinates = kind.coordinates();
            for (index, coordinate) in coordinates.into_iter().enumerate() {
                let Some(Coordinate { axis, linear }) = coordinate else { continue };
                assert!(axis < 3 && (linear || axis == index), "{kind:?}");
                let later = coordinates[index + 1..].iter().flatten();
                assert!(later.into_iter().all(|later| (later.axis, later.linear) != (axis, linear)), "{kind:?}");
                assert!(linear || coordinates[index..].iter().flatten().all(|later| !later.linear), "{kind:?}");
            }
            let free = kind.free_axes().map(|axis| axis.free().is_some());
            assert_eq!(free, coordinates.map(|coordinate| coordinate.is_some()), "{kind:?}");
        }
    }
}
