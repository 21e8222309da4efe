//! All pairs of shapes of the format.
//!
//! One body of each shape is dropped on a fixed one of each shape, a little off its middle. It must touch and not
//! penetrate: no shape ends inside the other, the forces are finite, and a body that still lies on the other is carried
//! with its weight.

use bevy_math::DVec3;
use simpartner_model::{BodyId, Material, Placed, Pose, Shape};

use super::{G, build, diverged, position};
use crate::scene::{self, body};

/// Every shape within half a metre of its origin.
fn shapes() -> Vec<(&'static str, Shape)> {
    let corners: Vec<DVec3> = (0..8)
        .map(|k| DVec3::new(f64::from(k & 1), f64::from(k >> 1 & 1), f64::from(k >> 2)) * 0.6 - DVec3::splat(0.3))
        .collect();
    let faces = [
        [0, 2, 1],
        [1, 2, 3],
        [4, 5, 6],
        [5, 7, 6],
        [0, 1, 4],
        [1, 5, 4],
        [2, 6, 3],
        [3, 6, 7],
        [0, 4, 2],
        [2, 4, 6],
        [1, 3, 5],
        [3, 7, 5],
    ];
    let part = |x: f64, shape: Shape| Placed { pose: Pose { translation: DVec3::X * x, ..Pose::IDENTITY }, shape };
    vec![
        ("box", Shape::Box { size: DVec3::new(0.8, 0.5, 0.6) }),
        ("sphere", Shape::Sphere { radius: 0.3 }),
        ("ellipsoid", Shape::Ellipsoid { radii: DVec3::new(0.3, 0.2, 0.4) }),
        ("cylinder", Shape::Cylinder { radius: 0.3, length: 0.5 }),
        ("capsule", Shape::Capsule { radius: 0.2, length: 0.4 }),
        ("cone", Shape::Cone { radius: 0.3, length: 0.5 }),
        ("hull", Shape::ConvexHull { points: corners.clone() }),
        ("mesh", Shape::TriangleMesh { vertices: corners, triangles: faces.to_vec() }),
        (
            "compound",
            Shape::Compound {
                parts: vec![
                    part(-0.2, Shape::Box { size: DVec3::splat(0.4) }),
                    part(0.2, Shape::Sphere { radius: 0.2 }),
                ],
            },
        ),
    ]
}

#[test]
fn every_shape_lands_on_every_other() {
    for (lower, below) in shapes() {
        for (upper, above) in shapes() {
            let mut world = scene::world();
            world.mechanism.bodies.push(body(lower, 1.0, Some(below.clone()), DVec3::ZERO));
            world.mechanism.bodies[0].fixed = true;
            world.mechanism.bodies.push(body(upper, 3.0, Some(above), DVec3::new(0.011, 1.0, 0.007)));
            world.mechanism.bodies[1].material = Material { friction: 0.9, ..Material::default() };
            let mut engine = build(&world, 0.001);
            let (mut touched, mut deepest) = (false, 0.0f64);
            for _ in 0..1500 {
                engine.step();
                assert!(!diverged(&*engine), "{upper} on {lower}: {:?}", engine.step_events());
                touched |= !engine.contacts().is_empty();
                deepest = engine.contacts().iter().fold(deepest, |deepest, contact| deepest.max(-contact.gap));
            }
            let at = position(&*engine, 1);
            assert!(touched, "{upper} fell through {lower}: {at}");
            assert!(deepest < 0.02, "{upper} is {deepest} m deep in {lower}");
            let state = engine.body(BodyId::new(1));
            if state.linear_velocity.length() < 1e-4 {
                assert!((state.force.y - 3.0 * G).abs() < 0.1, "{upper} on {lower}: {}", state.force);
            }
        }
    }
}

/// Meshes collide triangle by triangle, and terrain likewise: a cube mesh comes to rest on either at the distance of
/// its faces, and is carried with its weight.
#[test]
fn a_mesh_rests_on_a_mesh_and_on_terrain() {
    let mesh = || shapes().into_iter().find(|(name, _)| *name == "mesh").map(|(_, shape)| shape);
    let mut on_mesh = scene::world();
    on_mesh.mechanism.bodies.push(body("lower", 1.0, mesh(), DVec3::ZERO));
    on_mesh.mechanism.bodies[0].fixed = true;
    on_mesh.mechanism.bodies[0].material = scene::GRIP;
    for (mut world, height) in [(on_mesh, 0.6), (scene::terrain(|_, _| 0.0), 0.3)] {
        let index = world.mechanism.bodies.len();
        world.mechanism.bodies.push(body("upper", 3.0, mesh(), DVec3::new(0.011, height + 0.05, 0.007)));
        world.mechanism.bodies[index].material = Material { friction: 0.9, ..Material::default() };
        let mut engine = build(&world, 0.001);
        (0..2000).for_each(|_| engine.step());
        let (at, state) = (position(&*engine, index), engine.body(BodyId::new(index)));
        println!("mesh at {at}, {:?}", engine.contacts().iter().map(|contact| contact.gap).collect::<Vec<_>>());
        assert!((at - DVec3::new(0.011, height, 0.007)).length() < 1e-5, "{at}");
        assert!(state.linear_velocity.length() < 1e-6 && state.angular_velocity.length() < 1e-6, "{state:?}");
        assert!((state.force.y - 3.0 * G).abs() < 1e-6, "{}", state.force);
    }
}

/// A mesh can be part of a compound: a cube mesh beside a ball has the mass properties of a box beside a ball. It once
/// panicked, because parry's compounds accept no meshes.
#[test]
fn a_compound_may_hold_a_mesh() {
    let named = |wanted: &str| shapes().into_iter().find(|(name, _)| *name == wanted).map(|(_, shape)| shape).unwrap();
    let beside_a_ball = |shape: Shape| {
        let part = |x: f64, shape| Placed { pose: Pose { translation: DVec3::X * x, ..Pose::IDENTITY }, shape };
        let parts = vec![part(0.0, shape), part(0.4, Shape::Sphere { radius: 0.2 })];
        body("both", 3.0, Some(Shape::Compound { parts }), DVec3::Y * 0.31)
    };
    let (mesh, cube) = (beside_a_ball(named("mesh")), beside_a_ball(scene::cube(0.6).unwrap()));
    let [of_mesh, of_cube] = [&mesh, &cube].map(|body| simpartner_dynamics::mass_properties(body).unwrap());
    assert!((of_mesh.centre_of_mass - of_cube.centre_of_mass).length() < 1e-12, "{of_mesh:?} {of_cube:?}");
    assert!((of_mesh.tensor - of_cube.tensor).to_cols_array().iter().all(|off| off.abs() < 1e-12), "{of_mesh:?}");
    let mut world = scene::with_plane(scene::world(), 0.8);
    world.mechanism.bodies.push(mesh);
    let mut engine = build(&world, 0.001);
    (0..500).for_each(|_| engine.step());
    assert!((engine.body(BodyId::new(0)).force.y - 3.0 * G).abs() < 1e-6, "{:?}", engine.body(BodyId::new(0)));
}

/// The forces of every pair are opposite.
#[test]
fn contacts_are_listed_with_both_bodies() {
    let mut world = scene::world();
    world.mechanism.bodies.push(body("lower", 1.0, scene::cube(1.0), DVec3::ZERO));
    world.mechanism.bodies[0].fixed = true;
    world.mechanism.bodies.push(body("upper", 2.0, scene::cube(0.5), DVec3::Y * 0.75));
    let mut engine = build(&world, 0.001);
    (0..100).for_each(|_| engine.step());
    let contacts = engine.contacts();
    assert_eq!(contacts.len(), 4, "{contacts:?}");
    let sum: DVec3 = contacts.iter().map(|contact| contact.wrench.force).sum();
    assert!((sum - DVec3::Y * 2.0 * G).length() < 1e-9, "{sum}");
    for contact in contacts {
        assert_eq!(contact.bodies, [Some(BodyId::new(0)), Some(BodyId::new(1))]);
        assert!((contact.normal - DVec3::Y).length() < 1e-12 && (contact.point.y - 0.5).abs() < 1e-9, "{contact:?}");
    }
    assert_eq!(engine.body(BodyId::new(0)).force, -engine.body(BodyId::new(1)).force);
}

/// An L of two blocks is not convex; its decomposition is, and fills the same volume up to the grid's cells.
#[test]
fn a_surface_comes_apart_into_convex_parts() {
    let outline = [(0.0, 0.0), (3.0, 0.0), (3.0, 1.0), (1.0, 1.0), (1.0, 3.0), (0.0, 3.0)];
    let corner = |z: f64| outline.map(|(x, y)| DVec3::new(x, y, z));
    let vertices = [corner(0.0), corner(1.0)].concat();
    let sides = (0..6u32).flat_map(|a| {
        let b = (a + 1) % 6;
        [[a, b, b + 6], [a, b + 6, a + 6]]
    });
    let cap = [[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 5]];
    let low = cap.map(|[a, b, c]: [u32; 3]| [a, c, b]);
    let triangles: Vec<_> = sides.chain(low).chain(cap.map(|corners| corners.map(|corner| corner + 6))).collect();
    let volume = |(vertices, triangles): &(Vec<DVec3>, Vec<[u32; 3]>)| -> f64 {
        let corners = triangles.iter().map(|triangle| triangle.map(|index| vertices[index as usize]));
        corners.map(|[a, b, c]| a.dot(b.cross(c)) / 6.0).sum()
    };
    let whole = volume(&(vertices.clone(), triangles.clone()));
    let hull = volume(&simpartner_dynamics::hull_surface(&vertices).unwrap());
    assert!((whole - 5.0).abs() < 1e-12 && (hull - 7.0).abs() < 1e-12, "{whole} {hull}");
    let parts = simpartner_dynamics::convex_parts(&vertices, &triangles);
    let filled: f64 = parts.iter().map(volume).sum();
    assert!(parts.len() > 1 && (filled - whole).abs() < 0.1, "{} parts of {filled} m³", parts.len());
    assert_eq!(parts, simpartner_dynamics::convex_parts(&vertices, &triangles));
}
