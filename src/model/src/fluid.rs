//! Air and water of a world, and the properties of bodies that meet them.

use bevy_math::DVec3;

use crate::Pose;

/// Temperature of the standard atmosphere at sea level, K, its lapse rate, K/m, and its pressure, Pa (ISO 2533).
const SEA_LEVEL_TEMPERATURE: f64 = 288.15;
const LAPSE_RATE: f64 = 0.0065;
const SEA_LEVEL_PRESSURE: f64 = 101_325.0;
/// Exponent of pressure over temperature in it: g M / (R L).
const PRESSURE_EXPONENT: f64 = 5.255_88;
/// Height up to which the temperature falls, m: the tropopause.
const TROPOPAUSE_HEIGHT: f64 = 11_000.0;

/// Air and water around the bodies of a world.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Fluids {
    /// The air; `None` for a vacuum.
    pub air: Option<Air>,
    /// The water; `None` without any.
    pub water: Option<Water>,
}

/// The air above the water, or everywhere.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Air {
    /// Density at height 0, kg/m³. It falls with height as in the standard atmosphere.
    pub density: f64,
    /// Altitude of height 0 above sea level, m.
    pub altitude: f64,
    /// Mean wind at the reference height, world axes, m/s.
    pub wind: DVec3,
    /// Exponent of the wind's growth with height, 0 for the same wind everywhere.
    pub shear_exponent: f64,
    /// Height at which the mean wind is as given, m.
    pub reference_height: f64,
    /// Standard deviation of gusts in each direction, m/s.
    pub gust: f64,
    /// Length of the gusts, m, as in Dryden's spectra.
    pub gust_length: f64,
}

/// Water below a level plane.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Water {
    /// Density, kg/m³.
    pub density: f64,
    /// Height of its surface, m.
    pub level: f64,
    /// Current, world axes, m/s.
    pub current: DVec3,
}

/// Properties of a body in fluids.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FluidProperties {
    /// Drag at points of it.
    pub drags: Vec<FluidDrag>,
    /// Its wings.
    pub wings: Vec<Wing>,
    /// Damping about its centre of mass.
    pub damping: Option<FluidDamping>,
    /// True if its collision shape displaces fluid.
    pub is_buoyant: bool,
    /// Volume that all of it displaces, m³, if it is not that of its shape.
    pub displaced_volume: Option<f64>,
}

/// Drag at a point: the force rho/2 C A v² against the velocity v of the point in the fluid.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FluidDrag {
    /// The point, body frame, m.
    pub point: DVec3,
    /// Drag coefficient times area, m².
    pub area: f64,
}

/// A wing, of which only the velocity across its span counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wing {
    /// `body_from_wing`, at the centre of pressure: x forward, y up, z along the span.
    pub pose: Pose,
    /// Area, m².
    pub area: f64,
    /// Angle of attack when the fluid comes from ahead, rad.
    pub angle: f64,
    /// Growth of the lift coefficient with the angle of attack, 1/rad, below the stall and beyond it.
    pub lift_slopes: [f64; 2],
    /// Drag coefficient at angle 0.
    pub base_drag: f64,
    /// Growth of the drag coefficient with the angle of attack, 1/rad, below the stall and beyond it.
    pub drag_slopes: [f64; 2],
    /// Growth of the coefficient of the moment about the span, nose up, with the angle of attack, 1/rad.
    pub moment_slope: f64,
    /// Chord, m, to which the moment refers.
    pub chord: f64,
    /// Angle of attack of the stall, rad.
    pub stall: f64,
}

/// Damping by a fluid, body axes: force -(linear + quadratic |u|) u on each axis of the velocity u, and likewise for
/// the angular velocity (Fossen 2011, diagonal terms). The share of the body's volume below the water multiplies it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct FluidDamping {
    /// N s/m, and N m s/rad.
    pub linear: [DVec3; 2],
    /// N s²/m², and N m s²/rad².
    pub quadratic: [DVec3; 2],
}

/// Fluid at a place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FluidState {
    /// Density, kg/m³; 0 in a vacuum.
    pub density: f64,
    /// Velocity, world axes, m/s.
    pub velocity: DVec3,
}

impl Fluids {
    /// The fluid at a point of the world; the air has this gust, m/s, in addition to the mean wind.
    pub fn at(&self, point: DVec3, gust: DVec3) -> FluidState {
        match (self.water, self.air) {
            (Some(water), _) if point.y < water.level => FluidState { density: water.density, velocity: water.current },
            (_, Some(air)) => FluidState { density: air.density_at(point.y), velocity: air.wind_at(point.y) + gust },
            _ => FluidState { density: 0.0, velocity: DVec3::ZERO },
        }
    }

    /// Pressure at a height, Pa, where `gravity` is the acceleration of gravity, m/s². Without air that above the water
    /// is 0.
    pub fn pressure_at(&self, height: f64, gravity: f64) -> f64 {
        let above = |height: f64| self.air.map_or(0.0, |air| air.pressure_at(height));
        match self.water.filter(|water| height < water.level) {
            Some(water) => above(water.level) + water.density * gravity * (water.level - height),
            None => above(height),
        }
    }
}

impl FluidProperties {
    /// True if no fluid acts on the body.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Wing {
    /// Coefficients of lift and drag at an angle of attack, rad. Beyond the stall the lift does not change its sign.
    pub fn coefficients(&self, attack: f64) -> [f64; 2] {
        let size = attack.abs();
        let [below, beyond] = [size.min(self.stall), (size - self.stall).max(0.0)];
        let lift = (self.lift_slopes[0] * below + self.lift_slopes[1] * beyond).max(0.0);
        let drag = (self.base_drag + self.drag_slopes[0] * below + self.drag_slopes[1] * beyond).max(0.0);
        [lift.copysign(attack), drag]
    }
}

/// Temperature of the standard atmosphere at an altitude, K.
fn standard_temperature(altitude: f64) -> f64 {
    SEA_LEVEL_TEMPERATURE - LAPSE_RATE * altitude.min(TROPOPAUSE_HEIGHT)
}

impl Air {
    /// Density at a height, kg/m³.
    pub fn density_at(&self, height: f64) -> f64 {
        let temperature = |height: f64| standard_temperature(height + self.altitude).max(1.0);
        self.density * libm::pow(temperature(height) / temperature(0.0), PRESSURE_EXPONENT - 1.0)
    }

    /// Pressure of the standard atmosphere at a height, Pa.
    pub fn pressure_at(&self, height: f64) -> f64 {
        let ratio = standard_temperature(height + self.altitude).max(1.0) / SEA_LEVEL_TEMPERATURE;
        SEA_LEVEL_PRESSURE * libm::pow(ratio, PRESSURE_EXPONENT)
    }

    /// Mean wind at a height, world axes, m/s; below height 0 as at 0.
    pub fn wind_at(&self, height: f64) -> DVec3 {
        match self.shear_exponent {
            0.0 => self.wind,
            exponent => self.wind * libm::pow(height.max(0.0) / self.reference_height, exponent),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of the standard atmosphere (ISO 2533) at 5 km: 54,020 Pa and 0.7364 kg/m³.
    #[test]
    fn the_standard_atmosphere_is_that_of_iso_2533() {
        let air = Air {
            density: 1.225,
            altitude: 0.0,
            wind: DVec3::X,
            shear_exponent: 0.5,
            reference_height: 10.0,
            gust: 0.0,
            gust_length: 1.0,
        };
        assert!((air.pressure_at(5000.0) / 54_020.0 - 1.0).abs() < 1e-3, "{}", air.pressure_at(5000.0));
        assert!((air.density_at(5000.0) / 0.7364 - 1.0).abs() < 1e-3, "{}", air.density_at(5000.0));
        assert_eq!(air.density_at(0.0), 1.225);
        assert_eq!(air.wind_at(40.0), DVec3::X * 2.0);
        let high = Air { altitude: 5000.0, ..air };
        assert_eq!((high.pressure_at(0.0), high.density_at(0.0)), (air.pressure_at(5000.0), 1.225));
    }
}
