//! Spatial vectors and inertias (Featherstone, *Rigid Body Dynamics Algorithms*, chapter 2), all in world axes about one
//! common point of their tree, so that no frame transform appears anywhere above this file.

use std::ops::{Add, AddAssign, Mul, Neg, Sub};

use bevy_math::{DMat3, DQuat, DVec3};

/// A spatial motion (angular velocity, velocity of the material point at the common point) or a spatial force (moment about
/// the common point, force).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Spatial {
    pub(super) angular: DVec3,
    pub(super) linear: DVec3,
}

impl Spatial {
    pub(super) const ZERO: Self = Self { angular: DVec3::ZERO, linear: DVec3::ZERO };

    #[inline]
    pub(super) fn new(angular: DVec3, linear: DVec3) -> Self {
        Self { angular, linear }
    }

    /// The power of a force on a motion.
    #[inline]
    pub(super) fn dot(self, other: Self) -> f64 {
        self.angular.dot(other.angular) + self.linear.dot(other.linear)
    }

    /// Rate of change of a motion vector that is fixed in a body moving with `self`.
    #[inline]
    pub(super) fn cross_motion(self, motion: Self) -> Self {
        Self {
            angular: self.angular.cross(motion.angular),
            linear: self.angular.cross(motion.linear) + self.linear.cross(motion.angular),
        }
    }

    /// Rate of change of a force vector that is fixed in a body moving with `self`.
    #[inline]
    pub(super) fn cross_force(self, force: Self) -> Self {
        Self {
            angular: self.angular.cross(force.angular) + self.linear.cross(force.linear),
            linear: self.angular.cross(force.linear),
        }
    }

    /// The same motion about the point at `lever` from the common point.
    #[inline]
    pub(super) fn shifted(self, lever: DVec3) -> Self {
        Self { angular: self.angular, linear: self.at(lever) }
    }

    /// Velocity of the material point at `lever` from the common point.
    #[inline]
    pub(super) fn at(self, lever: DVec3) -> DVec3 {
        self.linear + self.angular.cross(lever)
    }
}

impl Add for Spatial {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self { angular: self.angular + other.angular, linear: self.linear + other.linear }
    }
}

impl AddAssign for Spatial {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Spatial {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        Self { angular: self.angular - other.angular, linear: self.linear - other.linear }
    }
}

impl Neg for Spatial {
    type Output = Self;
    #[inline]
    fn neg(self) -> Self {
        Self { angular: -self.angular, linear: -self.linear }
    }
}

impl Mul<f64> for Spatial {
    type Output = Self;
    #[inline]
    fn mul(self, factor: f64) -> Self {
        Self { angular: self.angular * factor, linear: self.linear * factor }
    }
}

/// A symmetric 3 by 3 matrix.
#[derive(Debug, Clone, Copy, Default)]
struct Symmetric {
    xx: f64,
    yy: f64,
    zz: f64,
    xy: f64,
    xz: f64,
    yz: f64,
}

impl Symmetric {
    #[inline]
    fn times(&self, v: DVec3) -> DVec3 {
        DVec3::new(
            self.xx * v.x + self.xy * v.y + self.xz * v.z,
            self.xy * v.x + self.yy * v.y + self.yz * v.z,
            self.xz * v.x + self.yz * v.y + self.zz * v.z,
        )
    }

    /// R diag(d) Rᵀ.
    fn rotated_diagonal(rotation: &DMat3, diagonal: DVec3) -> Self {
        let (a, b, c) = (rotation.x_axis, rotation.y_axis, rotation.z_axis);
        let (u, v, w) = (a * diagonal.x, b * diagonal.y, c * diagonal.z);
        Self {
            xx: a.x * u.x + b.x * v.x + c.x * w.x,
            yy: a.y * u.y + b.y * v.y + c.y * w.y,
            zz: a.z * u.z + b.z * v.z + c.z * w.z,
            xy: a.x * u.y + b.x * v.y + c.x * w.y,
            xz: a.x * u.z + b.x * v.z + c.x * w.z,
            yz: a.y * u.z + b.y * v.z + c.y * w.z,
        }
    }
}

/// A spatial inertia about the common point: mass, first moment m c, second moment.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SpatialInertia {
    mass: f64,
    moment: DVec3,
    second: Symmetric,
}

impl SpatialInertia {
    /// Of a body whose centre of mass is at `centre` from the common point and whose principal axes are the columns of
    /// `rotation`.
    #[inline]
    pub(super) fn new(mass: f64, principal: DVec3, centre: DVec3, rotation: &DMat3) -> Self {
        let mut second = Symmetric::rotated_diagonal(rotation, principal);
        let square = centre.length_squared();
        second.xx += mass * (square - centre.x * centre.x);
        second.yy += mass * (square - centre.y * centre.y);
        second.zz += mass * (square - centre.z * centre.z);
        second.xy -= mass * centre.x * centre.y;
        second.xz -= mass * centre.x * centre.z;
        second.yz -= mass * centre.y * centre.z;
        Self { mass, moment: centre * mass, second }
    }

    /// The matrix of it, rows and columns in the order of a free root: linear, then angular.
    pub(super) fn matrix(&self) -> [[f64; 6]; 6] {
        let (m, c, s) = (self.mass, self.moment, &self.second);
        [
            [m, 0.0, 0.0, 0.0, c.z, -c.y],
            [0.0, m, 0.0, -c.z, 0.0, c.x],
            [0.0, 0.0, m, c.y, -c.x, 0.0],
            [0.0, -c.z, c.y, s.xx, s.xy, s.xz],
            [c.z, 0.0, -c.x, s.xy, s.yy, s.yz],
            [-c.y, c.x, 0.0, s.xz, s.yz, s.zz],
        ]
    }

    /// The momentum of a motion.
    #[inline]
    pub(super) fn times(&self, motion: Spatial) -> Spatial {
        Spatial {
            angular: self.second.times(motion.angular) + self.moment.cross(motion.linear),
            linear: motion.linear * self.mass - self.moment.cross(motion.angular),
        }
    }
}

impl AddAssign for SpatialInertia {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.mass += other.mass;
        self.moment += other.moment;
        let (a, b) = (&mut self.second, &other.second);
        a.xx += b.xx;
        a.yy += b.yy;
        a.zz += b.zz;
        a.xy += b.xy;
        a.xz += b.xz;
        a.yz += b.yz;
    }
}

/// The rotation by a rotation vector (axis times angle, rad). libm gives the same bits on every platform.
pub(super) fn rotation_by(vector: DVec3) -> DQuat {
    let square = vector.length_squared();
    if square > 1e-8 {
        let angle = square.sqrt();
        let (sine, cosine) = libm::sincos(0.5 * angle);
        let v = vector * (sine / angle);
        DQuat::from_xyzw(v.x, v.y, v.z, cosine)
    } else {
        // The series to the order that f64 resolves here.
        let v = vector * (0.5 - square / 48.0);
        DQuat::from_xyzw(v.x, v.y, v.z, 1.0 - square / 8.0)
    }
}
