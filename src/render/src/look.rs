//! Looks of shapes: emitted light, image, normals and texture coordinates.

use std::sync::Arc;

use simpartner_model::{Corners, Look, Tiling};

use crate::{light::linear_of, texture::Pyramid};

/// Look of a shape beside its colour.
#[derive(Debug)]
pub(crate) struct SceneLook {
    /// Emitted light, linear.
    pub(crate) emission: [f32; 3],
    pub(crate) image: Option<SceneImage>,
    pub(crate) corners: Option<Arc<Corners>>,
}

#[derive(Debug)]
pub(crate) struct SceneImage {
    pub(crate) pyramid: Arc<Pyramid>,
    pub(crate) tint: [f32; 3],
    pub(crate) tiling: Tiling,
}

impl SceneLook {
    /// `None` for a look that is a plain colour; `pyramids` has the images that are known already.
    pub(crate) fn of_look(look: &Look, pyramids: &mut Vec<Arc<Pyramid>>) -> Option<Arc<Self>> {
        if *look == Look::default() {
            return None;
        }
        let image = look.paint.as_ref().map(|paint| {
            let known = pyramids.iter().find(|pyramid| pyramid.is_of(&paint.texture)).cloned();
            let pyramid = known.unwrap_or_else(|| {
                pyramids.push(Arc::new(Pyramid::of_texture(&paint.texture)));
                Arc::clone(&pyramids[pyramids.len() - 1])
            });
            SceneImage { pyramid, tint: linear_of(paint.tint), tiling: paint.tiling }
        });
        let emission = look.emission.map_or([0.0; 3], linear_of);
        Some(Arc::new(Self { emission, image, corners: look.corners.clone() }))
    }

    /// True if there are places that nothing is seen of.
    pub(crate) fn has_holes(&self) -> bool {
        self.image.as_ref().is_some_and(|image| !image.pyramid.is_opaque())
    }
}
