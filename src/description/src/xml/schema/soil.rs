//! The element of a soil, and the attribute of the grounds that are made of one.

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
    "the soil it is made of: a <soil> of this world, or one that ships (drySand, sandyLoam, clay, lunar, lunarSimulant, marsSand, \
     regolithSimulant, leteSand); what stands on it sinks in; without it the ground is firm; the rapier engine refuses it",
);

pub(super) const SOIL: Element = element(
    "soil",
    "A soil, for grounds that give way: pressure p = k z^n at a depth z, shear stress (c + p tan phi)(1 - exp(-j/K)) after a \
     slide j. Under the rim of a cylinder that rolls the stress is Wong and Reece's, under everything else that of a plate. What is \
     not given is that of the soil it is like. The laws hold at up to about 0.2 m/s.",
    &[
        NAME,
        default("like", Word(&NAMES), "", "drySand", "a soil that ships, which has what is not given here"),
        default(
            "law",
            Word(&["bekker", "reece"]),
            "",
            "bekker",
            "k of a contact of the smaller dimension b: Bekker's is kc/b + kphi; Reece's (c kc + gamma b kphi)/b^n, with gamma the \
             weight of a cubic metre",
        ),
        optional("exponent", Positive(5.0), "", "n, of the sinkage"),
        optional("slipExponent", NotNegative, "", "what full slip adds to n: wheels that slip sink deeper"),
        optional("cohesionModulus", NotNegative, "", "kc: N/m^(n+1) in Bekker's law, a number in Reece's"),
        optional("frictionModulus", NotNegative, "", "kphi: N/m^(n+2) in Bekker's law, a number in Reece's"),
        optional("cohesion", NotNegative, "Pa", "c"),
        optional("frictionAngle", Within(0.0, 1.5), "rad", "angle of internal friction phi"),
        optional("shearModulus", Positive(10.0), "m", "shear deformation modulus K"),
        optional("density", Positive(1e5), "kg/m³", "for Reece's law, and for the soil that a wheel pushes aside"),
        optional(
            "peakAngle",
            Within(0.0, 1.0),
            "",
            "where the stress under a rolling wheel is largest, as a part of the entry angle",
        ),
        optional("peakAngleSlip", Within(-1.0, 1.0), "", "what full slip adds to that"),
        optional(
            "elasticStiffness",
            Positive(1e12),
            "Pa/m",
            "how fast the pressure falls where soil is let up that was pressed; above kphi",
        ),
        optional("damping", NotNegative, "Pa s/m", "how soil that was pressed resists being moved"),
    ],
    Empty,
);
