//! Rays: the distance to the nearest of all shapes equals the smallest distance to each shape alone, wherever bodies
//! have moved.
//!
//! Where a ray grazes a surface, its distance jumps, and rounding decides the side of the jump. Such a ray is detected
//! by its neighbours at [`GRAZE`], some of which are on either side.

mod brute_force;
mod ruts;

use bevy_math::{DQuat, DVec3};
use simpartner_dynamics::{Engine, EngineKind, Ray, Settings};
use simpartner_model::{
    Body, BodyId, GroundMesh, Heightfield, Material, Mechanism, Placed, Plane, Pose, Shape, Timestep, random::Stream,
};

use self::brute_force::Shapes;

/// Largest difference of distances, m: positions are of some ten metres, and their rounding is 1e-15 of that.
const SAME: f64 = 1e-9;
/// Distance of the neighbouring rays from a ray, m: parry's search along a ray is exact to some 1e-9 of a shape of a
/// metre.
const GRAZE: f64 = 1e-8;

fn random_vector(random: &mut Stream, extent: f64) -> DVec3 {
    let mut number = || random.between(-extent, extent);
    DVec3::new(number(), number(), number())
}

fn random_turn(random: &mut Stream) -> DQuat {
    let axis = random_vector(random, 1.0) + DVec3::splat(1e-3);
    DQuat::from_axis_angle(axis.normalize(), random.between(-3.0, 3.0))
}

fn tetrahedron(size: f64) -> (Vec<DVec3>, Vec<[u32; 3]>) {
    let corners = [DVec3::ONE, DVec3::new(1.0, -1.0, -1.0), DVec3::new(-1.0, 1.0, -1.0), DVec3::new(-1.0, -1.0, 1.0)];
    (corners.map(|corner| corner * size).to_vec(), vec![[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]])
}

fn random_shape(random: &mut Stream, may_be_compound: bool) -> Shape {
    let mut length = || random.between(0.1, 0.8);
    let (radius, length, size) = (length(), length(), DVec3::new(length(), length(), length()));
    match random.below(if may_be_compound { 8 } else { 6 }) {
        0 => Shape::Box { size },
        1 => Shape::Sphere { radius },
        2 => Shape::Cylinder { radius, length },
        3 => Shape::Capsule { radius, length },
        4 => Shape::Cone { radius, length },
        5 => Shape::ConvexHull { points: (0..12).map(|_| random_vector(random, 0.5)).collect() },
        6 => {
            let (vertices, triangles) = tetrahedron(length);
            Shape::TriangleMesh { vertices, triangles }
        }
        _ => {
            let part = |random: &mut Stream| Placed {
                pose: Pose { translation: random_vector(random, 0.4), rotation: random_turn(random) },
                shape: random_shape(random, false),
            };
            Shape::Compound { parts: (0..3).map(|_| part(random)).collect() }
        }
    }
}

/// Terrain with holes, turned about y, or a triangle mesh, or a plane, or no ground.
fn random_ground(random: &mut Stream, model: &mut Mechanism) {
    let (points_x, points_z) = (2 + random.below(60), 2 + random.below(60));
    let mut field = Heightfield {
        points_x,
        points_z,
        width: random.between(5.0, 20.0),
        depth: random.between(5.0, 20.0),
        heights: (0..points_x * points_z).map(|_| random.between(-0.5, 0.5)).collect(),
        pose: Pose {
            translation: random_vector(random, 1.0),
            rotation: DQuat::from_rotation_y(random.between(-3.0, 3.0)),
        },
        material: Material::default(),
    };
    match random.below(5) {
        0 => {}
        1 => model.grounds.push(Plane { normal: DVec3::Y, distance: -1.0, material: Material::default() }.into()),
        2 => {
            let place = |index: usize| {
                let (x, z) = field.position(index / points_z, index % points_z);
                DVec3::new(x, field.heights[index], z)
            };
            let quads = (0..points_x - 1).flat_map(|i| (0..points_z - 1).map(move |j| (i * points_z + j) as u32));
            let across = points_z as u32;
            let triangles = quads.flat_map(|at| [[at, at + 1, at + across], [at + 1, at + across + 1, at + across]]);
            let mesh = GroundMesh {
                vertices: (0..points_x * points_z).map(place).collect(),
                triangles: triangles.collect(),
                material: Material::default(),
            };
            model.grounds.push(simpartner_model::Ground::Mesh(mesh));
        }
        holes => {
            if holes == 3 {
                field.heights =
                    field.heights.iter().map(|&height| if random.happens(0.05) { f64::NAN } else { height }).collect();
            }
            model.grounds.push(field.into());
        }
    }
}

/// Bodies of all shapes, some of them fixed, that fall and spin close to each other.
fn random_world(random: &mut Stream) -> Mechanism {
    let mut model = Mechanism { gravity: DVec3::new(0.0, -9.81, 0.0), ..Mechanism::default() };
    random_ground(random, &mut model);
    for index in 0..random.below(30) {
        let shape = random_shape(random, true);
        model.bodies.push(Body {
            name: format!("body{index}"),
            mass: 1.0,
            fixed: random.happens(0.3),
            pose: Pose { translation: random_vector(random, 5.0) + DVec3::Y * 4.0, rotation: random_turn(random) },
            linear_velocity: random_vector(random, 10.0),
            angular_velocity: random_vector(random, 10.0),
            shape: Some(Placed {
                pose: Pose { translation: random_vector(random, 0.2), rotation: random_turn(random) },
                shape,
            }),
            ..Body::default()
        });
    }
    model
}

/// A ray from anywhere in the world, some of them from within a body, straight down, along an axis, or at a corner of a
/// body's box.
fn random_ray(random: &mut Stream, model: &Mechanism, engine: &dyn Engine) -> Ray {
    let body = (!model.bodies.is_empty()).then(|| BodyId::new(random.below(model.bodies.len())));
    let mut origin = random_vector(random, 8.0);
    let mut direction = random_vector(random, 1.0) + DVec3::splat(1e-6);
    match (random.below(6), body) {
        (0, _) => direction = DVec3::NEG_Y,
        (1, _) => direction = DVec3::AXES[random.below(3)],
        (2, Some(body)) => origin = engine.body(body).pose.translation,
        (3 | 4, Some(body)) => direction = engine.body(body).pose.translation + random_vector(random, 0.5) - origin,
        _ => {}
    }
    let ignore = if random.happens(0.3) { body } else { None };
    Ray { origin, direction: direction.normalize(), range: random.between(0.1, 30.0), ignore }
}

fn agree(one: Option<f64>, two: Option<f64>) -> bool {
    match (one, two) {
        (Some(one), Some(two)) => (one - two).abs() <= SAME,
        (one, two) => one == two,
    }
}

/// True if a neighbour of a ray reads the same distance, up to the rise of the surface between them.
fn grazes(shapes: &Shapes, ray: &Ray, seen: Option<f64>) -> bool {
    let beside = ray.direction.any_orthonormal_pair();
    (0..8).any(|index| {
        let (sine, cosine) = (f64::from(index) * std::f64::consts::FRAC_PI_4).sin_cos();
        let origin = ray.origin + (beside.0 * cosine + beside.1 * sine) * GRAZE;
        // At the end of its range, too, a distance is there or is not.
        [-GRAZE, 0.0, GRAZE].into_iter().any(|more| {
            match (shapes.cast(&Ray { origin, range: ray.range + more, ..*ray }), seen) {
                (Some(one), Some(two)) => (one - two).abs() < 1e-3,
                (one, two) => one == two,
            }
        })
    })
}

/// Number of rays, and number of grazing ones.
fn compare(seed: u64, kind: EngineKind) -> (usize, usize) {
    let mut random = Stream::from_number(seed);
    let model = random_world(&mut random);
    let settings = Settings { engine: kind, ..Settings::default() };
    let build = || simpartner_dynamics::build(&model, Timestep::MILLISECOND, &settings).unwrap();
    let mut engine = build();
    let mut late = build();
    let mut shapes = Shapes::new(&model);
    let (mut cast, mut grazing) = (0, 0);
    for round in 0..4 {
        shapes.place(&*engine);
        let scene = engine.ray_scene();
        let copy = scene.with_state(&scene.state()).unwrap();
        let rays: Vec<Ray> = (0..50).map(|_| random_ray(&mut random, &model, &*engine)).collect();
        let read: Vec<_> = rays.iter().map(|ray| engine.cast_ray(ray)).collect();
        for (ray, &seen) in rays.iter().zip(&read) {
            assert_eq!(seen, scene.cast(ray), "seed {seed}: the scene is that of the present state");
            assert_eq!(seen, copy.cast(ray), "seed {seed}: a scene follows from its state");
            if !agree(seen, shapes.cast(ray)) {
                grazing += 1;
                let expected = shapes.cast(ray);
                assert!(grazes(&shapes, ray, seen), "seed {seed}, round {round}: {seen:?} for {expected:?}, {ray:?}");
            }
            cast += 1;
        }
        if round == 3 {
            let other: Vec<_> = rays.iter().map(|ray| late.cast_ray(ray)).collect();
            assert_eq!(read, other, "seed {seed}: the same bits, whatever the tree of boxes has been through");
        }
        for _ in 0..1 + random.below(100) {
            engine.step();
            if round < 3 {
                late.step();
            }
        }
        let kept: Vec<_> = rays.iter().map(|ray| scene.cast(ray)).collect();
        assert_eq!(read, kept, "seed {seed}: a scene stays as it was");
        if round == 2 {
            let snapshot = engine.snapshot();
            engine.restore(&snapshot).unwrap();
        }
    }
    (cast, grazing)
}

/// Ten worlds; 2000 with `SIMPARTNER_LONG_TESTS=1`.
#[test]
fn rays_read_the_distance_to_the_nearest_of_all_shapes() {
    let worlds = if std::env::var_os("SIMPARTNER_LONG_TESTS").is_some() { 2000 } else { 10 };
    let kinds: &[EngineKind] =
        if cfg!(feature = "rapier") { &[EngineKind::Dynamics, EngineKind::Rapier] } else { &[EngineKind::Dynamics] };
    let (mut cast, mut grazing) = (0, 0);
    for (seed, &kind) in (0..worlds).flat_map(|seed| kinds.iter().map(move |kind| (seed, kind))) {
        let (more, grazed) = compare(seed, kind);
        (cast, grazing) = (cast + more, grazing + grazed);
    }
    println!("{cast} rays in {worlds} worlds, {grazing} of them grazing");
    assert!(grazing * 200 < cast, "few rays graze: {grazing} of {cast}");
}
