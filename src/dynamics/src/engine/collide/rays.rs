//! Rays against all colliding shapes.

use simpartner_model::{Norm, Pose};

use super::{Collider, Geom};
use crate::{Ray, engine::tree::Tree, parry::query, shape};

impl Collider {
    /// The distance along a ray to the first shape, if there is one in range.
    pub(in crate::engine) fn cast_ray(&self, trees: &[Tree], ray: &Ray) -> Option<f64> {
        self.cast_ray_past(trees, ray, |geom| ray.ignore == Some(geom.body))
    }

    /// The same, through all shapes that the condition names.
    pub(in crate::engine) fn cast_ray_past(
        &self,
        trees: &[Tree],
        ray: &Ray,
        passes: impl Fn(&Geom) -> bool,
    ) -> Option<f64> {
        let line = query::Ray::new(ray.origin, ray.direction);
        let mut nearest: Option<f64> = None;
        let mut see = |distance: Option<f64>| {
            if let Some(distance) = distance {
                nearest = Some(nearest.map_or(distance, |nearest| nearest.min(distance)));
            }
        };
        self.model.grounds.iter().for_each(|ground| see(ground.cast_ray(ray)));
        for geom in self.model.geoms.iter().filter(|geom| !passes(geom)) {
            let work = &trees[geom.side.tree].work;
            let centre = work.links[geom.side.link].position + work.links[geom.side.link].matrix * geom.offset;
            let middle = centre + (work.links[geom.side.link].rotation * geom.turn) * geom.middle;
            if misses(ray, middle, geom.half.norm()) {
                continue;
            }
            let pose = Pose { translation: centre, rotation: work.links[geom.side.link].rotation * geom.turn };
            see(geom.shape.cast_ray(&shape::pose(&pose), &line, ray.range, true));
        }
        nearest
    }
}

/// True if the ray passes a ball by.
fn misses(ray: &Ray, centre: bevy_math::DVec3, radius: f64) -> bool {
    let offset = centre - ray.origin;
    let along = offset.dot(ray.direction).clamp(0.0, ray.range);
    (offset - ray.direction * along).length_squared() > radius * radius * (1.0 + 1e-9)
}
