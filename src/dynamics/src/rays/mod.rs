//! Rays: the distance to the nearest shape along a line.
//!
//! A [`RayScene`] has the shapes of a world and their poses after one step. Both engines keep a scene, update it when
//! rays are cast after a step, and share it with callers that cast rays in parallel with the steps. It depends neither
//! on joints nor on contacts or sensors. The nearest shape is found in a tree of boxes (Wald, Boulos and Shirley,
//! 2007), terrain by its [grid](relief), triangles by parry's tree of each mesh.
//!
//! Each distance depends only on one shape, its pose and the ray, and the result is their minimum. Boxes only exclude
//! shapes that cannot be the nearest, so the history of the tree changes no bit.

mod current;
mod plane;
mod pressed;
mod ray;
mod relief;
mod slabs;
mod surface;

use std::sync::Arc;

use bevy_math::{DQuat, DVec3};
use serde::{Deserialize, Serialize};
use simpartner_model::{BodyId, Norm, Plane, RutDepths};

pub use self::ray::Ray;
pub(crate) use self::{current::CurrentScene, surface::Surface};
use self::{plane::distance_to_plane, slabs::Slabs};
use crate::parry::{
    bounding_volume::Aabb,
    math::Pose,
    partitioning::{Bvh, BvhBuildStrategy, BvhNode, BvhWorkspace},
    query,
    shape::SharedShape,
};

/// Margin of a moving shape's box, relative to the shape's size. The box is replaced when half of the margin is used
/// up.
const BOX_PADDING: f64 = 0.1;
/// Margin of every box against rounding, relative to the shape's size and its distance from the origin: 1e7 times the
/// rounding of a ray's parameters, which is a few units in the last place of these lengths.
const BOX_ROUNDING: f64 = 1e-9;

/// The tree is improved when 1 / this of its boxes has been replaced: parry improves a twentieth of a tree at a time.
const IMPROVEMENT_DIVISOR: usize = 20;

/// The shapes of a world for rays, with their poses after one step.
#[derive(Clone)]
pub struct RayScene {
    shapes: Arc<Shapes>,
    /// `world_from_shape` of each solid.
    poses: Vec<Pose>,
    /// The poses at which their boxes were computed.
    boxed: Vec<Pose>,
    /// Number of boxes replaced since the tree was last improved.
    replaced_boxes: usize,
    tree: Bvh,
    /// The depths of each soil.
    ruts: Vec<RutDepths>,
}

/// The part of a scene that changes from step to step: poses of solids and depths of soils.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RaySceneState {
    /// `world_from_shape` of each solid: position, then orientation as x, y, z, w.
    poses: Vec<[f64; 7]>,
    ruts: Vec<RutDepths>,
}

/// The constant part of a scene.
struct Shapes {
    solids: Vec<Solid>,
    planes: Vec<OnSoil<Plane>>,
    surfaces: Vec<OnSoil<Arc<Surface>>>,
}

/// A ground, and its index among the soils; `None` for firm ground.
pub(crate) struct OnSoil<T> {
    pub(crate) ground: T,
    pub(crate) soil: Option<usize>,
}

/// The shape of a body.
pub(crate) struct Solid {
    body: BodyId,
    shape: SharedShape,
    /// Its bounding box, body-fixed.
    bounds: Aabb,
    /// Largest distance of a point of that box from the shape's origin, m.
    reach: f64,
    moves: bool,
}

impl Solid {
    /// The shape of a body. `moves` is false for a fixed body.
    pub(crate) fn new(body: BodyId, shape: SharedShape, moves: bool) -> Self {
        let bounds = shape.compute_local_aabb();
        let reach = bounds.mins.abs().max(bounds.maxs.abs()).norm();
        Self { body, shape, bounds, reach, moves }
    }

    /// The bounding box at a pose, with its margin.
    fn bounds_at(&self, pose: &Pose) -> Aabb {
        let bounds = self.bounds.transform_by(pose);
        let far = bounds.mins.abs().max(bounds.maxs.abs()).max_element();
        let padding = if self.moves { BOX_PADDING * self.reach } else { 0.0 };
        let margin = DVec3::splat(padding + BOX_ROUNDING * (self.reach + far));
        Aabb::new(bounds.mins - margin, bounds.maxs + margin)
    }

    /// True if the box computed at the pose `boxed` still contains the shape at the pose `now`.
    fn box_contains(&self, boxed: &Pose, now: &Pose) -> bool {
        let sign = if now.rotation.dot(boxed.rotation) < 0.0 { -1.0 } else { 1.0 };
        let turn = now.rotation * sign - boxed.rotation;
        // A rotation by an angle a moves a point at distance r by 2 r sin(a/2), and changes the quaternion by 2
        // sin(a/4).
        let max_shift = (now.translation - boxed.translation).norm() + 2.0 * self.reach * turn.length();
        self.moves && max_shift <= 0.5 * BOX_PADDING * self.reach
    }
}

impl RayScene {
    /// A scene of body shapes and grounds, still without poses.
    pub(crate) fn new(solids: Vec<Solid>, planes: Vec<OnSoil<Plane>>, surfaces: Vec<OnSoil<Arc<Surface>>>) -> Self {
        Self::with_shapes(Arc::new(Shapes { solids, planes, surfaces }))
    }

    fn with_shapes(shapes: Arc<Shapes>) -> Self {
        Self { shapes, poses: Vec::new(), boxed: Vec::new(), replaced_boxes: 0, tree: Bvh::new(), ruts: Vec::new() }
    }

    /// Updates the poses of the solids: `world_from_shape`, in their order.
    pub(crate) fn update(&mut self, poses: impl Iterator<Item = Pose>, workspace: &mut BvhWorkspace) {
        let Self { shapes, poses: old, boxed, replaced_boxes, tree, .. } = self;
        if old.is_empty() {
            old.extend(poses);
            boxed.clone_from(old);
            let boxes: Vec<Aabb> = shapes.solids.iter().zip(&*old).map(|(solid, pose)| solid.bounds_at(pose)).collect();
            *tree = Bvh::from_leaves(BvhBuildStrategy::Binned, &boxes);
            return;
        }
        let mut replaced = 0;
        for (index, ((solid, now), pose)) in shapes.solids.iter().zip(poses).zip(old).enumerate() {
            if now == *pose {
                continue;
            }
            *pose = now;
            if !solid.box_contains(&boxed[index], &now) {
                boxed[index] = now;
                tree.insert_or_update_partially(solid.bounds_at(&now), index as u32, 0.0);
                replaced += 1;
            }
        }
        if replaced > 0 {
            tree.refit_without_opt();
            *replaced_boxes += replaced;
        }
        if *replaced_boxes > shapes.solids.len() / IMPROVEMENT_DIVISOR {
            *replaced_boxes = 0;
            tree.refit(workspace);
            tree.optimize_incremental(workspace);
        }
    }

    /// Updates the depths of all soils, in their order.
    pub(crate) fn set_ruts(&mut self, ruts: impl Iterator<Item = RutDepths>) {
        self.ruts.clear();
        self.ruts.extend(ruts);
    }

    /// The poses of its solids and the depths of its soils.
    pub fn state(&self) -> RaySceneState {
        let pose = |pose: &Pose| {
            let ([x, y, z], [i, j, k, w]) = (pose.translation.to_array(), pose.rotation.to_array());
            [x, y, z, i, j, k, w]
        };
        RaySceneState { poses: self.poses.iter().map(pose).collect(), ruts: self.ruts.clone() }
    }

    /// The same shapes in another [`state`](Self::state); `None` if that state belongs to other shapes or soils.
    pub fn with_state(&self, state: &RaySceneState) -> Option<Self> {
        let RaySceneState { poses, ruts } = state;
        if poses.len() != self.shapes.solids.len() || ruts.len() != self.ruts.len() || !ruts.iter().all(RutDepths::fits)
        {
            return None;
        }
        let pose =
            |&[x, y, z, i, j, k, w]: &[f64; 7]| Pose::from_parts(DVec3::new(x, y, z), DQuat::from_xyzw(i, j, k, w));
        let mut scene = Self::with_shapes(Arc::clone(&self.shapes));
        scene.update(poses.iter().map(pose), &mut BvhWorkspace::default());
        scene.ruts.clone_from(ruts);
        Some(scene)
    }

    /// The distance from the ray's origin to the nearest surface, m; 0 from inside a solid. `None` if there is none
    /// within the range.
    pub fn cast(&self, ray: &Ray) -> Option<f64> {
        self.cast_ignoring(ray, |body| ray.ignore == Some(body))
    }

    /// As [`cast`](Self::cast), ignoring the bodies for which `is_ignored` is true.
    pub(crate) fn cast_ignoring(&self, ray: &Ray, is_ignored: impl Fn(BodyId) -> bool) -> Option<f64> {
        let line = query::Ray::new(ray.origin, ray.direction);
        let mut nearest: Option<f64> = None;
        let mut update_nearest = |distance: Option<f64>| {
            nearest = match (nearest, distance) {
                (Some(one), Some(two)) => Some(one.min(two)),
                (one, two) => one.or(two),
            };
            nearest.unwrap_or(ray.range)
        };
        let mut limit = ray.range;
        for OnSoil { ground, soil } in &self.shapes.planes {
            limit = update_nearest(match self.depths(*soil) {
                Some(depths) => pressed::cast_plane(ground, depths, ray),
                None => distance_to_plane(ground, ray),
            });
        }
        let slabs = Slabs::new(ray);
        let entry = |node: &BvhNode, best: f64| slabs.entry(node.mins(), node.maxs(), best);
        // Every shape is searched over the whole range: a search over a shorter one may differ in its last bits.
        let hit_distance = |index: u32, _: f64| {
            let solid = &self.shapes.solids[index as usize];
            let pose = &self.poses[index as usize];
            if is_ignored(solid.body) { None } else { solid.shape.cast_ray(pose, &line, ray.range, true) }
        };
        let solid = self.tree.find_best(limit.next_up(), entry, hit_distance);
        limit = update_nearest(solid.map(|(_, distance)| distance));
        for OnSoil { ground, soil } in &self.shapes.surfaces {
            limit = update_nearest(match self.depths(*soil) {
                Some(depths) => pressed::cast_terrain(ground, depths, ray, limit),
                None => ground.cast(ray, limit),
            });
        }
        nearest
    }

    /// The depths of a ground; `None` if no cell is pressed.
    fn depths(&self, soil: Option<usize>) -> Option<&RutDepths> {
        self.ruts.get(soil?).filter(|depths| !depths.is_empty())
    }
}
