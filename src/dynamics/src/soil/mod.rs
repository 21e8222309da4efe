//! Terramechanics in closed form: how soil presses back on what sinks into it, and shears under what turns on it.
//!
//! | what | equation | source |
//! |---|---|---|
//! | pressure under a plate of width b | p = (kc/b + kphi) zⁿ | Bekker 1969 |
//! | the same | p = (c k'c + gamma b k'phi) (z/b)ⁿ | Reece 1965 |
//! | stress under a rigid wheel, in front of its peak | sigma = k rⁿ (cos t - cos tf)ⁿ | Wong and Reece 1967 |
//! | behind it | that at te = tf - (t - tr)(tf - tm)/(tm - tr), tm = (a0 + a1 s) tf | Wong and Reece 1967 |
//! | shear stress | tau = (c + sigma tan phi)(1 - exp(-j/K)) | Janosi and Hanamoto 1961 |
//! | slide under a wheel | j = r ((tf - t) - (1 - s)(sin tf - sin t)) | Wong and Reece 1967 |
//! | towed wheel | z0 = (3 W / (b (3 - n) k √D))^(2/(2n+1)), Rc = b k z0^(n+1)/(n+1) | Bekker 1969 |
//! | thrust of a contact of area A and length L | H = (A c + W tan phi)(1 - K/(s L) (1 - exp(-s L/K))) | Janosi and Hanamoto 1961 |
//! | bulldozing by a face of depth h | R = D1 (c h + D2 gamma h²/2) a metre | Hegedus 1960 |
//! | drawbar pull of a wheel, summed up | DP = H - Rc - Rb | Bekker 1969; Patel et al. 2004 (RPET) |
//!
//! Angles are from the lowest point of the wheel, positive towards where it goes. Lengths in m, forces in N, stresses
//! in Pa. The laws know no rates: they hold for speeds of up to about 0.2 m/s. Slip is below 0 where a wheel is towed
//! or braked, so its peak is nearer to its lowest point: the pull of a free wheel on dry sand is then that of Wong and
//! Reece's towed wheel (1967, part II), whose peak is where soil parts, to 0.6 %. The engine ([`crate::build`]) presses
//! with the same stresses, and has the slide j as a state instead, and lets up what slides back as steeply as the curve
//! of shear begins.

mod traction;
mod wheel;

use simpartner_model::Soil;

pub use traction::Traction;
pub use wheel::{Arc, ArcPoint, SteadyWheel, WheelForces};

/// How a soil presses back under a contact of one width.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pressure {
    /// k of p = k zⁿ, N/m^(n+2).
    pub modulus: f64,
    /// n.
    pub exponent: f64,
    /// Pa/m, of soil that was pressed before.
    pub elastic: f64,
}

impl Pressure {
    /// Under a contact whose smaller dimension is `width`, m, that slips by this ratio, where things fall at `gravity`,
    /// m/s².
    pub fn new(soil: &Soil, width: f64, slip: f64, gravity: f64) -> Self {
        Self {
            modulus: soil.modulus(width, gravity),
            exponent: soil.exponent + soil.slip_exponent * slip.abs(),
            elastic: soil.elastic_stiffness,
        }
    }

    /// The pressure at a depth below the surface that was there at first, Pa, and how it grows with depth, Pa/m. `left`
    /// is how deep what passed before has left the surface.
    pub fn at(&self, depth: f64, left: f64) -> (f64, f64) {
        if depth <= left {
            return (0.0, 0.0);
        }
        let spring = self.elastic * (depth - left);
        let plastic = self.modulus * libm::pow(depth, self.exponent);
        if spring < plastic { (spring, self.elastic) } else { (plastic, self.exponent * plastic / depth) }
    }

    /// How deep the surface is left where it was pressed to this depth, m: the pressure is gone there.
    pub fn left_by(&self, depth: f64, left: f64) -> f64 {
        (depth - self.at(depth, left).0 / self.elastic).max(left)
    }
}

/// The largest shear stress under a pressure, Pa (Mohr and Coulomb).
pub fn shear_strength(soil: &Soil, pressure: f64) -> f64 {
    soil.cohesion + pressure * libm::tan(soil.friction_angle)
}

/// Bekker's wheel of this radius and width, m, towed under a load, N: its sinkage, m, and the resistance of the soil
/// that it compacts, N.
pub fn towed_wheel(soil: &Soil, [radius, width]: [f64; 2], load: f64, gravity: f64) -> [f64; 2] {
    let Pressure { modulus: k, exponent: n, .. } = Pressure::new(soil, width, 0.0, gravity);
    let stress = 3.0 * load / (width * (3.0 - n) * k * (2.0 * radius).sqrt());
    let sinkage = libm::pow(stress, 2.0 / (2.0 * n + 1.0));
    [sinkage, width * k * libm::pow(sinkage, n + 1.0) / (n + 1.0)]
}

/// The largest horizontal force that the soil under a flat contact of this area, m², and length, m, takes, N, under a
/// load, N, at a slip above 0.
pub fn thrust(soil: &Soil, [area, length]: [f64; 2], load: f64, slip: f64) -> f64 {
    let strength = area * soil.cohesion + load * libm::tan(soil.friction_angle);
    let slides = slip * length / soil.shear_modulus;
    strength * (1.0 + libm::expm1(-slides) / slides)
}

/// What soil of this depth, m, puts up against each metre of a face that is pushed into it, N/m.
pub fn bulldozing(soil: &Soil, depth: f64, gravity: f64) -> f64 {
    let [linear, square] = bulldozing_terms(soil, gravity);
    (linear + square * depth) * depth
}

/// The factors of the depth and of its square in that.
pub(crate) fn bulldozing_terms(soil: &Soil, gravity: f64) -> [f64; 2] {
    let phi = soil.friction_angle;
    // The angle of approach at which soil shears off.
    let approach = std::f64::consts::FRAC_PI_4 - 0.5 * phi;
    let cot = 1.0 / libm::tan(approach);
    let first = cot + libm::tan(approach + phi);
    let second = cot + cot * cot * libm::tan(phi);
    [first * soil.cohesion, 0.5 * first * second * soil.density * gravity]
}
