//! Floors of tiles and bodies on them, by random numbers.

use std::f64::consts::FRAC_PI_2;

use bevy_math::{DQuat, DVec3};
use simpartner_description::World;
use simpartner_model::{Heightfield, Material, Placed, Pose, Shape, random::Stream};

use super::super::G;
use crate::scene::{self, body};

/// Half the width of the floor, and the thickness of its tiles, m.
pub const HALF: f64 = 2.5;
const FLOOR_THICKNESS: f64 = 0.3;

pub const FLOORS: [&str; 7] = ["boxes", "hulls", "meshes", "compound", "terrain and boxes", "mixed", "mesh compound"];
pub const SLIDERS: [&str; 9] = ["box", "sphere", "capsule", "cylinder", "wheel", "cone", "hull", "mesh", "compound"];

/// A floor of tiles, and a body on it.
pub struct Scene {
    pub world: World,
    /// Index of the body.
    pub slider: usize,
    /// Velocity of the body in the frame of the floor, m/s.
    pub velocity: DVec3,
    /// `world_from_floor`: rotation, and translation, m.
    pub turn: DQuat,
    shift: DVec3,
}

/// A random rotation.
fn random_rotation(stream: &mut Stream) -> DQuat {
    let [x, y, z, w] = [0; 4].map(|_| stream.gaussian());
    DQuat::from_xyzw(x, y, z, w).normalize()
}

pub fn block_corners(half: DVec3) -> Vec<DVec3> {
    let sign = |k: u32, bit: u32| if k >> bit & 1 == 0 { -1.0 } else { 1.0 };
    (0..8).map(|k| half * DVec3::new(sign(k, 0), sign(k, 1), sign(k, 2))).collect()
}

/// A block of twelve triangles.
pub fn block_mesh(half: DVec3) -> Shape {
    let sides = [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];
    let triangles = sides.into_iter().flat_map(|[a, b, c, d]| [[a, b, c], [a, c, d]]).collect();
    Shape::TriangleMesh { vertices: block_corners(half), triangles }
}

/// A tile of a kind of floor.
fn tile_shape(floor: &str, stream: &mut Stream, half: DVec3) -> Shape {
    match (floor, stream.below(3)) {
        ("hulls", _) | ("mixed", 1) => Shape::ConvexHull { points: block_corners(half) },
        ("meshes" | "mesh compound", _) | ("mixed", 2) => block_mesh(half),
        _ => Shape::Box { size: 2.0 * half },
    }
}

/// A slider, and the height of its centre over the floor.
pub fn slider_shape(kind: &str, stream: &mut Stream) -> (Placed, f64) {
    let mut length = |low: f64, high: f64| stream.between(low, high);
    let lying = DQuat::from_rotation_x(FRAC_PI_2);
    let (shape, height, rotation) = match kind {
        "box" => {
            let size = DVec3::new(length(0.05, 0.5), length(0.05, 0.4), length(0.05, 0.5));
            (Shape::Box { size }, 0.5 * size.y, DQuat::IDENTITY)
        }
        "sphere" => {
            let radius = length(0.03, 0.3);
            (Shape::Sphere { radius }, radius, DQuat::IDENTITY)
        }
        "capsule" => {
            let radius = length(0.03, 0.2);
            (Shape::Capsule { radius, length: length(0.05, 0.4) }, radius, lying)
        }
        "cylinder" => {
            let size = length(0.05, 0.4);
            (Shape::Cylinder { radius: length(0.05, 0.3), length: size }, 0.5 * size, DQuat::IDENTITY)
        }
        "wheel" => {
            let radius = length(0.05, 0.3);
            (Shape::Cylinder { radius, length: length(0.03, 0.4) }, radius, lying)
        }
        "cone" => {
            let size = length(0.05, 0.4);
            (Shape::Cone { radius: length(0.05, 0.3), length: size }, 0.5 * size, DQuat::IDENTITY)
        }
        "hull" => {
            let (low, high, y) = (length(0.05, 0.3), length(0.03, 0.3), length(0.05, 0.2));
            let corners = block_corners(DVec3::new(1.0, y, 1.0));
            let scale = |corner: DVec3| if corner.y < 0.0 { low } else { high };
            let points = corners.iter().map(|c| DVec3::new(c.x * scale(*c), c.y, c.z * scale(*c))).collect();
            (Shape::ConvexHull { points }, y, DQuat::IDENTITY)
        }
        "mesh" => {
            let half = DVec3::new(length(0.05, 0.3), length(0.05, 0.2), length(0.05, 0.3));
            (block_mesh(half), half.y, DQuat::IDENTITY)
        }
        _ => {
            let (half, radius) =
                (DVec3::new(length(0.05, 0.2), length(0.05, 0.1), length(0.05, 0.2)), length(0.03, 0.1));
            let part = |x: f64, y: f64, shape: Shape| Placed {
                pose: Pose { translation: DVec3::new(x, y, 0.0), ..Pose::IDENTITY },
                shape,
            };
            let size = 2.0 * half;
            let parts = vec![
                part(-half.x, half.y, Shape::Box { size }),
                part(half.x, half.y, Shape::Box { size }),
                part(2.0 * half.x + radius, radius, Shape::Sphere { radius }),
            ];
            (Shape::Compound { parts }, 0.0, DQuat::IDENTITY)
        }
    };
    (Placed { pose: Pose { translation: DVec3::ZERO, rotation }, shape }, height)
}

/// Ends of tiles along an axis: gaps up to `gap` between them.
fn tile_ends(stream: &mut Stream, from: f64, gap: f64) -> Vec<[f64; 2]> {
    let mut ends = Vec::new();
    let mut low = from;
    while low < HALF {
        let high = low + stream.between(0.2, 1.0);
        ends.push([low, high]);
        low = high + gap * if stream.happens(0.3) { 1.0 } else { stream.uniform() };
    }
    ends
}

impl Scene {
    /// A floor in any orientation, without tiles yet. Gravity is across it.
    pub fn new(stream: &mut Stream) -> Self {
        let mut world = scene::world();
        let yaw = DQuat::from_rotation_y(stream.between(-3.0, 3.0));
        let turn = if stream.happens(0.5) { random_rotation(stream) } else { yaw };
        let shift = DVec3::new(stream.between(-5.0, 5.0), stream.between(-5.0, 5.0), stream.between(-5.0, 5.0));
        world.mechanism.gravity = turn * DVec3::new(0.0, -G, 0.0);
        Self { world, slider: 0, velocity: DVec3::ZERO, turn, shift }
    }

    fn placed_pose(&self, at: DVec3, rotation: DQuat) -> Pose {
        Pose { translation: self.shift + self.turn * at, rotation: self.turn * rotation }
    }

    /// Adds a fixed body at a pose in the frame of the floor.
    pub fn add_fixed(&mut self, pose: Pose, shape: Shape) {
        let mut tile = body(&format!("floor{}", self.world.mechanism.bodies.len()), 1.0, Some(shape), DVec3::ZERO);
        (tile.fixed, tile.pose, tile.material) = (true, self.placed_pose(pose.translation, pose.rotation), scene::GRIP);
        self.world.mechanism.bodies.push(tile);
    }

    /// Adds the moving body, with its centre at a place in the frame of the floor and turned by `yaw` on it.
    pub fn add_slider(&mut self, shape: Placed, at: DVec3, yaw: f64, velocity: DVec3, friction: f64) {
        let mut moving = body("slider", 2.0, None, DVec3::ZERO);
        moving.shape = Some(shape);
        moving.pose = self.placed_pose(at, DQuat::from_rotation_y(yaw));
        moving.linear_velocity = self.turn * velocity;
        moving.material = Material { friction, ..Material::default() };
        (self.slider, self.velocity) = (self.world.mechanism.bodies.len(), velocity);
        self.world.mechanism.bodies.push(moving);
    }

    /// Adds a floor whose tiles have gaps up to `gap`, m, and heights from 0 to `step`, m.
    pub fn add_floor(&mut self, floor: &str, stream: &mut Stream, gap: f64, step: f64) {
        let mut start = -HALF;
        if floor == "terrain and boxes" {
            start = stream.between(-0.3, 0.3);
            self.add_terrain(start - gap);
        }
        let (columns, rows) = (tile_ends(stream, start, gap), tile_ends(stream, -HALF, gap));
        let mut parts = Vec::new();
        for ([x0, x1], [z0, z1]) in columns.into_iter().flat_map(|x| rows.iter().map(move |z| (x, *z))) {
            let top = if stream.happens(0.5) { step } else { step * stream.uniform() };
            let half = 0.5 * DVec3::new(x1 - x0, FLOOR_THICKNESS, z1 - z0);
            let translation = DVec3::new(0.5 * (x0 + x1), top - 0.5 * FLOOR_THICKNESS, 0.5 * (z0 + z1));
            // The axes of a tile are in any order.
            let rotation = match stream.below(4) {
                0 => DQuat::IDENTITY,
                axis => DQuat::from_axis_angle(DVec3::AXES[axis - 1], FRAC_PI_2),
            };
            let shape = tile_shape(floor, stream, (rotation.inverse() * half).abs());
            parts.push(Placed { pose: Pose { translation, rotation }, shape });
        }
        if floor.ends_with("compound") {
            self.add_fixed(Pose::IDENTITY, Shape::Compound { parts });
        } else {
            parts.into_iter().for_each(|Placed { pose, shape }| self.add_fixed(pose, shape));
        }
    }

    /// Adds flat terrain up to the coordinate `end` along x.
    fn add_terrain(&mut self, end: f64) {
        let width = end + HALF;
        let field = Heightfield {
            points_x: 5,
            points_z: 6,
            width,
            depth: 2.0 * HALF,
            heights: vec![0.0; 30].into(),
            pose: self.placed_pose(DVec3::new(end - 0.5 * width, 0.0, 0.0), DQuat::IDENTITY),
            material: scene::GRIP,
        };
        self.world.mechanism.grounds = vec![field.into()];
    }
}
