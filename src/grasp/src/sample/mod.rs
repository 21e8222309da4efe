//! Poses of a gripper, drawn at random on the surface of an object.
//!
//! The tool's z axis is its direction of approach, and x the line along which two jaws close. A [`Surface`] gives
//! points uniformly over its area; a [`Sampler`] makes poses of them. The same seed gives the same poses on every
//! platform.
//!
//! After RobWork's `SurfacePoseSampler`, without its two faults: its points are denser at one corner of each triangle,
//! and its rotation is drawn again after the retraction. The second fault can be switched on.

mod ellipsoid;
mod error;
mod surface;

use std::f64::consts::{PI, TAU};

use bevy_math::{DMat3, DQuat, DVec3};
use simpartner_dynamics::RayTarget;
use simpartner_model::{Body, Pose, Sampling, SamplingMode, random::Stream};

use error::MAX_ATTEMPTS;
pub use error::SampleError;
pub(crate) use surface::is_within_mesh;
pub use surface::{Surface, SurfacePoint};

/// Largest number of parts of a compound that a line passes through before it leaves the object.
const MAX_PASSAGES: usize = 64;
/// Depth below the surface at which a line starts, as a fraction of the object's size: far above rounding, and far
/// below the size of a triangle.
const START_DEPTH: f64 = 1e-9;

/// Draws poses of a gripper on the surface of an object.
pub struct Sampler {
    surface: Surface,
    rays: RayTarget,
    sampling: Sampling,
    /// Upper bound on the length of a line through the object, m.
    size: f64,
}

impl Sampler {
    /// Creates a sampler of the collision shape of a body.
    ///
    /// # Errors
    /// The body has no collision shape, or the shape has no surface.
    pub fn new(object: &Body, sampling: &Sampling) -> Result<Self, SampleError> {
        let placed = object.collision_shape().ok_or(SampleError::NoSurface)?;
        let rays = RayTarget::new(placed).map_err(SampleError::Shape)?;
        let reach = DVec3::AXES.map(|axis| placed.reach(axis) + placed.reach(-axis));
        Ok(Self { surface: Surface::new(placed)?, rays, sampling: *sampling, size: DVec3::from(reach).length() })
    }

    /// The surface that points are drawn from.
    pub fn surface(&self) -> &Surface {
        &self.surface
    }

    /// The pose with a number, `object_from_tcp`. It depends only on the seed and the number.
    ///
    /// # Errors
    /// No pose passes the filters.
    pub fn pose(&self, seed: u64, number: u64) -> Result<Pose, SampleError> {
        let first = Stream::from_number(seed).number();
        self.draw(&mut Stream::from_number(first.wrapping_add(number)))
    }

    /// Draws a pose of the tool, `object_from_tcp`.
    ///
    /// # Errors
    /// No pose passes the filters.
    pub fn draw(&self, stream: &mut Stream) -> Result<Pose, SampleError> {
        for _ in 0..MAX_ATTEMPTS {
            let point = self.surface.draw(stream)?;
            let [near, far] = self.sampling.distance;
            let distance = near + (far - near) * stream.uniform();
            let Some((middle, rotation)) = self.tool_at(&point, stream) else { continue };
            let retracted = middle - rotation * DVec3::Z * distance;
            let fault = self.sampling.rotation_fault;
            let pose =
                Pose { translation: retracted, rotation: if fault { uniform_rotation(stream) } else { rotation } };
            if self.passes_filters(&point, &pose) {
                return Ok(pose);
            }
        }
        Err(SampleError::Filters)
    }

    /// Origin and rotation of the tool before it is retracted. `None` in antipodal mode if the two surface points do
    /// not face each other within the friction cone, or are farther apart than the opening.
    fn tool_at(&self, point: &SurfacePoint, stream: &mut Stream) -> Option<(DVec3, DQuat)> {
        match self.sampling.mode {
            SamplingMode::Surface => Some((point.position, uniform_rotation(stream))),
            SamplingMode::Normal => Some((point.position, rotation_onto(DVec3::Z, -point.normal, stream))),
            SamplingMode::Antipodal => {
                let angle = libm::atan(self.sampling.friction);
                let line = direction_in_cone(-point.normal, angle, stream);
                let (width, normal) = self.exit_point(point, line)?;
                let faces = normal.dot(line) >= libm::cos(angle);
                let middle = point.position + line * (width / 2.0);
                (faces && width <= self.sampling.opening).then(|| (middle, rotation_onto(DVec3::X, line, stream)))
            }
        }
    }

    /// Distance along a line from a surface point into the object to the point where the line leaves it, m, and the
    /// normal there.
    fn exit_point(&self, point: &SurfacePoint, line: DVec3) -> Option<(f64, DVec3)> {
        let mut gone = START_DEPTH * self.size;
        for _ in 0..MAX_PASSAGES {
            let (further, normal) = self.rays.meet(point.position + line * gone, line, 2.0 * self.size)?;
            gone += further;
            let behind = gone + START_DEPTH * self.size;
            if !self.surface.contains_point(point.position + line * behind, None) {
                return Some((gone, normal));
            }
            gone = behind;
        }
        None
    }

    /// True if the tool's direction is within the tilt and the approach cone that the sampling asks for.
    fn passes_filters(&self, point: &SurfacePoint, pose: &Pose) -> bool {
        let z = pose.direction(DVec3::Z);
        let within = |direction: DVec3, angle: f64| angle >= PI || z.dot(direction) >= libm::cos(angle);
        let tilted = self.sampling.mode == SamplingMode::Surface && !within(-point.normal, self.sampling.tilt);
        !tilted && self.sampling.approach.is_none_or(|(direction, angle)| within(direction, angle))
    }
}

/// A random rotation, uniform over all rotations (Shoemake, 1992).
fn uniform_rotation(stream: &mut Stream) -> DQuat {
    let [u, v, w] = [(); 3].map(|()| stream.uniform());
    let (first, second) = (libm::sincos(TAU * v), libm::sincos(TAU * w));
    let [a, b] = [(1.0 - u).sqrt(), u.sqrt()];
    DQuat::from_xyzw(a * first.0, a * first.1, b * second.0, b * second.1)
}

/// A rotation that takes an axis, x or z, to a direction, with a random angle about it.
fn rotation_onto(axis: DVec3, direction: DVec3, stream: &mut Stream) -> DQuat {
    let (sine, cosine) = libm::sincos(TAU * stream.uniform());
    let first = direction.any_orthonormal_vector();
    let across = first * cosine + direction.cross(first) * sine;
    // The columns are the images of x, y and z, right-handed.
    let other = direction.cross(across);
    let matrix = if axis == DVec3::X {
        DMat3::from_cols(direction, across, other)
    } else {
        DMat3::from_cols(across, other, direction)
    };
    DQuat::from_mat3(&matrix).normalize()
}

/// A random direction within an angle, rad, of an axis, uniform over the solid angle.
fn direction_in_cone(axis: DVec3, angle: f64, stream: &mut Stream) -> DVec3 {
    let height = 1.0 - stream.uniform() * (1.0 - libm::cos(angle));
    let (sine, cosine) = libm::sincos(TAU * stream.uniform());
    let first = axis.any_orthonormal_vector();
    let across = (1.0 - height * height).max(0.0).sqrt();
    (axis * height + (first * cosine + axis.cross(first) * sine) * across).normalize()
}
