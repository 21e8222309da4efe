//! Faces with many corners, and bodies that stand on several faces: friction is that of even pressure over all of their
//! area, as sums over small cells say.

use bevy_math::{DQuat, DVec3};
use simpartner_description::World;
use simpartner_model::{BodyId, JointKind, Placed, Pose, Shape};

use super::{G, build, on_plane, run};
use crate::scene::{self, as_robot, body, joint};

/// A cell of a face: its place in the plane, x and z, m, and its area, m².
type Cell = [f64; 3];

/// Cells of a rectangle of this length along x and width along z, turned by `angle` about y and then moved.
fn rectangle_cells([length, width]: [f64; 2], angle: f64, middle: [f64; 2]) -> Vec<Cell> {
    const CELLS: usize = 60;
    let turn = DQuat::from_rotation_y(angle);
    let place = |cell: usize| (cell as f64 + 0.5) / CELLS as f64 - 0.5;
    let cells = (0..CELLS).flat_map(|i| (0..CELLS).map(move |k| (i, k)));
    cells
        .map(|(i, k)| {
            let at = turn * DVec3::new(length * place(i), 0.0, width * place(k));
            [middle[0] + at.x, middle[1] + at.z, length * width / (CELLS * CELLS) as f64]
        })
        .collect()
}

/// Mean distance of cells from the origin, m.
fn mean_distance(cells: &[Cell]) -> f64 {
    let area: f64 = cells.iter().map(|cell| cell[2]).sum();
    cells.iter().map(|[x, z, own]| x.hypot(*z) * own).sum::<f64>() / area
}

fn box_part(size: DVec3, translation: DVec3, angle: f64) -> Placed {
    Placed { pose: Pose { translation, rotation: DQuat::from_rotation_y(angle) }, shape: Shape::Box { size } }
}

/// A body of 1 kg that spins on its faces, and its inertia about the vertical.
fn spinning(shape: Shape, height: f64, rate: f64, mu: f64) -> (World, f64) {
    let mut world = on_plane(scene::world());
    world.mechanism.bodies.push(body("body", 1.0, Some(shape), DVec3::Y * height));
    let own = &mut world.mechanism.bodies[0];
    own.material.friction = mu;
    own.angular_velocity = DVec3::Y * rate;
    let inertia = simpartner_dynamics::mass_properties(own).unwrap().tensor.y_axis.y;
    (world, inertia)
}

/// Lever of friction over mu N, m, from how a body slows down within 20 ms.
fn friction_lever(world: &World, inertia: f64, mu: f64, h: f64) -> f64 {
    let mut engine = build(world, h);
    run(&mut *engine, h, 0.02);
    let before = engine.body(BodyId::new(0)).angular_velocity.y;
    run(&mut *engine, h, 0.02);
    (before - engine.body(BodyId::new(0)).angular_velocity.y) / 0.02 * inertia / (mu * G)
}

/// A disc as a convex hull, on the plane and on a box. The mean distance from the middle of a regular polygon of the
/// half angle a and the apothem c is c / (3 tan a) (tan a / cos a + artanh(sin a)).
#[test]
fn a_hull_of_many_corners_turns_with_its_whole_face() {
    let (radius, thick, mu, rate) = (0.1, 0.02, 0.3, 8.0);
    for corners in [5usize, 8, 24, 60] {
        let ring = (0..corners).map(|k| DQuat::from_rotation_y(std::f64::consts::TAU * k as f64 / corners as f64));
        let points: Vec<DVec3> =
            ring.flat_map(|turn| [-1.0, 1.0].map(|side| turn * DVec3::new(radius, 0.5 * thick * side, 0.0))).collect();
        let half = std::f64::consts::PI / corners as f64;
        let expected = radius * half.cos() / (3.0 * half.tan()) * (half.tan() / half.cos() + half.sin().atanh());
        for on_box in [false, true] {
            for h in [0.001, 0.004] {
                let height = if on_box { 0.1 } else { 0.0 };
                let shape = Shape::ConvexHull { points: points.clone() };
                let (mut world, inertia) = spinning(shape, height + 0.5 * thick, rate, mu);
                if on_box {
                    let size = DVec3::new(1.0, 0.1, 1.0);
                    let mut table = body("table", 1.0, Some(Shape::Box { size }), DVec3::Y * 0.05);
                    (table.fixed, table.material.friction) = (true, 1e6);
                    world.mechanism.bodies.push(table);
                }
                let lever = friction_lever(&world, inertia, mu, h);
                println!("{corners} corners, on a box {on_box}, h {h}: lever {lever:.6} m of {expected:.6}");
                assert!((lever / expected - 1.0).abs() < 5e-3, "{corners} {on_box} {h}: {lever} of {expected}");
            }
        }
    }
}

/// A disc as a hull of 24 corners spins until it stops: its rate falls at a constant pace.
#[test]
fn a_hull_of_24_corners_spins_as_long_as_even_pressure_says() {
    let (radius, mu, rate, h) = (0.1, 0.3, 20.0, 0.001);
    let ring = (0..24).map(|k| DQuat::from_rotation_y(std::f64::consts::TAU * f64::from(k) / 24.0));
    let points = ring.flat_map(|turn| [-1.0, 1.0].map(|side| turn * DVec3::new(radius, 0.01 * side, 0.0))).collect();
    let (world, inertia) = spinning(Shape::ConvexHull { points }, 0.01, rate, mu);
    let half = std::f64::consts::PI / 24.0;
    let lever = radius * half.cos() / (3.0 * half.tan()) * (half.tan() / half.cos() + half.sin().atanh());
    let expected = rate * inertia / (mu * G * lever);
    let mut engine = build(&world, h);
    let mut time = 0.0;
    while engine.body(BodyId::new(0)).angular_velocity.y > 1e-2 && time < 2.0 {
        run(&mut *engine, h, h);
        time += h;
    }
    println!("stops after {time:.4} s of {expected:.4}");
    assert!((time / expected - 1.0).abs() < 0.01, "{time} of {expected}");
}

/// A ring of twelve boxes, and a table on four rectangular feet, as compounds. Each box is a face of its own; the loads
/// are equal.
#[test]
fn rings_and_feet_turn_with_all_of_their_faces() {
    let (mu, rate) = (0.4, 6.0);
    let ring_angles = (0..12).map(|k| std::f64::consts::TAU * f64::from(k) / 12.0);
    let ring: Vec<(f64, DVec3)> =
        ring_angles.map(|angle| (angle, DQuat::from_rotation_y(angle) * DVec3::X * 0.2)).collect();
    let feet: Vec<(f64, DVec3)> = [(0.3, [0.2, 0.1]), (-0.3, [0.2, -0.1]), (0.3, [-0.2, -0.1]), (-0.3, [-0.2, 0.1])]
        .map(|(angle, [x, z])| (angle, DVec3::new(x, 0.0, z)))
        .to_vec();
    let cases = [("ring", ring, [0.06, 0.08]), ("feet", feet, [0.1, 0.04])];
    for (name, places, size) in cases {
        let cells: Vec<Cell> =
            places.iter().flat_map(|(angle, at)| rectangle_cells(size, *angle, [at.x, at.z])).collect();
        let expected = mean_distance(&cells);
        let part = |(angle, at): &(f64, DVec3)| box_part(DVec3::new(size[0], 0.04, size[1]), *at, *angle);
        let shape = Shape::Compound { parts: places.iter().map(part).collect() };
        for h in [0.001, 0.004] {
            let (world, inertia) = spinning(shape.clone(), 0.02, rate, mu);
            let lever = friction_lever(&world, inertia, mu, h);
            println!("{name}, h {h}: lever {lever:.6} m of {expected:.6}");
            assert!((lever / expected - 1.0).abs() < 5e-3, "{name} {h}: {lever} of {expected}");
        }
    }
}

/// Yaw rate of a vehicle at rest on belts at z = ± `track` / 2 that run at ± `speed`: the moment of friction vanishes.
fn belt_yaw_rate(size: [f64; 2], track: f64, speed: f64) -> f64 {
    let moment = |turn: f64| {
        [-1.0, 1.0].map(|side: f64| {
            let cells = rectangle_cells(size, 0.0, [0.0, 0.5 * track * side]);
            let of = |[x, z, area]: &Cell| {
                let u = [turn * z - speed * side, -turn * x];
                let slip = u[0].hypot(u[1]).max(1e-12);
                area * (z * u[0] - x * u[1]) / slip
            };
            cells.iter().map(of).sum::<f64>()
        })
    };
    let (mut low, mut high) = (0.0, 2.0 * speed / track);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if moment(middle).iter().sum::<f64>() < 0.0 { low = middle } else { high = middle }
    }
    low
}

/// A vehicle on two tracks, boxes whose surfaces run forward and backward, turns on the spot.
#[test]
fn a_vehicle_on_tracks_turns_as_the_sum_over_their_faces_says() {
    let (track, speed) = (0.3, 0.2);
    for size in [[0.2, 0.06], [0.4, 0.06], [0.4, 0.1]] {
        for h in [0.001, 0.004, 0.01] {
            let mut world = on_plane(scene::world());
            let base = Shape::Box { size: DVec3::new(0.3, 0.05, 0.1) };
            world.mechanism.bodies.push(body("base", 5.0, Some(base), DVec3::Y * 0.1));
            for side in [-1.0, 1.0] {
                let at = DVec3::new(0.0, 0.03, 0.5 * track * side);
                let shape = Shape::Box { size: DVec3::new(size[0], 0.06, size[1]) };
                let mut belt = body("belt", 1.0, Some(shape), at);
                belt.material.friction = 0.7;
                belt.material.surface_velocity = DVec3::X * (-speed * side);
                let child = world.mechanism.bodies.len();
                world.mechanism.bodies.push(belt);
                world.mechanism.joints.push(joint("mount", JointKind::Fixed, 0, child, at));
            }
            let mut engine = build(&as_robot(world), h);
            run(&mut *engine, h, 1.0);
            let rate = engine.body(BodyId::new(0)).angular_velocity.y;
            let expected = belt_yaw_rate(size, track, speed);
            println!("tracks of {size:?}, h {h}: yaw rate {rate:.5} of {expected:.5}");
            assert!((rate / expected - 1.0).abs() < 5e-3, "{size:?} {h}: {rate} of {expected}");
        }
    }
}
