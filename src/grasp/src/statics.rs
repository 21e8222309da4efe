//! The grasp map: the wrench on the object that contact forces add up to, and the forces that the contacts can exert.

use bevy_math::DVec3;
use nalgebra::SVector;
use simpartner_dynamics::mass_properties;
use simpartner_model::{Contact, ContactKind, Grasp};
use thiserror::Error;

/// A wrench (force in N, torque in N m) or a twist (velocity in m/s, angular velocity in rad/s).
pub type Vector6 = SVector<f64, 6>;

/// Errors in the computation of a grasp.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum GraspError {
    /// The object has no mass properties.
    #[error("the object: {0}")]
    Object(String),
    /// The grasp has no contacts.
    #[error("the grasp has no contact")]
    NoContacts,
    /// The number of edges of the friction pyramids is out of range.
    #[error("a friction pyramid has 3 to 360 edges, not {0}")]
    Edges(usize),
    /// The solver of linear programs gave up.
    #[error("the linear program: {0}")]
    LinearProgram(String),
    /// The engine cannot represent the grasp, or lost track of the object.
    #[error("in the engine: {0}")]
    Unrepresentable(String),
    /// There is no gravity, so it has no direction to tilt.
    #[error("without gravity there is no direction to tilt")]
    NoGravity,
}

/// Cross section of a contact's friction cone, orthogonal to the normal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// Coulomb's law itself: a disc of tangential forces; with torsion an ellipsoid.
    Disc,
    /// A regular polygon with this number of corners, inscribed in the disc, the first corner along the contact's first
    /// tangent; with torsion the double pyramid over it.
    Polygon(usize),
}

/// Force and torsion at a contact.
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize)]
pub struct ContactForce {
    /// Force along the normal into the object, N.
    pub normal: f64,
    /// Forces along the tangents of [`Contact::axes`], N.
    pub tangent: [f64; 2],
    /// Torque about the normal, N m.
    pub torsion: f64,
}

/// The part of the grasp map that belongs to one contact. Vectors are in the object's frame.
#[derive(Debug, Clone)]
pub struct ContactMap {
    /// Two tangents and the normal into the object, unit vectors.
    pub axes: [DVec3; 3],
    /// Vector from the centre of mass to the contact, m.
    pub lever: DVec3,
    /// Coefficient of friction; 0 is a contact without friction.
    pub friction: f64,
    /// Largest torque about the normal per newton of normal force, m; 0 without torsion.
    pub torsion: f64,
    /// Smallest and largest normal force, N.
    pub limits: [f64; 2],
    /// Cross section of the friction cone.
    pub section: Section,
}

/// The statics of a grasp: its grasp map and its load.
#[derive(Debug, Clone)]
pub struct Statics {
    /// The contacts in the order of the grasp.
    pub contacts: Vec<ContactMap>,
    /// Wrench on the object beside the contact forces: its weight, and the force and torque that the file gives.
    pub load: Vector6,
    /// Weight, N, object frame.
    pub weight: DVec3,
    /// Length that makes torques comparable with forces, m: the largest distance of a contact from the centre of mass.
    pub length: f64,
}

/// Force and torque, or velocity and angular velocity, as one vector.
pub(crate) fn wrench(force: DVec3, torque: DVec3) -> Vector6 {
    Vector6::from_column_slice(&[force.x, force.y, force.z, torque.x, torque.y, torque.z])
}

/// The two halves of a wrench or twist.
pub(crate) fn halves(vector: &Vector6) -> [DVec3; 2] {
    [DVec3::new(vector[0], vector[1], vector[2]), DVec3::new(vector[3], vector[4], vector[5])]
}

impl Statics {
    /// Builds the grasp map of a grasp.
    ///
    /// # Errors
    /// The object has no mass properties, there is no contact, or a polygon has fewer than 3 or more than 360 edges.
    pub fn new(grasp: &Grasp, section: Section) -> Result<Self, GraspError> {
        if let Section::Polygon(edges) = section
            && !(3..=360).contains(&edges)
        {
            return Err(GraspError::Edges(edges));
        }
        if grasp.contacts.is_empty() {
            return Err(GraspError::NoContacts);
        }
        let mass = mass_properties(&grasp.object).map_err(GraspError::Object)?;
        let into_object = grasp.object.pose.rotation.inverse();
        let weight = into_object * (grasp.gravity * mass.mass);
        let load = wrench(weight + into_object * grasp.force, into_object * grasp.torque);
        let contacts: Vec<_> =
            grasp.contacts.iter().map(|contact| ContactMap::new(contact, mass.centre_of_mass, section)).collect();
        let farthest = contacts.iter().map(|contact| contact.lever.length()).fold(0.0, f64::max);
        // Contacts that all lie in the centre of mass exert no torques, so any length will do.
        Ok(Self { contacts, load, weight, length: if farthest > 0.0 { farthest } else { 1.0 } })
    }

    /// The same grasp under another load.
    pub fn under(&self, load: Vector6) -> Self {
        Self { load, ..self.clone() }
    }

    /// Unit of force for tolerances, N: the size of the load ([`Statics::size`]), or 1 N without a load.
    pub fn scale(&self) -> f64 {
        match self.size(&self.load) {
            0.0 => 1.0,
            size => size,
        }
    }

    /// Size of a wrench as a force, N: torques are divided by [`Statics::length`].
    pub fn size(&self, wrench: &Vector6) -> f64 {
        let [force, torque] = halves(wrench);
        libm::hypot(force.length(), torque.length() / self.length)
    }

    /// Size of a twist as a velocity, m/s: angular velocities are multiplied by [`Statics::length`].
    pub(crate) fn twist_size(&self, twist: &Vector6) -> f64 {
        let [linear, angular] = halves(twist);
        libm::hypot(linear.length(), angular.length() * self.length)
    }

    /// Sum of contact forces as a wrench on the object.
    pub fn total(&self, forces: &[ContactForce]) -> Vector6 {
        self.contacts.iter().zip(forces).map(|(contact, force)| contact.wrench(force)).sum()
    }

    /// Largest power of all contacts together along a twist, W: the support function of the wrenches they can exert.
    pub fn support(&self, twist: &Vector6) -> f64 {
        self.contacts.iter().map(|contact| contact.support(twist)).sum()
    }

    /// Smallest margin of all contacts, N. Each can lose or gain that much normal force and stay within its limits and
    /// its friction cone. Negative if a contact is outside.
    pub fn margin(&self, forces: &[ContactForce]) -> f64 {
        let each = self.contacts.iter().zip(forces).map(|(contact, force)| contact.margin(force));
        each.fold(f64::INFINITY, f64::min)
    }
}

impl ContactMap {
    pub(crate) fn new(contact: &Contact, centre_of_mass: DVec3, section: Section) -> Self {
        let friction = contact.kind.friction();
        let torsion = if matches!(contact.kind, ContactKind::Soft { .. }) { contact.kind.torsion() } else { 0.0 };
        let lever = contact.position() - centre_of_mass;
        Self { axes: contact.axes(), lever, friction, torsion, limits: contact.limits, section }
    }

    /// Number of components of the contact force: 1, or 3 with friction, or 4 with torsion as well.
    pub fn dimension(&self) -> usize {
        match (self.friction > 0.0, self.torsion > 0.0) {
            (false, _) => 1,
            (true, false) => 3,
            (true, true) => 4,
        }
    }

    /// Wrenches of one newton along the normal, of one newton along each tangent, and of one newton metre about the
    /// normal.
    pub fn columns(&self) -> [Vector6; 4] {
        let [first, second, normal] = self.axes;
        let force = |along: DVec3| wrench(along, self.lever.cross(along));
        [force(normal), force(first), force(second), wrench(DVec3::ZERO, normal)]
    }

    /// Wrench of a contact force on the object.
    pub fn wrench(&self, force: &ContactForce) -> Vector6 {
        let [normal, first, second, spin] = self.columns();
        normal * force.normal + first * force.tangent[0] + second * force.tangent[1] + spin * force.torsion
    }

    /// Powers of the columns while the object moves along a twist, W: of one newton, and of one newton metre for
    /// torsion.
    pub fn powers(&self, twist: &Vector6) -> [f64; 4] {
        self.columns().map(|column| column.dot(twist))
    }

    /// Corners of a polygonal section with the radius 1, as components along the two tangents.
    pub(crate) fn corners(edges: usize) -> impl Iterator<Item = [f64; 2]> {
        (0..edges).map(move |k| {
            let (sine, cosine) = libm::sincos(std::f64::consts::TAU * k as f64 / edges as f64);
            [cosine, sine]
        })
    }

    /// The force with 1 N along the normal, within the friction cone, that has the largest power along a twist.
    pub fn best(&self, twist: &Vector6) -> ContactForce {
        self.best_for_powers(&self.powers(twist))
    }

    /// The same as [`ContactMap::best`], from the twist's [`ContactMap::powers`], of which only the ratios matter.
    pub(crate) fn best_for_powers(&self, &[_, first, second, spin]: &[f64; 4]) -> ContactForce {
        let mut force = ContactForce { normal: 1.0, ..ContactForce::default() };
        // Powers are of the order of a unit twist, so their squares neither overflow nor underflow. `hypot` would take
        // most of the time here.
        let across = (first * first + second * second).sqrt() * self.friction;
        let about = spin * self.torsion;
        match self.section {
            Section::Disc => {
                let reach = (across * across + about * about).sqrt();
                if reach > 0.0 {
                    let share = self.friction * self.friction / reach;
                    force.tangent = [first * share, second * share];
                    force.torsion = about * self.torsion / reach;
                }
            }
            Section::Polygon(edges) => {
                let power = |corner: &[f64; 2]| corner[0] * first + corner[1] * second;
                let corner = Self::corners(edges).max_by(|a, b| power(a).total_cmp(&power(b))).unwrap_or_default();
                if about.abs() > self.friction * power(&corner) {
                    force.torsion = self.torsion.copysign(spin);
                } else {
                    force.tangent = corner.map(|along| along * self.friction);
                }
            }
        }
        force
    }

    /// Largest power along a twist of a force with 1 N along the normal, W.
    pub fn unit_support(&self, twist: &Vector6) -> f64 {
        let [normal, first, second, spin] = self.powers(twist);
        let force = self.best(twist);
        normal + force.tangent[0] * first + force.tangent[1] * second + force.torsion * spin
    }

    /// Largest power of the contact along a twist within its limits, W.
    pub fn support(&self, twist: &Vector6) -> f64 {
        let unit = self.unit_support(twist);
        unit * self.limits[usize::from(unit > 0.0)]
    }

    /// Smallest normal force, N, at which the friction cone allows a force's tangential part and torsion.
    pub fn needed(&self, force: &ContactForce) -> f64 {
        let across = libm::hypot(force.tangent[0], force.tangent[1]);
        let over = |value: f64, by: f64| if value == 0.0 { 0.0 } else { value / by };
        let about = over(force.torsion.abs(), self.torsion);
        match self.section {
            Section::Disc => libm::hypot(over(across, self.friction), about),
            Section::Polygon(_) if across == 0.0 => about,
            Section::Polygon(edges) => {
                let half = std::f64::consts::PI / edges as f64;
                let inner = self.friction * libm::cos(half);
                let farthest = self.sides(edges).map(|side| side[0] * force.tangent[0] + side[1] * force.tangent[1]);
                farthest.fold(0.0, f64::max) / inner + about
            }
        }
    }

    /// Unit normals of the sides of a polygonal section, as components along the two tangents.
    pub(crate) fn sides(&self, edges: usize) -> impl Iterator<Item = [f64; 2]> {
        (0..edges).map(move |k| {
            let (sine, cosine) = libm::sincos(std::f64::consts::PI * (2 * k + 1) as f64 / edges as f64);
            [cosine, sine]
        })
    }

    /// Normal force, N, that the contact can lose or gain within its limits and its cone; negative if it is outside.
    pub fn margin(&self, force: &ContactForce) -> f64 {
        let [lowest, highest] = self.limits;
        (force.normal - self.needed(force)).min(force.normal - lowest).min(highest - force.normal)
    }
}
