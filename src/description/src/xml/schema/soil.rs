//! The element of a soil, and the attribute of grounds with a soil.

use simpartner_model::Soil;

use super::{
    builders::{default, element, optional},
    element::{Attribute, Content::Empty, Element},
    kind::Kind::{Name, NotNegative, Positive, Within, Word},
    shared::NAME,
};

/// The soils that ship.
const NAMES: [&str; Soil::NAMED.len()] = {
    let mut names = [""; Soil::NAMED.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] = Soil::NAMED[index].name;
        index += 1;
    }
    names
};

/// The soil of a ground.
pub(super) const OF_GROUND: Attribute = optional(
    "soil",
    Name,
    "",
    "name of the ground's soil, into which bodies sink: a `<soil>` of this world, or a built-in one (drySand, \
     sandyLoam, clay, lunar, lunarSimulant, marsSand, regolithSimulant, leteSand); without it, the ground is rigid; \
     the engine rapier refuses it",
);

pub(super) const SOIL: Element = element(
    "soil",
    "A soil for deformable ground. The pressure at the depth z is p = k z^n. The shear stress after a displacement j \
     is (c + p tan phi)(1 - exp(-j/K)). Under the rim of a rolling cylinder the stresses are those of Wong and Reece, \
     under all other shapes those of a plate. Parameters that are not given are those of the soil in `like`. The laws \
     hold up to about 0.2 m/s.",
    &[
        NAME,
        default("like", Word(&NAMES), "", "drySand", "built-in soil that has the parameters that are not given here"),
        default(
            "law",
            Word(&["bekker", "reece"]),
            "",
            "bekker",
            "law of the modulus k, with b the smaller dimension of the contact. bekker: k = kc/b + kphi. reece: k = (c \
             kc + gamma b kphi)/b^n, with gamma the weight of a cubic metre; it needs both moduli; \
             [Soil](../explanation/soil.md) has all equations",
        ),
        optional("exponent", Positive(5.0), "", "exponent n of the sinkage"),
        optional("slipExponent", NotNegative, "", "increase of n at full slip: slipping wheels sink deeper"),
        optional(
            "cohesionModulus",
            NotNegative,
            "",
            "cohesive modulus kc, in N/m^(n+1) for bekker; a plain number for reece",
        ),
        optional(
            "frictionModulus",
            NotNegative,
            "",
            "frictional modulus kphi, in N/m^(n+2) for bekker; a plain number for reece",
        ),
        optional("cohesion", NotNegative, "Pa", "cohesion c"),
        optional("frictionAngle", Within(0.0, 1.5), "rad", "angle of internal friction, phi"),
        optional("shearModulus", Positive(10.0), "m", "shear deformation modulus K"),
        optional(
            "density",
            Positive(1e5),
            "kg/m³",
            "density, for the law reece and for the soil that a wheel pushes aside",
        ),
        optional(
            "peakAngle",
            Within(0.0, 1.0),
            "",
            "angle of the largest stress under a rolling wheel, as a fraction of the entry angle, without slip",
        ),
        optional("peakAngleSlip", Within(-1.0, 1.0), "", "increase of peakAngle at full slip"),
        optional(
            "elasticStiffness",
            Positive(1e12),
            "Pa/m",
            "unloading stiffness: fall of the pressure for each metre that pressed soil is unloaded; above kphi",
        ),
        optional(
            "damping",
            NotNegative,
            "Pa s/m",
            "damping of pressed soil against the rate of unloading and reloading",
        ),
    ],
    Empty,
);
