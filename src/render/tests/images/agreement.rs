//! Every pixel beside parry's rays in f64, shape after shape without any tree.

use bevy_math::DVec3;
use simpartner_dynamics::RayTarget;
use simpartner_model::{Ground, Mechanism, Placed, Pose, Shape};
use simpartner_render::{Owner, Scene};

use crate::worlds::{camera, cameras, every_shape, hills, level_plane, view};

/// Distances and owners along a ray, shape after shape, the nearest first.
struct Reference<'m> {
    model: &'m Mechanism,
    targets: Vec<RayTarget>,
    /// Its heightfield as triangles.
    terrain: Option<RayTarget>,
}

impl<'m> Reference<'m> {
    fn new(model: &'m Mechanism) -> Self {
        let shapes = model.bodies.iter().map(|body| body.shape.as_ref().expect("a shape"));
        let target = |placed: &Placed| RayTarget::new(placed).expect("a surface");
        let terrain = model.heightfields().next().map(|field| {
            let points = (0..field.points_x).flat_map(|i| (0..field.points_z).map(move |j| (i, j)));
            let number = |i: usize, j: usize| (i * field.points_z + j) as u32;
            let corners = |(i, j)| [number(i, j), number(i + 1, j), number(i, j + 1), number(i + 1, j + 1)];
            let triangles = field.cells().map(corners).flat_map(|[low, x, z, high]| [[low, z, x], [high, x, z]]);
            let vertices = points.map(|(i, j)| field.point(i, j)).collect();
            let shape = Shape::TriangleMesh { vertices, triangles: triangles.collect() };
            target(&Placed { pose: Pose::IDENTITY, shape })
        });
        Self { model, targets: shapes.map(target).collect(), terrain }
    }

    fn along(&self, origin: DVec3, direction: DVec3) -> Vec<(f64, Owner)> {
        let bodies = self.model.bodies().zip(&self.targets).filter_map(|((id, body), target)| {
            let body_from_world = body.pose.inverse();
            let line = (body_from_world.point(origin), body_from_world.direction(direction));
            target.meet(line.0, line.1, 1e3).map(|(distance, _)| (distance, Owner::Body(id)))
        });
        let mut found: Vec<(f64, Owner)> = bodies.collect();
        for (number, ground) in self.model.grounds.iter().enumerate() {
            let distance = match ground {
                Ground::Plane(plane) => {
                    let at = (plane.distance - plane.normal.dot(origin)) / plane.normal.dot(direction);
                    (at > 0.0).then_some(at)
                }
                Ground::Heightfield(_) | Ground::Mesh(_) => {
                    self.terrain.as_ref().and_then(|terrain| terrain.meet(origin, direction, 1e3)).map(|met| met.0)
                }
            };
            found.extend(distance.map(|distance| (distance, Owner::Ground(number))));
        }
        found.sort_by(|one, other| one.0.total_cmp(&other.0));
        found
    }
}

/// Segmentation and depth of each pixel are those of the first shape along its ray. At the rim of a hull or of a mesh,
/// f32 decides otherwise than f64 on one ray in a hundred thousand.
#[test]
fn every_pixel_shows_the_first_shape_along_its_ray() {
    let camera = camera(160, 120);
    for model in [every_shape(level_plane()), every_shape(hills())] {
        let reference = Reference::new(&model);
        let scene = Scene::new(&model).unwrap();
        let (mut compared, mut others) = (0, Vec::new());
        for pose in cameras() {
            let view = view(&scene, &model, camera, pose);
            let (owners, depths) = (view.segmentation_image(2), view.depth_image(2));
            for (row, column) in (0..120).flat_map(|row| (0..160).map(move |column| (row, column))) {
                let direction = camera.direction(column as f64, row as f64).unwrap();
                let found = reference.along(pose.translation, pose.direction(direction));
                let seen = *owners.pixel(column, row);
                compared += 1;
                if found.first().map(|first| first.1) != seen {
                    others.push((column, row, seen, found));
                    continue;
                }
                let depth = f64::from(*depths.pixel(column, row));
                let expected = found.first().map_or(f64::INFINITY, |first| first.0 * direction.z);
                // Half a unit in the last place of f32, and of what parry makes of small triangles.
                let is_near = depth == expected || (depth - expected).abs() < 1e-6 * expected;
                assert!(is_near, "{column} {row} {seen:?}: {depth} in place of {expected}");
            }
        }
        assert!(compared > 70_000 && others.len() <= 1, "{} of {compared}: {others:?}", others.len());
    }
}

/// A depth image turned into points lies on the shapes: the distance of each point from the surface of its owner.
#[test]
fn points_of_a_depth_image_lie_on_the_surfaces() {
    let camera = camera(160, 120);
    let model = every_shape(level_plane());
    let scene = Scene::new(&model).unwrap();
    for pose in cameras() {
        let view = view(&scene, &model, camera, pose);
        let (owners, depths) = (view.segmentation_image(2), view.depth_image(2));
        let reference = Reference::new(&model);
        let mut points = 0;
        for (row, column) in (0..120).flat_map(|row| (0..160).map(move |column| (row, column))) {
            let Some(owner) = *owners.pixel(column, row) else { continue };
            let direction = camera.direction(column as f64, row as f64).unwrap();
            let point = pose.point(direction * (f64::from(*depths.pixel(column, row)) / direction.z));
            // From a tenth of a metre before the point, the surface is a tenth of a metre away.
            let along = pose.direction(direction);
            let found = reference.along(point - 0.1 * along, along);
            let off = found.iter().filter(|found| found.1 == owner).map(|found| (found.0 - 0.1).abs());
            let off = off.fold(f64::INFINITY, f64::min);
            assert!(off < 1e-6 * (point - pose.translation).length(), "{owner:?} {off}");
            points += 1;
        }
        assert!(points > 10_000, "{points}");
    }
}
