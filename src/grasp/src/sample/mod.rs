//! Poses of a gripper, drawn on the surface of an object.
//!
//! The tool's z axis is the way it approaches, and x the line along which two jaws close. A [`Surface`] gives points evenly over its area; a
//! [`Sampler`] makes poses of them. The same seed has the same poses on every platform. After RobWork's `SurfacePoseSampler`, without its
//! faults: points that are denser at a corner of each triangle, and, unless it is asked for, a rotation that is drawn again after the
//! retraction.

mod error;
mod surface;

use std::f64::consts::{PI, TAU};

use bevy_math::{DMat3, DQuat, DVec3};
use simpartner_dynamics::RayTarget;
use simpartner_model::{Body, Pose, Sampling, SamplingMode, random::Stream};

use error::ATTEMPTS;
pub use error::SampleError;
pub(crate) use surface::is_within_mesh;
pub use surface::{Surface, SurfacePoint};

/// Parts of a compound that a line may go through before it leaves the object.
const PASSAGES: usize = 64;
/// How far a line begins behind the surface, in parts of the object's size: far above rounding, far below a triangle.
const INSIDE: f64 = 1e-9;

/// Draws poses.
pub struct Sampler {
    surface: Surface,
    rays: RayTarget,
    sampling: Sampling,
    /// A length that no line through the object exceeds, m.
    size: f64,
}

impl Sampler {
    /// Of the shape that a body collides with.
    ///
    /// # Errors
    /// Where it has none.
    pub fn new(object: &Body, sampling: &Sampling) -> Result<Self, SampleError> {
        let placed = object.collision_shape().ok_or(SampleError::NoSurface)?;
        let rays = RayTarget::new(placed).map_err(SampleError::Shape)?;
        let reach = DVec3::AXES.map(|axis| placed.reach(axis) + placed.reach(-axis));
        Ok(Self { surface: Surface::new(placed)?, rays, sampling: *sampling, size: DVec3::from(reach).length() })
    }

    /// The surface.
    pub fn surface(&self) -> &Surface {
        &self.surface
    }

    /// The pose of a number: it depends on nothing but the seed and the number.
    ///
    /// # Errors
    /// Where nothing passes the filters.
    pub fn pose(&self, seed: u64, number: u64) -> Result<Pose, SampleError> {
        let first = Stream::from_number(seed).number();
        self.draw(&mut Stream::from_number(first.wrapping_add(number)))
    }

    /// A pose of the tool, `object_from_tcp`.
    ///
    /// # Errors
    /// Where nothing passes the filters.
    pub fn draw(&self, stream: &mut Stream) -> Result<Pose, SampleError> {
        for _ in 0..ATTEMPTS {
            let point = self.surface.draw(stream)?;
            let [near, far] = self.sampling.distance;
            let distance = near + (far - near) * stream.uniform();
            let Some((middle, rotation)) = self.turned(&point, stream) else { continue };
            let retracted = middle - rotation * DVec3::Z * distance;
            let fault = self.sampling.rotation_fault;
            let pose = Pose { translation: retracted, rotation: if fault { any_rotation(stream) } else { rotation } };
            if self.passes(&point, &pose) {
                return Ok(pose);
            }
        }
        Err(SampleError::Filters)
    }

    /// Where the tool's origin is before it is retracted, and how it is turned. `None` where two points do not face each other.
    fn turned(&self, point: &SurfacePoint, stream: &mut Stream) -> Option<(DVec3, DQuat)> {
        match self.sampling.mode {
            SamplingMode::Surface => Some((point.position, any_rotation(stream))),
            SamplingMode::Normal => Some((point.position, turned_about(DVec3::Z, -point.normal, stream))),
            SamplingMode::Antipodal => {
                let angle = libm::atan(self.sampling.friction);
                let line = within_cone(-point.normal, angle, stream);
                let (width, normal) = self.through(point, line)?;
                let faces = normal.dot(line) >= libm::cos(angle);
                let middle = point.position + line * (width / 2.0);
                (faces && width <= self.sampling.opening).then(|| (middle, turned_about(DVec3::X, line, stream)))
            }
        }
    }

    /// How far a line into the object goes until it leaves it, and the normal there.
    fn through(&self, point: &SurfacePoint, line: DVec3) -> Option<(f64, DVec3)> {
        let mut gone = INSIDE * self.size;
        for _ in 0..PASSAGES {
            let (further, normal) = self.rays.meet(point.position + line * gone, line, 2.0 * self.size)?;
            gone += further;
            let behind = gone + INSIDE * self.size;
            if !self.surface.holds(point.position + line * behind, None) {
                return Some((gone, normal));
            }
            gone = behind;
        }
        None
    }

    fn passes(&self, point: &SurfacePoint, pose: &Pose) -> bool {
        let z = pose.direction(DVec3::Z);
        let within = |direction: DVec3, angle: f64| angle >= PI || z.dot(direction) >= libm::cos(angle);
        let tilted = self.sampling.mode == SamplingMode::Surface && !within(-point.normal, self.sampling.tilt);
        !tilted && self.sampling.approach.is_none_or(|(direction, angle)| within(direction, angle))
    }
}

/// Evenly over all rotations (Shoemake, 1992).
fn any_rotation(stream: &mut Stream) -> DQuat {
    let [u, v, w] = [(); 3].map(|()| stream.uniform());
    let (first, second) = (libm::sincos(TAU * v), libm::sincos(TAU * w));
    let [a, b] = [(1.0 - u).sqrt(), u.sqrt()];
    DQuat::from_xyzw(a * first.0, a * first.1, b * second.0, b * second.1)
}

/// The rotation that takes an axis to a direction, with any turn about it.
fn turned_about(axis: DVec3, direction: DVec3, stream: &mut Stream) -> DQuat {
    let (sine, cosine) = libm::sincos(TAU * stream.uniform());
    let first = direction.any_orthonormal_vector();
    let across = first * cosine + direction.cross(first) * sine;
    // Columns: where x, y and z go, right-handed.
    let other = direction.cross(across);
    let matrix = if axis == DVec3::X {
        DMat3::from_cols(direction, across, other)
    } else {
        DMat3::from_cols(across, other, direction)
    };
    DQuat::from_mat3(&matrix).normalize()
}

/// A direction within an angle of another one, evenly over the solid angle.
fn within_cone(axis: DVec3, angle: f64, stream: &mut Stream) -> DVec3 {
    let height = 1.0 - stream.uniform() * (1.0 - libm::cos(angle));
    let (sine, cosine) = libm::sincos(TAU * stream.uniform());
    let first = axis.any_orthonormal_vector();
    let across = (1.0 - height * height).max(0.0).sqrt();
    (axis * height + (first * cosine + axis.cross(first) * sine) * across).normalize()
}
