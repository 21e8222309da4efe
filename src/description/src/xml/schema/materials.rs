//! The attributes of surfaces, of bodies and of grounds.

/// The attributes of a surface's material behind others, with this default friction.
macro_rules! with_material {
    ($friction:literal $(, $attribute:expr)* $(,)?) => {
        &[
            $($attribute,)*
            default(
                "friction",
                NotNegative,
                "",
                $friction,
                "Coulomb friction coefficient; a pair of surfaces has the smaller one, unless frictionRule selects the \
                 larger",
            ),
            default(
                "frictionRule",
                Word(&["smaller", "larger"]),
                "",
                "smaller",
                "rule for the friction coefficient of a pair: larger, as in MuJoCo, if at least one of the two \
                 surfaces says so; else smaller",
            ),
            default(
                "priority",
                Whole(-1_000_000, 1_000_000),
                "",
                "0",
                "priority of this surface in a pair: the surface of higher priority alone sets all kinds of friction \
                 and contactDimensions; the engine rapier accepts only 0",
            ),
            optional(
                "contactDimensions",
                Word(&simpartner_model::ContactDimensions::WORDS),
                "",
                "motions that a contact resists (MuJoCo's condim): 1 approach; 3 also sliding; 4 also turning about \
                 the normal; 6 also rolling. A pair has the larger number. Without it, a contact resists approach, \
                 sliding, and the motions whose coefficients are above 0",
            ),
            default(
                "restitution",
                Fraction,
                "",
                "0",
                "coefficient of restitution, 0 without bounce; a pair has the larger one",
            ),
            default(
                "rollingFriction",
                NotNegative,
                "",
                "0",
                "rolling resistance coefficient Crr: the torque on a sphere, cylinder or capsule is Crr x normal force \
                 x radius; the radius of an ellipsoid is the height of its centre above the contact; a pair has the \
                 larger one",
            ),
            optional(
                "secondFriction",
                NotNegative,
                "",
                "Coulomb friction coefficient perpendicular to frictionDirection; without it, friction is the same in \
                 all directions",
            ),
            default(
                "frictionDirection",
                Word(&["x", "y", "z", "acrossX", "acrossY", "acrossZ"]),
                "",
                "x",
                "direction in which friction applies, if there is a secondFriction: an axis of the body (of the world \
                 for a ground), or the rolling direction of a wheel whose axle is that axis (acrossX, acrossY, \
                 acrossZ)",
            ),
            optional(
                "rollerAngle",
                Within(-std::f64::consts::FRAC_PI_2, std::f64::consts::FRAC_PI_2),
                "rad",
                "for a mecanum or omni wheel: angle from the axle to the axis of the roller that touches the ground, \
                 to the left seen from above. friction applies along the roller, secondFriction across it, and \
                 frictionDirection is the axle: acrossX, acrossY or acrossZ",
            ),
            default(
                "torsionalFriction",
                NotNegative,
                "m",
                "0",
                "torsional friction: torque against turning about the normal, in N m for each newton of normal force; \
                 a pair has the larger one",
            ),
            optional(
                "stiffness",
                Positive(f64::MAX),
                "N/m",
                "stiffness of each contact point, for example of a soft tyre; without it, the surface is rigid",
            ),
            default("damping", NotNegative, "N s/m", "0", "damping of each contact point; needs a stiffness"),
            default(
                "slip",
                NotNegative,
                "m/(s N)",
                "0",
                "creep of a sticking contact: sliding speed for each newton of friction",
            ),
            default(
                "surfaceVelocityX",
                Real,
                "m/s",
                "0",
                "velocity of the surface relative to its body, along the body's x axis (the world's for a ground), as \
                 of a conveyor belt; only the tangential part acts; the engine rapier refuses it",
            ),
            default("surfaceVelocityY", Real, "m/s", "0", "the same along the y axis"),
            default("surfaceVelocityZ", Real, "m/s", "0", "the same along the z axis"),
            default(
                "surfaceMotion",
                Word(&["uniform", "belt"]),
                "",
                "uniform",
                "motion of the surface: uniform, with the surface velocity; or as a belt around the body, with the \
                 cross product of the surface velocity and the outward normal, so that the surface velocity points \
                 along the axle of the belt's rollers",
            ),
        ]
    };
}

pub(super) use with_material;
