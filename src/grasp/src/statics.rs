//! The grasp map: how forces at the contacts add up to a wrench on the object, and which forces the contacts can exert.

use bevy_math::DVec3;
use nalgebra::SVector;
use simpartner_dynamics::mass_properties;
use simpartner_model::{Contact, ContactKind, Grasp};
use thiserror::Error;

/// A wrench (force, torque) or a twist (velocity, angular velocity).
pub type Vector6 = SVector<f64, 6>;

/// Why a grasp cannot be computed with.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum GraspError {
    /// The object has no mass properties.
    #[error("the object: {0}")]
    Object(String),
    /// There is nothing that could hold it.
    #[error("the grasp has no contact")]
    NoContacts,
    /// A pyramid needs three edges at least.
    #[error("a friction pyramid has 3 to 360 edges, not {0}")]
    Edges(usize),
    /// The solver of linear programs gave up.
    #[error("the linear program: {0}")]
    LinearProgram(String),
    /// An engine has nothing for it.
    #[error("in the engine: {0}")]
    Unrepresentable(String),
    /// Gravity has no direction to tilt.
    #[error("without gravity there is no direction to tilt")]
    NoGravity,
}

/// What the friction cone of a contact looks like across its normal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// Coulomb's law itself: a disc of tangential forces; with torsion an ellipsoid.
    Disc,
    /// A regular polygon of so many corners within the disc, the first corner along the contact's first tangent; with torsion the double
    /// pyramid over it.
    Polygon(usize),
}

/// A force at a contact: along the normal, along the two tangents (N), and the torque about the normal (N m).
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize)]
pub struct ContactForce {
    /// Into the object.
    pub normal: f64,
    /// Along the tangents of [`Contact::axes`].
    pub tangent: [f64; 2],
    /// About the normal.
    pub torsion: f64,
}

/// A contact's part of the grasp map.
#[derive(Debug, Clone)]
pub struct ContactMap {
    /// Two tangents and the normal into the object.
    pub axes: [DVec3; 3],
    /// From the centre of mass to the contact.
    pub lever: DVec3,
    /// The coefficient of friction.
    pub friction: f64,
    /// Torque about the normal for each newton of normal force, m.
    pub torsion: f64,
    /// Smallest and largest normal force, N.
    pub limits: [f64; 2],
    /// The cone's section.
    pub section: Section,
}

/// A grasp as statics sees it.
#[derive(Debug, Clone)]
pub struct Statics {
    /// The contacts in the order of the grasp.
    pub contacts: Vec<ContactMap>,
    /// What acts on the object beside the contacts: its weight, and the load of the file.
    pub load: Vector6,
    /// Weight alone.
    pub weight: DVec3,
    /// The length that makes torques comparable with forces: the largest distance of a contact from the centre of mass, m.
    pub length: f64,
}

/// Force and torque as one vector.
pub(crate) fn wrench(force: DVec3, torque: DVec3) -> Vector6 {
    Vector6::from_column_slice(&[force.x, force.y, force.z, torque.x, torque.y, torque.z])
}

/// Its two halves.
pub(crate) fn halves(vector: &Vector6) -> [DVec3; 2] {
    [DVec3::new(vector[0], vector[1], vector[2]), DVec3::new(vector[3], vector[4], vector[5])]
}

impl Statics {
    /// The grasp map of a grasp.
    ///
    /// # Errors
    /// Where the object has no mass properties, or there is no contact.
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
        // Contacts that all lie in the centre of mass have no torques to compare.
        Ok(Self { contacts, load, weight, length: if farthest > 0.0 { farthest } else { 1.0 } })
    }

    /// The same grasp under another load.
    pub fn under(&self, load: Vector6) -> Self {
        Self { load, ..self.clone() }
    }

    /// The force that others are measured by: the load as a force, 1 N without one.
    pub fn scale(&self) -> f64 {
        match self.size(&self.load) {
            0.0 => 1.0,
            size => size,
        }
    }

    /// The size of a wrench as a force, torques divided by [`Statics::length`].
    pub fn size(&self, wrench: &Vector6) -> f64 {
        let [force, torque] = halves(wrench);
        libm::hypot(force.length(), torque.length() / self.length)
    }

    /// The size of a twist as a velocity, angular velocities times [`Statics::length`].
    pub(crate) fn length_of(&self, twist: &Vector6) -> f64 {
        let [linear, angular] = halves(twist);
        libm::hypot(linear.length(), angular.length() * self.length)
    }

    /// What forces at the contacts add up to.
    pub fn total(&self, forces: &[ContactForce]) -> Vector6 {
        self.contacts.iter().zip(forces).map(|(contact, force)| contact.wrench(force)).sum()
    }

    /// The most that all contacts together can do along a twist, W: the support function of what they can exert.
    pub fn support(&self, twist: &Vector6) -> f64 {
        self.contacts.iter().map(|contact| contact.support(twist)).sum()
    }

    /// The normal force, N, that each contact has to spare at least: it can lose or gain that much and stay within its limits and its cone.
    /// Below zero where a contact is outside.
    pub fn margin(&self, forces: &[ContactForce]) -> f64 {
        let each = self.contacts.iter().zip(forces).map(|(contact, force)| contact.margin(force));
        each.fold(f64::INFINITY, f64::min)
    }
}

impl ContactMap {
    pub(crate) fn new(contact: &Contact, centre_of_mass: DVec3, section: Section) -> Self {
        // A coefficient of zero is a contact without friction.
        let friction = contact.kind.friction();
        let torsion = if matches!(contact.kind, ContactKind::Soft { .. }) { contact.kind.torsion() } else { 0.0 };
        let lever = contact.position() - centre_of_mass;
        Self { axes: contact.axes(), lever, friction, torsion, limits: contact.limits, section }
    }

    /// How many numbers its force has: 1, 3 with friction, 4 with torsion.
    pub fn dimension(&self) -> usize {
        match (self.friction > 0.0, self.torsion > 0.0) {
            (false, _) => 1,
            (true, false) => 3,
            (true, true) => 4,
        }
    }

    /// The wrench of one newton along the normal, along each tangent, and of one newton metre about the normal.
    pub fn columns(&self) -> [Vector6; 4] {
        let [first, second, normal] = self.axes;
        let force = |along: DVec3| wrench(along, self.lever.cross(along));
        [force(normal), force(first), force(second), wrench(DVec3::ZERO, normal)]
    }

    /// The wrench of a force.
    pub fn wrench(&self, force: &ContactForce) -> Vector6 {
        let [normal, first, second, spin] = self.columns();
        normal * force.normal + first * force.tangent[0] + second * force.tangent[1] + spin * force.torsion
    }

    /// The power of one newton (and newton metre) along each column while the object moves along a twist.
    pub fn powers(&self, twist: &Vector6) -> [f64; 4] {
        self.columns().map(|column| column.dot(twist))
    }

    /// Tangents of the section's corners, for one newton of normal force and one of friction.
    pub(crate) fn corners(edges: usize) -> impl Iterator<Item = [f64; 2]> {
        (0..edges).map(move |k| {
            let (sine, cosine) = libm::sincos(std::f64::consts::TAU * k as f64 / edges as f64);
            [cosine, sine]
        })
    }

    /// The force of one newton along the normal that does most along a twist.
    pub fn best(&self, twist: &Vector6) -> ContactForce {
        self.best_of(&self.powers(twist))
    }

    /// The same by [`ContactMap::powers`], of which only the ratios matter.
    pub(crate) fn best_of(&self, &[_, first, second, spin]: &[f64; 4]) -> ContactForce {
        let mut force = ContactForce { normal: 1.0, ..ContactForce::default() };
        // Powers are of the size of a unit twist, so their squares neither overflow nor vanish; `hypot` would take most of the time.
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

    /// The power of the best force of one newton along the normal.
    pub fn unit_support(&self, twist: &Vector6) -> f64 {
        let [normal, first, second, spin] = self.powers(twist);
        let force = self.best(twist);
        normal + force.tangent[0] * first + force.tangent[1] * second + force.torsion * spin
    }

    /// The most that it can do along a twist within its limits, W.
    pub fn support(&self, twist: &Vector6) -> f64 {
        let unit = self.unit_support(twist);
        unit * self.limits[usize::from(unit > 0.0)]
    }

    /// The normal force that a tangential force and a torsion need.
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

    /// The unit normals of a polygon's sides.
    pub(crate) fn sides(&self, edges: usize) -> impl Iterator<Item = [f64; 2]> {
        (0..edges).map(move |k| {
            let (sine, cosine) = libm::sincos(std::f64::consts::PI * (2 * k + 1) as f64 / edges as f64);
            [cosine, sine]
        })
    }

    /// The normal force that it has to spare; below zero outside of its limits or its cone.
    pub fn margin(&self, force: &ContactForce) -> f64 {
        let [lowest, highest] = self.limits;
        (force.normal - self.needed(force)).min(force.normal - lowest).min(highest - force.normal)
    }
}
