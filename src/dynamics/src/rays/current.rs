//! The ray scene of an engine's present state.

use std::{cell::RefCell, sync::Arc};

use simpartner_model::{Plane, RutDepths};

use super::{OnSoil, RayScene, Solid, Surface};
use crate::parry::{math::Pose, partitioning::BvhWorkspace};

/// A scene that is updated when rays are cast, not in every step.
pub(crate) struct CurrentScene(RefCell<Current>);

struct Current {
    /// Copied on update if others still hold it.
    scene: Arc<RayScene>,
    workspace: BvhWorkspace,
    /// True if bodies may have moved since the last update.
    is_outdated: bool,
}

impl CurrentScene {
    /// A scene of body shapes and grounds, not yet updated.
    pub(crate) fn new(solids: Vec<Solid>, planes: Vec<OnSoil<Plane>>, surfaces: Vec<OnSoil<Arc<Surface>>>) -> Self {
        let scene = Arc::new(RayScene::new(solids, planes, surfaces));
        Self(RefCell::new(Current { scene, workspace: BvhWorkspace::default(), is_outdated: true }))
    }

    /// Marks the scene as outdated, because bodies may have moved.
    pub(crate) fn outdate(&mut self) {
        self.0.get_mut().is_outdated = true;
    }

    /// The updated scene. `poses`: `world_from_shape` of each solid; `ruts`: the depths of each soil.
    pub(crate) fn scene(
        &self,
        poses: impl Iterator<Item = Pose>,
        ruts: impl Iterator<Item = RutDepths>,
    ) -> Arc<RayScene> {
        let mut current = self.0.borrow_mut();
        if std::mem::take(&mut current.is_outdated) {
            let Current { scene, workspace, .. } = &mut *current;
            let scene = Arc::make_mut(scene);
            scene.update(poses, workspace);
            scene.set_ruts(ruts);
        }
        Arc::clone(&current.scene)
    }
}
