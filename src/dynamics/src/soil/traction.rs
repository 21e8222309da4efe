//! A driven wheel on soil, as in design tools for rovers (RPET, Patel et al. 2004): thrust minus resistances.

use simpartner_model::Soil;

use super::{bulldozing, shear_strength, thrust, towed_wheel};

/// Sinkage, thrust and resistances of a rigid driven wheel in fresh soil.
///
/// Sinkage and compaction resistance are those of Bekker's towed wheel. The contact extends from the entry to the
/// lowest point; Janosi and Hanamoto's thrust acts on its area. The front pushes soil like a vertical face of the
/// wheel's width ([`bulldozing`]). Slip sinkage and the vertical part of the shear stress, which the integral of
/// [`SteadyWheel`](super::SteadyWheel) includes, are neglected. Bekker's own bulldozing uses Terzaghi's bearing factors
/// of a deep strip; in cohesive sand it exceeds the load of a small wheel. The engine uses Hegedus's face, too, for
/// wheels that are pushed sideways.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Traction {
    /// Sinkage, m.
    pub sinkage: f64,
    /// Length of the contact arc, m.
    pub length: f64,
    /// Shear strength under the wheel, Pa.
    pub shear_strength: f64,
    /// Thrust H, the horizontal force of shear stress at this slip, N.
    pub thrust: f64,
    /// Compaction resistance Rc, N.
    pub compaction: f64,
    /// Bulldozing resistance Rb, N.
    pub bulldozing: f64,
}

impl Traction {
    /// Traction of a wheel of radius and width, m, under a load, N, above 0, at a slip from above 0 to 1, under the
    /// gravity `gravity`, m/s². `None` if the soil cannot carry it before its axle is in the soil.
    pub fn new(soil: &Soil, [radius, width]: [f64; 2], load: f64, slip: f64, gravity: f64) -> Option<Self> {
        let [sinkage, compaction] = towed_wheel(soil, [radius, width], load, gravity);
        if sinkage.is_nan() || sinkage >= radius {
            return None;
        }
        let length = radius * libm::acos(1.0 - sinkage / radius);
        let area = width * length;
        Some(Self {
            sinkage,
            length,
            shear_strength: shear_strength(soil, load / area),
            thrust: thrust(soil, [area, length], load, slip),
            compaction,
            bulldozing: width * bulldozing(soil, sinkage, gravity),
        })
    }

    /// Drawbar pull on level ground: thrust minus resistances, N.
    pub fn drawbar_pull(&self) -> f64 {
        self.thrust - self.compaction - self.bulldozing
    }

    /// Driving torque of a wheel of this radius, m: the thrust acts at its rim; N m.
    pub fn torque(&self, radius: f64) -> f64 {
        radius * self.thrust
    }
}
