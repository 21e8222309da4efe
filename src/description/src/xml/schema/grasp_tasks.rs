//! The elements of a file of grasp tasks.

use std::f64::consts::PI;

use simpartner_model::SamplingMode;

use super::{
    builders::{any, default, element, maybe, once, optional, required},
    element::{
        Content::{Children, Empty},
        Element,
    },
    kind::Kind::{Name, NotNegative, ObjectName, Positive, Real, Text, Whole, Within, Word},
    shared::{GRASP_TASK as ROOT, LENGTH},
};

pub(super) const GRASP_TASK: Element = element(
    ROOT,
    "Attempts of a grasp in the engine: a gripper approaches an object of a world, closes, and lifts. `simpartner \
     grasp run FILE` runs them. Targets are sampled on the object's surface, or listed.",
    &[
        default("name", Name, "", "task", "name of the file of tasks"),
        required("world", Text, "", "path of the world file, relative to this file's folder"),
        required("object", ObjectName, "", "name of the object to grasp"),
        optional("gripper", Name, "", "name of the robot that grasps; without it, the only robot of the world"),
        default("timestep", Within(1e-6, 0.1), "s", "0.001", "timestep of the engine"),
    ],
    Children(&[
        once("tool"),
        any("finger"),
        maybe("suction"),
        maybe("approach"),
        maybe("retract"),
        maybe("acceleration"),
        maybe("drive"),
        maybe("conditions"),
        maybe("sampling"),
        any("target"),
    ]),
);

pub(super) const TOOL: Element = element(
    "tool",
    "The tool frame of the gripper, on one of its bodies. z is the direction of approach, and x the line along which \
     two jaws close. The body must be connected to a fixed body of the robot by three sliders, and by no other joint \
     that moves.",
    &[required("body", Name, "", "name of the body that carries the tool frame")],
    Children(&[maybe("pose")]),
);

pub(super) const FINGER: Element = element(
    "finger",
    "A joint that closes the gripper. Joints that are coupled to it follow.",
    &[
        required("joint", Name, "", "name of the joint"),
        optional("axis", Whole(1, 3), "", "local axis of the joint, if more than one is free"),
        optional(
            "open",
            Real,
            "rad or m",
            "coordinate of the open finger; without it, the coordinate in the world file",
        ),
        required("closed", Real, "rad or m", "target coordinate of the closing finger"),
        default("maxEffort", Positive(1e9), "N m or N", "20", "largest effort of the finger's motor"),
    ],
    Empty,
);

pub(super) const SUCTION: Element = element(
    "suction",
    "A simplified suction cup. While it is sealed, cup and object attract each other along the tool's z axis with a \
     constant force. Friction of the contact carries tangential loads. Leaks and the deformation of the cup are not \
     simulated.",
    &[
        required("body", Name, "", "name of the body that is the cup"),
        required("force", Positive(1e9), "N", "attraction: area of the cup times the vacuum"),
        default("points", Whole(1, 100), "", "3", "number of contact points with the object that seal the cup"),
    ],
    Empty,
);

pub(super) const APPROACH: Element = element(
    "approach",
    "Displacement from the start of a task to its target, in the axes of the tool.",
    &[
        default("x", Real, "m", "0", "component along x"),
        default("y", Real, "m", "0", "component along y"),
        default("z", Real, "m", "0.05", "component along z"),
    ],
    Empty,
);

pub(super) const RETRACT: Element = element(
    "retract",
    "Displacement of the lift, world axes.",
    &[
        default("x", Real, "m", "0", "component along x"),
        default("y", Real, "m", "0.1", "component along y"),
        default("z", Real, "m", "0", "component along z"),
    ],
    Empty,
);

pub(super) const ACCELERATION: Element = element(
    "acceleration",
    "Additional acceleration on the object during the lift, world axes: a force of mass times this acceleration acts \
     through the centre of mass, in addition to gravity. In a world without gravity the object floats until the lift.",
    &[
        default("x", Real, "m/s²", "0", "component along x"),
        default("y", Real, "m/s²", "0", "component along y"),
        default("z", Real, "m/s²", "0", "component along z"),
    ],
    Empty,
);

pub(super) const DRIVE: Element = element(
    "drive",
    "The motion of the hand along straight lines. The defaults are those of RobWork.",
    &[
        default(
            "type",
            Word(&["kinematic", "dynamic"]),
            "",
            "kinematic",
            "type of the drive. kinematic: the hand is exactly at its target at the end of each step. dynamic: a \
             critically damped spring on each slide moves the hand and carries the weight of the gripper",
        ),
        default("bandwidth", Within(0.1, 1000.0), "Hz", "20", "natural frequency of a dynamic drive"),
        default("speed", Positive(1e3), "m/s", "0.5", "largest speed of the hand"),
        default("acceleration", Positive(1e6), "m/s²", "1", "acceleration and deceleration of the hand"),
    ],
    Empty,
);

pub(super) const CONDITIONS: Element = element(
    "conditions",
    "Conditions that end the states of a task. The defaults are those of RobWorkSim's GraspTaskSimulator.",
    &[
        default("period", Within(1e-6, 1.0), "s", "0.005", "interval at which the conditions are tested"),
        default("arrival", LENGTH, "m", "0.002", "distance from the target at which the approach ends"),
        default(
            "settling",
            NotNegative,
            "s",
            "0.5",
            "time after the approach in which fingers do not count as resting",
        ),
        default("restSpeed", Positive(1e3), "m/s", "0.001", "rate below which a sliding finger is at rest"),
        default("restSpin", Positive(1e3), "rad/s", "0.3", "rate below which a turning finger is at rest"),
        default(
            "restCount",
            Whole(0, 1_000_000),
            "",
            "5",
            "number of consecutive tests at rest that must be exceeded before the fingers count as resting",
        ),
        default("restTime", NotNegative, "s", "1.5", "time that must have passed since the third of these tests"),
        default("graspLimit", Positive(1e5), "s", "8", "time of the task at which the hand lifts in any case"),
        default("liftArrival", LENGTH, "m", "0.001", "distance from the end of the lift at which the hand has arrived"),
        default(
            "liftCount",
            Whole(0, 1_000_000),
            "",
            "5",
            "number of consecutive tests at that distance that must be exceeded before the lift ends",
        ),
        default("slip", LENGTH, "m", "0.01", "slip above which an object counts as slipped"),
        default("timeLimit", Positive(1e5), "s", "10", "simulated time after which a task ends"),
        default("stepLimit", Whole(1, 1_000_000_000), "", "1000000", "number of steps after which a task ends"),
        default(
            "farthest",
            LENGTH,
            "m",
            "50",
            "distance of the object from its start above which the task counts as a failure of the simulation",
        ),
    ],
    Empty,
);

pub(super) const SAMPLING: Element = element(
    "sampling",
    "The sampling of targets on the surface of the object, uniformly over its area.",
    &[
        default(
            "mode",
            Word(&SamplingMode::WORDS),
            "",
            "surface",
            "rule of the sampling. surface: any rotation at any point. normal: z along the normal into the object. \
             antipodal: midway between two points that face each other along x",
        ),
        default(
            "minDistance",
            Within(-1e3, 1e3),
            "m",
            "0.02",
            "smallest distance of the tool from the sampled point, against z",
        ),
        default(
            "maxDistance",
            Within(-1e3, 1e3),
            "m",
            "0.02",
            "largest distance of the tool from the sampled point, against z",
        ),
        default(
            "rotationFault",
            Word(&["false", "true"]),
            "",
            "false",
            "true reproduces a fault of RobWork's sampler: the rotation is drawn again after the retraction",
        ),
        optional(
            "tilt",
            Within(0.0, PI),
            "rad",
            "for the mode surface: largest angle between z and the normal into the object",
        ),
        optional(
            "approachAngle",
            Within(0.0, PI),
            "rad",
            "largest angle between z and the direction (approachX, approachY, approachZ)",
        ),
        default("approachX", Real, "", "0", "x component of this direction, object frame"),
        default("approachY", Real, "", "-1", "component along y"),
        default("approachZ", Real, "", "0", "component along z"),
        default(
            "friction",
            Positive(1e3),
            "",
            "0.5",
            "for antipodal targets: friction coefficient whose cone contains x at both points",
        ),
        default("opening", LENGTH, "m", "0.1", "for antipodal targets: largest distance between the two points"),
    ],
    Empty,
);

pub(super) const TARGET: Element = element(
    "target",
    "A target: a pose of the tool in the object's frame. With targets in the file, none are sampled.",
    &[],
    Children(&[maybe("pose"), maybe("transformation")]),
);
