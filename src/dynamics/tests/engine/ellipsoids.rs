//! Ellipsoids.
//!
//! On a plane, an ellipsoid with half axes a, b, c rocks about its lowest position, with c upright, in the plane of a
//! and c. There its surface has the radius of curvature R = a²/c, and its centre rises by (R - c) θ²/2. It turns about
//! the point of contact, so that ω² = m g (R - c) / (I + m c²).
//!
//! A spheroid that rolls about its axis of symmetry rolls as a ball does: nothing slows it down.

mod poses;

use std::f64::consts::TAU;

use bevy_math::{DMat3, DQuat, DVec3};
use simpartner_dynamics::{Ray, RayTarget, mass_properties, volume};
use simpartner_model::{BodyId, Material, Placed, Plane, Pose, Shape, random::Stream};

use crate::{
    G, build, energy, on_plane, position, run,
    scene::{self, body},
    steps, velocity,
};

fn ellipsoid_shape(x: f64, y: f64, z: f64) -> Shape {
    Shape::Ellipsoid { radii: DVec3::new(x, y, z) }
}

/// A long spheroid and a wheel. It lost half of its speed in 0.5 s while an importer made a hull of it.
#[test]
fn a_spheroid_rolls_about_its_axis_without_loss() {
    for (name, shape, speed) in
        [("long", ellipsoid_shape(0.1, 0.1, 0.2), 1.0), ("wheel", ellipsoid_shape(0.2, 0.2, 0.06), 3.0)]
    {
        let Shape::Ellipsoid { radii } = shape else { panic!("{shape:?}") };
        for h in [0.001, 0.01] {
            let mut world = on_plane(scene::world());
            world.mechanism.bodies.push(body(name, 2.0, Some(shape.clone()), DVec3::Y * radii.y));
            world.mechanism.bodies[0].linear_velocity = DVec3::X * speed;
            world.mechanism.bodies[0].angular_velocity = DVec3::NEG_Z * (speed / radii.x);
            let mut engine = build(&world, h);
            run(&mut *engine, h, 3.0);
            let state = engine.body(BodyId::new(0));
            let slower = [(state.linear_velocity.x / speed - 1.0), state.angular_velocity.z * radii.x / -speed - 1.0];
            println!("{name} spheroid, h {h}: speed off by {slower:?} of itself after 3 s");
            assert!(slower.iter().all(|off| off.abs() < 1e-9), "{name}, h {h}: {slower:?}");
            assert!((position(&*engine, 0).y - radii.y).abs() < 1e-6, "{}", position(&*engine, 0));
        }
    }
}

/// Half of the lengths of the stone along the ground in the plane of its rocking, and upright, m.
const STONE: [f64; 2] = [0.2, 0.12];

/// A stone that rocks by `angle`, rad, about its lowest position.
fn rocking_stone(angle: f64) -> simpartner_description::World {
    let [a, c] = STONE;
    let mut world = on_plane(scene::world());
    // The height of the centre above a plane across the normal n is |D n|.
    let height = libm::hypot(a * libm::sin(angle), c * libm::cos(angle));
    world.mechanism.bodies.push(body("stone", 3.0, Some(ellipsoid_shape(a, c, 0.15)), DVec3::Y * height));
    world.mechanism.bodies[0].pose.rotation = DQuat::from_rotation_z(angle);
    world
}

#[test]
fn a_stone_rocks_with_the_period_of_theory() {
    let [a, c] = STONE;
    let inertia = (a * a + c * c) / 5.0;
    let period = TAU / (G * (a * a / c - c) / (inertia + c * c)).sqrt();
    for (h, within) in [(0.001, 2e-5), (0.01, 2e-3)] {
        let world = rocking_stone(1e-3);
        let mut engine = build(&world, h);
        let (mut before, mut crossings) = (0.0, Vec::new());
        for step in 0..steps(h, 10.0) {
            engine.step();
            let rate = engine.body(BodyId::new(0)).angular_velocity.z;
            if before < 0.0 && rate >= 0.0 {
                crossings.push((step as f64 + rate / (before - rate)) * h);
            }
            before = rate;
        }
        let found = (crossings[crossings.len() - 1] - crossings[0]) / (crossings.len() - 1) as f64;
        println!(
            "rocking stone, h {h}: period {found:.7} s, {period:.7} s in theory, {:.1e} off",
            found / period - 1.0
        );
        assert!((found / period - 1.0).abs() < within, "h {h}: {found} for {period}");
    }
}

#[test]
fn a_rocking_stone_keeps_its_energy() {
    for h in [0.001, 0.002, 0.005, 0.01] {
        let world = rocking_stone(0.3);
        let mut engine = build(&world, h);
        let start = energy(&world, &*engine);
        let floor = 3.0 * G * STONE[1];
        let (mut worst, mut turned) = (0.0f64, 0.0f64);
        for _ in 0..steps(h, 3.0) {
            engine.step();
            worst = worst.max((energy(&world, &*engine) - start).abs());
            turned = turned.max(velocity(&*engine, 0).length());
        }
        println!("rocking stone, h {h}: {worst:.1e} J of {:.2} J off at most", start - floor);
        assert!(turned > 0.3 && worst < 60.0 * h * h * (start - floor), "h {h}: {worst}");
    }
}

/// The torque of rolling friction is Crr × normal force × height of the centre above the contact.
#[test]
fn rolling_friction_slows_a_spheroid_as_a_ball_of_its_radius() {
    let (r, coefficient, speed, h) = (0.1, 0.02, 1.0, 0.001);
    let mut world = on_plane(scene::world());
    world.mechanism.bodies.push(body("long", 2.0, Some(ellipsoid_shape(r, r, 0.2)), DVec3::Y * r));
    let own = &mut world.mechanism.bodies[0];
    own.linear_velocity = DVec3::X * speed;
    own.angular_velocity = DVec3::NEG_Z * (speed / r);
    own.material.rolling_friction = coefficient;
    let mut engine = build(&world, h);
    run(&mut *engine, h, 1.0);
    // I = 2/5 m r² about the axis of symmetry.
    let slower = coefficient * G / 1.4;
    let found = speed - velocity(&*engine, 0).x;
    assert!((found - slower).abs() < 1e-6, "{found} for {slower}");
}

/// A heap of stones on terrain, continued from a snapshot: the same bits, as in a replay.
#[test]
fn a_heap_of_stones_continues_from_a_snapshot_with_the_same_bits() {
    let mut world = scene::hills();
    for k in 0..8 {
        let at = DVec3::new(0.03 * f64::from(k), 0.6 + 0.35 * f64::from(k), 0.05 * f64::from(k % 3));
        let size = 0.1 + 0.02 * f64::from(k);
        world.mechanism.bodies.push(body("stone", 1.0, Some(ellipsoid_shape(size, 0.6 * size, 0.8 * size)), at));
    }
    let mut engine = build(&world, 0.002);
    (0..400).for_each(|_| engine.step());
    let snapshot = engine.snapshot();
    let go_on = |engine: &mut dyn simpartner_dynamics::Engine| -> Vec<[f64; 7]> {
        (0..400).for_each(|_| engine.step());
        let pose = |index: usize| engine.body(BodyId::new(index)).pose;
        let numbers = |pose: Pose| {
            let ([x, y, z], [i, j, k, w]) = (pose.translation.to_array(), pose.rotation.to_array());
            [x, y, z, i, j, k, w]
        };
        (0..8).map(|index| numbers(pose(index))).collect()
    };
    let first = go_on(&mut *engine);
    engine.restore(&snapshot).unwrap();
    assert_eq!(first, go_on(&mut *engine));
    let mut other = build(&world, 0.002);
    (0..400).for_each(|_| other.step());
    assert_eq!(first, go_on(&mut *other));
    assert!(first.iter().all(|pose| pose[1] > -1.0), "{first:?}");
}

/// Soil carries an ellipsoid piece by piece, as it carries a ball.
#[test]
fn an_ellipsoid_of_equal_radii_sinks_as_a_ball() {
    let sink = |shape: Shape| {
        let mut world = on_plane(scene::world());
        let soil = simpartner_model::Soil::NAMED[0].soil;
        let material = Material { soil: Some(soil), ..Material::default() };
        world.mechanism.grounds = vec![Plane { normal: DVec3::Y, distance: 0.0, material }.into()];
        world.mechanism.bodies.push(body("ball", 5.0, Some(shape), DVec3::Y * 0.2));
        let mut engine = build(&world, 0.001);
        (0..1000).for_each(|_| engine.step());
        position(&*engine, 0).y
    };
    let (ball, found) = (sink(Shape::Sphere { radius: 0.2 }), sink(ellipsoid_shape(0.2, 0.2, 0.2)));
    assert!(ball < 0.199 && (found - ball).abs() < 1e-9, "{found} for {ball}");
}

#[test]
fn mass_and_inertia_are_those_of_the_formulas() {
    let (radii, mass) = (DVec3::new(0.3, 0.2, 0.1), 5.0);
    let pose = Pose { translation: DVec3::new(0.4, -0.1, 0.2), rotation: DQuat::from_rotation_y(0.7) };
    let mut stone = body("stone", mass, None, DVec3::ZERO);
    let placed = Placed { pose, shape: Shape::Ellipsoid { radii } };
    let filled = 4.0 / 3.0 * std::f64::consts::PI * 0.3 * 0.2 * 0.1;
    assert!((volume(&placed).unwrap() / filled - 1.0).abs() < 1e-14);
    stone.shape = Some(placed);
    let found = mass_properties(&stone).unwrap();
    let moments = DVec3::new(0.05, 0.10, 0.13) * (mass / 5.0);
    let turn = DMat3::from_quat(pose.rotation);
    let expected = turn * DMat3::from_diagonal(moments) * turn.transpose();
    assert!((found.centre_of_mass - pose.translation).length() < 1e-15, "{found:?}");
    assert!((found.tensor - expected).to_cols_array().iter().all(|off| off.abs() < 1e-15), "{found:?}");
}

/// The root of |D⁻¹ (o + t d)|² = 1, from its coefficients.
fn closed_form(radii: DVec3, origin: DVec3, direction: DVec3) -> Option<[f64; 2]> {
    let (from, along) = (origin / radii, direction / radii);
    let (a, b, c) = (along.length_squared(), from.dot(along), from.length_squared() - 1.0);
    let root = (b * b - a * c).sqrt();
    root.is_finite().then(|| [(-b - root) / a, (-b + root) / a])
}

/// Half of the rays start inside. The scene of an engine and a single target read the same.
#[test]
fn rays_read_what_the_closed_form_gives() {
    let mut random = Stream::from_number(17);
    let mut vector = |low: f64, high: f64| DVec3::from([0; 3].map(|_| random.between(low, high)));
    let (mut hits, mut inside) = (0, 0);
    for case in 0..1000 {
        let radii = vector(0.05, 0.5);
        let rotation = DQuat::from_axis_angle(vector(-1.0, 1.0).normalize(), vector(-3.0, 3.0).x);
        let at = vector(-2.0, 2.0);
        let (origin, direction) = match case % 2 {
            0 => (vector(-3.0, 3.0), vector(-1.0, 1.0).normalize()),
            _ => (at + rotation * (vector(-0.5, 0.5) * radii), vector(-1.0, 1.0).normalize()),
        };
        // Half of the rays from outside aim at the body.
        let direction = if case % 4 == 0 { (at - origin + vector(-0.2, 0.2)).normalize() } else { direction };
        let back = rotation.inverse();
        let range = 20.0;
        let roots = closed_form(radii, back * (origin - at), back * direction).filter(|roots| roots[1] >= 0.0);
        let pose = Pose { translation: at, rotation };
        let target = RayTarget::new(&Placed { pose, shape: Shape::Ellipsoid { radii } }).unwrap();
        let found = target.meet(origin, direction, range);
        let mut world = scene::world();
        world.mechanism.bodies.push(body("stone", 1.0, Some(Shape::Ellipsoid { radii }), at));
        world.mechanism.bodies[0].pose.rotation = rotation;
        let seen = build(&world, 0.001).cast_ray(&Ray { origin, direction, range, ignore: None });
        let Some([enters, leaves]) = roots else {
            assert!(found.is_none() && seen.is_none(), "case {case}: {found:?} {seen:?}");
            continue;
        };
        let is_inside = enters < 0.0;
        (hits, inside) = (hits + 1, inside + usize::from(is_inside));
        let (distance, normal) = found.unwrap_or_else(|| panic!("case {case} meets nothing, {enters} expected"));
        let expected = if is_inside { leaves } else { enters };
        assert!((distance - expected).abs() < 1e-12, "case {case}: {distance} for {expected}");
        let outwards = (rotation * (back * (origin + direction * distance - at) / (radii * radii))).normalize();
        let towards = if outwards.dot(direction) < 0.0 { -outwards } else { outwards };
        assert!((normal - towards).length() < 1e-12, "case {case}: {normal} for {towards}");
        // A ray that starts in a body reads 0.
        let (seen, wanted) = (seen.unwrap_or(f64::NAN), enters.max(0.0));
        assert!((seen - wanted).abs() < 1e-12, "case {case}: {seen} for {wanted}");
    }
    assert!(hits > 700 && inside == 500, "{hits} {inside}");
}
