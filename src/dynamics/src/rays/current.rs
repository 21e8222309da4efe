//! The scene of an engine's present state.

use std::{cell::RefCell, sync::Arc};

use simpartner_model::Plane;

use super::{OnSoil, RayScene, RutDepths, Solid, Surface};
use crate::parry::{math::Pose, partitioning::BvhWorkspace};

/// A scene that is moved to the present state when rays are cast, not in every step.
pub(crate) struct CurrentScene(RefCell<Current>);

struct Current {
    /// Copied when it moves while somebody else has it.
    scene: Arc<RayScene>,
    workspace: BvhWorkspace,
    /// True if anything may have moved since.
    is_old: bool,
}

impl CurrentScene {
    /// Of these shapes of bodies and these grounds.
    pub(crate) fn new(solids: Vec<Solid>, planes: Vec<OnSoil<Plane>>, surfaces: Vec<OnSoil<Arc<Surface>>>) -> Self {
        let scene = Arc::new(RayScene::new(solids, planes, surfaces));
        Self(RefCell::new(Current { scene, workspace: BvhWorkspace::default(), is_old: true }))
    }

    /// Notes that bodies may have moved.
    pub(crate) fn outdate(&mut self) {
        self.0.get_mut().is_old = true;
    }

    /// The scene, with the solids at `world_from_shape`, in their order, and soils pressed so deep.
    pub(crate) fn scene(
        &self,
        poses: impl Iterator<Item = Pose>,
        ruts: impl Iterator<Item = RutDepths>,
    ) -> Arc<RayScene> {
        let mut current = self.0.borrow_mut();
        if std::mem::take(&mut current.is_old) {
            let Current { scene, workspace, .. } = &mut *current;
            let scene = Arc::make_mut(scene);
            scene.update(poses, workspace);
            scene.set_ruts(ruts);
        }
        Arc::clone(&current.scene)
    }
}
