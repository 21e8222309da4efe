//! The program of 1994 as it was (D. Harker, *Assessing equilibrium, stability and slip of object grasps*, Edinburgh
//! 1994): its two text formats (`read`), its linear program (`lp`) and its chart. Its faults are kept, because the
//! published counts are reproduced only with them:
//!
//! - The friction angle is the coefficient itself, in radians, in place of its arc tangent.
//! - A soft finger resists turning in one sense only, by a torque whose number is at most that of the largest force.
//! - That torque costs about two thirds of a force of the same number.
//! - The four edges of a friction pyramid have an azimuth that depends on the normal's direction in space.
//! - The upper bound applies to each edge, not to a contact's force.
//! - The chart has 39 columns, of 9 to 351 degrees, because a sum of single-precision numbers passes 360 degrees before
//!   the 40th. Its count begins at 1, so it is one too many out of 820.

mod lp;
mod read;

pub use lp::{Answer, ContactAnswer, Program, chart, solve, spread};
pub use read::{FileError, Flaw};

use bevy_math::{DMat3, DVec2, DVec3};
use simpartner_model::{Body, Contact, ContactKind, Grasp, Inertia, Patch, Pose};

use crate::GraspError;

/// A grasp in the data format of 1994. The files do not name their units of length and force. The mass is 1, so gravity
/// is a force.
#[derive(Debug, Clone, PartialEq)]
pub struct Harker {
    /// Largest magnitude of each component of the sums of forces and torques that counts as balance.
    pub tolerance: f64,
    /// Gravity, as a force on the object.
    pub gravity: DVec3,
    /// Largest tilt of the chart, degrees.
    pub tilt: f64,
    /// Centre of mass, object frame.
    pub centre: DVec3,
    /// Inertia about the centre of mass.
    pub inertia: DMat3,
    /// The contacts.
    pub contacts: Vec<Finger>,
}

/// A contact of 1994.
#[derive(Debug, Clone, PartialEq)]
pub struct Finger {
    /// Kind of contact: frictionless, frictional or soft.
    pub kind: ContactKind,
    /// Contact point in the patch's frame.
    pub point: DVec3,
    /// Linear part of `object_from_patch`: its columns are the patch's axes. It need not be a rotation.
    pub matrix: DMat3,
    /// Translation of `object_from_patch`.
    pub translation: DVec3,
    /// Coefficients of x², y², xy, x, y and 1 in the height of the patch.
    pub patch: [f64; 6],
    /// Smallest sum of the forces of all edges, and largest force of a single edge.
    pub limits: [f64; 2],
}

/// Largest difference between the dot products of a matrix's columns and those of a rotation.
const ROTATION_TOLERANCE: f64 = 1e-3;

impl Harker {
    /// Errors in the data that the program of 1994 did not notice: matrices that are no rotations, and fingers off
    /// their patches.
    pub fn flaws(&self) -> Vec<Flaw> {
        self.contacts
            .iter()
            .enumerate()
            .filter_map(|(index, finger)| finger.find_flaw().map(|what| Flaw { contact: index + 1, what }))
            .collect()
    }

    /// The grasp of the model. The numbers are taken as metres, newtons and kilograms.
    ///
    /// # Errors
    /// The data have flaws ([`Harker::flaws`]).
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

    /// A grasp of the model in the data format of 1994: in the object's frame, with mass and load folded into gravity.
    ///
    /// # Errors
    /// The object has no mass properties.
    pub fn of(grasp: &Grasp) -> Result<Self, GraspError> {
        let mass = simpartner_dynamics::mass_properties(&grasp.object).map_err(GraspError::Object)?;
        let into_object = grasp.object.pose.rotation.inverse();
        let contacts = grasp.contacts.iter().map(|contact| Finger {
            kind: contact.kind,
            point: contact.point.extend(contact.patch.height(contact.point)),
            // Entries near 0 and 1 are rounded, because a quaternion does not give them exactly, and the program of
            // 1994 tests whether a normal's y is 0.
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
    /// Transforms a point from the patch's frame to the object's.
    fn to_object_frame(&self, point: DVec3) -> DVec3 {
        self.matrix * point + self.translation
    }

    /// Height of the patch, the z coordinate in its frame.
    fn patch_height(&self, at: DVec2) -> f64 {
        let [xx, yy, xy, x, y, constant] = self.patch;
        xx * at.x * at.x + yy * at.y * at.y + xy * at.x * at.y + x * at.x + y * at.y + constant
    }

    /// Normal into the object in the patch's frame, not of unit length: its third component is -1.
    fn patch_normal(&self, at: DVec3) -> DVec3 {
        let [xx, yy, xy, x, y, _] = self.patch;
        DVec3::new(2.0 * xx * at.x + xy * at.y + x, 2.0 * yy * at.y + xy * at.x + y, -1.0)
    }

    /// Text of the first fault of the contact: its matrix is no rotation, or its point is not on its patch.
    fn find_flaw(&self) -> Option<String> {
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
        let above = self.point.z - self.patch_height(DVec2::new(self.point.x, self.point.y));
        // The tolerance is a thousandth of the point's distance from the origin, or of 1.
        (above.abs() > 1e-3 * self.point.length().max(1.0)).then(|| format!("its finger is {above} off its patch"))
    }
}
