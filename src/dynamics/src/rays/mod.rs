//! Rays: the distance to the nearest shape along a line.
//!
//! A [`RayScene`] has the shapes of a world and where they are at one step. Both engines keep one, move it when rays
//! are cast after a step, and share it with whoever casts rays beside the steps. It knows nothing of joints, contacts
//! or sensors. The nearest shape is found in a tree of boxes (Wald, Boulos and Shirley, 2007), terrain by its
//! [grid](relief), triangles by parry's tree of each mesh.
//!
//! Each distance is a function of one shape, its pose and the ray alone, and the result is the smallest of them. Boxes
//! only say what cannot be the nearest, so how the tree came about changes no bit.

mod current;
mod depths;
mod pressed;
mod relief;
mod slabs;
mod surface;

use std::sync::Arc;

use bevy_math::{DQuat, DVec3};
use serde::{Deserialize, Serialize};
use simpartner_model::{BodyId, Norm, Plane};

pub use self::depths::RutDepths;
use self::slabs::Slabs;
pub(crate) use self::{current::CurrentScene, depths::cell as rut_cell, surface::Surface};
use crate::{
    Ray,
    parry::{
        bounding_volume::Aabb,
        math::Pose,
        partitioning::{Bvh, BvhBuildStrategy, BvhNode, BvhWorkspace},
        query,
        shape::SharedShape,
    },
};

/// Margin of the box of a shape that moves, as a part of the shape's size. A box is made anew when half of it is used
/// up.
const ROOM: f64 = 0.1;
/// Margin of the box of a shape that never moves, as a part of its size and of its distance from the origin: 1e7 times
/// the rounding of a ray's parameters, which is a few units of the last place of these lengths.
const ROUNDING: f64 = 1e-9;

/// The tree is improved when so many parts of its boxes were made anew: parry's improvement takes up a twentieth of a
/// tree at a time.
const OPTIMISED_AFTER: usize = 20;

/// The shapes of a world that rays meet, where they were after one step.
#[derive(Clone)]
pub struct RayScene {
    shapes: Arc<Shapes>,
    /// `world_from_shape` of each solid.
    poses: Vec<Pose>,
    /// The poses for which their boxes were made.
    boxed: Vec<Pose>,
    /// How many boxes were made anew since the tree was last improved.
    moved: usize,
    tree: Bvh,
    /// How deep each soil was pressed.
    ruts: Vec<RutDepths>,
}

/// What of a scene changes from step to step: where its solids are and how soils were pressed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RaySceneState {
    /// `world_from_shape` of each solid: position, then orientation as x, y, z, w.
    poses: Vec<[f64; 7]>,
    ruts: Vec<RutDepths>,
}

/// What never changes.
struct Shapes {
    solids: Vec<Solid>,
    planes: Vec<OnSoil<Plane>>,
    surfaces: Vec<OnSoil<Arc<Surface>>>,
}

/// A ground, and the number of its soil if it is one.
pub(crate) struct OnSoil<T> {
    pub(crate) ground: T,
    pub(crate) soil: Option<usize>,
}

/// The shape of a body.
pub(crate) struct Solid {
    body: BodyId,
    shape: SharedShape,
    /// Its box in its own frame.
    bounds: Aabb,
    /// The farthest that a point of that box is from its origin, m.
    reach: f64,
    moves: bool,
}

impl Solid {
    /// The shape of a body; `moves` is false if it stays where it is from the first step on.
    pub(crate) fn new(body: BodyId, shape: SharedShape, moves: bool) -> Self {
        let bounds = shape.compute_local_aabb();
        let reach = bounds.mins.abs().max(bounds.maxs.abs()).norm();
        Self { body, shape, bounds, reach, moves }
    }

    /// A box around it at a pose, with a margin.
    fn bounds_at(&self, pose: &Pose) -> Aabb {
        let bounds = self.bounds.transform_by(pose);
        let far = bounds.mins.abs().max(bounds.maxs.abs()).max_element();
        let room = if self.moves { ROOM * self.reach } else { 0.0 };
        let margin = DVec3::splat(room + ROUNDING * (self.reach + far));
        Aabb::new(bounds.mins - margin, bounds.maxs + margin)
    }

    /// Whether the box that was made for a pose still holds it at another one.
    fn is_held(&self, boxed: &Pose, now: &Pose) -> bool {
        let sign = if now.rotation.dot(boxed.rotation) < 0.0 { -1.0 } else { 1.0 };
        let turn = now.rotation * sign - boxed.rotation;
        // A turn by an angle a moves a point at the distance r by 2 r sin(a/2), and quaternions differ by 2 sin(a/4)
        // then.
        let way = (now.translation - boxed.translation).norm() + 2.0 * self.reach * turn.length();
        self.moves && way <= 0.5 * ROOM * self.reach
    }
}

impl RayScene {
    /// These shapes of bodies, none of which is anywhere yet, and the grounds.
    pub(crate) fn new(solids: Vec<Solid>, planes: Vec<OnSoil<Plane>>, surfaces: Vec<OnSoil<Arc<Surface>>>) -> Self {
        Self::of(Arc::new(Shapes { solids, planes, surfaces }))
    }

    fn of(shapes: Arc<Shapes>) -> Self {
        Self { shapes, poses: Vec::new(), boxed: Vec::new(), moved: 0, tree: Bvh::new(), ruts: Vec::new() }
    }

    /// Puts the solids where they are now: `world_from_shape`, in their order.
    pub(crate) fn update(&mut self, poses: impl Iterator<Item = Pose>, workspace: &mut BvhWorkspace) {
        let Self { shapes, poses: old, boxed, moved, tree, .. } = self;
        if old.is_empty() {
            old.extend(poses);
            boxed.clone_from(old);
            let boxes: Vec<Aabb> = shapes.solids.iter().zip(&*old).map(|(solid, pose)| solid.bounds_at(pose)).collect();
            *tree = Bvh::from_leaves(BvhBuildStrategy::Binned, &boxes);
            return;
        }
        let mut remade = 0;
        for (index, ((solid, now), pose)) in shapes.solids.iter().zip(poses).zip(old).enumerate() {
            if now == *pose {
                continue;
            }
            *pose = now;
            if !solid.is_held(&boxed[index], &now) {
                boxed[index] = now;
                tree.insert_or_update_partially(solid.bounds_at(&now), index as u32, 0.0);
                remade += 1;
            }
        }
        if remade > 0 {
            tree.refit_without_opt();
            *moved += remade;
        }
        if *moved > shapes.solids.len() / OPTIMISED_AFTER {
            *moved = 0;
            tree.refit(workspace);
            tree.optimize_incremental(workspace);
        }
    }

    /// How deep soils are pressed now, by their numbers.
    pub(crate) fn set_ruts(&mut self, ruts: impl Iterator<Item = RutDepths>) {
        self.ruts.clear();
        self.ruts.extend(ruts);
    }

    /// Where its solids are and how its soils were pressed.
    pub fn state(&self) -> RaySceneState {
        let pose = |pose: &Pose| {
            let ([x, y, z], [i, j, k, w]) = (pose.translation.to_array(), pose.rotation.to_array());
            [x, y, z, i, j, k, w]
        };
        RaySceneState { poses: self.poses.iter().map(pose).collect(), ruts: self.ruts.clone() }
    }

    /// The same shapes in another [`state`](Self::state); `None` if that is of other shapes or soils.
    pub fn with_state(&self, state: &RaySceneState) -> Option<Self> {
        let RaySceneState { poses, ruts } = state;
        if poses.len() != self.shapes.solids.len() || ruts.len() != self.ruts.len() || !ruts.iter().all(RutDepths::fits)
        {
            return None;
        }
        let pose =
            |&[x, y, z, i, j, k, w]: &[f64; 7]| Pose::from_parts(DVec3::new(x, y, z), DQuat::from_xyzw(i, j, k, w));
        let mut scene = Self::of(Arc::clone(&self.shapes));
        scene.update(poses.iter().map(pose), &mut BvhWorkspace::default());
        scene.ruts.clone_from(ruts);
        Some(scene)
    }

    /// The distance in metres from the ray's origin to the first shape in its way, if there is one within its range; 0
    /// from within a solid one.
    pub fn cast(&self, ray: &Ray) -> Option<f64> {
        self.cast_past(ray, |body| ray.ignore == Some(body))
    }

    /// The same past bodies of the caller's choice.
    pub(crate) fn cast_past(&self, ray: &Ray, passes: impl Fn(BodyId) -> bool) -> Option<f64> {
        let line = query::Ray::new(ray.origin, ray.direction);
        let mut nearest: Option<f64> = None;
        let mut see = |distance: Option<f64>| {
            nearest = match (nearest, distance) {
                (Some(one), Some(two)) => Some(one.min(two)),
                (one, two) => one.or(two),
            };
            nearest.unwrap_or(ray.range)
        };
        let mut limit = ray.range;
        for OnSoil { ground, soil } in &self.shapes.planes {
            limit = see(match self.depths(*soil) {
                Some(depths) => pressed::cast_plane(ground, depths, ray),
                None => distance_to_plane(ground, ray),
            });
        }
        let slabs = Slabs::new(ray);
        let entry = |node: &BvhNode, best: f64| slabs.entry(node.mins(), node.maxs(), best);
        // Each shape is asked for the whole range: what a search says that is cut short may differ in its last bits.
        let meet = |index: u32, _: f64| {
            let solid = &self.shapes.solids[index as usize];
            let pose = &self.poses[index as usize];
            if passes(solid.body) { None } else { solid.shape.cast_ray(pose, &line, ray.range, true) }
        };
        let solid = self.tree.find_best(limit.next_up(), entry, meet);
        limit = see(solid.map(|(_, distance)| distance));
        for OnSoil { ground, soil } in &self.shapes.surfaces {
            limit = see(match self.depths(*soil) {
                Some(depths) => pressed::cast_terrain(ground, depths, ray, limit),
                None => ground.cast(ray, limit),
            });
        }
        nearest
    }

    /// The ruts in a ground, if there are any.
    fn depths(&self, soil: Option<usize>) -> Option<&RutDepths> {
        self.ruts.get(soil?).filter(|depths| !depths.is_empty())
    }
}

/// The distance along a ray to a plane, m; 0 from below it.
fn distance_to_plane(plane: &Plane, ray: &Ray) -> Option<f64> {
    let (height, slope) = (plane.normal.dot(ray.origin) - plane.distance, plane.normal.dot(ray.direction));
    let distance = if height <= 0.0 { 0.0 } else { -height / slope };
    (distance >= 0.0 && distance <= ray.range).then_some(distance)
}
