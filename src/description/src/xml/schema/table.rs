//! The table itself.

use super::{
    assemblies,
    builders::{any, default, element, maybe, once, optional, required, value},
    cameras, devices,
    element::{
        Attribute,
        Content::{self, Children, Empty, Numbers},
        Element,
    },
    environment, grasp_tasks, grasps, grounds, joints,
    kind::Kind::{self, Color, Fraction, Name, NotNegative, Positive, Real, Text, Whole, Within, Word},
    lights,
    materials::with_material,
    rocks, sequences,
    shared::{CLASS_ATTRIBUTE, COORDINATE, LENGTH, NAME, OBJECT_NAME, ROBOT, VECTOR, WORLD},
    soil,
};

const MASS: Kind = Positive(1e9);
/// Scale of a mesh's coordinates: from micrometres to megametres.
const SCALE: Kind = Within(-1e6, 1e6);
const SPIN: Kind = Within(-1e6, 1e6);
const ROUND: &[Attribute] = &[
    required("radius", LENGTH, "m", "radius"),
    required("length", LENGTH, "m", "length along the axis; for a capsule, length of the cylindrical part alone"),
    default(
        "axis",
        Word(&["x", "y", "z"]),
        "",
        "y",
        "local axis that the shape's own axis is along; the tip of a cone is on the positive side",
    ),
];
const MESH_FILE: &[Attribute] = &[
    optional(
        "file",
        Text,
        "",
        "path of a mesh file, relative to the folder of the file that names it: Wavefront OBJ (.obj), STL (.stl), \
         COLLADA (.dae), glTF (.gltf, .glb), VRML97 (.wrl) or MSH (.msh)",
    ),
    default("scale", SCALE, "", "1", "factor on all coordinates of the file; 0.001 for a file in millimetres"),
    default("scaleX", SCALE, "", "1", "additional factor along x; a negative factor mirrors"),
    default("scaleY", SCALE, "", "1", "additional factor along y"),
    default("scaleZ", SCALE, "", "1", "additional factor along z"),
];
const SHAPE_POSE: Content = Children(&[maybe("pose"), maybe("material")]);
const ONE_SHAPE: Content = Children(&[
    maybe("box"),
    maybe("sphere"),
    maybe("ellipsoid"),
    maybe("cylinder"),
    maybe("capsule"),
    maybe("cone"),
    maybe("convexHull"),
    maybe("triangleMesh"),
    maybe("compound"),
]);
macro_rules! body_children {
    ($($more:expr),*) => {
        Children(&[
            maybe("mass"), maybe("transformation"), maybe("pose"), maybe("translationalVelocity"),
            maybe("rotationalVelocity"), maybe("box"), maybe("sphere"), maybe("ellipsoid"), maybe("cylinder"),
            maybe("capsule"), maybe("cone"), maybe("convexHull"), maybe("triangleMesh"), maybe("compound"),
            maybe("collision"), any("visual"), maybe("material"), maybe("inertia"), any("drag"), any("wing"),
            maybe("fluidDamping"), maybe("buoyancy"), $($more),*
        ])
    };
}

/// All elements. Child elements come after their parents.
pub(in crate::xml) const ELEMENTS: &[Element] = &[
    element(
        WORLD,
        "A world: ground, objects and robots. The frame is right-handed with y up. Units are metres, kilograms, \
         seconds and radians.",
        &[default("name", Name, "", "world", "name of the world")],
        Children(&[
            any("surface"),
            maybe("gravity"),
            maybe("geographicOrigin"),
            maybe("air"),
            maybe("water"),
            maybe("illumination"),
            any("light"),
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
        "A ground plane: the points with a x + b y + c z = d. The normal (a, b, c) points out of the ground; the other \
         side is solid.",
        with_material![
            "1",
            default("a", Real, "", "0", "x component of the normal"),
            default("b", Real, "", "1", "y component of the normal"),
            default("c", Real, "", "0", "z component of the normal"),
            default("d", Real, "m", "0", "distance of the plane from the origin, times the length of the normal"),
            soil::OF_GROUND,
        ],
        Empty,
    ),
    environment::GRAVITY_ELEMENT,
    devices::GEOGRAPHIC_ORIGIN,
    environment::AIR_ELEMENT,
    environment::WATER_ELEMENT,
    lights::ILLUMINATION_ELEMENT,
    lights::LIGHT_ELEMENT,
    grounds::HEIGHTFIELD,
    grounds::GROUND,
    soil::SOIL,
    rocks::ROCKS,
    rocks::CLEAR,
    element(
        "object",
        "A body that belongs to the world and not to a robot.",
        &[
            default("type", Word(&["Body"]), "", "Body", "type of the object; only Body exists"),
            OBJECT_NAME,
            CLASS_ATTRIBUTE,
        ],
        body_children!(maybe("static")),
    ),
    Element {
        id: "robotPlacement",
        tag: "robot",
        doc: "A robot in the world. With `file`, it is read from that file, which several elements may name. \
              Without `file`, its parts stand in the element itself.",
        attributes: &[
            optional(
                "file",
                Text,
                "",
                "path of the robot file, relative to this file's folder or to ../robots; a URDF, MJCF or SDF file is \
                 imported",
            ),
            optional("fixedBase", Kind::BOOLEAN, "", "for an imported robot: true fixes its root to the world"),
            optional("name", Name, "", "name of the robot in this world; without it, the name in its file"),
            default(
                "selfCollision",
                Kind::BOOLEAN,
                "",
                "false",
                "for a robot without a file: whether its own bodies collide, as in a robot file",
            ),
            default(
                "portOffset",
                Whole(0, 65_535),
                "",
                "0",
                "number that is added to the port of every device, except to port 0",
            ),
            default(
                "combinedPort",
                Whole(0, 65_535),
                "",
                "0",
                "the robot's combined port, which carries all readings and all commands, above 1024; 0 is any free \
                 port",
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
        "A robot: bodies, the joints that connect all of them, and the sensors and actuators on them.",
        &[
            NAME,
            default(
                "selfCollision",
                Kind::BOOLEAN,
                "",
                "false",
                "whether bodies of the robot collide with each other; bodies that share a joint never do",
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
        "A body of a robot. Its pose is in the robot's frame. A static body fixes the robot to the world.",
        &[NAME, CLASS_ATTRIBUTE],
        body_children!(maybe("static")),
    ),
    value("mass", MASS, "kg", "Mass. Required unless the body is static."),
    element(
        "transformation",
        "Pose as a homogeneous matrix, row by row: T00 to T22 are the rotation, T03, T13 and T23 the position in \
         metres. `<pose>` is the shorter form.",
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
    value("T00", Real, "", "Rotation matrix, row 0, column 0."),
    value("T01", Real, "", "Rotation matrix, row 0, column 1."),
    value("T02", Real, "", "Rotation matrix, row 0, column 2."),
    value("T03", COORDINATE, "m", "Position along x."),
    value("T10", Real, "", "Rotation matrix, row 1, column 0."),
    value("T11", Real, "", "Rotation matrix, row 1, column 1."),
    value("T12", Real, "", "Rotation matrix, row 1, column 2."),
    value("T13", COORDINATE, "m", "Position along y."),
    value("T20", Real, "", "Rotation matrix, row 2, column 0."),
    value("T21", Real, "", "Rotation matrix, row 2, column 1."),
    value("T22", Real, "", "Rotation matrix, row 2, column 2."),
    value("T23", COORDINATE, "m", "Position along z."),
    value("T30", Real, "", "Last row of the homogeneous matrix: 0, if given."),
    value("T31", Real, "", "Last row of the homogeneous matrix: 0, if given."),
    value("T32", Real, "", "Last row of the homogeneous matrix: 0, if given."),
    value("T33", Real, "", "Last row of the homogeneous matrix: 1, if given."),
    element(
        "pose",
        "A position, and a rotation by roll, pitch and yaw about the fixed x, y and z axes, in that order.",
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
        "Velocity of the centre of mass at step 0, in the frame in which the body's pose is given.",
        &[],
        Children(&[once("vx"), once("vy"), once("vz")]),
    ),
    value("vx", environment::SPEED_RANGE, "m/s", "Velocity along x."),
    value("vy", environment::SPEED_RANGE, "m/s", "Velocity along y."),
    value("vz", environment::SPEED_RANGE, "m/s", "Velocity along z."),
    element(
        "rotationalVelocity",
        "Angular velocity at step 0, in the frame in which the body's pose is given.",
        &[],
        Children(&[once("omegax"), once("omegay"), once("omegaz")]),
    ),
    value("omegax", SPIN, "rad/s", "Angular velocity about x."),
    value("omegay", SPIN, "rad/s", "Angular velocity about y."),
    value("omegaz", SPIN, "rad/s", "Angular velocity about z."),
    element(
        "box",
        "A box. Its frame is at its centre.",
        &[
            required("x", LENGTH, "m", "edge length along x"),
            required("y", LENGTH, "m", "edge length along y"),
            required("z", LENGTH, "m", "edge length along z"),
        ],
        SHAPE_POSE,
    ),
    element("sphere", "A ball. Its frame is at its centre.", &[required("radius", LENGTH, "m", "radius")], SHAPE_POSE),
    element(
        "ellipsoid",
        "An ellipsoid. Its frame is at its centre, and its axes are those of the frame.",
        &[
            required("radiusX", LENGTH, "m", "half of its length along x"),
            required("radiusY", LENGTH, "m", "half of its length along y"),
            required("radiusZ", LENGTH, "m", "half of its length along z"),
        ],
        SHAPE_POSE,
    ),
    element("cylinder", "A cylinder. Its frame is at its centre.", ROUND, SHAPE_POSE),
    element("capsule", "A cylinder with hemispheres on its ends. Its frame is at its centre.", ROUND, SHAPE_POSE),
    element("cone", "A cone. Its frame is in the middle of its axis.", ROUND, SHAPE_POSE),
    element(
        "convexHull",
        "The convex hull of points. They stand in `<vertices>` or in a mesh file.",
        MESH_FILE,
        Children(&[maybe("vertices"), maybe("pose"), maybe("material")]),
    ),
    element(
        "triangleMesh",
        "A closed surface of triangles, whose vertices are counter-clockwise seen from outside. They stand in \
         `<vertices>` and `<triangles>`, or in a mesh file.",
        MESH_FILE,
        Children(&[maybe("vertices"), maybe("triangles"), maybe("pose"), maybe("material")]),
    ),
    element("vertices", "Points, three coordinates each, in the frame of the shape.", &[], Numbers("m")),
    element("triangles", "Triangles, three indices into `<vertices>` each, counted from 0.", &[], Numbers("")),
    element(
        "compound",
        "Several shapes that form one shape.",
        &[],
        Children(&[
            any("box"),
            any("sphere"),
            any("ellipsoid"),
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
        "The collision shape of a body, if it differs from the body's own shape, and a filter. The inertia follows \
         from the body's own shape. Two shapes collide if the category of one has a bit in common with collidesWith of \
         the other. A ground has all bits. A shape with both at 0 touches nothing; it is only drawn, and distance \
         sensors see it.",
        &[
            default("category", Whole(0, 65_535), "", "65535", "categories of the shape, one bit each"),
            default(
                "collidesWith",
                Whole(0, 65_535),
                "",
                "65535",
                "categories that the shape collides with, one bit each",
            ),
        ],
        ONE_SHAPE,
    ),
    element(
        "visual",
        "A shape that is drawn in place of the body's shape. A body may have several. It does not collide and has no \
         mass. A triangleMesh need not be closed here.",
        &[
            optional(
                "color",
                Color,
                "",
                "colour; without it, the materials of the mesh file, or a colour that the viewer chooses; with a \
                 texture, the colour by which it is multiplied",
            ),
            optional("emission", Color, "", "emitted light: a surface of this colour in the dark; none without it"),
            optional(
                "texture",
                Text,
                "",
                "image on the surface in pictures: a PNG or JPEG file beside this one, or one of the patterns \
                 checker #rrggbb #rrggbb (two by two squares) and gradient #rrggbb #rrggbb (from top to bottom); it \
                 replaces the materials of a mesh file. A mesh file with texture coordinates places it, and on other \
                 shapes it lies on each side of the box around the shape",
            ),
            default("textureRepeatX", Positive(1e6), "", "1", "images across each side of the box, from left to right"),
            default("textureRepeatY", Positive(1e6), "", "1", "images across each side, from top to bottom"),
            optional(
                "textureLengthX",
                Positive(1e6),
                "m",
                "width of one image, in place of textureRepeatX; both lengths belong together",
            ),
            optional("textureLengthY", Positive(1e6), "m", "height of one image, in place of textureRepeatY"),
        ],
        ONE_SHAPE,
    ),
    element(
        "material",
        "Surface properties of a body. In a shape of a colliding compound, they apply to this shape in place of those \
         of the body.",
        with_material![
            "0.8",
            default(
                "grousers",
                NotNegative,
                "m",
                "0",
                "height of a wheel's grousers: how far they reach into soil beyond the radius"
            ),
        ],
        Empty,
    ),
    element(
        "inertia",
        "Centre of mass and inertia tensor about it, in the body's frame. Without the element, both follow from shape \
         and mass.",
        &[
            required("ixx", NotNegative, "kg m²", "moment of inertia about x"),
            required("iyy", NotNegative, "kg m²", "moment of inertia about y"),
            required("izz", NotNegative, "kg m²", "moment of inertia about z"),
            default("ixy", Real, "kg m²", "0", "element xy of the tensor"),
            default("ixz", Real, "kg m²", "0", "element xz of the tensor"),
            default("iyz", Real, "kg m²", "0", "element yz of the tensor"),
            default("x", COORDINATE, "m", "0", "position of the centre of mass along x"),
            default("y", COORDINATE, "m", "0", "position of the centre of mass along y"),
            default("z", COORDINATE, "m", "0", "position of the centre of mass along z"),
        ],
        Empty,
    ),
    environment::DRAG_ELEMENT,
    environment::WING_ELEMENT,
    environment::FLUID_DAMPING,
    environment::BUOYANCY_ELEMENT,
    value(
        "static",
        Kind::BOOLEAN,
        "",
        "Whether the body never moves, as a wall or a robot's base that is bolted down. An empty element means true.",
    ),
    joints::JOINT,
    value("parent", Name, "", "Name of the body that carries the joint's axes, or world."),
    value("child", Name, "", "Name of the body that moves about or along these axes, or world."),
    joints::ANCHOR,
    joints::AXIS,
    element(
        "axis1",
        "The first local axis of a planar, universal or constrained joint, in the frame of the file. Without the \
         element, x.",
        VECTOR,
        Empty,
    ),
    element(
        "axis3",
        "The third local axis of such a joint, perpendicular to the first, in the frame of the file. Without the \
         element, z.",
        VECTOR,
        Empty,
    ),
    joints::FREE,
    joints::EXCLUDE,
    joints::COUPLING,
    devices::SENSOR,
    devices::NOISE,
    cameras::CAMERA_LENS,
    cameras::IMAGE_NOISE,
    devices::ACTUATOR,
    element("force", "Initial force of a ForceActuator, in N, which acts until the first command.", VECTOR, Empty),
    element("torque", "Initial torque of a ForceActuator, in N m, which acts until the first command.", VECTOR, Empty),
    devices::MOTOR,
    devices::WHEEL_ELEMENT,
    devices::TRACK_ELEMENT,
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
