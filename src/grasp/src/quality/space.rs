//! The grasp wrench space, represented by its support function.

use bevy_math::DVec3;

use super::wrench;
use crate::statics::{ContactForce, ContactMap, Section, Vector6, halves};

/// Which normal forces are bounded: those of all fingers together, or each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Norm {
    /// The sum of the normal forces is bounded: the space is the convex hull of the single contacts' wrenches.
    L1,
    /// Each normal force is bounded: the space is the Minkowski sum of the single contacts' wrenches.
    LInfinity,
}

/// The bound on a normal force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scaling {
    /// 1 N for all.
    Unit,
    /// Each contact's largest normal force, in N.
    Limits,
}

/// A grasp wrench space. Its wrenches are a force, N, and a torque times the torque scale.
pub(super) struct WrenchSpace<'a> {
    pub(super) contacts: &'a [ContactMap],
    pub(super) norm: Norm,
    pub(super) scaling: Scaling,
    pub(super) torque_scale: f64,
    /// For each contact: the wrenches of its normal, tangents and torsion, scaled, times the bound on its normal force.
    columns: Vec<[Vector6; 4]>,
}

impl<'a> WrenchSpace<'a> {
    pub(super) fn new(contacts: &'a [ContactMap], norm: Norm, scaling: Scaling, torque_scale: f64) -> Self {
        let mut space = Self { contacts, norm, scaling, torque_scale, columns: Vec::new() };
        let scaled =
            |contact: &ContactMap| contact.columns().map(|column| space.scale_torque(&column) * space.bound(contact));
        space.columns = contacts.iter().map(scaled).collect();
        space
    }

    /// Bound on a contact's normal force, N.
    fn bound(&self, contact: &ContactMap) -> f64 {
        match self.scaling {
            Scaling::Unit => 1.0,
            Scaling::Limits => contact.limits[1],
        }
    }

    /// A wrench with its torque multiplied by the torque scale.
    fn scale_torque(&self, vector: &Vector6) -> Vector6 {
        let [force, torque] = halves(vector);
        wrench(force, torque * self.torque_scale)
    }

    /// Approximate size of the largest wrench, to which rounding tolerances are relative.
    pub(super) fn size(&self) -> f64 {
        self.contacts
            .iter()
            .map(|contact| self.bound(contact) * (1.0 + contact.lever.length() * self.torque_scale))
            .fold(0.0, f64::max)
    }

    /// The wrench that reaches farthest along a direction, and its reach; the origin and 0 if no wrench reaches beyond
    /// it.
    pub(super) fn support(&self, direction: &Vector6) -> (Vector6, f64) {
        let each = self.contacts.iter().zip(&self.columns).map(|(contact, columns)| {
            let powers = columns.each_ref().map(|column| column.dot(direction));
            let force = contact.best_for_powers(&powers);
            let [along, first, second, spin] = powers;
            let reach =
                along * force.normal + first * force.tangent[0] + second * force.tangent[1] + spin * force.torsion;
            (reach, columns, force)
        });
        let wrench = |(_, columns, force): (f64, &[Vector6; 4], ContactForce)| {
            let [normal, first, second, spin] = columns;
            normal * force.normal + first * force.tangent[0] + second * force.tangent[1] + spin * force.torsion
        };
        let beyond_origin = each.filter(|(reach, ..)| *reach > 0.0);
        let point = match self.norm {
            Norm::L1 => beyond_origin.max_by(|a, b| a.0.total_cmp(&b.0)).map(wrench).unwrap_or_default(),
            Norm::LInfinity => beyond_origin.map(wrench).sum(),
        };
        (point, point.dot(direction))
    }

    /// The origin, and wrenches of single contacts that span the whole space.
    pub(super) fn corners(&self) -> Vec<Vector6> {
        let mut corners = vec![wrench(DVec3::ZERO, DVec3::ZERO)];
        for contact in self.contacts {
            let edges = match contact.section {
                Section::Disc => 3,
                Section::Polygon(edges) => edges,
            };
            let mut push = |tangent: [f64; 2], torsion: f64| {
                let force = ContactForce { normal: 1.0, tangent, torsion };
                corners.push(self.scale_torque(&contact.wrench(&force)) * self.bound(contact));
            };
            ContactMap::corners(edges).for_each(|corner| push(corner.map(|along| along * contact.friction), 0.0));
            [contact.torsion, -contact.torsion]
                .into_iter()
                .filter(|torsion| *torsion != 0.0)
                .for_each(|t| push([0.0; 2], t));
        }
        corners
    }
}
