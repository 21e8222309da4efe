//! Cameras: pixels to rays and back, with the distortion of a lens.
//!
//! Whole numbers are the centres of pixels, as in OpenCV: the first pixel reaches from -0.5 to 0.5, and the middle of a
//! picture is at (width - 1) / 2. The optical frame is that of REP 103: z forward, x right, y down.

use bevy_math::{DMat3, DVec2, DVec3};
use simpartner_model::{Norm, Pose};
use thiserror::Error;

/// Largest number of pixels of an image: 4096 x 4096, of which the largest image takes 64 MB.
pub const MAX_PIXELS: u64 = 1 << 24;

/// Steps of Newton's method from a pixel to its ray. It doubles the digits with each step, and lenses take 3 to 6.
const MAX_STEPS: usize = 30;

/// Largest error of an undistorted point, in focal lengths: far below a pixel.
const POINT_TOLERANCE: f64 = 1e-12;

/// Departure of a lens from a pinhole.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Distortion {
    /// A pinhole.
    #[default]
    None,
    /// Brown and Conrady's: x' = x (1 + k1 r² + k2 r⁴ + k3 r⁶) + 2 p1 x y + p2 (r² + 2 x²), and y' with p1 and p2
    /// exchanged.
    BrownConrady {
        /// Radial coefficients k1, k2, k3.
        radial: [f64; 3],
        /// Tangential coefficients p1, p2.
        tangential: [f64; 2],
    },
    /// The equidistant fisheye: a ray at an angle θ from the axis is seen at θ (1 + k1 θ² + k2 θ⁴ + k3 θ⁶ + k4 θ⁸)
    /// focal lengths from the middle.
    Fisheye {
        /// Coefficients k1 to k4.
        coefficients: [f64; 4],
    },
}

/// Numbers of a camera, as they are given.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Optics {
    /// Columns of the image.
    pub width: u32,
    /// Rows of the image.
    pub height: u32,
    /// Focal lengths fx and fy, in pixels.
    pub focal: [f64; 2],
    /// Principal point cx and cy, in pixels.
    pub principal_point: [f64; 2],
    /// Distortion of the lens.
    pub distortion: Distortion,
    /// Least distance at which something is seen, m: along the ray in pictures, along the optical axis in depth images.
    pub near: f64,
    /// Largest distance at which something is seen, m, likewise.
    pub far: f64,
}

impl Optics {
    /// A pinhole with square pixels and this horizontal field of view, rad, below pi; it sees from 0.01 m on.
    pub fn pinhole(width: u32, height: u32, field_of_view: f64) -> Self {
        let focal = 0.5 * f64::from(width) / libm::tan(0.5 * field_of_view);
        Self {
            width,
            height,
            focal: [focal; 2],
            principal_point: [width, height].map(|size| 0.5 * (f64::from(size) - 1.0)),
            distortion: Distortion::None,
            near: 0.01,
            far: f64::INFINITY,
        }
    }
}

/// Numbers that are no camera.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum CameraError {
    /// An image without pixels or with too many.
    #[error("an image of {width} x {height} pixels: it has at least one, and at most {MAX_PIXELS} (4096 x 4096)")]
    Size {
        /// Columns.
        width: u32,
        /// Rows.
        height: u32,
    },
    /// A focal length that is not above zero, or no number.
    #[error(
        "a focal length of {0} pixels: it is a finite number above 0; a field of view is between 0 and 180 degrees"
    )]
    Focal(f64),
    /// Another number that is not finite.
    #[error("{name} of the camera is {value}: it is a finite number")]
    Number {
        /// Which.
        name: &'static str,
        /// The value.
        value: f64,
    },
    /// Distances that hold nothing.
    #[error("a camera that sees from {near} m to {far} m: near is at least 0, and far is larger")]
    Range {
        /// Least distance, m.
        near: f64,
        /// Largest distance, m.
        far: f64,
    },
}

/// A camera.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Camera {
    optics: Optics,
    /// Where the distortion turns back, beyond which a lens sees nothing: a radius in focal lengths, or an angle, rad.
    limit: f64,
}

impl Camera {
    /// A camera of these numbers.
    ///
    /// # Errors
    /// A number that is none, or an image that is too large.
    pub fn new(optics: Optics) -> Result<Self, CameraError> {
        let Optics { width, height, focal, principal_point, distortion, near, far } = optics;
        let pixels = u64::from(width) * u64::from(height);
        if pixels == 0 || pixels > MAX_PIXELS {
            return Err(CameraError::Size { width, height });
        }
        if let Some(focal) = focal.into_iter().find(|focal| !(focal.is_finite() && *focal > 0.0)) {
            return Err(CameraError::Focal(focal));
        }
        let is_range = near >= 0.0 && near.is_finite() && far > near;
        if !is_range {
            return Err(CameraError::Range { near, far });
        }
        let coefficients = match distortion {
            Distortion::None => [0.0; 5],
            Distortion::BrownConrady { radial: [a, b, c], tangential: [d, e] } => [a, b, c, d, e],
            Distortion::Fisheye { coefficients: [a, b, c, d] } => [a, b, c, d, 0.0],
        };
        let numbers = principal_point.map(|value| ("the principal point", value));
        let coefficients = coefficients.map(|value| ("a coefficient of distortion", value));
        if let Some((name, value)) = numbers.into_iter().chain(coefficients).find(|(_, value)| !value.is_finite()) {
            return Err(CameraError::Number { name, value });
        }
        Ok(Self { optics, limit: distortion.turning_limit() })
    }

    /// Its numbers.
    pub fn optics(&self) -> &Optics {
        &self.optics
    }

    /// The unit vector, optical frame, of what is seen at a pixel; fractions are places between pixels. `None` where
    /// the lens sees nothing.
    pub fn direction(&self, column: f64, row: f64) -> Option<DVec3> {
        let Optics { focal, principal_point, .. } = self.optics;
        let seen = DVec2::new((column - principal_point[0]) / focal[0], (row - principal_point[1]) / focal[1]);
        match self.optics.distortion {
            Distortion::None => Some(seen.extend(1.0).normalized()),
            Distortion::BrownConrady { radial, tangential } => {
                undistorted_point(seen, radial, tangential, self.limit).map(|at| at.extend(1.0).normalized())
            }
            Distortion::Fisheye { coefficients } => {
                let radius = seen.norm();
                let angle = angle_at(radius, coefficients, self.limit)?;
                let (sine, cosine) = libm::sincos(angle);
                let across = if radius > 0.0 { seen * (sine / radius) } else { DVec2::ZERO };
                Some(across.extend(cosine).normalized())
            }
        }
    }

    /// The pixel, with its fraction, at which a point of the optical frame is seen; `None` where the lens does not see
    /// it. The pixel may lie beside the image.
    pub fn pixel(&self, point: DVec3) -> Option<[f64; 2]> {
        let Optics { focal, principal_point, .. } = self.optics;
        let ahead = |limit: f64| {
            let at = point.truncate() / point.z;
            (point.z > 0.0 && at.norm() <= limit).then_some(at)
        };
        let seen = match self.optics.distortion {
            Distortion::None => ahead(f64::INFINITY)?,
            Distortion::BrownConrady { radial, tangential } => {
                distorted_point(ahead(self.limit)?, radial, tangential).0
            }
            Distortion::Fisheye { coefficients } => {
                let across = point.truncate();
                let angle = libm::atan2(across.norm(), point.z);
                let seen = across.try_normalized().unwrap_or(DVec2::ZERO) * fisheye_radius(angle, coefficients)[0];
                (angle <= self.limit).then_some(seen)?
            }
        };
        Some([seen.x * focal[0] + principal_point[0], seen.y * focal[1] + principal_point[1]])
    }

    /// Angle that a pixel in the middle covers, rad.
    pub(crate) fn pixel_angle(&self) -> f64 {
        1.0 / self.optics.focal[0]
    }
}

impl Distortion {
    /// The least radius, in focal lengths, or angle at which a larger one is not seen farther from the middle.
    fn turning_limit(&self) -> f64 {
        let rate = |at: f64| match *self {
            Self::None => 1.0,
            Self::BrownConrady { radial: [k1, k2, k3], .. } => {
                let square = at * at;
                1.0 + square * (3.0 * k1 + square * (5.0 * k2 + square * 7.0 * k3))
            }
            Self::Fisheye { coefficients } => fisheye_radius(at, coefficients)[1],
        };
        // A fisheye sees at most all around; farther out than at 100 focal lengths nothing else sees.
        let (end, steps) = match self {
            Self::Fisheye { .. } => (std::f64::consts::PI, 1000),
            _ => (100.0, 10_000),
        };
        let at = |step: i32| end * f64::from(step) / f64::from(steps);
        let Some(step) = (1..=steps).find(|step| rate(at(*step)) <= 0.0) else { return end };
        let (mut low, mut high) = (at(step - 1), at(step));
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if rate(middle) > 0.0 { low = middle } else { high = middle }
        }
        low
    }
}

/// Where a point at z = 1 is seen, in focal lengths, and how that changes with x and y.
fn distorted_point(at: DVec2, [k1, k2, k3]: [f64; 3], [p1, p2]: [f64; 2]) -> (DVec2, [DVec2; 2]) {
    let (x, y, square) = (at.x, at.y, at.length_squared());
    let radial = 1.0 + square * (k1 + square * (k2 + square * k3));
    let slope = 2.0 * (k1 + square * (2.0 * k2 + square * 3.0 * k3));
    let seen = DVec2::new(
        x * radial + 2.0 * p1 * x * y + p2 * (square + 2.0 * x * x),
        y * radial + p1 * (square + 2.0 * y * y) + 2.0 * p2 * x * y,
    );
    let mixed = x * y * slope + 2.0 * p1 * x + 2.0 * p2 * y;
    let along_x = DVec2::new(radial + x * x * slope + 2.0 * p1 * y + 6.0 * p2 * x, mixed);
    let along_y = DVec2::new(mixed, radial + y * y * slope + 6.0 * p1 * y + 2.0 * p2 * x);
    (seen, [along_x, along_y])
}

/// The point at z = 1 that is seen at a place, by Newton's method.
fn undistorted_point(seen: DVec2, radial: [f64; 3], tangential: [f64; 2], limit: f64) -> Option<DVec2> {
    let mut at = seen.clamp_length_max(limit);
    for _ in 0..MAX_STEPS {
        let (now, [along_x, along_y]) = distorted_point(at, radial, tangential);
        let off = seen - now;
        let determinant = along_x.x * along_y.y - along_y.x * along_x.y;
        if off.abs().max_element() <= POINT_TOLERANCE {
            return (determinant > 0.0 && at.norm() <= limit).then_some(at);
        }
        let step = DVec2::new(off.x * along_y.y - off.y * along_y.x, off.y * along_x.x - off.x * along_x.y);
        at += step / determinant;
        if !at.is_finite() {
            return None;
        }
    }
    None
}

/// θ (1 + k1 θ² + ...) and its rate.
fn fisheye_radius(angle: f64, [k1, k2, k3, k4]: [f64; 4]) -> [f64; 2] {
    let square = angle * angle;
    let value = angle * (1.0 + square * (k1 + square * (k2 + square * (k3 + square * k4))));
    let rate = 1.0 + square * (3.0 * k1 + square * (5.0 * k2 + square * (7.0 * k3 + square * 9.0 * k4)));
    [value, rate]
}

/// The angle from the axis of what a fisheye shows so many focal lengths from the middle.
fn angle_at(radius: f64, coefficients: [f64; 4], limit: f64) -> Option<f64> {
    let mut angle = radius.min(limit);
    for _ in 0..MAX_STEPS {
        let [now, rate] = fisheye_radius(angle, coefficients);
        if (radius - now).abs() <= POINT_TOLERANCE {
            return (0.0..=limit).contains(&angle).then_some(angle);
        }
        angle += (radius - now) / rate;
        if !angle.is_finite() {
            return None;
        }
    }
    None
}

/// The pose, world from optical frame, of a camera at one point that looks at another, upright. Straight down, the
/// right of the picture is +x. `None` if the points are one, or no numbers.
pub fn looking_at(from: DVec3, to: DVec3) -> Option<Pose> {
    let forward = (to - from).try_normalized()?;
    let right = forward.cross(DVec3::Y);
    // A direction within 1e-6 rad of the vertical has no heading.
    let right = if right.norm() < 1e-6 { DVec3::X } else { right.normalized() };
    let down = forward.cross(right).try_normalized()?;
    let right = down.cross(forward);
    from.is_finite().then(|| Pose::from_matrix(DMat3::from_cols(right, down, forward), from))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lenses() -> [Distortion; 6] {
        [
            Distortion::None,
            Distortion::BrownConrady { radial: [-0.28, 0.07, 0.0], tangential: [2e-4, -1e-3] },
            Distortion::BrownConrady { radial: [0.12, -0.05, 0.03], tangential: [-1e-3, 5e-4] },
            Distortion::BrownConrady { radial: [0.3, 0.2, 0.1], tangential: [0.0; 2] },
            Distortion::Fisheye { coefficients: [0.0; 4] },
            Distortion::Fisheye { coefficients: [0.08, -0.02, 4e-3, -1e-3] },
        ]
    }

    #[test]
    fn a_ray_is_seen_at_the_pixel_that_it_is_of() {
        for distortion in lenses() {
            let optics = Optics { distortion, focal: [310.0, 305.0], ..Optics::pinhole(640, 480, 1.5) };
            let camera = Camera::new(optics).unwrap();
            let mut seen = 0;
            for (column, row) in (0..65).flat_map(|column| (0..49).map(move |row| (column, row))) {
                let [column, row] = [column, row].map(|place| 9.93 * f64::from(place));
                let Some(direction) = camera.direction(column, row) else { continue };
                let [x, y] = camera.pixel(7.0 * direction).unwrap();
                assert!((x - column).abs() < 1e-9 && (y - row).abs() < 1e-9, "{distortion:?}: {column} {row} {x} {y}");
                seen += 1;
            }
            assert!(seen > 2400, "{distortion:?}: {seen} of {} pixels see something", 65 * 49);
        }
    }

    /// With k1 = -0.28 alone, the radius 1.091 is seen farthest out, at 0.727; nothing is seen beyond.
    #[test]
    fn a_lens_sees_nothing_beyond_where_its_distortion_turns_back() {
        let distortion = Distortion::BrownConrady { radial: [-0.28, 0.0, 0.0], tangential: [0.0; 2] };
        let optics = Optics { distortion, focal: [100.0; 2], ..Optics::pinhole(201, 201, 1.0) };
        let camera = Camera::new(optics).unwrap();
        let turn = (1.0_f64 / (3.0 * 0.28)).sqrt();
        let farthest = 100.0 + 100.0 * turn * (1.0 - 0.28 * turn * turn);
        assert!(
            camera.direction(farthest - 0.01, 100.0).is_some() && camera.direction(farthest + 0.01, 100.0).is_none()
        );
        assert!(camera.pixel(DVec3::new(turn + 0.01, 0.0, 1.0)).is_none());
    }

    #[test]
    fn a_camera_looks_upright_at_what_it_is_to() {
        let pose = looking_at(DVec3::new(0.0, 2.0, 0.0), DVec3::new(5.0, 2.0, 0.0)).unwrap();
        // For a viewer who looks along +x, +z is to the right.
        for (axis, expected) in [(DVec3::X, DVec3::Z), (DVec3::Y, DVec3::NEG_Y), (DVec3::Z, DVec3::X)] {
            assert!((pose.direction(axis) - expected).length() < 1e-15);
        }
        let down = looking_at(DVec3::Y * 3.0, DVec3::ZERO).unwrap();
        assert!((down.direction(DVec3::X) - DVec3::X).length() < 1e-15);
        assert!((down.direction(DVec3::Y) - DVec3::Z).length() < 1e-15);
        assert_eq!(looking_at(DVec3::ONE, DVec3::ONE), None);
        assert_eq!(looking_at(DVec3::NAN, DVec3::ONE), None);
    }

    #[test]
    fn numbers_that_are_no_camera_are_refused() {
        let good = Optics::pinhole(64, 48, 1.0);
        let refused = |optics: Optics| Camera::new(optics).unwrap_err().to_string();
        assert!(refused(Optics { width: 0, ..good }).contains("0 x 48"));
        assert!(refused(Optics { width: u32::MAX, height: u32::MAX, ..good }).contains("at most 16777216"));
        assert!(refused(Optics::pinhole(64, 48, f64::NAN)).contains("focal length of NaN"));
        assert!(refused(Optics::pinhole(64, 48, 3.5)).contains("focal length of -"));
        assert!(refused(Optics { near: f64::NAN, ..good }).contains("NaN m"));
        assert!(refused(Optics { far: 0.001, ..good }).contains("0.001 m"));
        assert!(refused(Optics { principal_point: [f64::INFINITY, 0.0], ..good }).contains("principal point"));
        let distortion = Distortion::Fisheye { coefficients: [0.0, f64::NAN, 0.0, 0.0] };
        assert!(refused(Optics { distortion, ..good }).contains("coefficient"));
    }
}
