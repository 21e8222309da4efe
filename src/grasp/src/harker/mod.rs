//! The program of 1994 as it was (D. Harker, *Assessing equilibrium, stability and slip of object grasps*, Edinburgh 1994): its two text
//! formats (`read`), its linear program (`lp`) and its chart, faults included. The published counts come out only with these:
//!
//! - the friction angle is the coefficient itself, in radians, in place of its arc tangent;
//! - a soft finger resists turning in one sense only, by a torque of at most the largest force;
//! - that torque costs about two thirds of a force of the same number;
//! - the four edges of a friction pyramid have an azimuth that depends on the normal's direction in space;
//! - the upper bound is that of each edge, not of a contact's force;
//! - the chart has 39 columns, of 9 to 351 degrees, because a sum of single-precision numbers passes 360 degrees before the 40th,
//!   and its count begins at 1, so that it is one too many out of 820.

mod lp;
mod read;

pub use lp::{Answer, ContactAnswer, Program, chart, solve, spread};
pub use read::{FileError, Flaw};

use bevy_math::{DMat3, DVec2, DVec3};
use simpartner_model::{Body, Contact, ContactKind, Grasp, Inertia, Patch, Pose};

use crate::GraspError;

/// A grasp in the words of 1994. The unit of length is whatever the files mean; the mass is 1, so gravity is a force.
#[derive(Debug, Clone, PartialEq)]
pub struct Harker {
    /// How far each component of the sums of forces and torques may be off zero.
    pub tolerance: f64,
    /// Gravity.
    pub gravity: DVec3,
    /// The largest tilt of the chart, degrees.
    pub tilt: f64,
    /// The centre of mass.
    pub centre: DVec3,
    /// The inertia about it.
    pub inertia: DMat3,
    /// The contacts.
    pub contacts: Vec<Finger>,
}

/// A contact of 1994.
#[derive(Debug, Clone, PartialEq)]
pub struct Finger {
    /// What it can do.
    pub kind: ContactKind,
    /// Where it is in the patch's frame.
    pub point: DVec3,
    /// The columns of its transformation: three axes, which need not be a rotation, and the translation.
    pub matrix: DMat3,
    /// The translation.
    pub translation: DVec3,
    /// The coefficients of x², y², xy, x, y and 1.
    pub patch: [f64; 6],
    /// Smallest sum and largest single one of its edges' forces.
    pub limits: [f64; 2],
}

/// How far the products of a transformation's columns may be from those of a rotation.
const ROTATION_TOLERANCE: f64 = 1e-3;

impl Harker {
    /// What is wrong with the data, that the program of 1994 did not notice: matrices that are no rotations, and fingers off their patches.
    pub fn flaws(&self) -> Vec<Flaw> {
        self.contacts
            .iter()
            .enumerate()
            .filter_map(|(index, finger)| finger.flaw().map(|what| Flaw { contact: index + 1, what }))
            .collect()
    }

    /// The grasp with these numbers taken as metres, newtons and kilograms.
    ///
    /// # Errors
    /// The flaws of the data.
    pub fn to_grasp(&self, name: &str) -> Result<Grasp, Vec<Flaw>> {
        let flaws = self.flaws();
        if !flaws.is_empty() {
            return Err(flaws);
        }
        let object = Body {
            name: "object".into(),
            inertia: Some(Inertia { centre_of_mass: self.centre, tensor: self.inertia }),
            ..Body::default()
        };
        let contacts = self.contacts.iter().enumerate().map(|(index, finger)| {
            let [xx, yy, xy, x, y, constant] = finger.patch;
            Contact {
                name: format!("finger{}", index + 1),
                kind: finger.kind,
                frame: Pose::from_matrix(finger.matrix, finger.translation),
                patch: Patch { xx, yy, xy, x, y, constant, range: f64::INFINITY },
                point: DVec2::new(finger.point.x, finger.point.y),
                limits: finger.limits,
                source: String::new(),
            }
        });
        Ok(Grasp {
            name: name.to_owned(),
            gravity: self.gravity,
            force: DVec3::ZERO,
            torque: DVec3::ZERO,
            object,
            contacts: contacts.collect(),
            tilt: self.tilt.to_radians(),
            tolerance: self.tolerance,
        })
    }

    /// A grasp as the program of 1994 would have had it: in the object's frame, its mass and load folded into gravity.
    ///
    /// # Errors
    /// Where the object has no mass properties.
    pub fn of(grasp: &Grasp) -> Result<Self, GraspError> {
        let mass = simpartner_dynamics::mass_properties(&grasp.object).map_err(GraspError::Object)?;
        let into_object = grasp.object.pose.rotation.inverse();
        let contacts = grasp.contacts.iter().map(|contact| Finger {
            kind: contact.kind,
            point: contact.point.extend(contact.patch.height(contact.point)),
            // A quaternion leaves rounding of 0 and 1, and this program asks whether a normal's y is 0.
            matrix: DMat3::from_cols_array(&DMat3::from_quat(contact.frame.rotation).to_cols_array().map(|entry| {
                let whole = entry.round();
                if (entry - whole).abs() < 1e-15 { whole } else { entry }
            })),
            translation: contact.frame.translation,
            patch: contact.patch.coefficients(),
            limits: contact.limits,
        });
        Ok(Self {
            tolerance: grasp.tolerance,
            gravity: into_object * (grasp.gravity * mass.mass + grasp.force),
            tilt: grasp.tilt.to_degrees(),
            centre: mass.centre_of_mass,
            inertia: mass.tensor,
            contacts: contacts.collect(),
        })
    }
}

impl Finger {
    /// A point of the patch's frame in the object's.
    fn place(&self, point: DVec3) -> DVec3 {
        self.matrix * point + self.translation
    }

    fn height(&self, at: DVec2) -> f64 {
        let [xx, yy, xy, x, y, constant] = self.patch;
        xx * at.x * at.x + yy * at.y * at.y + xy * at.x * at.y + x * at.x + y * at.y + constant
    }

    /// The normal into the object in the patch's frame; its third component is -1, whatever its length.
    fn normal(&self, at: DVec3) -> DVec3 {
        let [xx, yy, xy, x, y, _] = self.patch;
        DVec3::new(2.0 * xx * at.x + xy * at.y + x, 2.0 * yy * at.y + xy * at.x + y, -1.0)
    }

    fn flaw(&self) -> Option<String> {
        let products = self.matrix.transpose() * self.matrix - DMat3::IDENTITY;
        let off = products.to_cols_array().into_iter().fold(0.0, |most: f64, product| most.max(product.abs()));
        let determinant = self.matrix.determinant();
        if determinant.abs() < ROTATION_TOLERANCE {
            let rows =
                self.matrix.transpose().to_cols_array_2d().map(|row| row.map(|value| value.to_string()).join(" "));
            return Some(format!(
                "its matrix [{}] is singular: it takes the patch to a plane or a line",
                rows.join("; ")
            ));
        }
        if off > ROTATION_TOLERANCE {
            return Some(format!(
                "its matrix is no rotation: its columns are off unit length or right angles by {off:.3}"
            ));
        }
        if determinant < 0.0 {
            return Some("its matrix mirrors instead of turning".into());
        }
        let above = self.point.z - self.height(DVec2::new(self.point.x, self.point.y));
        // A thousandth of the place's own size, or of the unit.
        (above.abs() > 1e-3 * self.point.length().max(1.0)).then(|| format!("its finger is {above} off its patch"))
    }
}
