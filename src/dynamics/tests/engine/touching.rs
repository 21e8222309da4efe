//! Faces exactly in contact, pressed together.
//!
//! Two shapes share a face, computed from the same numbers, so that the gap is zero but for rounding. One approaches at
//! 1 mm/s along the normal of the face. After one step the contacts lie on the face, press along its normal, and
//! together give the other body the momentum of an inelastic impact of two equal masses m, m v / 2.

use bevy_math::{DQuat, DVec3};
use simpartner_model::{Body, Material, Shape};

use super::{build, diverged, on_plane};
use crate::scene::{self, body};

const SPEED: f64 = 1e-3;

/// The same numbers from 0 to 1 every time.
fn number(index: usize, of: usize) -> f64 {
    let golden = 0.618_033_988_749_895 * (index * 7 + of * 3 + 1) as f64;
    golden.fract()
}

/// A stone of an arch about z: between two radii and two angles.
fn wedge(radii: [f64; 2], angles: [f64; 2]) -> Shape {
    let corners = (0..8).map(|k: usize| {
        let (sin, cos) = angles[k >> 2].sin_cos();
        let radius = radii[k >> 1 & 1];
        DVec3::new(radius * cos, radius * sin, if k & 1 == 0 { -0.15 } else { 0.15 })
    });
    Shape::ConvexHull { points: corners.collect() }
}

/// Makes a step, and returns the faults of the contacts as text.
fn press(first: Body, second: Body, on_face: DVec3, normal: DVec3) -> Result<(), String> {
    let mut world = scene::world();
    world.mechanism.gravity = DVec3::ZERO;
    world.mechanism.bodies = vec![first, second];
    for body in &mut world.mechanism.bodies {
        body.material = Material { friction: 0.0, ..Material::default() };
    }
    world.mechanism.bodies[0].linear_velocity = normal * SPEED;
    let mut engine = build(&world, 0.001);
    engine.step();
    if diverged(&*engine) {
        return Err(format!("{:?}", engine.step_events()));
    }
    let contacts = engine.contacts();
    for contact in contacts {
        let off = (contact.normal - normal).length();
        if off.is_nan() || off >= 1e-6 {
            return Err(format!("normal {}, not {normal}", contact.normal));
        }
        // Half a step before the middle of the step they were in contact.
        if !(contact.gap.abs() < SPEED * 0.001 && (contact.point - on_face).dot(normal).abs() < SPEED * 0.001) {
            return Err(format!("gap {}, {}", contact.gap, (contact.point - on_face).dot(normal)));
        }
    }
    let impulse: f64 = contacts.iter().map(|contact| contact.wrench.force.dot(normal) * 0.001).sum();
    // A face off the centre of mass transmits less, because the bodies turn.
    let most = 0.5 * 10.0 * SPEED;
    if !(contacts.len() >= 3 && impulse > 0.5 * most && impulse < most * (1.0 + 1e-6)) {
        return Err(format!("{} contacts, {impulse} N s, not {most}", contacts.len()));
    }
    Ok(())
}

#[test]
fn faces_exactly_in_contact_press_along_their_normal() {
    let mut faults = Vec::new();
    for index in 0..60 {
        let radii = [0.7 + 0.25 * number(index, 0), 1.0 + 0.1 * number(index, 1)];
        let start = 6.0 * number(index, 2);
        let middle = start + 0.1 + 0.6 * number(index, 3);
        let end = middle + 0.1 + 0.6 * number(index, 4);
        let (sin, cos) = middle.sin_cos();
        let (radial, normal) = (DVec3::new(cos, sin, 0.0), DVec3::new(-sin, cos, 0.0));
        let on_face = radial * (0.5 * (radii[0] + radii[1]));
        let stone = |angles| body("stone", 10.0, Some(wedge(radii, angles)), DVec3::ZERO);
        let turned = |shape: Shape, at: DVec3, rotation: DQuat| {
            let mut body = body("shape", 10.0, Some(shape), at);
            body.pose.rotation = rotation;
            body
        };
        let along = DQuat::from_rotation_z(middle);
        let size = DVec3::new(radii[1] - radii[0], 0.2, 0.3);
        let block = turned(Shape::Box { size }, on_face + normal * 0.1, along);
        let spin = DQuat::from_axis_angle(normal, 6.0 * number(index, 5)) * along;
        let can = |side: f64, radius: f64| {
            turned(Shape::Cylinder { radius, length: 0.2 }, on_face + normal * (0.1 * side), spin)
        };
        let pairs = [
            ("hull on hull", stone([start, middle]), stone([middle, end])),
            ("hull on box", stone([start, middle]), block.clone()),
            ("hull on cylinder", stone([start, middle]), can(1.0, 0.04)),
            ("cylinder on cylinder", can(-1.0, 0.1), can(1.0, 0.05 + 0.05 * (index % 2) as f64)),
            ("cylinder on box", can(-1.0, 0.04), block),
        ];
        for (name, first, second) in pairs {
            if let Err(fault) = press(first, second, on_face, normal) {
                faults.push(format!("{name} {index}: {fault}"));
            }
        }
    }
    assert!(faults.is_empty(), "{} of 300: {faults:#?}", faults.len());
}

/// Seven stones of a half circle on the ground, with friction: an arch that is thick enough for its line of thrust
/// stands.
#[test]
fn an_arch_of_seven_stones_stands_from_its_first_step() {
    let mut world = on_plane(scene::world());
    let angle = |index: usize| std::f64::consts::PI * index as f64 / 7.0;
    for index in 0..7 {
        let stone = wedge([0.9, 1.1], [angle(index), angle(index + 1)]);
        world.mechanism.bodies.push(body("stone", 10.0, Some(stone), DVec3::ZERO));
        world.mechanism.bodies[index].material = Material { friction: 0.8, ..Material::default() };
    }
    let mut engine = build(&world, 0.001);
    (0..200).for_each(|_| engine.step());
    assert!(!diverged(&*engine), "{:?}", engine.step_events());
    for index in 0..7 {
        let moved = super::position(&*engine, index).length();
        assert!(moved < 1e-4, "stone {index} moved {moved} m");
    }
}
