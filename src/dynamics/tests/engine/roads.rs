//! Terrain and meshes.
//!
//! A flat triangle mesh is a plane: its inner edges must have no effect. A vehicle must move as on the plane, and a
//! sliding body must neither lift nor slow down.

use bevy_math::{DQuat, DVec3};
use simpartner_description::World;
use simpartner_dynamics::Engine;
use simpartner_model::{Material, Shape};

use super::{G, build, on_plane, position, steps, unconverged, velocity};
use crate::{
    rover::{self, Wheel},
    scene::{self, body},
};

#[test]
fn flat_terrain_is_a_plane() {
    let drive = |mut world: World, wheel: Wheel| {
        let rover = rover::add(&mut world, DVec3::new(-15.0, 0.0, 0.1), wheel);
        world.mechanism.bodies.iter_mut().for_each(|body| body.material.slip = 1e-5);
        let mut engine = build(&world, 0.001);
        let (mut low, mut high, mut worst) = (f64::INFINITY, f64::NEG_INFINITY, 0.0f64);
        for step in 0..20_000 {
            rover.drive(&mut *engine, (4e-3 * f64::from(step)).min(4.0));
            engine.step();
            if step > 15_000 {
                let force: f64 = rover.bodies().map(|id| engine.body(id).force.y).sum();
                worst = worst.max((force / (rover::MASS * G) - 1.0).abs());
                (low, high) = (low.min(position(&*engine, 0).y), high.max(position(&*engine, 0).y));
            }
        }
        (position(&*engine, 0), high - low, worst)
    };
    for wheel in [Wheel::Ball, Wheel::Cylinder] {
        let plane = drive(on_plane(scene::world()), wheel);
        let field = drive(scene::terrain(|_, _| 0.0), wheel);
        println!("{wheel:?} wheels, plane: {plane:?}\n{wheel:?} wheels, flat terrain: {field:?}");
        // A ball has one contact, which an inner edge changes only by rounding. A cylinder touches with the two ends of
        // a line. Contact points closer than 0.1 mm are merged, so an end may be off the rim of a wheel of 10 cm by
        // this much, and the offset of the load lets the wheel slip during the 20 s.
        let noise = 1e-3;
        let slipped = 1e-5 * noise * rover::MASS * G / 4.0 * 20.0;
        let (off, of_height, of_force) = match wheel {
            Wheel::Ball => (1e-12, 1e-12, 1e-11),
            Wheel::Cylinder => (slipped, 1e-9, noise),
        };
        assert!((plane.0 - field.0).length() < off, "{} {}", plane.0, field.0);
        assert!((field.1 - plane.1).abs() < of_height && field.2 < of_force, "{field:?} {plane:?}");
    }
}

/// A smooth slope, a ramp at an angle to the cells, presses on a robot that drives up it with m g cos(slope) in every
/// step; the noise of the triangles is less than a hundredth.
#[test]
fn a_smooth_slope_presses_evenly_on_cylinder_wheels() {
    let (along, across) = (0.12, 0.05);
    let mut world = scene::terrain(|x, z| along * x + across * z);
    let at = DVec3::new(-15.0, -15.0 * along + 0.1 * across + 0.05, 0.1);
    let rover = rover::add(&mut world, at, Wheel::Cylinder);
    let mut engine = build(&world, 0.001);
    let normal = DVec3::new(-along, 1.0, -across).normalize();
    let expected = rover::MASS * G * normal.y;
    let (mut squares, mut worst, mut count) = (0.0, 0.0f64, 0.0);
    for step in 0..12_000 {
        rover.drive(&mut *engine, (1e-3 * f64::from(step)).min(2.0));
        engine.step();
        if step > 6000 {
            let force: DVec3 = rover.bodies().map(|id| engine.body(id).force).sum();
            let off = force.dot(normal) / expected - 1.0;
            (squares, worst, count) = (squares + off * off, worst.max(off.abs()), count + 1.0);
        }
    }
    println!("{:.1e} in the mean, {worst:.1e} at most, from {}", f64::sqrt(squares / count), position(&*engine, 0));
    assert!(position(&*engine, 0).x > -14.0, "it drives");
    assert!(worst < 0.01, "{worst}");
}

/// Every shape slides over flat terrain and a flat mesh as over a plane.
#[test]
fn nothing_trips_over_inner_edges() {
    let shapes = [
        ("box", Shape::Box { size: DVec3::new(0.6, 0.4, 0.5) }, 0.2),
        ("sphere", Shape::Sphere { radius: 0.3 }, 0.3),
        ("ellipsoid", Shape::Ellipsoid { radii: DVec3::new(0.3, 0.2, 0.25) }, 0.2),
        ("cylinder", Shape::Cylinder { radius: 0.3, length: 0.4 }, 0.2),
        ("capsule", Shape::Capsule { radius: 0.2, length: 0.4 }, 0.2),
        ("cone", Shape::Cone { radius: 0.3, length: 0.4 }, 0.2),
        ("hull", hull(), 0.2),
        ("mesh", block(), 0.2),
    ];
    for mesh in [false, true] {
        for (name, shape, height) in shapes.clone() {
            let mut world = if mesh { on_mesh() } else { scene::terrain(|_, _| 0.0) };
            let index = world.mechanism.bodies.len();
            let mut slider = body(name, 2.0, Some(shape), DVec3::new(-3.05, height, 0.013));
            if name == "capsule" {
                slider.pose.rotation = DQuat::from_rotation_x(std::f64::consts::FRAC_PI_2);
            }
            slider.linear_velocity = DVec3::new(3.0, 0.0, 0.4);
            slider.material = Material { friction: 0.0, ..Material::default() };
            world.mechanism.bodies.push(slider);
            let mut engine = build(&world, 0.001);
            let mut lift = 0.0f64;
            for _ in 0..2000 {
                engine.step();
                lift = lift.max((position(&*engine, index).y - height).abs());
            }
            let lost = (velocity(&*engine, index) - DVec3::new(3.0, 0.0, 0.4)).length();
            let spin = engine.body(simpartner_model::BodyId::new(index)).angular_velocity.length();
            println!("{name} over {}: lifts {lift:.1e} m, {lost:.1e} m/s off", if mesh { "a mesh" } else { "terrain" });
            assert!(lift < 2e-6 && lost < 1e-6 && spin < 1e-5, "{name} mesh {mesh}: {lift} {lost} {spin}");
        }
    }
}

/// A block of 0.6 m by 0.4 m by 0.5 m, of twelve triangles.
fn block() -> Shape {
    let corner = |k: u32| DVec3::new(0.6 * f64::from(k & 1), 0.4 * f64::from(k >> 1 & 1), 0.5 * f64::from(k >> 2));
    let vertices = (0..8).map(|k| corner(k) - DVec3::new(0.3, 0.2, 0.25)).collect();
    let sides = [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];
    let triangles = sides.into_iter().flat_map(|[a, b, c, d]| [[a, b, c], [a, c, d]]).collect();
    Shape::TriangleMesh { vertices, triangles }
}

/// A hull with a square base of 0.6 m.
fn hull() -> Shape {
    let corner = |x: f64, z: f64, y: f64, s: f64| DVec3::new(x * s, y, z * s);
    let square = [(1.0, 1.0), (1.0, -1.0), (-1.0, -1.0), (-1.0, 1.0)];
    let base = square.iter().map(|&(x, z)| corner(x, z, -0.2, 0.3));
    let top = square.iter().map(|&(x, z)| corner(x, z, 0.2, 0.15));
    Shape::ConvexHull { points: base.chain(top).collect() }
}

/// A slab with a top of 16 by 16 squares, each of two triangles, 8 m wide.
fn on_mesh() -> World {
    let (cells, half) = (16u32, 4.0);
    let at = |i: u32, j: u32, y: f64| {
        let along = |k: u32| (f64::from(k) / f64::from(cells) - 0.5) * 2.0 * half;
        DVec3::new(along(i), y, along(j))
    };
    let mut vertices: Vec<DVec3> = Vec::new();
    let mut triangles = Vec::new();
    for i in 0..=cells {
        vertices.extend((0..=cells).map(|j| at(i, j, 0.0)));
    }
    let top = |i: u32, j: u32| i * (cells + 1) + j;
    for i in 0..cells {
        for j in 0..cells {
            triangles.push([top(i, j), top(i, j + 1), top(i + 1, j)]);
            triangles.push([top(i + 1, j), top(i, j + 1), top(i + 1, j + 1)]);
        }
    }
    let below = vertices.len() as u32;
    vertices.extend((0..=cells).flat_map(|i| (0..=cells).map(move |j| at(i, j, -1.0))));
    for i in 0..cells {
        for j in 0..cells {
            let (a, b, c, d) = (top(i, j), top(i + 1, j), top(i, j + 1), top(i + 1, j + 1));
            triangles.push([below + a, below + b, below + c]);
            triangles.push([below + b, below + d, below + c]);
        }
    }
    let mut world = scene::world();
    let mut slab = body("slab", 1.0, Some(Shape::TriangleMesh { vertices, triangles }), DVec3::ZERO);
    slab.fixed = true;
    slab.material = scene::GRIP;
    world.mechanism.bodies.push(slab);
    world
}

#[test]
fn a_robot_crosses_hills_at_every_step() {
    for wheel in [Wheel::Ball, Wheel::Cylinder] {
        let mut ends = Vec::new();
        for h in [0.001, 0.002, 0.01, 0.02] {
            let mut world = scene::hills();
            let rover = rover::add(&mut world, DVec3::new(-15.0, 0.35, 0.0), wheel);
            let mut engine = build(&world, h);
            rover.drive(&mut *engine, 4.0);
            let (mut open, mut deepest) = (0, 0.0f64);
            for step in 0..steps(h, 10.0) {
                engine.step();
                assert!(!super::diverged(&*engine));
                open += unconverged(&*engine);
                if step > steps(h, 2.0) {
                    deepest = engine.contacts().iter().fold(deepest, |deepest, contact| deepest.max(-contact.gap));
                }
            }
            let end = position(&*engine, 0);
            println!("hills, {wheel:?}, h {h}: ends at {end:.3}, deepest {deepest:.1e} m, {open} unconverged");
            assert!(end.x > -7.5 && end.y > 0.3, "{end}");
            ends.push(end);
        }
        assert!((ends[0] - ends[1]).length() < 0.3, "{ends:?}");
    }
}

/// A body on a slope or in a corner of the terrain rests on all of its supports.
#[test]
fn shapes_rest_in_a_valley() {
    for (name, shape) in [
        ("sphere", Shape::Sphere { radius: 0.3 }),
        ("box", Shape::Box { size: DVec3::splat(0.5) }),
        ("capsule", Shape::Capsule { radius: 0.2, length: 0.4 }),
        ("ellipsoid", Shape::Ellipsoid { radii: DVec3::new(0.3, 0.2, 0.25) }),
        ("cylinder", Shape::Cylinder { radius: 0.25, length: 0.5 }),
        ("cone", Shape::Cone { radius: 0.25, length: 0.5 }),
        ("hull", hull()),
    ] {
        let mut world = scene::terrain(|x, _| 0.5 * x.abs());
        world.mechanism.bodies.push(body(name, 2.0, Some(shape), DVec3::new(0.02, 0.8, 0.1)));
        world.mechanism.bodies[0].material = Material { friction: 0.5, ..Material::default() };
        let mut engine = build(&world, 0.001);
        let mut force = 0.0;
        for step in 0..6000 {
            engine.step();
            assert!(!super::diverged(&*engine));
            if step >= 5000 {
                force += engine.body(simpartner_model::BodyId::new(0)).force.y / 1000.0;
            }
        }
        let at = position(&*engine as &dyn Engine, 0);
        println!("{name} in a valley: at {at:.4}, carried by {force:.4} N (19.62)");
        assert!((force - 2.0 * G).abs() < 0.2 && at.y > 0.1 && at.x.abs() < 0.5, "{name}: {at} {force}");
    }
}
