//! The table's part on joints, couplings and collision filters.

use simpartner_model::JointKind;

use super::{
    builders::{any, default, element, maybe, once, optional, required},
    element::{
        Attribute,
        Content::{Children, Empty},
        Element,
    },
    kind::Kind::{Name, NotNegative, Positive, Real, Whole, Word},
    shared::{COORDINATE, NAME, VECTOR},
};

const POINT: &[Attribute] = &[
    default("x", COORDINATE, "m", "0", "x coordinate"),
    default("y", COORDINATE, "m", "0", "y coordinate"),
    default("z", COORDINATE, "m", "0", "z coordinate"),
];

/// `<joint>`
pub(super) const JOINT: Element = element(
    "joint",
    "A joint between two bodies of the same file, or between a body and the world: `<parent>world</parent>`, if no \
     body has that name. All joint coordinates are zero where the file places the bodies; initial positions then move \
     the bodies from there. A body that a driven joint connects to the world has a prescribed motion, for example a \
     shaker or a lift. Controllers follow their target exactly up to their largest effort.",
    &[
        required(
            "type",
            Word(&JointKind::NAMES),
            "",
            "type of the joint. hinge: turns about its third local axis. slider: slides along its third local axis. \
             cylindrical: slides along it (axis 2 of `<free>`) and turns about it (axis 3). planar: slides along the \
             first and second axis and turns about the third. universal: turns about the first axis, then the second. \
             constrained: turns about the axes that `<free>` elements name. ball: turns in all directions. fixed: does \
             not move",
        ),
        NAME,
    ],
    Children(&[
        once("parent"),
        once("child"),
        maybe("anchor"),
        maybe("axis"),
        maybe("axis1"),
        maybe("axis3"),
        any("free"),
    ]),
);

/// `<anchor>`
pub(super) const ANCHOR: Element = element(
    "anchor",
    "The origin of the joint. Its coordinates are in the frame of the file (the robot's frame in a robot file, the \
     assembly's in an assembly), not in the frame of parent or child. Without the element, it is the origin of the \
     child.",
    POINT,
    Empty,
);

/// `<axis>`
pub(super) const AXIS: Element = element(
    "axis",
    "The axis of a hinge, slider or cylindrical joint, which is its third local axis, in the frame of the file. \
     Without the element, z. The first local axis is perpendicular to this axis and to the y axis of the file's frame; \
     if the axis is along y, the first local axis is z.",
    VECTOR,
    Empty,
);

/// `<free>`
pub(super) const FREE: Element = element(
    "free",
    "The properties of one coordinate of a joint: stops, friction, spring, rotor and motor limits. In a constrained \
     joint, the elements also select the axes that can turn. A ball joint has one element for all three axes. Damping, \
     friction, rotor and motor limits are then the same about each axis that the parent carries. Its spring pulls with \
     the stiffness times the shortest rotation to the pose of the file. The coordinates of a ball joint are its \
     rotation vector: axis times angle, with an angle from 0 to pi. A position controller takes such a vector and \
     turns the shortest way.",
    &[
        optional(
            "axis",
            Whole(1, 3),
            "",
            "number of the coordinate; a joint with one coordinate needs none (a hinge and a slider have only the \
             third)",
        ),
        optional(
            "lower",
            Real,
            "rad or m",
            "lower stop, at most the initial position; without it, no stop. For a ball joint: lower stop of the twist, \
             -pi to 0. The twist is the rotation about the third axis that remains after the shortest rotation that \
             gives this axis its direction",
        ),
        optional(
            "upper",
            Real,
            "rad or m",
            "upper stop, at least the initial position; without it, no stop. For a ball joint: upper stop of the \
             twist, 0 to pi",
        ),
        optional(
            "swing",
            Positive(std::f64::consts::PI),
            "rad",
            "for a ball joint: largest angle between its third axis and the direction of this axis on the parent, a \
             cone; without it, no limit",
        ),
        default("damping", NotNegative, "N m s/rad or N s/m", "0", "coefficient of viscous damping"),
        default("friction", NotNegative, "N m or N", "0", "dry friction: constant effort against the motion"),
        default("stiffness", NotNegative, "N m/rad or N/m", "0", "stiffness of a spring on the axis"),
        default(
            "springPosition",
            Real,
            "rad or m",
            "0",
            "coordinate at which the spring is at rest; not for a ball joint",
        ),
        default(
            "armature",
            NotNegative,
            "kg m² or kg",
            "0",
            "inertia of the rotor that turns with the axis, as seen from the joint",
        ),
        default(
            "maxEffort",
            NotNegative,
            "N m or N",
            "1e9",
            "largest effort of each motor on the axis (URDF's effort)",
        ),
        default(
            "maxRate",
            Positive(1e6),
            "rad/s or m/s",
            "1e4",
            "largest rate to which a motor drives the axis (URDF's velocity); if something else drives it faster, the \
             motor brakes",
        ),
        optional(
            "maxPower",
            Positive(1e12),
            "W",
            "largest power of each motor on the axis: while the motor drives, its effort is at most maxPower / rate. A \
             braking motor has no such limit. Without it, no limit",
        ),
        default(
            "initialPosition",
            Real,
            "rad or m",
            "0",
            "coordinate at step 0; it moves the bodies behind the joint. If the joint is in a loop, joints that begin \
             at 0 are moved until the loop closes within their stops; if this is not enough, the others are moved, \
             too, with a warning. A coupled joint begins where its coupling puts it",
        ),
        optional(
            "initialRate",
            Real,
            "rad/s or m/s",
            "rate at step 0; without it, the rate that follows from the velocities of the two bodies",
        ),
    ],
    Empty,
);

/// `<exclude>`
pub(super) const EXCLUDE: Element = element(
    "exclude",
    "Two bodies of the same file that never collide with each other. Bodies that share a joint never collide anyway.",
    &[required("body", Name, "", "name of the first body"), required("other", Name, "", "name of the second body")],
    Empty,
);

/// `<coupling>`
pub(super) const COUPLING: Element = element(
    "coupling",
    "A coupling of two joint coordinates, as by gears, belts or the fingers of a gripper: follower = ratio x leader + \
     offset. It transmits in both directions, without play and losses. Both joints belong to the same robot, neither \
     is a ball joint, and a loop must also have joints that are not coupled. The engine rapier refuses it.",
    &[
        required("leader", Name, "", "name of the leading joint"),
        required("follower", Name, "", "name of the following joint"),
        optional("leaderAxis", Whole(1, 3), "", "local axis of the leader, if more than one is free"),
        optional("followerAxis", Whole(1, 3), "", "local axis of the follower, if more than one is free"),
        default("ratio", Real, "", "1", "change of the follower's coordinate for each unit of the leader's, not 0"),
        default("offset", Real, "rad or m", "0", "coordinate of the follower when that of the leader is 0"),
    ],
    Empty,
);

/// `<initial>`
pub(super) const INITIAL: Element = element(
    "initial",
    "The initial state of a joint of this robot, in place of the one in its file.",
    &[
        required("joint", Name, "", "name of the joint"),
        optional("axis", Whole(1, 3), "", "number of the coordinate, if more than one is free"),
        optional("position", Real, "rad or m", "coordinate at step 0"),
        optional("rate", Real, "rad/s or m/s", "rate at step 0"),
    ],
    Empty,
);
