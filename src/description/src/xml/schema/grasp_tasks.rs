//! The elements of a file of grasp tasks.

use std::f64::consts::PI;

use simpartner_model::SamplingMode;

use super::{
    builders::{any, default, element, maybe, once, optional, required},
    element::{
        Content::{Children, Empty},
        Element,
    },
    kind::Kind::{Name, NotNegative, Positive, Real, Text, Whole, Within, Word},
    shared::{GRASP_TASK as ROOT, LENGTH},
};

pub(super) const GRASP_TASK: Element = element(
    ROOT,
    "Grasps to be tried in the engine: a gripper of a world approaches an object of it, closes, and lifts. `simpartner grasp run FILE`. \
     Targets are drawn on the object's surface, or given.",
    &[
        default("name", Name, "", "task", "its name"),
        required("world", Text, "", "path of the world file, from this file's folder"),
        required("object", Name, "", "the object of the world that is grasped"),
        optional("gripper", Name, "", "the robot of the world that grasps; without it, the only one"),
        default("timestep", Within(1e-6, 0.1), "s", "0.001", "timestep of the physics"),
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
    "The gripper's tool frame on one of its bodies: z is the way it approaches, x the line along which two jaws close. The body hangs on a \
     fixed body of the robot by three sliders, and by nothing else that moves.",
    &[required("body", Name, "", "the body")],
    Children(&[maybe("pose")]),
);

pub(super) const FINGER: Element = element(
    "finger",
    "A joint of the gripper that is closed. Joints that are coupled to it follow.",
    &[
        required("joint", Name, "", "the joint"),
        optional("axis", Whole(1, 3), "", "its local axis, where it has more than one that is free"),
        optional("open", Real, "rad or m", "coordinate when open; without it, where the world has it"),
        required("closed", Real, "rad or m", "coordinate that it is sent to when it closes"),
        default("maxEffort", Positive(1e9), "N m or N", "20", "its largest effort"),
    ],
    Empty,
);

pub(super) const SUCTION: Element = element(
    "suction",
    "A surrogate for a suction cup: while it is sealed, cup and object pull at each other along the tool's z with this force. Neither leaks nor \
     lips are simulated; what lies across is friction.",
    &[
        required("body", Name, "", "the body that is the cup"),
        required("force", Positive(1e9), "N", "area of the cup times the vacuum"),
        default("points", Whole(1, 100), "", "3", "points of contact with the object that seal it"),
    ],
    Empty,
);

pub(super) const APPROACH: Element = element(
    "approach",
    "The way from where a task begins to its target, along the axes of the tool.",
    &[
        default("x", Real, "m", "0", "along x"),
        default("y", Real, "m", "0", "along y"),
        default("z", Real, "m", "0.05", "along z"),
    ],
    Empty,
);

pub(super) const RETRACT: Element = element(
    "retract",
    "The way that the gripper lifts, along the world's axes.",
    &[
        default("x", Real, "m", "0", "along x"),
        default("y", Real, "m", "0.1", "along y"),
        default("z", Real, "m", "0", "along z"),
    ],
    Empty,
);

pub(super) const ACCELERATION: Element = element(
    "acceleration",
    "What pulls at the object while it is lifted beside gravity: a force of its mass times this through its centre of mass, along the world's \
     axes. In a world without gravity the object floats until then.",
    &[
        default("x", Real, "m/s²", "0", "along x"),
        default("y", Real, "m/s²", "0", "along y"),
        default("z", Real, "m/s²", "0", "along z"),
    ],
    Empty,
);

pub(super) const DRIVE: Element = element(
    "drive",
    "How the hand is moved along straight lines. The defaults are RobWork's.",
    &[
        default(
            "type",
            Word(&["kinematic", "dynamic"]),
            "",
            "kinematic",
            "kinematic: it is where it is wanted at the end of each step; dynamic: by a critically damped spring on each slide, which \
             carries the gripper's own weight",
        ),
        default("bandwidth", Within(0.1, 1000.0), "Hz", "20", "natural frequency of a dynamic drive"),
        default("speed", Positive(1e3), "m/s", "0.5", "its largest speed"),
        default("acceleration", Positive(1e6), "m/s²", "1", "how fast the speed rises and falls"),
    ],
    Empty,
);

pub(super) const CONDITIONS: Element = element(
    "conditions",
    "When the states of a task end. The defaults are those of RobWorkSim's GraspTaskSimulator.",
    &[
        default("period", Within(1e-6, 1.0), "s", "0.005", "how often they are looked at"),
        default("arrival", LENGTH, "m", "0.002", "the approach ends so near to the target"),
        default("settling", NotNegative, "s", "0.5", "from there, time in which nothing counts as rest"),
        default("restSpeed", Positive(1e3), "m/s", "0.001", "a finger that slides rests below this rate"),
        default("restSpin", Positive(1e3), "rad/s", "0.3", "a finger that turns rests below this rate"),
        default(
            "restCount",
            Whole(0, 1_000_000),
            "",
            "5",
            "fingers rest that were found at rest more often than this in a row,",
        ),
        default("restTime", NotNegative, "s", "1.5", "the third time so long ago"),
        default("graspLimit", Positive(1e5), "s", "8", "time of the task at which the hand lifts, at rest or not"),
        default("liftArrival", LENGTH, "m", "0.001", "the lift ends so near to its end,"),
        default("liftCount", Whole(0, 1_000_000), "", "5", "found more often than this in a row"),
        default("slip", LENGTH, "m", "0.01", "an object that slips farther counts as slipped"),
        default("timeLimit", Positive(1e5), "s", "10", "time after which a task ends"),
        default("stepLimit", Whole(1, 1_000_000_000), "", "1000000", "steps after which it ends"),
        default(
            "farthest",
            LENGTH,
            "m",
            "50",
            "an object farther than this from where it began is a failure of the simulation",
        ),
    ],
    Empty,
);

pub(super) const SAMPLING: Element = element(
    "sampling",
    "How targets are drawn on the surface of the object, evenly over its area.",
    &[
        default(
            "mode",
            Word(&SamplingMode::WORDS),
            "",
            "surface",
            "surface: any rotation at any point; normal: z along the normal into the object; antipodal: midway between two points that \
             face each other along x",
        ),
        default(
            "minDistance",
            Within(-1e3, 1e3),
            "m",
            "0.02",
            "the tool is at least so far before the point, against z",
        ),
        default("maxDistance", Within(-1e3, 1e3), "m", "0.02", "and at most so far"),
        default(
            "rotationFault",
            Word(&["false", "true"]),
            "",
            "false",
            "true for the fault of RobWork's sampler: the rotation is drawn again after the retraction",
        ),
        optional(
            "tilt",
            Within(0.0, PI),
            "rad",
            "of the mode surface: largest angle of z from the normal into the object",
        ),
        optional("approachAngle", Within(0.0, PI), "rad", "largest angle of z from a direction in the object's frame"),
        default("approachX", Real, "", "0", "that direction, along x"),
        default("approachY", Real, "", "-1", "along y"),
        default("approachZ", Real, "", "0", "along z"),
        default(
            "friction",
            Positive(1e3),
            "",
            "0.5",
            "of antipodal targets: x is in the cone of this friction at both points",
        ),
        default("opening", LENGTH, "m", "0.1", "of antipodal targets: the points are no farther from each other"),
    ],
    Empty,
);

pub(super) const TARGET: Element = element(
    "target",
    "A pose of the tool in the object's frame. Where there are targets, none are drawn.",
    &[],
    Children(&[maybe("pose"), maybe("transformation")]),
);
