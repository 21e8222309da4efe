//! A driven wheel on soil as design tools for rovers sum it up (RPET, Patel et al. 2004): thrust less resistances.

use simpartner_model::Soil;

use super::{bulldozing, shear_strength, thrust, towed_wheel};

/// What a rigid wheel that drives finds in soil that nothing has pressed before.
///
/// Bekker's towed wheel gives sinkage and resistance of compaction; the wheel touches the soil from where it enters to
/// its lowest point; over this area Janosi and Hanamoto's thrust acts, and its front pushes soil before it as an
/// upright face of its width would ([`bulldozing`]). Sinkage by slip, and the vertical part of the shear stress, which
/// the integral of [`SteadyWheel`](super::SteadyWheel) has, are not in it. Bekker's own bulldozing has Terzaghi's
/// bearing factors of a deep strip, and is in cohesive sand larger than the load of a small wheel; Hegedus's face is
/// the one that the engine pushes wheels aside with, too.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Traction {
    /// How deep it sinks in, m.
    pub sinkage: f64,
    /// Length of the arc that touches soil, m.
    pub length: f64,
    /// The largest shear stress under it, Pa.
    pub shear_strength: f64,
    /// H, the horizontal force that shear stress gives at this slip, N.
    pub thrust: f64,
    /// Rc, what it takes to compact the soil, N.
    pub compaction: f64,
    /// Rb, what it takes to push soil out of the way, N.
    pub bulldozing: f64,
}

impl Traction {
    /// Of a wheel of this radius and width, m, under a load, N, above 0, at a slip from above 0 to 1, where things fall
    /// at `gravity`, m/s². `None` if the soil does not carry it before its axle is in the soil.
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

    /// Thrust less resistances on level ground, N.
    pub fn drawbar_pull(&self) -> f64 {
        self.thrust - self.compaction - self.bulldozing
    }

    /// What it takes to turn a wheel of this radius, m: the thrust acts at its rim; N m.
    pub fn torque(&self, radius: f64) -> f64 {
        radius * self.thrust
    }
}
