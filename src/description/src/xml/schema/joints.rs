//! The part of the table that is about joints, and what ties bodies or keeps them apart.

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
    default("x", COORDINATE, "m", "0", "along x"),
    default("y", COORDINATE, "m", "0", "along y"),
    default("z", COORDINATE, "m", "0", "along z"),
];

/// `<joint>`
pub(super) const JOINT: Element = element(
    "joint",
    "A joint between two bodies of the same file, or between one of them and the world: <parent>world</parent>, as long as no body has \
     that name. All its coordinates are zero as the bodies are placed; from there the initial positions move them. What hangs on the \
     world by a driven joint has a prescribed motion, as a shaker or a lift: controllers are exact up to their largest effort.",
    &[
        required(
            "type",
            Word(&JointKind::NAMES),
            "",
            "hinge and slider move about or along their third local axis, a cylindrical joint slides along it (axis 2 of <free>) and \
             turns about it (axis 3); a planar joint slides along its first and second and turns about its third; a universal \
             joint turns about its first and second, a constrained joint about those that <free> names; a ball joint turns any way",
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
    "The joint's origin, in the frame of the file (of a robot file the robot's, in an assembly the assembly's), not in that \
     of parent or child. Without it, the child's origin.",
    POINT,
    Empty,
);

/// `<axis>`
pub(super) const AXIS: Element = element(
    "axis",
    "The axis of a hinge, slider or cylindrical joint, in the frame of the file: its third local axis. Without it, z. The first local axis is then square to it and to \
     the y axis of the file's frame, or z where the axis is along y.",
    VECTOR,
    Empty,
);

/// `<free>`
pub(super) const FREE: Element = element(
    "free",
    "The motion in a coordinate of the joint, along or about an axis. A constrained joint moves about the axes it names; to the \
     coordinates of other joints it gives stops and losses. A ball joint has one for all its axes, with the same damping, friction, \
     rotor and bounds of a motor about each of the three, as the parent carries them; its spring is k times the shortest turn to where \
     the bodies are placed. Its coordinates are its rotation vector: axis times angle, 0 to pi. A position controller takes such a \
     vector and turns the shortest way there.",
    &[
        optional("axis", Whole(1, 3), "", "the coordinate's number; a hinge and a slider have only the third"),
        optional(
            "lower",
            Real,
            "rad or m",
            "lower stop, at most the initial position; none where it is not given. Of a ball joint that of its twist, -pi to 0: the turn \
             about the third axis that is left when the shortest turn has brought that axis to where it is",
        ),
        optional(
            "upper",
            Real,
            "rad or m",
            "upper stop, at least the initial position; none where it is not given. Of a ball joint that of its twist, 0 to pi",
        ),
        optional(
            "swing",
            Positive(std::f64::consts::PI),
            "rad",
            "of a ball joint: how far its third axis may lean away from where the parent carries it, a cone; any way where not given",
        ),
        default("damping", NotNegative, "N m s/rad or N s/m", "0", "viscous damping"),
        default("friction", NotNegative, "N m or N", "0", "dry friction"),
        default("stiffness", NotNegative, "N m/rad or N/m", "0", "stiffness of a spring on the axis"),
        default("springPosition", Real, "rad or m", "0", "where that spring is at rest; not of a ball joint"),
        default("armature", NotNegative, "kg m2 or kg", "0", "inertia of the rotor that turns with the axis"),
        default("maxEffort", NotNegative, "N m or N", "1e9", "largest effort of any motor on it (URDF's effort)"),
        default(
            "maxRate",
            Positive(1e6),
            "rad/s or m/s",
            "1e4",
            "rate beyond which no motor drives it (URDF's velocity); what else drives it faster, a motor brakes",
        ),
        optional(
            "maxPower",
            Positive(1e12),
            "W",
            "largest power that a motor on it gives: where the axis moves with the effort, the effort is at most this over the rate; what \
             brakes has no such bound, and nothing has where it is not given",
        ),
        default(
            "initialPosition",
            Real,
            "rad or m",
            "0",
            "coordinate at step 0, which moves the bodies behind the joint; joints of a loop that begin at 0 begin where it closes within their \
             stops instead, the others too where that is not enough (with a warning), and what is coupled begins where its coupling says",
        ),
        optional(
            "initialRate",
            Real,
            "rad/s or m/s",
            "rate at step 0; where it is not given that of the two bodies' velocities",
        ),
    ],
    Empty,
);

/// `<exclude>`
pub(super) const EXCLUDE: Element = element(
    "exclude",
    "Two bodies of the same file that never collide with each other. Bodies that share a joint never do.",
    &[required("body", Name, "", "one of them"), required("other", Name, "", "the other one")],
    Empty,
);

/// `<coupling>`
pub(super) const COUPLING: Element = element(
    "coupling",
    "Ties the coordinate of one joint's axis to that of another's, as gears, belts and the fingers of a gripper do: follower = \
     ratio x leader + offset. It holds both ways, without play and losses. Both joints are of the same robot; none of them is a \
     ball joint, and no loop has coupled joints alone. The rapier engine refuses it.",
    &[
        required("leader", Name, "", "the joint that is followed"),
        required("follower", Name, "", "the joint that follows"),
        optional("leaderAxis", Whole(1, 3), "", "its local axis, where it has more than one that is free"),
        optional("followerAxis", Whole(1, 3), "", "likewise"),
        default("ratio", Real, "", "1", "coordinate of the follower per coordinate of the leader, not 0"),
        default("offset", Real, "rad or m", "0", "coordinate of the follower where that of the leader is 0"),
    ],
    Empty,
);

/// `<initial>`
pub(super) const INITIAL: Element = element(
    "initial",
    "Where a joint of this robot begins, in place of what its file says.",
    &[
        required("joint", Name, "", "the joint"),
        optional("axis", Whole(1, 3), "", "its coordinate, where it has more than one that is free"),
        optional("position", Real, "rad or m", "coordinate at step 0"),
        optional("rate", Real, "rad/s or m/s", "rate at step 0"),
    ],
    Empty,
);
