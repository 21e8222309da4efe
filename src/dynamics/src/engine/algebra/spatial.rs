//! Spatial vectors and inertias (Featherstone, *Rigid Body Dynamics Algorithms*, chapter 2), all in world axes about
//! one common point of their tree, so that no frame transform appears anywhere above this file.

use std::ops::{Add, AddAssign, Mul, Neg, Sub};

use bevy_math::{DMat3, DQuat, DVec3};
use wide::f64x2;

/// A spatial motion (angular velocity, velocity of the material point at the common point) or a spatial force (moment
/// about the common point, force). The angular and the linear coordinate along each axis share a register of two, the
/// angular one first, so operations act on both at once.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Spatial {
    x: f64x2,
    y: f64x2,
    z: f64x2,
}

/// Changes the sign of the second of two numbers by exclusive or.
const MINUS_SECOND: f64x2 = f64x2::new([0.0, -0.0]);

/// First number of `one` and second of `other`.
#[inline(always)]
fn first_and_second(one: f64x2, other: f64x2) -> f64x2 {
    f64x2::new([one.to_array()[0], other.to_array()[1]])
}

impl Spatial {
    pub(crate) const ZERO: Self = Self { x: f64x2::ZERO, y: f64x2::ZERO, z: f64x2::ZERO };

    #[inline(always)]
    pub(crate) const fn new(angular: DVec3, linear: DVec3) -> Self {
        Self {
            x: f64x2::new([angular.x, linear.x]),
            y: f64x2::new([angular.y, linear.y]),
            z: f64x2::new([angular.z, linear.z]),
        }
    }

    /// Angular part.
    #[inline(always)]
    pub(crate) fn angular(&self) -> DVec3 {
        DVec3::new(self.x.as_array()[0], self.y.as_array()[0], self.z.as_array()[0])
    }

    /// Linear part.
    #[inline(always)]
    pub(crate) fn linear(&self) -> DVec3 {
        DVec3::new(self.x.as_array()[1], self.y.as_array()[1], self.z.as_array()[1])
    }

    /// Power of a force on a motion, W.
    #[inline(always)]
    pub(crate) fn dot(self, other: Self) -> f64 {
        let [angular, linear] = (self.x * other.x + self.y * other.y + self.z * other.z).to_array();
        angular + linear
    }

    /// Cross products of a vector with both parts.
    #[inline(always)]
    fn crossed_by(self, v: DVec3) -> Self {
        let (x, y, z) = (f64x2::splat(v.x), f64x2::splat(v.y), f64x2::splat(v.z));
        Self { x: y * self.z - self.y * z, y: z * self.x - self.z * x, z: x * self.y - self.x * y }
    }

    /// Cross products of both parts with a vector.
    #[inline(always)]
    fn cross(self, v: DVec3) -> Self {
        let (x, y, z) = (f64x2::splat(v.x), f64x2::splat(v.y), f64x2::splat(v.z));
        Self { x: self.y * z - y * self.z, y: self.z * x - z * self.x, z: self.x * y - x * self.y }
    }

    /// This vector with its linear and its angular part exchanged.
    #[inline(always)]
    fn swapped(self) -> Self {
        Self::new(self.linear(), self.angular())
    }

    /// Its angular part with the linear part of another.
    #[inline(always)]
    fn with_linear_of(self, other: Self) -> Self {
        Self {
            x: first_and_second(self.x, other.x),
            y: first_and_second(self.y, other.y),
            z: first_and_second(self.z, other.z),
        }
    }

    /// Rate of change of a motion vector that is fixed in a body moving with `self`: angular x angular, angular x
    /// linear + linear x angular.
    #[inline(always)]
    pub(crate) fn cross_motion(self, motion: Self) -> Self {
        let turned = motion.crossed_by(self.angular());
        turned.with_linear_of(turned + self.cross(motion.angular()))
    }

    /// Rate of change of a force vector that is fixed in a body moving with `self`: angular x angular + linear x
    /// linear, angular x linear.
    #[inline(always)]
    pub(crate) fn cross_force(self, force: Self) -> Self {
        let turned = force.crossed_by(self.angular());
        (turned + self.cross(force.linear()).swapped()).with_linear_of(turned)
    }

    /// This motion about the point at `lever` from the common point.
    #[inline]
    pub(crate) fn shifted(self, lever: DVec3) -> Self {
        Self::new(self.angular(), self.at(lever))
    }

    /// Velocity of the material point at `lever` from the common point.
    #[inline(always)]
    pub(crate) fn at(self, lever: DVec3) -> DVec3 {
        self.linear() + self.angular().cross(lever)
    }
}

impl Add for Spatial {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self { x: self.x + other.x, y: self.y + other.y, z: self.z + other.z }
    }
}

impl AddAssign for Spatial {
    #[inline(always)]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Spatial {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self { x: self.x - other.x, y: self.y - other.y, z: self.z - other.z }
    }
}

impl Neg for Spatial {
    type Output = Self;
    #[inline]
    fn neg(self) -> Self {
        Self::new(-self.angular(), -self.linear())
    }
}

impl Mul<f64> for Spatial {
    type Output = Self;
    #[inline(always)]
    fn mul(self, factor: f64) -> Self {
        let factor = f64x2::splat(factor);
        Self { x: self.x * factor, y: self.y * factor, z: self.z * factor }
    }
}

/// A spatial inertia about the common point: mass, first moment m c, second moment. Each second moment about an axis
/// shares a register with the mass: rotation about the axis, and translation along it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SpatialInertia {
    xx: f64x2,
    yy: f64x2,
    zz: f64x2,
    xy: f64,
    xz: f64,
    yz: f64,
    moment: DVec3,
}

/// Adds to the first of two numbers.
#[inline(always)]
fn add_first(pair: f64x2, more: f64) -> f64x2 {
    let [first, second] = pair.to_array();
    f64x2::new([first + more, second])
}

impl SpatialInertia {
    /// Inertia of a body whose centre of mass is at `centre` from the common point and whose principal axes are the
    /// columns of `rotation`: R diag(principal) Rᵀ about its centre.
    #[inline]
    pub(crate) fn new(mass: f64, principal: DVec3, centre: DVec3, rotation: &DMat3) -> Self {
        let (a, b, c) = (rotation.x_axis, rotation.y_axis, rotation.z_axis);
        let (u, v, w) = (a * principal.x, b * principal.y, c * principal.z);
        let square = centre.length_squared();
        let xx = a.x * u.x + b.x * v.x + c.x * w.x + mass * (square - centre.x * centre.x);
        let yy = a.y * u.y + b.y * v.y + c.y * w.y + mass * (square - centre.y * centre.y);
        let zz = a.z * u.z + b.z * v.z + c.z * w.z + mass * (square - centre.z * centre.z);
        Self {
            xx: f64x2::new([xx, mass]),
            yy: f64x2::new([yy, mass]),
            zz: f64x2::new([zz, mass]),
            xy: a.x * u.y + b.x * v.y + c.x * w.y - mass * centre.x * centre.y,
            xz: a.x * u.z + b.x * v.z + c.x * w.z - mass * centre.x * centre.z,
            yz: a.y * u.z + b.y * v.z + c.y * w.z - mass * centre.y * centre.z,
            moment: centre * mass,
        }
    }

    /// Its matrix, with rows and columns in the order of a free root: linear, then angular.
    pub(crate) fn matrix(&self) -> [[f64; 6]; 6] {
        let ([xx, m], [yy, _], [zz, _]) = (self.xx.to_array(), self.yy.to_array(), self.zz.to_array());
        let (c, xy, xz, yz) = (self.moment, self.xy, self.xz, self.yz);
        [
            [m, 0.0, 0.0, 0.0, c.z, -c.y],
            [0.0, m, 0.0, -c.z, 0.0, c.x],
            [0.0, 0.0, m, c.y, -c.x, 0.0],
            [0.0, -c.z, c.y, xx, xy, xz],
            [c.z, 0.0, -c.x, xy, yy, yz],
            [-c.y, c.x, 0.0, xz, yz, zz],
        ]
    }

    /// This inertia as the articulated-body inertia of a link whose joints do not move.
    #[inline(always)]
    pub(crate) fn articulated(&self) -> ArticulatedInertia {
        let ([xx, m], [yy, _], [zz, _]) = (self.xx.to_array(), self.yy.to_array(), self.zz.to_array());
        let (c, xy, xz, yz) = (self.moment, self.xy, self.xz, self.yz);
        ArticulatedInertia {
            angular: DMat3::from_cols_array(&[xx, xy, xz, xy, yy, yz, xz, yz, zz]),
            coupling: DMat3::from_cols_array(&[0.0, c.z, -c.y, -c.z, 0.0, c.x, c.y, -c.x, 0.0]),
            linear: DMat3::from_diagonal(DVec3::splat(m)),
        }
    }

    /// Momentum of a motion: second angular + moment x linear, mass linear - moment x angular.
    #[inline(always)]
    pub(crate) fn times(&self, motion: Spatial) -> Spatial {
        let Spatial { x, y, z } = motion.crossed_by(self.moment).swapped();
        // Subtraction adds the negative.
        let levers = Spatial { x: x ^ MINUS_SECOND, y: y ^ MINUS_SECOND, z: z ^ MINUS_SECOND };
        let turn = motion.angular();
        let (x, y, z) = (self.xx * motion.x, self.yy * motion.y, self.zz * motion.z);
        // Sums of two terms are commutative in floating point; sums of three are not associative.
        let own = Spatial {
            x: add_first(add_first(x, self.xy * turn.y), self.xz * turn.z),
            y: add_first(add_first(y, self.xy * turn.x), self.yz * turn.z),
            z: add_first(z, self.xz * turn.x + self.yz * turn.y),
        };
        own + levers
    }
}

impl AddAssign for SpatialInertia {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.xx += other.xx;
        self.yy += other.yy;
        self.zz += other.zz;
        self.xy += other.xy;
        self.xz += other.xz;
        self.yz += other.yz;
        self.moment += other.moment;
    }
}

/// An articulated-body inertia about some point: the apparent inertia of a link while joints beyond it move freely
/// (Featherstone 2008, 7.1). Moment = `angular` w + `coupling` v and force = `coupling`ᵀ w + `linear` v, for an
/// acceleration of angular part w and linear part v at the point.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ArticulatedInertia {
    pub(crate) angular: DMat3,
    pub(crate) coupling: DMat3,
    pub(crate) linear: DMat3,
}

impl ArticulatedInertia {
    /// Force for this acceleration.
    #[inline(always)]
    pub(crate) fn times(&self, motion: Spatial) -> Spatial {
        let (w, v) = (motion.angular(), motion.linear());
        Spatial::new(self.angular * w + self.coupling * v, self.coupling.mul_transpose_vec3(w) + self.linear * v)
    }

    /// Force for this angular acceleration about the point.
    #[inline(always)]
    pub(crate) fn times_turn(&self, turn: DVec3) -> Spatial {
        Spatial::new(self.angular * turn, self.coupling.mul_transpose_vec3(turn))
    }

    /// Size of the terms whose difference is the inertia along an axis.
    #[inline(always)]
    pub(crate) fn size_along(&self, axis: Spatial) -> f64 {
        let trace = |m: &DMat3| m.x_axis.x + m.y_axis.y + m.z_axis.z;
        trace(&self.angular) * axis.angular().length_squared() + trace(&self.linear) * axis.linear().length_squared()
    }

    /// Subtracts a symmetric matrix of rank 1, `force` `share`ᵀ, whose factors are parallel.
    #[inline(always)]
    pub(crate) fn subtract(&mut self, force: Spatial, share: Spatial) {
        let ([moment, force], [turn, shift]) = ([force.angular(), force.linear()], [share.angular(), share.linear()]);
        let outer = |column: DVec3, row: DVec3| DMat3::from_cols(column * row.x, column * row.y, column * row.z);
        self.angular -= outer(moment, turn);
        self.coupling -= outer(moment, shift);
        self.linear -= outer(force, shift);
    }

    /// This inertia about another point, from which the present one is at `lever`.
    #[inline(always)]
    pub(crate) fn shifted(&self, lever: DVec3) -> Self {
        let cross = |m: &DMat3| DMat3::from_cols(lever.cross(m.x_axis), lever.cross(m.y_axis), lever.cross(m.z_axis));
        let coupling = self.coupling + cross(&self.linear);
        let angular = self.angular + cross(&self.coupling.transpose()).transpose() + cross(&coupling.transpose());
        Self { angular, coupling, linear: self.linear }
    }
}

impl AddAssign for ArticulatedInertia {
    #[inline(always)]
    fn add_assign(&mut self, other: Self) {
        self.angular += other.angular;
        self.coupling += other.coupling;
        self.linear += other.linear;
    }
}

/// Rotation by a rotation vector (axis times angle, rad). libm gives the same bits on every platform.
pub(crate) fn rotation_by(vector: DVec3) -> DQuat {
    let square = vector.length_squared();
    if square > 1e-8 {
        let angle = square.sqrt();
        let (sine, cosine) = libm::sincos(0.5 * angle);
        let v = vector * (sine / angle);
        DQuat::from_xyzw(v.x, v.y, v.z, cosine)
    } else {
        // The series to the order that double precision resolves here.
        let v = vector * (0.5 - square / 48.0);
        DQuat::from_xyzw(v.x, v.y, v.z, 1.0 - square / 8.0)
    }
}
