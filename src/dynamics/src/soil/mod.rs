//! Terramechanics in closed form: pressure of soil under sinking bodies, and shear stress under turning wheels.
//!
//! | what | equation | source |
//! |---|---|---|
//! | pressure under a plate of width b | p = (kc/b + kphi) zⁿ | Bekker 1969 |
//! | pressure, other parameters | p = (c k'c + gamma b k'phi) (z/b)ⁿ | Reece 1965 |
//! | stress under a rigid wheel, before its peak | sigma = k rⁿ (cos t - cos tf)ⁿ | Wong and Reece 1967 |
//! | behind its peak | the stress at te = tf - (t - tr)(tf - tm)/(tm - tr), tm = (a0 + a1 s) tf | Wong and Reece 1967 |
//! | shear stress | tau = (c + sigma tan phi)(1 - exp(-j/K)) | Janosi and Hanamoto 1961 |
//! | shear displacement under a wheel | j = r ((tf - t) - (1 - s)(sin tf - sin t)) | Wong and Reece 1967 |
//! | towed wheel | z0 = (3 W / (b (3 - n) k √D))^(2/(2n+1)), Rc = b k z0^(n+1)/(n+1) | Bekker 1969 |
//! | thrust of a contact of area A and length L | H = (A c + W tan phi)(1 - K/(s L) (1 - exp(-s L/K))) | Janosi and Hanamoto 1961 |
//! | bulldozing by a face of depth h | R = D1 (c h + D2 gamma h²/2) a metre | Hegedus 1960 |
//! | drawbar pull of a wheel, total | DP = H - Rc - Rb | Bekker 1969; Patel et al. 2004 (RPET) |
//!
//! Angles are measured from the lowest point of the wheel, positive in the direction of motion. Lengths in m, forces in
//! N, stresses in Pa. The laws are independent of rates: they hold for speeds up to about 0.2 m/s. Slip is negative
//! where a wheel is towed or braked, so its peak is nearer to its lowest point. The pull of a free wheel on dry sand
//! then agrees to 0.6 % with Wong and Reece's towed wheel (1967, part II), whose peak is where the soil flow separates.

mod traction;
mod wheel;

use simpartner_model::Soil;

pub use traction::Traction;
pub use wheel::{Arc, ArcPoint, SteadyWheel, WheelForces};

/// The pressure law of a soil under a contact of given width.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pressure {
    /// Modulus k of p = k zⁿ, N/m^(n+2).
    pub modulus: f64,
    /// Exponent n.
    pub exponent: f64,
    /// Elastic stiffness of pressed soil, Pa/m.
    pub elastic: f64,
}

impl Pressure {
    /// The law under a contact with smaller dimension `width`, m, at a slip ratio, under the gravity `gravity`, m/s².
    pub fn new(soil: &Soil, width: f64, slip: f64, gravity: f64) -> Self {
        Self {
            modulus: soil.modulus(width, gravity),
            exponent: soil.exponent + soil.slip_exponent * slip.abs(),
            elastic: soil.elastic_stiffness,
        }
    }

    /// The pressure at a depth below the original surface, Pa, and its derivative by depth, Pa/m. `left`: the remaining
    /// depth from earlier passes, m.
    pub fn at(&self, depth: f64, left: f64) -> (f64, f64) {
        if depth <= left {
            return (0.0, 0.0);
        }
        let spring = self.elastic * (depth - left);
        let plastic = self.modulus * libm::pow(depth, self.exponent);
        if spring < plastic { (spring, self.elastic) } else { (plastic, self.exponent * plastic / depth) }
    }

    /// The remaining depth, m, of a surface that was pressed to this depth: the depth at which the pressure is zero.
    pub fn left_by(&self, depth: f64, left: f64) -> f64 {
        (depth - self.at(depth, left).0 / self.elastic).max(left)
    }
}

/// Shear strength under a pressure, Pa (Mohr and Coulomb).
pub fn shear_strength(soil: &Soil, pressure: f64) -> f64 {
    soil.cohesion + pressure * libm::tan(soil.friction_angle)
}

/// Bekker's towed wheel of radius and width, m, under a load, N: sinkage, m, and compaction resistance, N.
pub fn towed_wheel(soil: &Soil, [radius, width]: [f64; 2], load: f64, gravity: f64) -> [f64; 2] {
    let Pressure { modulus: k, exponent: n, .. } = Pressure::new(soil, width, 0.0, gravity);
    let stress = 3.0 * load / (width * (3.0 - n) * k * (2.0 * radius).sqrt());
    let sinkage = libm::pow(stress, 2.0 / (2.0 * n + 1.0));
    [sinkage, width * k * libm::pow(sinkage, n + 1.0) / (n + 1.0)]
}

/// Largest thrust of the soil under a flat contact of area, m², and length, m, under a load, N, at a slip above 0; N.
pub fn thrust(soil: &Soil, [area, length]: [f64; 2], load: f64, slip: f64) -> f64 {
    let strength = area * soil.cohesion + load * libm::tan(soil.friction_angle);
    let slides = slip * length / soil.shear_modulus;
    strength * (1.0 + libm::expm1(-slides) / slides)
}

/// Bulldozing resistance per width of a face at this depth, m; N/m.
pub fn bulldozing(soil: &Soil, depth: f64, gravity: f64) -> f64 {
    let [linear, square] = bulldozing_terms(soil, gravity);
    (linear + square * depth) * depth
}

/// The factors of the depth, N/m², and of its square, N/m³, in [`bulldozing`].
pub(crate) fn bulldozing_terms(soil: &Soil, gravity: f64) -> [f64; 2] {
    let phi = soil.friction_angle;
    // Angle of approach: the inclination of the failure plane.
    let approach = std::f64::consts::FRAC_PI_4 - 0.5 * phi;
    let cot = 1.0 / libm::tan(approach);
    let first = cot + libm::tan(approach + phi);
    let second = cot + cot * cot * libm::tan(phi);
    [first * soil.cohesion, 0.5 * first * second * soil.density * gravity]
}
