//! Stress under a rigid wheel.

use simpartner_model::Soil;

use super::{Pressure, bulldozing, shear_strength};

/// Nodes and weights of Gauss-Legendre quadrature on [0, 1], 8 points. With the square root of the distance to the end
/// as variable, stresses of any exponent n are integrated to a relative error of 1e-6.
const GAUSS_POINTS: [[f64; 2]; 8] = [
    [0.019_855_071_751_231_88, 0.050_614_268_145_188_13],
    [0.101_666_761_293_186_63, 0.111_190_517_226_687_24],
    [0.237_233_795_041_835_5, 0.156_853_322_938_943_64],
    [0.408_282_678_752_175_1, 0.181_341_891_689_181],
    [0.591_717_321_247_825, 0.181_341_891_689_181],
    [0.762_766_204_958_164_5, 0.156_853_322_938_943_64],
    [0.898_333_238_706_813_4, 0.111_190_517_226_687_24],
    [0.980_144_928_248_768_1, 0.050_614_268_145_188_13],
];

/// Contact arc of a wheel in soil: from the entry angle to the exit angle, with the largest stress at the peak; rad
/// from its lowest point, positive ahead.
///
/// A wheel that was set down has as much stress in front as behind. A wheel that has rolled on has its peak in front
/// and its exit at the bottom. In between, the arc is interpolated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arc {
    radius: f64,
    pub(crate) sinkage: f64,
    pub(crate) entry: f64,
    pub(crate) exit: f64,
    pub(crate) peak: f64,
    /// Direction of travel: 1 forwards, -1 backwards.
    pub(crate) sign: f64,
}

/// A quadrature point of an arc.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ArcPoint {
    /// Angle, rad.
    pub angle: f64,
    /// Weight: the angle of the arc that the point represents, rad.
    pub span: f64,
    /// Angle of equal stress in front of the peak, rad.
    pub same: f64,
    /// Depth below the surface at the angle of equal stress, m.
    pub depth: f64,
}

impl Arc {
    /// The arc of a wheel of this radius and sinkage below the surface ahead, m. `travel` is 1 once it has rolled the
    /// length of its contact, -1 if it rolled backwards, 0 where it was set down; `peak` is the angle of the largest
    /// stress relative to the entry angle.
    pub fn new(radius: f64, sinkage: f64, travel: f64, peak: f64) -> Self {
        let entry = libm::acos((1.0 - sinkage / radius).clamp(-1.0, 1.0));
        let rolled = travel.abs().min(1.0);
        Self {
            radius,
            sinkage,
            entry,
            exit: -entry * (1.0 - rolled),
            peak: rolled * peak.clamp(0.0, 1.0) * entry,
            sign: if travel < 0.0 { -1.0 } else { 1.0 },
        }
    }

    /// The entry angle, rad.
    pub fn entry(&self) -> f64 {
        self.entry
    }

    /// The smallest and the largest angle of the contact, rad.
    pub(crate) fn ends(&self) -> [f64; 2] {
        if self.sign > 0.0 { [self.exit, self.entry] } else { [-self.entry, -self.exit] }
    }

    /// The quadrature points of the arc: first those behind the peak, then those in front.
    pub fn points(&self) -> [ArcPoint; 2 * GAUSS_POINTS.len()] {
        let (behind, front) = (self.peak - self.exit, self.entry - self.peak);
        let mut points = [ArcPoint { angle: 0.0, span: 0.0, same: 0.0, depth: 0.0 }; 2 * GAUSS_POINTS.len()];
        for (k, [x, weight]) in GAUSS_POINTS.into_iter().enumerate() {
            // The stress vanishes at both ends, as a power of the distance.
            let (part, share) = (x * x, 2.0 * x * weight);
            let same = self.entry - part * front;
            let depth = self.radius * (libm::cos(same) - libm::cos(self.entry));
            let point = |angle, span| ArcPoint { angle: self.sign * angle, span, same: self.sign * same, depth };
            points[k] = point(self.exit + part * behind, share * behind);
            points[GAUSS_POINTS.len() + k] = point(same, share * front);
        }
        points
    }
}

/// A wheel that rolls steadily with a given slip.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SteadyWheel {
    /// Radius, m.
    pub radius: f64,
    /// Width, m.
    pub width: f64,
    /// Radius at which soil is sheared, m: larger than `radius` for a wheel with grousers.
    pub shear_radius: f64,
    /// Slip: 1 - v / (r omega) where it drives, r omega / v - 1 where it brakes; -1 to 1.
    pub slip: f64,
    /// Angle between the heading and the direction of motion, rad.
    pub slip_angle: f64,
    /// Gravity, m/s².
    pub gravity: f64,
}

/// Forces of soil on a wheel.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct WheelForces {
    /// Force upwards, N.
    pub normal: f64,
    /// Force forwards, N: thrust minus compaction resistance.
    pub drawbar_pull: f64,
    /// Lateral force, N, against the motion.
    pub lateral: f64,
    /// Torque against the rotation of the wheel, N m.
    pub torque: f64,
    /// The part of the drawbar pull due to normal stress, N.
    pub resistance: f64,
}

impl SteadyWheel {
    /// The forces at a sinkage, m.
    pub fn forces(&self, soil: &Soil, sinkage: f64) -> WheelForces {
        self.forces_in_rut(soil, sinkage, 0.0)
    }

    /// The forces at a sinkage below the original surface, m, in a rut of the remaining depth `left`, m.
    pub fn forces_in_rut(&self, soil: &Soil, sinkage: f64, left: f64) -> WheelForces {
        let Self { radius, width, shear_radius, slip, slip_angle, gravity } = *self;
        let pressure = Pressure::new(soil, width, slip, gravity);
        let arc = Arc::new(radius, (sinkage - left).max(0.0), 1.0, soil.peak[0] + soil.peak[1] * slip);
        let tangent = libm::tan(slip_angle);
        let mut forces = WheelForces::default();
        for ArcPoint { angle, span, depth, .. } in arc.points() {
            let area = radius * width * span;
            let (sine, cosine) = (libm::sin(angle), libm::cos(angle));
            let stress = pressure.at(depth + left, left).0;
            let (rolled, across) = (arc.entry - angle, libm::sin(arc.entry) - sine);
            // Shear displacement of the rim since it entered the soil: along the rim, and across it.
            let [along, aside] = if slip < 0.0 {
                [shear_radius * rolled * (1.0 + slip) - radius * across, radius * rolled * tangent]
            } else {
                [shear_radius * rolled - radius * (1.0 - slip) * across, radius * (1.0 - slip) * rolled * tangent]
            };
            let slide = along.hypot(aside);
            let shear = -shear_strength(soil, stress) * libm::expm1(-slide / soil.shear_modulus);
            let part = |component: f64| if slide > 0.0 { area * shear * component / slide } else { 0.0 };
            forces.normal += area * stress * cosine + part(along) * sine;
            forces.resistance += area * stress * sine;
            forces.drawbar_pull += part(along) * cosine - area * stress * sine;
            forces.torque += shear_radius * part(along);
            forces.lateral += part(aside);
            if aside != 0.0 {
                let pushed = -libm::expm1(-aside.abs() / soil.shear_modulus);
                // The side of the rim in the soil, on the chord below each point.
                forces.lateral += aside.signum() * pushed * bulldozing(soil, depth, gravity) * radius * cosine * span;
            }
        }
        forces
    }

    /// The sinkage, m, at which the soil carries a load, N, and the forces there; `None` if the axle reaches the soil
    /// before.
    pub fn under_load(&self, soil: &Soil, load: f64) -> Option<(f64, WheelForces)> {
        self.under_load_in_rut(soil, load, 0.0)
    }

    /// As [`under_load`](Self::under_load), in a rut of the remaining depth `left`, m. The sinkage counts from the
    /// original surface.
    pub fn under_load_in_rut(&self, soil: &Soil, load: f64, left: f64) -> Option<(f64, WheelForces)> {
        let (mut low, mut high) = (left, left + self.radius);
        if self.forces_in_rut(soil, high, left).normal < load {
            return None;
        }
        // Bisection until the interval is not divisible in floating point.
        loop {
            let middle = 0.5 * (low + high);
            if !(low < middle && middle < high) {
                return Some((high, self.forces_in_rut(soil, high, left)));
            }
            if self.forces_in_rut(soil, middle, left).normal < load { low = middle } else { high = middle }
        }
    }
}
