//! Triangle grounds: terrain that is placed and turned, surfaces of meshes, several of them, holes.
//!
//! A flat triangle mesh is a plane for any triangulation: a body that slides over it without friction keeps its
//! velocity, and a rolling one keeps its velocity and its spin, v = w r. Bodies that a plane stops are stopped by
//! triangles as well.

use std::{
    f64::consts::{FRAC_PI_2, PI},
    sync::Arc,
};

use bevy_math::{DQuat, DVec3};
use simpartner_description::World;
use simpartner_dynamics::Ray;
use simpartner_model::{BodyId, Ground, GroundMesh, Heightfield, Material, Placed, Pose, Shape, random::Stream};

use super::{build, position, velocity};
use crate::scene::{self, body};

/// Terrain of `points` points each way over 24 m by 24 m.
fn field(points: usize, pose: Pose, height: impl Fn(f64, f64) -> f64) -> Heightfield {
    let mut field = Heightfield {
        points_x: points,
        points_z: points,
        width: 24.0,
        depth: 24.0,
        heights: Arc::new([]),
        pose,
        material: scene::GRIP,
    };
    let at = |index: usize| field.position(index / points, index % points);
    field.heights = (0..points * points).map(at).map(|(x, z)| height(x, z)).collect();
    field
}

/// A flat mesh of 24 m by 24 m at a height. Its squares are cut along one diagonal or the other, its corners are moved
/// in the plane, and every triangle faces down or up.
fn flat_mesh(height: f64, other_diagonal: bool, moved: f64, down: bool) -> GroundMesh {
    let cells = 30u32;
    let mut random = Random(Stream::from_number(7));
    let mut vertices = Vec::new();
    for (i, j) in (0..=cells).flat_map(|i| (0..=cells).map(move |j| (i, j))) {
        let along = |k: u32| 24.0 * (f64::from(k) / f64::from(cells) - 0.5);
        vertices.push(DVec3::new(along(i) + moved * random.within(), height, along(j) + moved * random.within()));
    }
    let mut triangles = Vec::new();
    for (i, j) in (0..cells).flat_map(|i| (0..cells).map(move |j| (i, j))) {
        let at = i * (cells + 1) + j;
        let [a, b, c, d] = [at, at + 1, at + cells + 1, at + cells + 2];
        triangles.extend(if other_diagonal { [[a, b, d], [a, d, c]] } else { [[a, b, c], [b, d, c]] });
    }
    if down {
        triangles.iter_mut().for_each(|corners| corners.swap(1, 2));
    }
    GroundMesh { vertices, triangles, material: scene::GRIP }
}

fn turned(heading: f64) -> Pose {
    Pose { translation: DVec3::new(0.31, 0.0, -0.17), rotation: DQuat::from_rotation_y(heading) }
}

/// Vectors and rotations at random.
struct Random(Stream);

impl Random {
    fn within(&mut self) -> f64 {
        self.0.between(-1.0, 1.0)
    }

    fn vector(&mut self) -> DVec3 {
        DVec3::new(self.within(), self.within(), self.within())
    }

    fn turn(&mut self) -> DQuat {
        DQuat::from_xyzw(self.within(), self.within(), self.within(), self.within()).normalize()
    }
}

fn with(grounds: Vec<Ground>) -> World {
    let mut world = scene::world();
    world.mechanism.grounds = grounds;
    world
}

/// Shapes that lie on the ground, their heights and rotations.
fn shapes() -> [(&'static str, Shape, f64, DQuat); 5] {
    let on_side = DQuat::from_rotation_x(FRAC_PI_2);
    [
        ("sphere", Shape::Sphere { radius: 0.3 }, 0.3, DQuat::IDENTITY),
        ("box", Shape::Box { size: DVec3::new(0.6, 0.4, 0.5) }, 0.2, DQuat::IDENTITY),
        ("capsule", Shape::Capsule { radius: 0.2, length: 0.4 }, 0.2, on_side),
        ("cylinder on its side", Shape::Cylinder { radius: 0.3, length: 0.4 }, 0.3, on_side),
        ("cylinder on its end", Shape::Cylinder { radius: 0.3, length: 0.4 }, 0.2, DQuat::IDENTITY),
    ]
}

/// Largest deviation of the velocity, m/s, over 10 m along x at 2 m/s: frictionless sliding, or rolling with friction.
fn comes_off(ground: Ground, (shape, height, turn): (Shape, f64, DQuat), rolls: bool) -> f64 {
    let mut world = with(vec![ground]);
    let mut slider = body("slider", 2.0, Some(shape), DVec3::new(-5.013, height, 0.017));
    slider.pose.rotation = turn;
    slider.linear_velocity = DVec3::new(2.0, 0.0, 0.0);
    slider.material = Material { friction: if rolls { 0.8 } else { 0.0 }, ..Material::default() };
    if rolls {
        slider.angular_velocity = DVec3::new(0.0, 0.0, -2.0 / height);
    }
    world.mechanism.bodies.push(slider);
    let mut engine = build(&world, 0.001);
    let mut off = 0.0f64;
    for _ in 0..5000 {
        engine.step();
        off = off.max((velocity(&*engine, 0) - DVec3::new(2.0, 0.0, 0.0)).length());
    }
    off
}

#[test]
fn flat_triangles_are_a_plane_however_they_lie() {
    let mut worst = Vec::new();
    let mut grounds: Vec<(String, Ground)> = Vec::new();
    for heading in [0.0, 0.3, PI / 4.0, FRAC_PI_2, 2.0] {
        grounds.push((format!("terrain turned by {heading:.1}"), field(49, turned(heading), |_, _| 0.0).into()));
    }
    for (other, moved, down) in [(false, 0.0, false), (true, 0.0, false), (false, 0.25, false), (true, 0.25, true)] {
        let name = format!("a mesh (other diagonal {other}, moved {moved}, facing down {down})");
        grounds.push((name, flat_mesh(0.0, other, moved, down).into()));
    }
    for (what, ground) in &grounds {
        for (name, shape, height, turn) in shapes() {
            let round = matches!(name, "sphere" | "capsule" | "cylinder on its side");
            for rolls in [false, true].into_iter().take(if round { 2 } else { 1 }) {
                let off = comes_off(ground.clone(), (shape.clone(), height, turn), rolls);
                let how = if rolls { "rolls" } else { "slides" };
                println!("{name} {how} over {what}: {off:.1e} m/s off");
                if off > 1e-6 {
                    worst.push(format!("{name} {how} over {what}: {off:.1e}"));
                }
            }
        }
    }
    assert!(worst.is_empty(), "{worst:#?}");
}

/// A ball of 0.3 m comes to rest on any ground below it.
#[test]
fn several_grounds_hold_what_stands_on_each() {
    let material = scene::GRIP;
    let plane = simpartner_model::Plane { normal: DVec3::Y, distance: -5.0, material };
    let low = field(25, Pose { translation: DVec3::new(0.0, -1.0, 0.0), ..turned(0.5) }, |_, _| 0.25);
    let high = field(25, Pose { translation: DVec3::new(40.0, 3.0, 0.0), ..turned(0.0) }, |_, _| 0.0);
    let mut table = flat_mesh(2.0, false, 0.1, false);
    table.vertices.iter_mut().for_each(|vertex| vertex.x -= 40.0);
    let mut world = with(vec![plane.into(), low.into(), high.into(), table.into()]);
    let places = [(0.0, -0.75), (40.0, 3.0), (-40.0, 2.0), (90.0, -5.0)];
    for (index, (x, ground)) in places.into_iter().enumerate() {
        let ball = Some(Shape::Sphere { radius: 0.3 });
        world.mechanism.bodies.push(body(&format!("ball{index}"), 1.0, ball, DVec3::new(x, ground + 0.4, 1.0)));
    }
    let mut engine = build(&world, 0.001);
    for _ in 0..1000 {
        engine.step();
    }
    for (index, (x, ground)) in places.into_iter().enumerate() {
        let at = position(&*engine, index);
        // A resting body keeps a gap of 1 um.
        assert!((at - DVec3::new(x, ground + 0.3, 1.0)).length() < 2e-6, "{at}");
        let ray =
            Ray { origin: DVec3::new(x + 1.0, ground + 2.0, 0.0), direction: -DVec3::Y, range: 50.0, ignore: None };
        let seen = engine.cast_ray(&ray).expect("the ground is below");
        assert!((seen - 2.0).abs() < 1e-9, "{seen}");
    }
}

/// The height function of terrain, and the triangles that carry bodies and stop rays, are the same surface; in holes,
/// both are absent.
#[test]
fn the_height_of_terrain_is_where_rays_meet_it() {
    let mut random = Random(Stream::from_number(11));
    let pose = Pose { translation: DVec3::new(3.0, -2.0, 5.0), rotation: DQuat::from_rotation_y(0.7) };
    let mut terrain = field(13, pose, |_, _| 0.0);
    let mut heights = [(); 13 * 13].map(|()| random.within());
    heights[13 * 5 + 7] = f64::NAN;
    terrain.heights = heights.into();
    let engine = build(&with(vec![terrain.clone().into()]), 0.001);
    let mut none = 0;
    for _ in 0..2000 {
        let at = pose.translation + 20.0 * random.vector();
        let origin = DVec3::new(at.x, 10.0, at.z);
        let seen = engine.cast_ray(&Ray { origin, direction: DVec3::NEG_Y, range: 20.0, ignore: None });
        match (terrain.height_at(at.x, at.z), seen) {
            (Some(height), Some(seen)) => assert!((10.0 - seen - height).abs() < 1e-9, "{at}: {height}, {seen}"),
            (None, None) => none += 1,
            (height, seen) => panic!("{at}: {height:?}, {seen:?}"),
        }
    }
    assert!((500..1500).contains(&none), "{none} of 2000 beside it or in its hole");
}

/// Terrain of a single tilted plane, turned and moved, is that plane: bodies on it slide as on the plane.
#[test]
fn placed_terrain_is_where_its_pose_says() {
    let slope = 0.2f64;
    let pose = Pose { translation: DVec3::new(3.0, -2.0, 5.0), rotation: DQuat::from_rotation_y(0.7) };
    let normal = pose.rotation * DVec3::new(-slope, 1.0, 0.0).normalize();
    let plane = simpartner_model::Plane { normal, distance: normal.dot(pose.translation), material: scene::GRIP };
    for (name, shape, height, _) in shapes() {
        let slide = |ground: Ground| {
            let mut world = with(vec![ground]);
            let turn = DQuat::from_rotation_arc(DVec3::Y, normal);
            let turn = if name.ends_with("side") || name == "capsule" {
                turn * DQuat::from_rotation_x(FRAC_PI_2)
            } else {
                turn
            };
            let mut slider = body(name, 2.0, Some(shape.clone()), pose.translation + normal * height);
            slider.pose.rotation = turn;
            slider.material = Material { friction: 0.05, ..Material::default() };
            world.mechanism.bodies.push(slider);
            let mut engine = build(&world, 0.001);
            for _ in 0..1500 {
                engine.step();
            }
            position(&*engine, 0)
        };
        let on_terrain = slide(field(13, pose, |x, _| slope * x).into());
        let on_plane = slide(plane.into());
        assert!((on_terrain - on_plane).length() < 1e-6, "{name}: {on_terrain} and {on_plane}");
    }
}

/// Bodies over a hole fall through, and rays pass; at its edge the ground carries them.
#[test]
fn holes_hold_nothing() {
    let hole = |x: f64, z: f64| if x.abs() < 1.1 && z.abs() < 1.1 { f64::NAN } else { 0.5 };
    let mut world = with(vec![field(25, Pose::IDENTITY, hole).into()]);
    // The points at -1, 0 and 1 m have no data, so there is no surface within 2 m.
    for (index, (_, shape, height, turn)) in shapes().into_iter().enumerate() {
        for (k, x) in [0.0, 4.0].into_iter().enumerate() {
            let place = DVec3::new(x, 0.5 + height, 1.4 * (index as f64 - 2.0) * k as f64);
            let mut fresh =
                body(&format!("b{index}{k}"), 1.0, Some(shape.clone()), place + DVec3::Y * 2.0 * index as f64);
            fresh.pose.rotation = turn;
            world.mechanism.bodies.push(fresh);
        }
    }
    let mut engine = build(&world, 0.001);
    let ray = |x: f64| Ray { origin: DVec3::new(x, 20.0, 0.0), direction: -DVec3::Y, range: 50.0, ignore: None };
    // Between the bodies.
    assert_eq!(engine.cast_ray(&ray(1.7)), None);
    assert!((engine.cast_ray(&ray(2.3)).expect("ground") - 19.5).abs() < 1e-9);
    for _ in 0..3000 {
        engine.step();
    }
    for index in 0..world.mechanism.bodies.len() {
        let y = position(&*engine, index).y;
        let name = &world.mechanism.body(BodyId::new(index)).name;
        assert!(if index % 2 == 0 { y < -5.0 } else { y > 0.6 }, "{name} is at {y}");
    }
}

/// Any body that hits a triangle mesh from either side, or terrain from above, at any speed and rotation, ends on its
/// original side.
#[test]
fn nothing_comes_through_triangles() {
    let mut random = Random(Stream::from_number(3));
    let bumps = |vertex: &mut DVec3| vertex.y = 0.2 * (1.3 * vertex.x).sin() * (0.9 * vertex.z).cos();
    let mut mesh = flat_mesh(0.0, false, 0.2, false);
    mesh.vertices.iter_mut().for_each(bumps);
    let terrain = field(31, Pose::IDENTITY, |x, z| 0.2 * (1.3 * x).sin() * (0.9 * z).cos());
    for (round, speed) in (0..60).zip([3.0, 30.0, 300.0, 1000.0].into_iter().cycle()) {
        let from_below = round % 3 == 0;
        for ground in [Ground::from(mesh.clone()), terrain.clone().into()] {
            if from_below && matches!(ground, Ground::Heightfield(_)) {
                continue;
            }
            let mut world = with(vec![ground]);
            world.mechanism.gravity = DVec3::ZERO;
            let side = if from_below { -1.0 } else { 1.0 };
            for (name, shape, ..) in shapes() {
                let mut fresh = body(name, 1.0, Some(shape), random.vector() * DVec3::new(4.0, 0.3, 4.0));
                fresh.pose.translation.y += 1.5 * side;
                fresh.pose.rotation = random.turn();
                let aim = DVec3::new(0.5 * random.within(), -side, 0.5 * random.within()).normalize();
                fresh.linear_velocity = aim * speed;
                fresh.angular_velocity = random.vector() * 5.0;
                // They are not to meet each other.
                fresh.filter.collides_with = 0x8000;
                fresh.filter.category = 1;
                world.mechanism.bodies.push(fresh);
            }
            let mut engine = build(&world, 0.001);
            for _ in 0..200 {
                engine.step();
            }
            for index in 0..world.mechanism.bodies.len() {
                let at = position(&*engine, index);
                let name = &world.mechanism.body(BodyId::new(index)).name;
                let inside = at.x.abs() < 11.0 && at.z.abs() < 11.0;
                assert!(!inside || at.y * side > 0.0, "{name} at {speed} m/s in round {round} is at {at}");
            }
        }
    }
}

/// A cylinder wheel that rolls down a smooth slope of triangles presses on it with a steady force.
#[test]
fn a_cylinder_wheel_on_a_slope_presses_evenly() {
    let slope = 0.15f64;
    for ground in [
        Ground::from(field(97, turned(0.3), |x, z| {
            // Level across its axle.
            slope * (x * 0.3f64.cos() + z * 0.3f64.sin())
        })),
        field(97, Pose::IDENTITY, |x, _| slope * x).into(),
    ] {
        let mut world = with(vec![ground]);
        let normal = DVec3::new(-slope, 1.0, 0.0).normalize();
        let shape = Shape::Cylinder { radius: 0.2, length: 0.15 };
        let mut wheel = body("wheel", 6.0, Some(shape), DVec3::new(5.0, 5.0 * slope, 0.1) + normal * 0.21);
        wheel.pose.rotation = DQuat::from_rotation_x(FRAC_PI_2);
        world.mechanism.bodies.push(wheel);
        let mut engine = build(&world, 0.001);
        let expected = 6.0 * super::G * normal.y;
        let mut noise = 0.0f64;
        for step in 0..1500 {
            engine.step();
            if step >= 400 {
                let force: DVec3 = engine.body(BodyId::new(0)).force;
                noise = noise.max((force.dot(normal) / expected - 1.0).abs());
            }
        }
        println!("force noise of a cylinder wheel on a slope: {noise:.1e}");
        assert!(noise < 0.01 && position(&*engine, 0).x < 4.0, "{noise} {}", position(&*engine, 0));
    }
}

/// A fixed body with the shape of the ground carries bodies as the ground does.
#[test]
fn a_ground_of_triangles_is_like_a_fixed_body_of_them() {
    let block = |height: f64| Shape::Box { size: DVec3::new(0.5, height, 0.5) };
    let mesh = flat_mesh(0.0, false, 0.1, false);
    let settle = |mut world: World| {
        world.mechanism.bodies.push(body("block", 2.0, Some(block(0.4)), DVec3::new(0.1, 0.21, 0.2)));
        let mut engine = build(&world, 0.001);
        for _ in 0..500 {
            engine.step();
        }
        position(&*engine, world.mechanism.bodies.len() - 1)
    };
    let mut fixed = scene::world();
    let shape = Shape::TriangleMesh { vertices: mesh.vertices.clone(), triangles: mesh.triangles.clone() };
    let mut slab = body("slab", 1.0, None, DVec3::ZERO);
    slab.shape = Some(Placed { pose: Pose::IDENTITY, shape });
    (slab.fixed, slab.material) = (true, scene::GRIP);
    fixed.mechanism.bodies.push(slab);
    let (ground, body) = (settle(with(vec![mesh.into()])), settle(fixed));
    assert!((ground - body).length() < 1e-9 && (ground.y - 0.2).abs() < 2e-6, "{ground} {body}");
}
