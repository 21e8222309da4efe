//! A grasp: an object, and the fingers' contacts with it.

use bevy_math::{DVec2, DVec3};

use crate::{Body, Norm, Pose};

/// An object in contact with fingers that have no bodies. It is static: the verbs compute the forces of this state.
#[derive(Debug, Clone)]
pub struct Grasp {
    /// Its name.
    pub name: String,
    /// Gravity, world frame, m/s².
    pub gravity: DVec3,
    /// External force on the object in addition to its weight, through its centre of mass, world frame, N.
    pub force: DVec3,
    /// And a torque, world frame, N m.
    pub torque: DVec3,
    /// The grasped object.
    pub object: Body,
    /// The contacts, in the order of the file.
    pub contacts: Vec<Contact>,
    /// Largest tilt of gravity in a stability chart, radians.
    pub tilt: f64,
    /// Tolerance of the original program for a component of the sum of forces (N) or of torques (N m).
    pub tolerance: f64,
}

/// A finger's contact with the object.
#[derive(Debug, Clone)]
pub struct Contact {
    /// Its name, unique in the grasp.
    pub name: String,
    /// Contact model.
    pub kind: ContactKind,
    /// The frame of its patch, `object_from_patch`: z points out of the object.
    pub frame: Pose,
    /// The part of the object's surface around it.
    pub patch: Patch,
    /// Position of the finger, x and y in the patch's frame, metres; its z is the patch's.
    pub point: DVec2,
    /// Smallest and largest normal force, N.
    pub limits: [f64; 2],
    /// `file:line:column` of its element, for messages.
    pub source: String,
}

/// Contact model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ContactKind {
    /// Pushes along the normal.
    Frictionless,
    /// Pushes within the cone of Coulomb friction.
    Frictional {
        /// The coefficient.
        friction: f64,
    },
    /// Pushes within the cone, and resists turning about the normal.
    Soft {
        /// The coefficient.
        friction: f64,
        /// Radius of the circular area that it covers, metres.
        radius: f64,
    },
}

impl ContactKind {
    /// The words of a file, in the order of the original program's numbers 1 to 3.
    pub const WORDS: [&str; 3] = ["frictionless", "frictional", "soft"];

    /// Its word in a file.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Frictionless => Self::WORDS[0],
            Self::Frictional { .. } => Self::WORDS[1],
            Self::Soft { .. } => Self::WORDS[2],
        }
    }

    /// The coefficient of friction, 0 without friction.
    pub fn friction(&self) -> f64 {
        match self {
            Self::Frictionless => 0.0,
            Self::Frictional { friction } | Self::Soft { friction, .. } => *friction,
        }
    }

    /// The torque about the normal that it resists for each newton of normal force, metres: that of a disc under
    /// uniform pressure, 2/3 of friction times radius.
    pub fn torsion(&self) -> f64 {
        match self {
            Self::Soft { friction, radius } => 2.0 / 3.0 * friction * radius,
            _ => 0.0,
        }
    }
}

/// A biquadratic patch z = xx x² + yy y² + xy x y + x x + y y + constant, lengths in metres.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Patch {
    /// Coefficient of x², 1/m.
    pub xx: f64,
    /// Coefficient of y², 1/m.
    pub yy: f64,
    /// Coefficient of x y, 1/m.
    pub xy: f64,
    /// Coefficient of x.
    pub x: f64,
    /// Coefficient of y.
    pub y: f64,
    /// The constant, metres.
    pub constant: f64,
    /// Half extents of the patch along x and y, metres.
    pub range: f64,
}

impl Patch {
    /// A plane without end.
    pub const PLANE: Self = Self { xx: 0.0, yy: 0.0, xy: 0.0, x: 0.0, y: 0.0, constant: 0.0, range: f64::INFINITY };

    /// The surface above a point.
    pub fn height(&self, at: DVec2) -> f64 {
        self.xx * at.x * at.x
            + self.yy * at.y * at.y
            + self.xy * at.x * at.y
            + self.x * at.x
            + self.y * at.y
            + self.constant
    }

    /// Slopes of the surface along x and y.
    pub fn slope(&self, at: DVec2) -> DVec2 {
        DVec2::new(2.0 * self.xx * at.x + self.xy * at.y + self.x, 2.0 * self.yy * at.y + self.xy * at.x + self.y)
    }

    /// The unit normal into the object, patch frame.
    pub fn normal(&self, at: DVec2) -> DVec3 {
        self.slope(at).extend(-1.0).normalized()
    }

    /// The coefficients in the order of the original program.
    pub fn coefficients(&self) -> [f64; 6] {
        [self.xx, self.yy, self.xy, self.x, self.y, self.constant]
    }
}

impl Contact {
    /// Position of the contact, object frame, metres.
    pub fn position(&self) -> DVec3 {
        self.frame.point(self.point.extend(self.patch.height(self.point)))
    }

    /// The unit normal into the object, object frame.
    pub fn normal(&self) -> DVec3 {
        self.frame.direction(self.patch.normal(self.point))
    }

    /// The axes of the contact in the object frame: two unit tangents and the normal, right-handed. The first tangent
    /// is in the plane of the patch's x axis and the normal.
    pub fn axes(&self) -> [DVec3; 3] {
        let normal = self.normal();
        let along = self.frame.direction(DVec3::X);
        // A slope is finite, so the normal of a patch is never along its x axis.
        let first = (along - normal * along.dot(normal)).normalized();
        [first, normal.cross(first), normal]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axes_of_a_contact_are_right_handed_and_its_normal_is_square_to_the_patch() {
        let patch = Patch { xx: 3.0, yy: -1.0, xy: 0.5, x: 0.2, y: -0.1, constant: 0.01, range: 1.0 };
        let frame = Pose::from_xyz_rpy(DVec3::new(1.0, 2.0, 3.0), DVec3::new(0.3, -0.7, 1.1));
        let contact = Contact {
            name: "c".into(),
            kind: ContactKind::Frictionless,
            frame,
            patch,
            point: DVec2::new(0.02, -0.03),
            limits: [0.0, 1.0],
            source: String::new(),
        };
        let [first, second, normal] = contact.axes();
        assert!((first.cross(second) - normal).length() < 1e-14);
        // Along the surface, a step of h leaves the tangent plane by the curvature times h².
        for step in [DVec2::X, DVec2::Y].map(|axis| axis * 1e-6) {
            let there = Contact { point: contact.point + step, ..contact.clone() };
            assert!((there.position() - contact.position()).dot(normal).abs() < 1e-11);
        }
    }
}
