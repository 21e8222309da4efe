//! A scene as one camera sees it at one moment: shapes placed around the camera, and a tree over them.
//!
//! Coordinates count from the camera, in axes of the world. In f32 the nearest shapes are then the most exact ones.

use std::sync::Arc;

use bevy_math::{DMat3, DVec3};
use simpartner_model::{Mechanism, Norm, Pose};

use crate::{
    beam::{LeafList, PixelBeam},
    camera::{Camera, Distortion},
    lamp::PlacedLamp,
    light::Light,
    look::SceneLook,
    rut::GroundRuts,
    scene::{Scene, SceneError, is_finite},
    shape::{Finish, Form, Owner, SceneShape},
    solid::{Ray, Surface},
    surface::{Shading, ShapePoint},
    terrain::Terrain,
    tree::{Bounds, BoxTree, Leaves, Stack, WalkRay},
};

/// Growth of boxes, in parts of their largest coordinate: rounding to f32 and of rays in f32.
const BOX_SLACK: f64 = 1e-6;

/// Largest number of transparent surfaces behind each other; the last one counts as opaque.
pub(crate) const MAX_LAYERS: usize = 16;

/// Distance by which a ray begins beyond a surface, in m and in parts of the distance from the camera. Points of
/// triangles in f32 are off by less.
pub(crate) const SURFACE_LIFT: (f64, f64) = (1e-5, 1e-5);

/// Placed shape.
#[derive(Debug, Clone, Copy)]
struct Placement<'s> {
    shape: &'s SceneShape,
    /// World axes from own axes.
    rotation: DMat3,
    /// Own axes from world axes.
    inverse: DMat3,
    /// Its origin from the camera, m.
    translation: DVec3,
    /// Ruts that take its place, and the camera.
    ruts: Option<(&'s GroundRuts, DVec3)>,
}

/// A plane as the camera sees it.
#[derive(Debug, Clone, Copy)]
struct PlacedPlane<'s> {
    ground: usize,
    /// Ruts that take its place, and the camera.
    ruts: Option<(&'s GroundRuts, DVec3)>,
    normal: DVec3,
    /// Height of the camera above it, m.
    height: f64,
    finish: Finish,
}

/// A scene around a camera.
#[derive(Debug, Clone)]
pub struct View<'s> {
    pub(crate) camera: Camera,
    pub(crate) world_from_optical: Pose,
    /// World axes from optical axes.
    pub(crate) rotation: DMat3,
    /// In the order of the tree's leaves.
    placements: Vec<Placement<'s>>,
    planes: Vec<PlacedPlane<'s>>,
    tree: BoxTree,
    /// Light of the world.
    pub(crate) light: Light,
    pub(crate) lamps: Vec<PlacedLamp>,
}

/// Surface that a ray meets first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sight {
    /// Distance along the ray, m.
    pub distance: f64,
    /// Unit normal on the side that the ray comes from, world axes.
    pub normal: DVec3,
    /// Whose surface it is.
    pub owner: Owner,
    pub(crate) finish: Finish,
    /// Its shape among the placements; `None` for a plane.
    placement: Option<u32>,
    triangle: u32,
}

impl<'s> View<'s> {
    /// A scene with its bodies at these poses, in the order of their ids, around a camera.
    ///
    /// # Errors
    /// A pose that is not finite, or a wrong number of poses.
    pub fn new(scene: &'s Scene, poses: &[Pose], camera: Camera, world_from_optical: Pose) -> Result<Self, SceneError> {
        if poses.len() != scene.body_count {
            return Err(SceneError::PoseCount { given: poses.len(), expected: scene.body_count });
        }
        let world_from_optical = checked_pose(&world_from_optical, "the camera")?;
        let eye = world_from_optical.translation;
        let mut placements = Vec::with_capacity(scene.shapes.len());
        let ruts = || scene.ruts.iter().map(Arc::as_ref).filter(|ruts| !ruts.is_empty());
        let ruts_of = |owner: Owner| ruts().find(|ruts| ruts.ground_owner() == owner).map(|ruts| (ruts, eye));
        let own = scene.shapes.iter().map(|shape| (shape, ruts_of(shape.owner)));
        for (shape, ruts) in own.chain(ruts().flat_map(GroundRuts::tile_shapes).map(|shape| (shape, None))) {
            let outer = match shape.owner {
                Owner::Ground(_) => Pose::IDENTITY,
                Owner::Body(id) => checked_pose(&poses[id.index()], &format!("body {}", id.index()))?,
            };
            let world_from_shape = outer.then(&shape.pose);
            let rotation = DMat3::from_quat(world_from_shape.rotation);
            placements.push(Placement {
                shape,
                rotation,
                inverse: rotation.transpose(),
                translation: world_from_shape.translation - eye,
                ruts,
            });
        }
        let boxes: Vec<Bounds> = placements.iter().map(Placement::placed_bounds).collect();
        let (tree, order) = BoxTree::over_boxes(&boxes, 1);
        let placements: Vec<Placement<'_>> = order.into_iter().map(|place| placements[place as usize]).collect();
        let planes = scene.planes.iter().map(|plane| PlacedPlane {
            ground: plane.ground,
            ruts: ruts_of(Owner::Ground(plane.ground)),
            normal: plane.normal,
            height: plane.normal.dot(eye) - plane.distance,
            finish: plane.finish,
        });
        Ok(Self {
            camera,
            world_from_optical,
            rotation: DMat3::from_quat(world_from_optical.rotation),
            placements,
            planes: planes.collect(),
            tree,
            light: scene.light,
            lamps: scene.lamps.iter().filter_map(|lamp| PlacedLamp::of_lamp(lamp, eye)).collect(),
        })
    }

    /// A mechanism at the beginning, around a camera.
    ///
    /// # Errors
    /// As [`View::new`].
    pub fn of_start(
        scene: &'s Scene,
        mechanism: &Mechanism,
        camera: Camera,
        world_from_optical: Pose,
    ) -> Result<Self, SceneError> {
        let poses: Vec<Pose> = mechanism.bodies.iter().map(|body| body.pose).collect();
        Self::new(scene, &poses, camera, world_from_optical)
    }

    /// The camera.
    pub fn camera(&self) -> &Camera {
        &self.camera
    }

    /// World from optical frame.
    pub fn world_from_optical(&self) -> &Pose {
        &self.world_from_optical
    }

    /// The first surface that a ray of the world meets.
    pub fn first_sight(&self, ray: &Ray) -> Option<Sight> {
        let origin = ray.origin - self.world_from_optical.translation;
        self.nearest_sight(&Ray { origin, ..*ray }, &mut Stack::new())
    }

    /// The ray of a pixel, world axes, from the camera; `None` where the lens sees nothing.
    pub(crate) fn pixel_ray(&self, column: f64, row: f64, range: [f64; 2]) -> Option<Ray> {
        let direction = self.camera.direction(column, row)?;
        Some(Ray { origin: DVec3::ZERO, direction: self.rotation * direction, range })
    }

    /// Finds the shapes that the rays of a rectangle of pixels can meet. False, where that is not known: the list must
    /// then not be used.
    pub(crate) fn list_shapes(&self, low: [usize; 2], high: [usize; 2], leaves: &mut LeafList) -> bool {
        let optics = self.camera.optics();
        if optics.distortion != Distortion::None {
            return false;
        }
        // Samples are within half a pixel. The rest is many times the rounding of directions to f32.
        let margin = optics.focal.map(|focal| 0.51 + 4e-6 * focal);
        let sides = [0, 1].map(|axis| {
            let side = |at: f64| (at - optics.principal_point[axis]) / optics.focal[axis];
            [side(low[axis] as f64 - margin[axis]), side(high[axis] as f64 - 1.0 + margin[axis])]
        });
        let corner = |[x, y]: [usize; 2]| self.rotation * DVec3::new(sides[0][x], sides[1][y], 1.0);
        leaves.collect_leaves(&self.tree, &PixelBeam::between_corners([[0, 0], [1, 0], [1, 1], [0, 1]].map(corner)))
    }

    /// The first surface that a ray meets; its origin counts from the camera.
    pub(crate) fn nearest_sight(&self, ray: &Ray, stack: &mut Stack) -> Option<Sight> {
        self.nearest_leaf(ray, &self.tree, stack)
    }

    /// The same among the shapes of a list, which must have all that the ray can meet.
    pub(crate) fn nearest_listed(&self, ray: &Ray, leaves: &LeafList, stack: &mut Stack) -> Option<Sight> {
        self.nearest_leaf(ray, leaves, stack)
    }

    /// The first surface among planes and the leaves that a walk visits. Of shapes at one distance, the first in the
    /// tree is taken, so the order of visits changes nothing.
    #[inline(always)]
    fn nearest_leaf(&self, ray: &Ray, leaves: &impl Leaves, stack: &mut Stack) -> Option<Sight> {
        let mut range = ray.range;
        let mut plane: Option<&PlacedPlane<'_>> = None;
        for other in &self.planes {
            if let Some(distance) =
                other.first_hit(ray).filter(|distance| range[0] <= *distance && *distance <= range[1])
            {
                (plane, range[1]) = (Some(other), distance);
            }
        }
        let mut best: Option<(u32, Surface)> = None;
        if !leaves.is_empty() {
            let walk = WalkRay::new(ray.origin.as_vec3(), ray.direction.as_vec3());
            let span = [range[0] as f32, rounded_up(range[1])];
            leaves.walk_leaves(&walk, span, stack, |place, _, far, stack| {
                let placement = &self.placements[place as usize];
                let Some(met) = placement.first_hit(&Ray { range, ..*ray }, false, stack) else { return far };
                if best.is_some_and(|(other, best)| best.distance == met.distance && other < place) {
                    return far;
                }
                range[1] = met.distance;
                best = Some((place, met));
                rounded_up(met.distance)
            });
        }
        match (best, plane) {
            (Some((place, Surface { distance, normal, triangle })), _) => {
                let placement = &self.placements[place as usize];
                let (owner, finish) = (placement.shape.owner, placement.shape.finish);
                let normal = placement.rotation * normal;
                Some(Sight { distance, normal, owner, finish, placement: Some(place), triangle })
            }
            (None, Some(PlacedPlane { ground, normal, finish, .. })) => {
                let (owner, finish) = (Owner::Ground(*ground), *finish);
                Some(Sight { distance: range[1], normal: *normal, owner, finish, placement: None, triangle: 0 })
            }
            (None, None) => None,
        }
    }

    /// Look of what a ray has met; `None` for a plain colour. The normal is in axes of the world.
    pub(crate) fn sight_shading(&self, ray: &Ray, met: &Sight) -> Option<Shading> {
        let placement = &self.placements[met.placement? as usize];
        let look = placement.shape.look.as_ref()?;
        let normal = placement.inverse * met.normal;
        let inner = placement.inner_ray(ray);
        let at = ShapePoint::on_ray(&inner, met.distance, normal, met.triangle, self.camera.pixel_angle());
        let shading = look.shading_at(placement.shape, &at);
        Some(Shading { normal: placement.rotation * shading.normal, ..shading })
    }

    /// True if something opaque is on a ray; its origin counts from the camera.
    pub(crate) fn is_blocked(&self, ray: &Ray, stack: &mut Stack) -> bool {
        let is_between = |distance: f64| ray.range[0] <= distance && distance <= ray.range[1];
        if self.planes.iter().filter_map(|plane| plane.first_hit(ray)).any(is_between) {
            return true;
        }
        let mut blocked = false;
        let walk = WalkRay::new(ray.origin.as_vec3(), ray.direction.as_vec3());
        self.tree.walk_leaves(&walk, [ray.range[0] as f32, rounded_up(ray.range[1])], stack, |place, _, far, stack| {
            let placement = &self.placements[place as usize];
            blocked = placement.shape.finish.opacity >= 1.0
                && match placement.shape.look.as_ref().filter(|look| look.has_holes()) {
                    None => placement.first_hit(ray, true, stack).is_some(),
                    Some(look) => placement.is_blocked_by(look, ray, stack),
                };
            if blocked { f32::NEG_INFINITY } else { far }
        });
        blocked
    }
}

/// A pose with a unit quaternion.
fn checked_pose(pose: &Pose, name: &str) -> Result<Pose, SceneError> {
    let rotation = pose.rotation.try_normalized();
    match rotation.filter(|_| is_finite(pose)) {
        Some(rotation) => Ok(Pose { rotation, ..*pose }),
        None => Err(SceneError::Pose(name.to_owned())),
    }
}

/// In f32, a number not below this one.
fn rounded_up(number: f64) -> f32 {
    (number as f32) * (1.0 + f32::EPSILON)
}

impl Placement<'_> {
    /// Its box around the camera.
    fn placed_bounds(&self) -> Bounds {
        let [low, high] = self.shape.bounds;
        let half = 0.5 * (high - low);
        let centre = self.translation + self.rotation * (0.5 * (low + high));
        let [x, y, z] = [self.rotation.x_axis, self.rotation.y_axis, self.rotation.z_axis].map(DVec3::abs);
        let reach = x * half.x + y * half.y + z * half.z;
        let reach = reach + DVec3::splat(BOX_SLACK * (centre.abs() + reach).max_element());
        Bounds { low: (centre - reach).as_vec3(), high: (centre + reach).as_vec3() }
    }

    /// A ray in the shape's own frame.
    #[inline]
    fn inner_ray(&self, ray: &Ray) -> Ray {
        Ray {
            origin: self.inverse * (ray.origin - self.translation),
            direction: self.inverse * ray.direction,
            range: ray.range,
        }
    }

    /// True if a ray to the light meets a place of an image with holes that is none of them.
    fn is_blocked_by(&self, look: &SceneLook, ray: &Ray, stack: &mut Stack) -> bool {
        let mut ray = *ray;
        for _ in 0..MAX_LAYERS {
            let Some(met) = self.first_hit(&ray, false, stack) else { return false };
            let at = ShapePoint::on_ray(&self.inner_ray(&ray), met.distance, met.normal, met.triangle, 0.0);
            if look.throws_shadow(self.shape, &at) {
                return true;
            }
            ray.range[0] = met.distance + SURFACE_LIFT.0 + SURFACE_LIFT.1 * met.distance;
        }
        true
    }

    #[inline]
    fn first_hit(&self, ray: &Ray, any: bool, stack: &mut Stack) -> Option<Surface> {
        let inner = self.inner_ray(ray);
        let met = match &self.shape.form {
            Form::Solid(solid) => solid.first_hit(&inner),
            Form::Mesh(mesh) => mesh.first_hit(&inner, any, stack),
            Form::Terrain(terrain) => match self.ruts {
                None => terrain.first_hit(&inner),
                Some(ruts) => first_hit_beside(terrain, ruts, &inner, ray),
            },
        };
        // The exact point of a triangle may lie behind what was met before.
        met.filter(|met| met.distance <= ray.range[1])
    }
}

/// Where a ray, in the frame of terrain and from the camera, meets it beside the ruts that take its place.
fn first_hit_beside(terrain: &Terrain, (ruts, eye): (&GroundRuts, DVec3), inner: &Ray, ray: &Ray) -> Option<Surface> {
    let mut inner = *inner;
    // Into and out of a rut are two crossings.
    for _ in 0..2 * MAX_LAYERS {
        let met = terrain.first_hit(&inner)?;
        if !ruts.covers_point(eye + ray.origin + met.distance * ray.direction) {
            return Some(met);
        }
        inner.range[0] = met.distance + SURFACE_LIFT.0 + SURFACE_LIFT.1 * met.distance;
    }
    None
}

impl PlacedPlane<'_> {
    /// Where a ray goes into the ground.
    fn first_hit(&self, ray: &Ray) -> Option<f64> {
        let fall = self.normal.dot(ray.direction);
        let distance = (fall < 0.0).then(|| -(self.height + self.normal.dot(ray.origin)) / fall)?;
        match self.ruts {
            Some((ruts, eye)) if ruts.covers_point(eye + ray.origin + distance * ray.direction) => None,
            _ => Some(distance),
        }
    }
}
