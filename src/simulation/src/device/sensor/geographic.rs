//! Geographic position and heading, and the earth's magnetic field.

use std::f64::consts::TAU;

use bevy_math::DVec3;
use simpartner_description::GeographicOrigin;
use world_magnetic_model::{
    GeomagneticField,
    time::Date,
    uom::si::{
        angle::radian,
        f32::{Angle, Length},
        length::meter,
        magnetic_flux_density::nanotesla,
    },
};

/// Equatorial radius of the WGS84 ellipsoid, metres.
const EQUATORIAL_RADIUS: f64 = 6_378_137.0;
/// Flattening of the WGS84 ellipsoid.
const FLATTENING: f64 = 1.0 / 298.257_223_563;
/// Length of a direction's horizontal part below which it is vertical and has no heading.
const VERTICAL_TOLERANCE: f64 = 1e-9;

/// The tangent plane of the earth at the world's origin.
#[derive(Debug, Clone, Copy)]
pub(super) struct TangentPlane {
    origin: GeographicOrigin,
    /// Unit vector to the north, world axes.
    north: DVec3,
    /// Unit vector to the east, world axes.
    east: DVec3,
    /// Degrees of latitude for each metre north, and of longitude for each metre east.
    scale: [f64; 2],
}

impl TangentPlane {
    /// Radii of curvature of the ellipsoid at latitude phi, e² = f (2 - f):
    ///
    /// meridian M = a (1 - e²) / (1 - e² sin² phi)^(3/2), prime vertical N = a / (1 - e² sin² phi)^(1/2)
    ///
    /// A metre north is 1 / (M + h) of latitude, a metre east 1 / ((N + h) cos phi) of longitude.
    pub(super) fn new(origin: GeographicOrigin) -> Self {
        let (sine, cosine) = libm::sincos(origin.latitude);
        let eccentricity = FLATTENING * (2.0 - FLATTENING);
        let root = (1.0 - eccentricity * sine * sine).sqrt();
        let meridian = EQUATORIAL_RADIUS * (1.0 - eccentricity) / (root * root * root) + origin.altitude;
        let vertical = EQUATORIAL_RADIUS / root + origin.altitude;
        let (turn_sine, turn_cosine) = libm::sincos(origin.heading);
        Self {
            origin,
            north: DVec3::new(turn_cosine, 0.0, -turn_sine),
            east: DVec3::new(turn_sine, 0.0, turn_cosine),
            scale: [1.0 / meridian, 1.0 / (vertical * cosine)].map(f64::to_degrees),
        }
    }

    /// Latitude and longitude in degrees and altitude in metres of a point of the world.
    pub(super) fn position(&self, point: DVec3) -> [f64; 3] {
        let latitude = self.origin.latitude.to_degrees() + point.dot(self.north) * self.scale[0];
        let longitude = self.origin.longitude.to_degrees() + point.dot(self.east) * self.scale[1];
        let turns = ((longitude + 180.0) / 360.0).floor();
        [latitude.clamp(-90.0, 90.0), longitude - 360.0 * turns, self.origin.altitude + point.y]
    }

    /// Heading of a direction: radians from north, clockwise seen from above, 0 to 2 pi. A vertical direction gives 0.
    pub(super) fn heading(&self, direction: DVec3) -> f64 {
        let (north, east) = (direction.dot(self.north), direction.dot(self.east));
        if north * north + east * east < VERTICAL_TOLERANCE * VERTICAL_TOLERANCE {
            return 0.0;
        }
        let heading = libm::atan2(east, north);
        if heading < 0.0 { heading + TAU } else { heading }
    }

    /// Magnetic flux density of the earth at the origin at the beginning of 2025, world axes, T: the World Magnetic
    /// Model WMM2025 (Chulliat et al. 2025). It is valid from 1 km below the ellipsoid to 850 km above it; beyond, the
    /// field is that of the nearest of these heights.
    pub(super) fn earth_field(&self) -> DVec3 {
        let GeographicOrigin { latitude, longitude, altitude, .. } = self.origin;
        let field = GeomagneticField::new(
            Length::new::<meter>(altitude.clamp(-1e3, 850e3) as f32),
            Angle::new::<radian>(latitude as f32),
            Angle::new::<radian>(longitude as f32),
            Date::from_ordinal_date(2025, 1).expect("a year has a first day"),
        );
        let field = field.expect("the format's latitudes and longitudes, and this date, are those of the model");
        let [north, east, down] =
            [field.x(), field.y(), field.z()].map(|part| f64::from(part.get::<nanotesla>()) * 1e-9);
        self.north * north + self.east * east - DVec3::Y * down
    }

    /// Unit vector to the north, world axes.
    pub(super) fn north(&self) -> DVec3 {
        self.north
    }
}
