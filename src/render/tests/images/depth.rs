//! Depths of shapes whose distance has a formula, from near and from far.

use bevy_math::DVec3;
use simpartner_model::{Body, Mechanism, Pose, Shape};
use simpartner_render::{Camera, Optics, Scene, looking_at};

use crate::worlds::{at, body, camera, level_plane, torus, view};

fn alone(body: Body) -> Mechanism {
    Mechanism { bodies: vec![body], ..Mechanism::default() }
}

/// A sphere of radius r at a distance D: a ray at an angle with the cosine c from its middle meets it at
/// D c - sqrt(r² - D² (1 - c²)).
#[test]
fn the_depth_of_a_sphere_is_that_of_its_formula() {
    for (distance, radius) in [(0.6, 0.5), (5.0, 1.0), (300.0, 20.0), (20_000.0, 900.0)] {
        for place in [DVec3::ZERO, DVec3::new(4.0e5, 7.0e4, -9.0e5)] {
            let model = alone(body(Shape::Sphere { radius }, Pose { translation: place, ..at(0.0, 0.0, 0.0) }));
            let scene = Scene::new(&model).unwrap();
            let camera = camera(128, 96);
            let eye = looking_at(place + DVec3::new(0.48, 0.6, 0.64) * distance, place).unwrap();
            // Places of a hundred kilometres have themselves a rounding of 1e-10 m.
            let centre = eye.inverse().point(place);
            let image = view(&scene, &model, camera, eye).depth_image(2);
            let mut seen = 0;
            for (row, column) in (0..96).flat_map(|row| (0..128).map(move |column| (row, column))) {
                let direction = camera.direction(column as f64, row as f64).unwrap();
                let nearest = centre.dot(direction);
                let left = radius * radius - (centre - nearest * direction).length_squared();
                let depth = f64::from(*image.pixel(column, row));
                // On the rim itself a rounding decides.
                if left > 1e-6 * radius * radius {
                    let expected = (nearest - left.sqrt()) * direction.z;
                    assert!((depth - expected).abs() < 1e-6 * expected, "{distance}: {depth} {expected}");
                    seen += 1;
                } else if left < -1e-6 * radius * radius {
                    assert_eq!(depth, f64::INFINITY);
                }
            }
            assert!(seen > 50, "{distance}: {seen}");
        }
    }
}

/// A wall of two large triangles, as a mesh, straight and slanted, from a millimetre to a kilometre: the plane's depth.
#[test]
fn the_depth_of_a_mesh_is_that_of_its_plane() {
    for distance in [0.05, 3.0, 1000.0] {
        for slant in [0.0, 0.9] {
            let size = 3.0 * distance;
            let corner = |x: f64, y: f64| DVec3::new(x * size, y * size, x * size * slant);
            let vertices = vec![corner(-1.0, -1.0), corner(1.0, -1.0), corner(1.0, 1.0), corner(-1.0, 1.0)];
            let wall = Shape::TriangleMesh { vertices, triangles: vec![[0, 1, 2], [0, 2, 3]] };
            let model = alone(body(wall, Pose { translation: DVec3::Z * distance, ..Pose::IDENTITY }));
            let scene = Scene::new(&model).unwrap();
            let camera = camera(64, 48);
            let image = view(&scene, &model, camera, Pose::IDENTITY).depth_image(2);
            for (row, column) in (0..48).flat_map(|row| (0..64).map(move |column| (row, column))) {
                let direction = camera.direction(column as f64, row as f64).unwrap();
                // z = distance + slant x.
                let expected = distance / (1.0 - slant * direction.x / direction.z);
                let depth = f64::from(*image.pixel(column, row));
                assert!(
                    (depth - expected).abs() < 1e-6 * expected,
                    "{distance} {slant} {column} {row}: {depth} {expected}"
                );
            }
        }
    }
}

/// No ray passes between the triangles of a closed mesh: whatever enters the torus through its disc is met.
#[test]
fn a_closed_mesh_has_no_cracks() {
    let model = alone(body(torus(211, 97), Pose::IDENTITY));
    let scene = Scene::new(&model).unwrap();
    let camera = Camera::new(Optics::pinhole(400, 400, 0.5)).unwrap();
    for place in [DVec3::Y * 4.0, DVec3::new(0.3, 3.7, -0.2)] {
        let eye = looking_at(place, DVec3::ZERO).unwrap();
        let image = view(&scene, &model, camera, eye).depth_image(2);
        let mut seen = 0;
        for (row, column) in (0..400).flat_map(|row| (0..400).map(move |column| (row, column))) {
            let along = eye.direction(camera.direction(f64::from(column), f64::from(row)).unwrap());
            // Where the ray crosses the ring's middle plane, well inside of the tube.
            let at = place - along * (place.y / along.y);
            if (at.length() - 0.6).abs() < 0.23 {
                assert!(image.pixel(column as usize, row as usize).is_finite(), "{column} {row}");
                seen += 1;
            }
        }
        assert!(seen > 10_000, "{seen}");
    }
}

#[test]
fn depths_beyond_far_are_infinite_and_nearer_than_near_minus_infinite() {
    let model = Mechanism { grounds: vec![level_plane()], ..Mechanism::default() };
    let scene = Scene::new(&model).unwrap();
    let camera = Camera::new(Optics { near: 3.0, far: 8.0, ..Optics::pinhole(1, 101, 0.02) }).unwrap();
    let eye = looking_at(DVec3::Y * 2.0, DVec3::new(4.0, 0.0, 0.0)).unwrap();
    let image = view(&scene, &model, camera, eye).depth_image(1);
    for row in 0..101 {
        let direction = camera.direction(0.0, row as f64).unwrap();
        let fall = -eye.direction(direction).y;
        let depth = if fall > 0.0 { 2.0 / fall * direction.z } else { f64::INFINITY };
        let expected = match depth {
            depth if depth < 3.0 => f64::NEG_INFINITY,
            depth if depth > 8.0 => f64::INFINITY,
            depth => depth,
        };
        let seen = f64::from(*image.pixel(0, row));
        assert!(seen == expected || (seen - expected).abs() < 1e-6 * expected, "{row}: {seen} {expected}");
    }
    let kinds =
        [f32::NEG_INFINITY, f32::INFINITY].map(|kind| image.pixels.iter().filter(|depth| **depth == kind).count());
    assert!(kinds.iter().all(|count| *count > 5) && kinds[0] + kinds[1] < 95, "{kinds:?}");
}
