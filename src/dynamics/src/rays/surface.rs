//! Grounds of terrain and triangles.

use simpartner_model::Pose;

use super::{Ray, relief::Relief};
use crate::{
    parry::{
        math::Pose as ParryPose,
        query,
        shape::{HeightField, SharedShape},
    },
    shape,
};

/// Terrain or triangles with their pose.
pub(crate) struct Surface {
    shape: SharedShape,
    /// The height extremes of terrain; `None` for triangles.
    relief: Option<Relief>,
    /// `world_from_surface`.
    pose: ParryPose,
}

impl Surface {
    /// The shape of a ground at `world_from_surface`.
    pub(crate) fn new(shape: &SharedShape, pose: &Pose) -> Self {
        Self { shape: shape.clone(), relief: shape.as_heightfield().map(Relief::new), pose: shape::pose(pose) }
    }

    /// The heights of terrain; `None` for triangles.
    pub(super) fn terrain(&self) -> Option<&HeightField> {
        self.shape.as_heightfield()
    }

    /// `world_from_surface`.
    pub(super) fn pose(&self) -> &ParryPose {
        &self.pose
    }

    /// The distance along a ray to the surface, m; `None` beyond `limit`.
    pub(crate) fn cast(&self, ray: &Ray, limit: f64) -> Option<f64> {
        let line = query::Ray::new(ray.origin, ray.direction).inverse_transform_by(&self.pose);
        match (&self.relief, self.shape.as_heightfield()) {
            (Some(relief), Some(field)) => relief.cast(field, &line, limit),
            _ => self.shape.cast_local_ray(&line, limit, true),
        }
    }
}
