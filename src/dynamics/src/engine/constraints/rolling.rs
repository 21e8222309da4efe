//! Rolling and torsional resistance of a contact: two rows about its tangents, and one about its normal. Their moments
//! are at most a length times the normal force.

use bevy_math::DVec3;

use super::{
    island_parts::IslandParts,
    island_rows::{Constraints, Source},
    rows::Directions,
};
use crate::engine::{collision::Contact, solvers::problem::Law};

impl Constraints {
    /// Adds both resistances of a contact. `normal` is the index of the contact's own block.
    pub(super) fn add_rolling(&mut self, parts: &IslandParts, index: usize, normal: usize) {
        let contact = &parts.contacts[index];
        if !(contact.surface.rolling > 0.0 || contact.surface.torsion > 0.0) {
            return;
        }
        let (surface, [first, second], none) = (&contact.surface, contact.tangents, DVec3::ZERO);
        for (source, radius, rows, vectors) in [
            (Source::Rolling(index), surface.rolling, 2, [first, second, none]),
            (Source::Torsion(index), surface.torsion, 1, [contact.normal, none, none]),
        ] {
            if radius > 0.0 {
                let (start, sides) = (self.problem.columns.len(), [contact.a, Some(contact.b)]);
                let (free, before) = self.add_columns(parts, sides, contact.point, &Directions::rotations(vectors));
                let law = Law::Disc { normal, radius, rows };
                let mut block = self.problem.block(law, start, [0.0; 3], free, before);
                block.impulse = vectors.map(|vector| contact.spin_impulse.dot(vector));
                self.push_block(source, block);
            }
        }
    }
}

/// Angular impulse on the second side in world axes, N m s, of a solution `l`.
pub(super) fn angular_impulse(source: Source, contact: &Contact, l: [f64; 3]) -> DVec3 {
    if let Source::Torsion(_) = source { contact.normal * l[0] } else { contact.rolling_impulse_of(l) }
}
