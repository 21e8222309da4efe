//! Length of a degree of longitude and of latitude.

use libm::{cos, sin, sqrt};

/// Semi-major axis of WGS84, metres, and the square of its eccentricity (NIMA TR8350.2, table 3.1 and 3.3).
const SEMI_MAJOR: f64 = 6_378_137.0;
const ECCENTRICITY_SQUARED: f64 = 6.694_379_990_141_3e-3;

/// Metres for each degree of longitude and of latitude on WGS84 at a geodetic latitude in degrees.
pub(super) fn metres_per_degree(latitude: f64) -> [f64; 2] {
    let latitude = latitude.to_radians();
    let root = sqrt(1.0 - ECCENTRICITY_SQUARED * sin(latitude) * sin(latitude));
    let (across, along) = (SEMI_MAJOR / root, SEMI_MAJOR * (1.0 - ECCENTRICITY_SQUARED) / (root * root * root));
    [across * cos(latitude), along].map(|radius| radius * 1f64.to_radians())
}

#[cfg(test)]
mod tests {
    use super::metres_per_degree;

    /// Table of lengths of a degree in Snyder, *Map Projections: A Working Manual*, for WGS84's sister GRS80, metres.
    #[test]
    fn a_degree_has_its_length() {
        for (latitude, longitude_m, latitude_m) in [(0.0, 111_319.5, 110_574.3), (60.0, 55_800.0, 111_412.3)] {
            let [across, along] = metres_per_degree(latitude);
            assert!((across - longitude_m).abs() < 0.6 && (along - latitude_m).abs() < 0.6, "{across} {along}");
        }
    }
}
