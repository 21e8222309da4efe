//! The table's part on gravity, air and water, and on the properties of bodies in fluids.

use super::{
    builders::{default, element, maybe, optional, required},
    element::{
        Attribute,
        Content::{Children, Empty},
        Element,
    },
    kind::{
        Kind,
        Kind::{NotNegative, Positive, Real, Within},
    },
    shared::COORDINATE,
};

/// Speeds beyond these bounds count as runaway. Gravity has the same bounds.
pub(super) const SPEED_RANGE: Kind = Within(-1e5, 1e5);

/// `<gravity>`
pub(super) const GRAVITY_ELEMENT: Element = element(
    "gravity",
    "Acceleration of gravity, world axes. Without the element it is 9.81 m/s² downwards.",
    &[
        default("x", SPEED_RANGE, "m/s²", "0", "component along x"),
        default("y", SPEED_RANGE, "m/s²", "-9.81", "component along y"),
        default("z", SPEED_RANGE, "m/s²", "0", "component along z"),
    ],
    Empty,
);

/// `<air>`
pub(super) const AIR_ELEMENT: Element = element(
    "air",
    "The air of the world. Without the element there is none. Its density falls with height as in the standard \
     atmosphere (ISO 2533), from the altitude of `<geographicOrigin>` on. Air acts on bodies with a `<drag>`, a `<wing>` or \
     `<buoyancy>`.",
    &[
        default("density", Positive(1e4), "kg/m³", "1.225", "density at height 0"),
        default("windX", SPEED_RANGE, "m/s", "0", "mean wind along x, in the direction in which the air moves"),
        default("windY", SPEED_RANGE, "m/s", "0", "the same along y"),
        default("windZ", SPEED_RANGE, "m/s", "0", "the same along z"),
        default(
            "shearExponent",
            Within(0.0, 1.0),
            "",
            "0",
            "growth of the wind with height: (height / referenceHeight) to this power; 0.14 over open land",
        ),
        default("referenceHeight", Positive(1e5), "m", "10", "height at which the mean wind is as given"),
        default(
            "gust",
            Within(0.0, 1e3),
            "m/s",
            "0",
            "standard deviation of gusts in each direction, with Dryden's longitudinal spectrum; they follow from \
             simulation.seed",
        ),
        default("gustLength", Positive(1e6), "m", "200", "length of the gusts, which pass with the mean wind"),
    ],
    Empty,
);

/// `<water>`
pub(super) const WATER_ELEMENT: Element = element(
    "water",
    "Water below a level plane. It acts on bodies with `<buoyancy>`, `<fluidDamping>`, a `<drag>` or a `<wing>`.",
    &[
        default("density", Positive(1e5), "kg/m³", "1000", "density; 1025 for sea water"),
        default("level", COORDINATE, "m", "0", "height of the surface"),
        default("currentX", SPEED_RANGE, "m/s", "0", "velocity of the water along x"),
        default("currentY", SPEED_RANGE, "m/s", "0", "the same along y"),
        default("currentZ", SPEED_RANGE, "m/s", "0", "the same along z"),
    ],
    Empty,
);

/// `<drag>`
pub(super) const DRAG_ELEMENT: Element = element(
    "drag",
    "Drag of a fluid at a point of the body: density / 2 x coefficient x area x v², against the velocity v of the point \
     through the fluid.",
    &[
        default("coefficient", NotNegative, "", "1", "drag coefficient: 0.47 for a ball, 1.05 for a cube"),
        required("area", NotNegative, "m²", "area to which the coefficient refers"),
        default("x", COORDINATE, "m", "0", "the point in the body's frame"),
        default("y", COORDINATE, "m", "0", "the same along y"),
        default("z", COORDINATE, "m", "0", "the same along z"),
    ],
    Empty,
);

/// `<wing>`
pub(super) const WING_ELEMENT: Element = element(
    "wing",
    "A wing, a fin, a keel or a rudder. The frame of `<pose>` is at its centre of pressure: x points forward, y to the side \
     of lift, z along the span. Lift acts across the flow and drag along it; flow along z has no effect. The coefficients \
     are those of Gazebo's LiftDrag: each grows with the angle of attack by one slope below the stall and by another beyond \
     it. Beyond the stall the lift does not change its sign.",
    &[
        required("area", Positive(1e6), "m²", "area"),
        default("angle", Within(-1.6, 1.6), "rad", "0", "angle of attack of a flow from ahead"),
        default("liftSlope", NotNegative, "1/rad", "6.2832", "growth of the lift coefficient; 2 pi for a thin wing"),
        default("stalledLiftSlope", Real, "1/rad", "0", "the same beyond the stall, mostly negative"),
        default("baseDrag", NotNegative, "", "0", "drag coefficient at angle 0"),
        default("dragSlope", NotNegative, "1/rad", "0", "growth of the drag coefficient"),
        default("stalledDragSlope", Real, "1/rad", "0", "the same beyond the stall"),
        default("stallAngle", Within(0.0, 1.6), "rad", "0.26", "angle of attack of the stall"),
        default("momentSlope", Real, "1/rad", "0", "growth of the coefficient of the moment about z"),
        default("chord", Positive(1e5), "m", "1", "length to which that moment refers"),
    ],
    Children(&[maybe("pose")]),
);

/// Damping along one axis of a body.
const fn damping_axis(name: &'static str, unit: &'static str, doc: &'static str) -> Attribute {
    default(name, NotNegative, unit, "0", doc)
}

/// `<fluidDamping>`
pub(super) const FLUID_DAMPING: Element = element(
    "fluidDamping",
    "Damping of the body in water, body axes: (linear + quadratic x |u|) u against the velocity u of the centre of mass \
     through the water on each axis, and against the angular velocity (Fossen 2011, diagonal terms). Of a body that is \
     partly above the surface, the submerged share of its volume counts.",
    &[
        damping_axis("linearX", "N s/m", "linear damping along x"),
        damping_axis("linearY", "N s/m", "the same along y"),
        damping_axis("linearZ", "N s/m", "the same along z"),
        damping_axis("quadraticX", "N s²/m²", "quadratic damping along x"),
        damping_axis("quadraticY", "N s²/m²", "the same along y"),
        damping_axis("quadraticZ", "N s²/m²", "the same along z"),
        damping_axis("linearRotationX", "N m s/rad", "linear damping of rotation about x"),
        damping_axis("linearRotationY", "N m s/rad", "the same about y"),
        damping_axis("linearRotationZ", "N m s/rad", "the same about z"),
        damping_axis("quadraticRotationX", "N m s²/rad²", "quadratic damping of rotation about x"),
        damping_axis("quadraticRotationY", "N m s²/rad²", "the same about y"),
        damping_axis("quadraticRotationZ", "N m s²/rad²", "the same about z"),
    ],
    Empty,
);

/// `<buoyancy>`
pub(super) const BUOYANCY_ELEMENT: Element = element(
    "buoyancy",
    "The collision shape of the body displaces water and air, and is lifted by the weight of both. Shapes with flat faces, \
     spheres and ellipsoids are exact; other round shapes to 5e-4 of their volume. Overlapping parts of a compound count \
     twice.",
    &[optional(
        "volume",
        Positive(1e9),
        "m³",
        "volume that the whole body displaces, if it is not that of the shape; it multiplies the force",
    )],
    Empty,
);
