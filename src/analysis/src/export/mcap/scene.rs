//! Converts the shapes of a world to Foxglove's primitives, with one entity for each body, fixed to the body's frame.

use bevy_math::{DQuat, DVec3};
use serde_json::{Value, json};
use simpartner_description::World;
use simpartner_dynamics::hull_surface;
use simpartner_model::{Color, Ground, Heightfield, Placed, Plane, Pose, Shape};

/// Half the width of the square that represents a plane, which is infinite, m.
const PLANE_HALF_WIDTH: f64 = 25.0;

/// Largest number of grid points along a side of a terrain: half a million triangles.
const MAX_TERRAIN_POINTS: usize = 513;

const ROBOT_COLOR: [f64; 4] = [0.20, 0.44, 0.66, 1.0];
const OBJECT_COLOR: [f64; 4] = [0.62, 0.52, 0.38, 1.0];
const GROUND_COLOR: [f64; 4] = [0.80, 0.80, 0.77, 1.0];

/// The whole scene as a SceneUpdate of Foxglove.
pub(super) fn scene_update(world: &World, timestamp: Value) -> Value {
    let robots =
        world.mechanism.bodies.iter().map(|body| body.robot.map(|robot| &world.mechanism.robots[robot.index()].name));
    let bodies = world.mechanism.bodies.iter().zip(robots).filter_map(|(body, robot)| {
        let color = if robot.is_some() { ROBOT_COLOR } else { OBJECT_COLOR };
        let name = robot.map_or(body.name.clone(), |robot| format!("{robot}/{}", body.name));
        let mut primitives = Primitives::default();
        for (placed, own) in body.seen() {
            primitives.add_shape(placed, &Pose::IDENTITY, own.map_or(color, Color::fractions));
        }
        (!primitives.is_empty()).then(|| primitives.into_entity(&name, &name, &timestamp))
    });
    let mut ground = Primitives::default();
    ground.triangles.extend(world.mechanism.grounds.iter().map(|ground| match ground {
        Ground::Plane(ground) => plane_triangles(ground),
        Ground::Heightfield(field) => terrain_triangles(&field.at_most(MAX_TERRAIN_POINTS)),
        Ground::Mesh(surface) => {
            triangle_list(&Pose::IDENTITY, &surface.vertices, surface.triangles.as_flattened().to_vec(), GROUND_COLOR)
        }
    }));
    let entities: Vec<Value> = bodies.chain([ground.into_entity("world", "ground", &timestamp)]).collect();
    json!({ "deletions": [], "entities": entities })
}

/// Primitives of an entity.
#[derive(Default)]
struct Primitives {
    cubes: Vec<Value>,
    spheres: Vec<Value>,
    cylinders: Vec<Value>,
    triangles: Vec<Value>,
}

impl Primitives {
    fn is_empty(&self) -> bool {
        [&self.cubes, &self.spheres, &self.cylinders, &self.triangles].into_iter().all(Vec::is_empty)
    }

    fn into_entity(self, frame: &str, id: &str, timestamp: &Value) -> Value {
        json!({ "timestamp": timestamp, "frame_id": frame, "id": id, "lifetime": { "sec": 0, "nsec": 0 },
            "frame_locked": true, "metadata": [], "arrows": [], "cubes": self.cubes, "spheres": self.spheres,
            "cylinders": self.cylinders, "lines": [], "triangles": self.triangles, "texts": [], "models": [] })
    }

    /// Adds a shape, which is placed in the frame `outer`.
    fn add_shape(&mut self, placed: &Placed, outer: &Pose, color: [f64; 4]) {
        let inner = Pose {
            translation: outer.translation + outer.rotation * placed.pose.translation,
            rotation: outer.rotation * placed.pose.rotation,
        };
        let solid =
            |size: DVec3| json!({ "pose": pose_json(&inner), "size": vector_json(size), "color": color_json(color) });
        match &placed.shape {
            Shape::Box { size } => self.cubes.push(solid(*size)),
            Shape::Sphere { radius } => self.spheres.push(solid(DVec3::splat(2.0 * radius))),
            Shape::Ellipsoid { radii } => self.spheres.push(solid(*radii * 2.0)),
            Shape::Cylinder { radius, length } => self.cylinders.push(cylinder(&inner, *radius, *length, 1.0, color)),
            Shape::Cone { radius, length } => self.cylinders.push(cylinder(&inner, *radius, *length, 0.0, color)),
            Shape::Capsule { radius, length } => {
                self.cylinders.push(cylinder(&inner, *radius, *length, 1.0, color));
                for end in [-0.5, 0.5] {
                    let place = Pose { translation: DVec3::Y * end * *length, rotation: DQuat::IDENTITY };
                    self.add_shape(&Placed { pose: place, shape: Shape::Sphere { radius: *radius } }, &inner, color);
                }
            }
            Shape::ConvexHull { points } => {
                let (vertices, triangles) = hull_surface(points).unwrap_or_default();
                self.triangles.push(triangle_list(&inner, &vertices, triangles.into_flattened(), color));
            }
            Shape::TriangleMesh { vertices, triangles } => {
                let indices = triangles.iter().flatten().copied();
                self.triangles.push(triangle_list(&inner, vertices, indices.collect(), color));
            }
            Shape::Compound { parts } => parts.iter().for_each(|part| self.add_shape(part, &inner, color)),
        }
    }
}

/// A cylinder or cone; `top` is the ratio of the radii at the top and at the bottom. The axis of Foxglove's cylinders
/// is z, and the axis of this program's is y.
fn cylinder(place: &Pose, radius: f64, length: f64, top: f64, color: [f64; 4]) -> Value {
    let upright = DQuat::from_rotation_x(-std::f64::consts::FRAC_PI_2);
    let turned = Pose { rotation: place.rotation * upright, ..*place };
    let size = DVec3::new(2.0 * radius, 2.0 * radius, length);
    json!({ "pose": pose_json(&turned), "size": vector_json(size), "bottom_scale": 1.0, "top_scale": top,
        "color": color_json(color) })
}

/// A list of triangles with three indices of points each.
fn triangle_list(place: &Pose, points: &[DVec3], indices: Vec<u32>, color: [f64; 4]) -> Value {
    let points: Vec<Value> = points.iter().copied().map(vector_json).collect();
    json!({ "pose": pose_json(place), "points": points, "color": color_json(color), "colors": [], "indices": indices })
}

fn plane_triangles(plane: &Plane) -> Value {
    let (one, two) = plane.normal.any_orthonormal_pair();
    let middle = plane.normal * plane.distance;
    let corner = |a: f64, b: f64| middle + (one * a + two * b) * PLANE_HALF_WIDTH;
    let corners = [corner(-1.0, -1.0), corner(1.0, -1.0), corner(1.0, 1.0), corner(-1.0, 1.0)];
    triangle_list(&Pose::IDENTITY, &corners, vec![0, 1, 2, 0, 2, 3], GROUND_COLOR)
}

fn terrain_triangles(field: &Heightfield) -> Value {
    let grid = (0..field.points_x).flat_map(|i| (0..field.points_z).map(move |j| (i, j)));
    // A point without height is part of no triangle, but needs finite coordinates.
    let level = |point: DVec3| if point.is_nan() { field.pose.translation } else { point };
    let points: Vec<DVec3> = grid.map(|(i, j)| level(field.point(i, j))).collect();
    let row = field.points_z as u32;
    let cells = field.cells().map(|(i, j)| i as u32 * row + j as u32);
    let indices = cells.flat_map(|at| [at, at + 1, at + row, at + 1, at + row + 1, at + row]);
    triangle_list(&Pose::IDENTITY, &points, indices.collect(), GROUND_COLOR)
}

fn vector_json(v: DVec3) -> Value {
    json!({ "x": v.x, "y": v.y, "z": v.z })
}

fn pose_json(pose: &Pose) -> Value {
    let q = pose.rotation;
    json!({ "position": vector_json(pose.translation), "orientation": { "x": q.x, "y": q.y, "z": q.z, "w": q.w } })
}

fn color_json([r, g, b, a]: [f64; 4]) -> Value {
    json!({ "r": r, "g": g, "b": b, "a": a })
}
