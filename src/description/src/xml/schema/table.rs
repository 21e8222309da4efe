//! The table itself.

use super::materials::with_material;
use super::words::{any, default, element, maybe, once, optional, required, value};
use super::{
    Attribute,
    Content::{Children, Empty, Numbers},
    Element, Kind,
    Kind::{Color, Fraction, Name, NotNegative, Positive, Real, Text, Whole, Within, Word},
};
use super::{assemblies, devices, grasp_tasks, grasps, grounds, joints, rocks, sequences, soil};

/// Root of a world file.
pub(in crate::xml) const WORLD: &str = "world";
/// Root of a robot file.
pub(in crate::xml) const ROBOT: &str = "robot";
/// Root of a file of assemblies.
pub(in crate::xml) const ASSEMBLIES: &str = "assemblies";
/// Root of a sequence file.
pub(in crate::xml) const SEQUENCE: &str = "sequence";
/// Root of a grasp file.
pub(in crate::xml) const GRASP: &str = "grasp";
/// Root of a file of grasp tasks.
pub(in crate::xml) const GRASP_TASK: &str = "graspTask";

/// A flag. An element of this type that holds nothing is set.
pub(super) const BOOLEAN: Kind = Word(&["true", "false"]);
pub(super) const LENGTH: Kind = Positive(1e6);
const MASS: Kind = Positive(1e9);
/// Of a mesh's coordinates: from micrometres to megametres.
const SCALE: Kind = Within(-1e6, 1e6);
/// Twice the distance to the moon; a nanometre is the least that numbers tell apart there.
pub(in crate::xml) const FARTHEST: f64 = 1e9;
pub(super) const COORDINATE: Kind = Within(-FARTHEST, FARTHEST);
/// A body that is faster, or spins faster, counts as one that has run away. Gravity is bounded as speeds are.
const SPEED: Kind = Within(-1e5, 1e5);
const SPIN: Kind = Within(-1e6, 1e6);
pub(super) const PORT: Kind = Whole(0, 65_535);

pub(super) const VECTOR: &[Attribute] = &[
    default("x", Real, "", "0", "along x"),
    default("y", Real, "", "0", "along y"),
    default("z", Real, "", "0", "along z"),
];
const ROUND: &[Attribute] = &[
    required("radius", LENGTH, "m", "radius"),
    required("length", LENGTH, "m", "length along the axis; of a capsule, of its cylindrical part"),
    default("axis", Word(&["x", "y", "z"]), "", "y", "the axis it stands along; a cone's tip is on the positive side"),
];
const MESH_FILE: &[Attribute] = &[
    optional(
        "file",
        Text,
        "",
        "path of a mesh file, from the folder of the file that names it: Wavefront OBJ (.obj), STL (.stl), COLLADA (.dae), glTF \
         (.gltf, .glb), VRML97 (.wrl) or MSH (.msh)",
    ),
    default("scale", SCALE, "", "1", "factor on the file's coordinates; 0.001 where it is in millimetres"),
    default("scaleX", SCALE, "", "1", "another factor along x; a negative one mirrors"),
    default("scaleY", SCALE, "", "1", "along y"),
    default("scaleZ", SCALE, "", "1", "along z"),
];
const SHAPE_POSE: super::Content = Children(&[maybe("pose"), maybe("material")]);
const ONE_SHAPE: super::Content = Children(&[
    maybe("box"),
    maybe("sphere"),
    maybe("cylinder"),
    maybe("capsule"),
    maybe("cone"),
    maybe("convexHull"),
    maybe("triangleMesh"),
    maybe("compound"),
]);
pub(super) const NAME: Attribute = required("name", Name, "", "its name, unique among its kind in the file");

macro_rules! body_children {
    ($($more:expr),*) => {
        Children(&[
            maybe("mass"), maybe("transformation"), maybe("pose"), maybe("translationalVelocity"),
            maybe("rotationalVelocity"), maybe("box"), maybe("sphere"), maybe("cylinder"), maybe("capsule"), maybe("cone"),
            maybe("convexHull"), maybe("triangleMesh"), maybe("compound"), maybe("collision"), any("visual"), maybe("material"),
            maybe("inertia"), $($more),*
        ])
    };
}

/// All elements. Those of a file come after the element that they stand in.
pub(in crate::xml) const ELEMENTS: &[Element] = &[
    element(
        WORLD,
        "A world: ground, objects and robots. Right-handed, y up, metres, kilograms, seconds, radians.",
        &[default("name", Name, "", "world", "its name")],
        Children(&[
            any("surface"),
            maybe("gravity"),
            maybe("geographicOrigin"),
            any("heightfield"),
            any("ground"),
            any("soil"),
            any("rocks"),
            any("object"),
            any("joint"),
            any("coupling"),
            any("exclude"),
            any("robotPlacement"),
        ]),
    ),
    element(
        "surface",
        "The surface plane a x + b y + c z = d. The side that (a, b, c) points away from is solid.",
        with_material![
            "1",
            default("a", Real, "", "0", "x of the normal"),
            default("b", Real, "", "1", "y of the normal"),
            default("c", Real, "", "0", "z of the normal"),
            default("d", Real, "m", "0", "distance from the origin, times the length of the normal"),
            soil::OF_GROUND,
        ],
        Empty,
    ),
    element(
        "gravity",
        "Gravity. Without the element it is 9.81 m/s² downwards.",
        &[
            default("x", SPEED, "m/s²", "0", "along x"),
            default("y", SPEED, "m/s²", "-9.81", "along y"),
            default("z", SPEED, "m/s²", "0", "along z"),
        ],
        Empty,
    ),
    devices::GEOGRAPHIC_ORIGIN,
    grounds::HEIGHTFIELD,
    grounds::GROUND,
    soil::SOIL,
    rocks::ROCKS,
    rocks::CLEAR,
    element(
        "object",
        "A body of the world that is not part of a robot.",
        &[default("type", Word(&["Body"]), "", "Body", "always Body"), NAME],
        body_children!(maybe("static")),
    ),
    Element {
        id: "robotPlacement",
        tag: "robot",
        doc: "A robot in the world: that of a file, which may be placed any number of times, or one whose parts stand in the element.",
        attributes: &[
            optional(
                "file",
                Text,
                "",
                "path of the robot file, from this file's folder or from ../robots; a URDF, MJCF or SDF file is imported",
            ),
            optional(
                "fixedBase",
                BOOLEAN,
                "",
                "of an imported robot: whether its root is fixed to the world, although it could move",
            ),
            optional("name", Name, "", "its name in this world; without one, that in its file"),
            default("selfCollision", BOOLEAN, "", "false", "of a robot without a file: as in a robot file"),
            default("portOffset", Whole(0, 65_535), "", "0", "added to the port of every device, unless that is 0"),
            default(
                "combinedPort",
                Whole(0, 65_535),
                "",
                "0",
                "the port of all readings and all commands of the robot, above 1024; 0 is any free one",
            ),
        ],
        content: Children(&[
            maybe("pose"),
            any("initial"),
            any("body"),
            any("joint"),
            any("coupling"),
            any("exclude"),
            any("sensor"),
            any("actuator"),
        ]),
    },
    element(
        ROBOT,
        "A robot: a connected graph with bodies as nodes and joints as edges, and the devices on them.",
        &[
            NAME,
            default(
                "selfCollision",
                BOOLEAN,
                "",
                "false",
                "whether its own bodies collide; those that share a joint never do",
            ),
        ],
        Children(&[
            any("include"),
            any("parameter"),
            any("assembly"),
            any("place"),
            any("body"),
            any("joint"),
            any("coupling"),
            any("exclude"),
            any("sensor"),
            any("actuator"),
        ]),
    ),
    joints::INITIAL,
    assemblies::FILE,
    assemblies::INCLUDE,
    assemblies::ASSEMBLY,
    assemblies::PARAMETER,
    assemblies::PLACE,
    element(
        "body",
        "A body of a robot, placed in the robot's frame. One that is static fixes the robot to the world.",
        &[NAME],
        body_children!(maybe("static")),
    ),
    value("mass", MASS, "kg", "Mass. Needed unless the body is static."),
    element(
        "transformation",
        "Pose as the upper rows of a homogeneous matrix: T00 to T22 a rotation, T03, T13, T23 the position in metres.",
        &[],
        Children(&[
            once("T00"),
            once("T01"),
            once("T02"),
            once("T03"),
            once("T10"),
            once("T11"),
            once("T12"),
            once("T13"),
            once("T20"),
            once("T21"),
            once("T22"),
            once("T23"),
            maybe("T30"),
            maybe("T31"),
            maybe("T32"),
            maybe("T33"),
        ]),
    ),
    value("T00", Real, "", "Row 0, column 0."),
    value("T01", Real, "", "Row 0, column 1."),
    value("T02", Real, "", "Row 0, column 2."),
    value("T03", COORDINATE, "m", "Position along x."),
    value("T10", Real, "", "Row 1, column 0."),
    value("T11", Real, "", "Row 1, column 1."),
    value("T12", Real, "", "Row 1, column 2."),
    value("T13", COORDINATE, "m", "Position along y."),
    value("T20", Real, "", "Row 2, column 0."),
    value("T21", Real, "", "Row 2, column 1."),
    value("T22", Real, "", "Row 2, column 2."),
    value("T23", COORDINATE, "m", "Position along z."),
    value("T30", Real, "", "0, where it is written."),
    value("T31", Real, "", "0, where it is written."),
    value("T32", Real, "", "0, where it is written."),
    value("T33", Real, "", "1, where it is written."),
    element(
        "pose",
        "Pose: a position, and a rotation by roll, pitch and yaw about the fixed x, y and z axes, in that order.",
        &[
            default("x", COORDINATE, "m", "0", "position along x"),
            default("y", COORDINATE, "m", "0", "position along y"),
            default("z", COORDINATE, "m", "0", "position along z"),
            default("roll", Real, "rad", "0", "angle about x"),
            default("pitch", Real, "rad", "0", "angle about y"),
            default("yaw", Real, "rad", "0", "angle about z"),
        ],
        Empty,
    ),
    element(
        "translationalVelocity",
        "Velocity of the centre of mass at step 0.",
        &[],
        Children(&[once("vx"), once("vy"), once("vz")]),
    ),
    value("vx", SPEED, "m/s", "Along x."),
    value("vy", SPEED, "m/s", "Along y."),
    value("vz", SPEED, "m/s", "Along z."),
    element(
        "rotationalVelocity",
        "Angular velocity at step 0.",
        &[],
        Children(&[once("omegax"), once("omegay"), once("omegaz")]),
    ),
    value("omegax", SPIN, "rad/s", "About x."),
    value("omegay", SPIN, "rad/s", "About y."),
    value("omegaz", SPIN, "rad/s", "About z."),
    element(
        "box",
        "A cuboid.",
        &[
            required("x", LENGTH, "m", "edge along x"),
            required("y", LENGTH, "m", "edge along y"),
            required("z", LENGTH, "m", "edge along z"),
        ],
        SHAPE_POSE,
    ),
    element("sphere", "A ball.", &[required("radius", LENGTH, "m", "radius")], SHAPE_POSE),
    element("cylinder", "A cylinder.", ROUND, SHAPE_POSE),
    element("capsule", "A cylinder with half balls on its ends.", ROUND, SHAPE_POSE),
    element("cone", "A cone, its frame in the middle of its axis.", ROUND, SHAPE_POSE),
    element(
        "convexHull",
        "The convex hull of points, which stand in it or in a mesh file.",
        MESH_FILE,
        Children(&[maybe("vertices"), maybe("pose"), maybe("material")]),
    ),
    element(
        "triangleMesh",
        "A closed surface of triangles, counter-clockwise seen from outside. They stand in it or in a mesh file.",
        MESH_FILE,
        Children(&[maybe("vertices"), maybe("triangles"), maybe("pose"), maybe("material")]),
    ),
    element("vertices", "Points, three coordinates each.", &[], Numbers("m")),
    element("triangles", "Triangles, three indices of vertices each, counted from 0.", &[], Numbers("")),
    element(
        "compound",
        "Several shapes as one.",
        &[],
        Children(&[
            any("box"),
            any("sphere"),
            any("cylinder"),
            any("capsule"),
            any("cone"),
            any("convexHull"),
            any("triangleMesh"),
            maybe("pose"),
        ]),
    ),
    element(
        "collision",
        "The shape that collides, where it is not the shape that the mass is spread over, and with what it collides. Two shapes collide \
         if the category of one of them has a bit that the other collides with; a ground has all bits. With both at 0 a shape is \
         only seen, and met by rays.",
        &[
            default("category", Whole(0, 65_535), "", "65535", "what it counts as, a bit each"),
            default("collidesWith", Whole(0, 65_535), "", "65535", "the categories that it collides with"),
        ],
        ONE_SHAPE,
    ),
    element(
        "visual",
        "What is seen of a body in place of its shape, any number of them. Nothing collides with it and it has no mass; a triangleMesh \
         need not be closed here.",
        &[optional("color", Color, "", "its colour; without one a mesh file's own, or the viewer's choice")],
        ONE_SHAPE,
    ),
    element(
        "material",
        "What the surface is like; in a shape of a compound that collides, what that shape's is like in place of its body's.",
        with_material![
            "0.8",
            default(
                "grousers",
                NotNegative,
                "m",
                "0",
                "how far the grousers of a wheel reach into soil, beyond its radius"
            ),
        ],
        Empty,
    ),
    element(
        "inertia",
        "Centre of mass and inertia tensor about it, body axes. Without the element they follow from shape and mass.",
        &[
            required("ixx", NotNegative, "kg m²", "about x"),
            required("iyy", NotNegative, "kg m²", "about y"),
            required("izz", NotNegative, "kg m²", "about z"),
            default("ixy", Real, "kg m²", "0", "off the diagonal"),
            default("ixz", Real, "kg m²", "0", "off the diagonal"),
            default("iyz", Real, "kg m²", "0", "off the diagonal"),
            default("x", COORDINATE, "m", "0", "centre of mass along x"),
            default("y", COORDINATE, "m", "0", "centre of mass along y"),
            default("z", COORDINATE, "m", "0", "centre of mass along z"),
        ],
        Empty,
    ),
    value(
        "static",
        BOOLEAN,
        "",
        "Whether nothing moves it: an object that stands fast, or the base of a robot that is bolted down. An empty element means true.",
    ),
    joints::JOINT,
    value("parent", Name, "", "The body that carries the joint's axes."),
    value("child", Name, "", "The body that moves about or along them."),
    joints::ANCHOR,
    joints::AXIS,
    element("axis1", "The first local axis of a planar, universal or constrained joint. Without it, x.", VECTOR, Empty),
    element("axis3", "Its third local axis, square to the first. Without it, z.", VECTOR, Empty),
    joints::FREE,
    joints::EXCLUDE,
    joints::COUPLING,
    devices::SENSOR,
    devices::NOISE,
    devices::ACTUATOR,
    element("force", "The force of a ForceActuator until its first command, N.", VECTOR, Empty),
    element("torque", "Its torque, N m.", VECTOR, Empty),
    devices::MOTOR,
    sequences::SEQUENCE,
    sequences::COMMAND,
    sequences::COMMAND_STRING,
    sequences::PORT,
    sequences::SET,
    sequences::WAIT,
    sequences::REPEAT,
    grasps::GRASP,
    grasps::LOAD,
    grasps::CONTACT,
    grasps::NORMAL,
    grasps::PATCH,
    grasp_tasks::GRASP_TASK,
    grasp_tasks::TOOL,
    grasp_tasks::FINGER,
    grasp_tasks::SUCTION,
    grasp_tasks::APPROACH,
    grasp_tasks::RETRACT,
    grasp_tasks::ACCELERATION,
    grasp_tasks::DRIVE,
    grasp_tasks::CONDITIONS,
    grasp_tasks::SAMPLING,
    grasp_tasks::TARGET,
];
