//! A world looked at before its first step, with the shapes and queries of the steps themselves.

use bevy_math::DVec3;
use simpartner_model::{BodyId, Mechanism};

use super::{
    build::{self, BodyPlace},
    collide::{Collider, Side},
    tree::Tree,
};
use crate::{BuildError, ContactPoint, Wrench};

/// A world as it stands at step 0.
pub struct Probe {
    trees: Vec<Tree>,
    collider: Collider,
    places: Vec<BodyPlace>,
}

impl Probe {
    /// Builds the world.
    ///
    /// # Errors
    /// When something in it cannot be built.
    pub fn new(mechanism: &Mechanism) -> Result<Self, BuildError> {
        let build::Built { trees, collider, bodies, .. } = build::build(mechanism)?;
        Ok(Self { trees, collider, places: bodies })
    }

    /// Where bodies touch or overlap, as far as they collide at all. No forces act yet.
    pub fn contacts(&mut self) -> Vec<ContactPoint> {
        let trees = &self.trees;
        let body = |side: Side| trees[side.tree].topology.links[side.link].body;
        let point = |contact: &super::collide::Contact| ContactPoint {
            bodies: [contact.a.and_then(body), body(contact.b)],
            point: contact.point,
            normal: contact.normal,
            gap: contact.gap,
            wrench: Wrench::default(),
        };
        self.collider.touching(trees).iter().map(point).collect()
    }

    /// How far a body could go in a direction, a unit vector, before it met something that no joint connects it with; `None`
    /// if nothing is in its way within `range` metres. Measured along the lines from the middles of its shapes.
    pub fn clearance(&self, body: BodyId, direction: DVec3, range: f64) -> Option<f64> {
        self.collider.clearance(&self.trees, body, direction, range)
    }

    /// How far the terrain is above the centre of mass of a body, metres; `None` if that is not below it.
    pub fn depth_in_terrain(&self, body: BodyId) -> Option<f64> {
        let place = &self.places[body.index()];
        self.collider.terrain_above(self.trees[place.tree].work.links[place.link].position)
    }
}
