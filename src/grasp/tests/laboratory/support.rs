//! Grasps for tests: the cases of 1994, contacts on simple bodies, and random grasps.

use std::path::PathBuf;

use bevy_math::{DMat3, DVec2, DVec3};
use simpartner_grasp::harker::Harker;
use simpartner_model::{Body, Contact, ContactKind, Grasp, Inertia, Patch, Pose, random::Stream};

/// A case of the thesis of 1994, from the names of its object file and its contact file without ".txt".
pub(crate) fn case(object: &str, contacts: &str) -> Harker {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../worlds/grasps/1994");
    let read = |name: &str| std::fs::read_to_string(folder.join(format!("{name}.txt"))).unwrap();
    let (mut case, limits) = Harker::read_object(&read(object)).unwrap();
    case.contacts = Harker::read_contacts(&read(contacts), limits).unwrap();
    case
}

/// A contact at a point, object frame, m, with a normal into the object. Its first tangent is arbitrary.
pub(crate) fn contact(kind: ContactKind, at: DVec3, normal: DVec3, limits: [f64; 2]) -> Contact {
    let z = -normal.normalize();
    let x = z.any_orthonormal_vector();
    contact_along(kind, at, normal, x, limits)
}

/// A contact at a point, object frame, m, with a normal into the object and `x` as the first tangent.
pub(crate) fn contact_along(kind: ContactKind, at: DVec3, normal: DVec3, x: DVec3, limits: [f64; 2]) -> Contact {
    let z = -normal.normalize();
    Contact {
        name: "finger".into(),
        kind,
        frame: Pose::from_matrix(DMat3::from_cols(x, z.cross(x), z), at),
        patch: Patch::PLANE,
        point: DVec2::ZERO,
        limits,
        source: String::new(),
    }
}

/// A grasp of a body whose mass is 1 kg and whose centre of mass is the origin.
pub(crate) fn grasp(gravity: DVec3, contacts: Vec<Contact>) -> Grasp {
    let inertia = Inertia { centre_of_mass: DVec3::ZERO, tensor: DMat3::IDENTITY * 1e-3 };
    Grasp {
        name: "test".into(),
        gravity,
        force: DVec3::ZERO,
        torque: DVec3::ZERO,
        object: Body { inertia: Some(inertia), ..Body::default() },
        contacts,
        tilt: 0.5,
        tolerance: 1e-6,
    }
}

/// Source of random numbers and grasps, which are the same for the same seed.
pub(crate) struct Random(Stream);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Stream::from_number(seed))
    }

    /// A random number, uniform between `low` and `high`.
    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.0.uniform()
    }

    /// A random whole number from 0 to `bound` - 1.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0.number() % bound
    }

    /// A random unit vector, uniform on the sphere.
    pub(crate) fn direction(&mut self) -> DVec3 {
        loop {
            let v = DVec3::from([0; 3].map(|_| self.between(-1.0, 1.0)));
            if (0.01..1.0).contains(&v.length_squared()) {
                return v.normalize();
            }
        }
    }

    /// A grasp of an ellipsoid with a number of contacts of any kind. Gravity has a random direction; one grasp in four
    /// has another load, too.
    pub(crate) fn grasp(&mut self, contacts: u64) -> Grasp {
        let axes = DVec3::from([0; 3].map(|_| self.between(0.02, 0.1)));
        let contacts = (0..contacts).map(|_| {
            let direction = self.direction();
            let normal = -(direction / axes).normalize();
            let friction = self.between(0.05, 1.2);
            let kind = match self.below(3) {
                0 => ContactKind::Frictionless,
                1 => ContactKind::Frictional { friction },
                _ => ContactKind::Soft { friction, radius: self.between(0.001, 0.02) },
            };
            let lowest = if self.below(2) == 0 { 0.0 } else { self.between(0.0, 0.5) };
            let highest = libm::pow(10.0, self.between(0.5, 3.0));
            contact(kind, axes * direction, normal, [lowest, highest])
        });
        let contacts = contacts.collect();
        let mut made = grasp(self.direction() * 9.81, contacts);
        if self.below(4) == 0 {
            made.force = self.direction() * self.between(0.0, 10.0);
            made.torque = self.direction() * self.between(0.0, 0.5);
        }
        made
    }
}
