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
                "Coulomb friction coefficient; a pair has the smaller one, unless frictionRule says otherwise",
            ),
            default(
                "frictionRule",
                Word(&["smaller", "larger"]),
                "",
                "smaller",
                "of two coefficients of friction a pair has the larger one if one of its surfaces says larger here, as in MuJoCo",
            ),
            default(
                "priority",
                Whole(-1_000_000, 1_000_000),
                "",
                "0",
                "of two surfaces the one of the higher priority decides alone on friction of all kinds and on contactDimensions; the \
                 rapier engine refuses others than 0",
            ),
            optional(
                "contactDimensions",
                Word(&simpartner_model::ContactDimensions::WORDS),
                "",
                "the motions that a contact resists: 1 approach alone, 3 sliding too, 4 turning about the normal too, 6 rolling too; a \
                 pair has the larger number (MuJoCo's condim); without it those whose coefficients are above 0, and sliding",
            ),
            default("restitution", Fraction, "", "0", "coefficient of restitution; a pair has the larger one"),
            default(
                "rollingFriction",
                NotNegative,
                "",
                "0",
                "rolling resistance coefficient Crr: the torque on a ball, cylinder or capsule is Crr times force times radius; \
                 a pair has the larger one",
            ),
            optional(
                "secondFriction",
                NotNegative,
                "",
                "Coulomb friction coefficient across frictionDirection; without it friction is the same in all directions",
            ),
            default(
                "frictionDirection",
                Word(&["x", "y", "z", "acrossX", "acrossY", "acrossZ"]),
                "",
                "x",
                "the direction along which friction acts, where there is a secondFriction: an axis of the body (of the world \
                 for a ground), or across a wheel's axle, which is the direction it rolls in",
            ),
            default(
                "torsionalFriction",
                NotNegative,
                "m",
                "0",
                "torque against turning about the normal for each newton of force; a pair has the larger one",
            ),
            optional(
                "stiffness",
                Positive(f64::MAX),
                "N/m",
                "stiffness of each point of contact, such as a soft tyre's; rigid where it is not given",
            ),
            default("damping", NotNegative, "N s/m", "0", "damping of each point of contact; only with a stiffness"),
            default(
                "slip",
                NotNegative,
                "m/(s N)",
                "0",
                "speed at which a held contact creeps for each newton of friction",
            ),
            default(
                "surfaceVelocityX",
                Real,
                "m/s",
                "0",
                "velocity of the surface relative to its body, along an axis of the body (of the world for a ground): that of a \
                 conveyor's belt; only its part in the surface counts; the rapier engine refuses it",
            ),
            default("surfaceVelocityY", Real, "m/s", "0", "likewise"),
            default("surfaceVelocityZ", Real, "m/s", "0", "likewise"),
        ]
    };
}

pub(super) use with_material;
