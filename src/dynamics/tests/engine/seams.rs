//! Seams: floors of several bodies, or of several shapes of a body, side by side.
//!
//! Without friction, nothing on a flat floor has a horizontal force: a body keeps its velocity to rounding, whatever
//! the floor is made of. Gaps up to 0.1 mm are no edges. A step of height s up to 0.01 mm lifts a body, which costs at
//! most the energy m g s: the relative loss of speed is g s / v², and twice that is allowed. Steps from 1 mm on are
//! real: they stop or deflect a body as they do beyond a gap.

mod floors;

use std::f64::consts::{FRAC_PI_2, SQRT_2};

use bevy_math::{DQuat, DVec3};
use simpartner_model::{BodyId, Material, Placed, Pose, Shape, random::Stream};

use self::floors::{FLOORS, HALF, SLIDERS, Scene, block_corners, slider_shape};
use super::{G, build, diverged, energy, position, steps, velocity};
use crate::{
    rover::{self, Wheel},
    scene::{self, body},
};

fn is_long() -> bool {
    std::env::var_os("SIMPARTNER_LONG_TESTS").is_some()
}

/// Duration of a run, s: the way is at most 3 m.
fn seconds_of_run(speed: f64) -> f64 {
    (3.0 / speed).min(1.0)
}

/// Relative change of the velocity along the floor, and the largest change of height, m.
fn slide_across(scene: &Scene, h: f64) -> (f64, f64) {
    let mut engine = build(&scene.world, h);
    let start = position(&*engine, scene.slider);
    let mut lift = 0.0f64;
    for _ in 0..steps(h, seconds_of_run(scene.velocity.length())) {
        engine.step();
        assert!(!diverged(&*engine));
        lift = lift.max((position(&*engine, scene.slider) - start).dot(scene.turn * DVec3::Y).abs());
    }
    let end = scene.turn.inverse() * velocity(&*engine, scene.slider);
    ((DVec3::new(end.x, 0.0, end.z) - scene.velocity).length() / scene.velocity.length(), lift)
}

/// A thousand random floors and bodies with `SIMPARTNER_LONG_TESTS=1`, and 126 else: twice each pair of a floor and a
/// body.
#[test]
fn no_body_notices_a_seam() {
    let (mut bad, mut worst, mut highest) = (0, 0.0f64, 0.0f64);
    for seed in 0..if is_long() { 1000 } else { 126 } {
        let mut stream = Stream::from_number(seed);
        let (floor, kind) =
            (FLOORS[seed as usize % FLOORS.len()], SLIDERS[seed as usize / FLOORS.len() % SLIDERS.len()]);
        let gap = [0.0, 1e-4, 1e-4 * stream.uniform()][stream.below(3)];
        let step = [0.0, 0.0, 1e-5 * stream.uniform()][stream.below(3)];
        let h = [0.001, 0.01][stream.below(2)];
        let (speed, angle) = (stream.between(0.3, 3.0), stream.between(-3.2, 3.2));
        let mut scene = Scene::new(&mut stream);
        scene.add_floor(floor, &mut stream, gap, step);
        let (shape, height) = slider_shape(kind, &mut stream);
        let velocity = speed * DVec3::new(libm::cos(angle), 0.0, libm::sin(angle));
        let yaw = if stream.happens(0.3) { -angle } else { stream.between(-3.2, 3.2) };
        let start = DVec3::Y * (height + step) - velocity * (0.5 * seconds_of_run(speed));
        scene.add_slider(shape, start, yaw, velocity, 0.0);
        let (loss, lift) = slide_across(&scene, h);
        // Overlaps up to 1e-6 m are not pushed apart.
        let (allowed, settled) = (1e-9 + 2.0 * G * step / (speed * speed), if step > 0.0 { 1e-6 } else { 1e-9 });
        if step == 0.0 {
            (worst, highest) = (worst.max(loss), highest.max(lift));
        }
        if loss > allowed || lift > step + settled {
            bad += 1;
            println!(
                "{seed}: {kind} over {floor}, gap {gap:.1e}, step {step:.1e}, h {h}, {speed:.2} m/s: loss {loss:.1e} \
                 of {allowed:.1e}, lift {lift:.1e}"
            );
        }
    }
    println!("without steps: loss {worst:.1e}, lift {highest:.1e} m at most");
    assert_eq!(bad, 0);
}

/// Balls and wheels with friction roll over tiles with gaps of 0.1 mm as on a smooth floor: at the speed and the spin
/// that they start with.
#[test]
fn balls_and_wheels_roll_over_gaps() {
    for (seed, h) in (0..if is_long() { 100 } else { 14 }).flat_map(|seed| [(seed, 0.001), (seed, 0.01)]) {
        let mut stream = Stream::from_number(5000 + seed);
        let mut scene = Scene::new(&mut stream);
        scene.add_floor(FLOORS[seed as usize % FLOORS.len()], &mut stream, 1e-4, 0.0);
        let (radius, speed, angle) = (stream.between(0.05, 0.3), stream.between(0.3, 3.0), stream.between(-3.2, 3.2));
        let shape = match seed % 3 {
            0 => Shape::Sphere { radius },
            1 => Shape::Cylinder { radius, length: 0.2 },
            _ => Shape::Capsule { radius, length: 0.2 },
        };
        let pose = Pose { translation: DVec3::ZERO, rotation: DQuat::from_rotation_x(FRAC_PI_2) };
        let velocity = speed * DVec3::new(libm::cos(angle), 0.0, libm::sin(angle));
        let start = DVec3::Y * radius - velocity * (0.5 * seconds_of_run(speed));
        scene.add_slider(Placed { pose, shape }, start, -angle, velocity, 0.9);
        let spin = scene.turn * DVec3::Y.cross(velocity) / radius;
        scene.world.mechanism.bodies[scene.slider].angular_velocity = spin;
        let (loss, lift) = slide_across(&scene, h);
        assert!(loss < 1e-9 && lift < 1e-9, "{seed} at {h} s: loss {loss:.1e}, lift {lift:.1e}");
    }
}

/// The deck of a cart of four boxes, which slides itself over tiles: what slides over the deck has a velocity of its
/// own, and so has the cart.
#[test]
fn a_deck_of_several_boxes_is_flat() {
    let half = DVec3::new(0.4, 0.05, 0.3);
    let part = |x: f64, z: f64| {
        let translation = DVec3::new(x * half.x, 0.0, z * half.z);
        Placed { pose: Pose { translation, ..Pose::IDENTITY }, shape: Shape::Box { size: 2.0 * half } }
    };
    for (seed, h) in (0..if is_long() { 90 } else { 9 }).flat_map(|seed| [(seed, 0.001), (seed, 0.01)]) {
        let mut stream = Stream::from_number(7000 + seed);
        let mut scene = Scene::new(&mut stream);
        scene.add_floor("boxes", &mut stream, 1e-4, 0.0);
        let deck = [part(-1.0, -1.0), part(1.0, -1.0), part(-1.0, 1.0), part(1.0, 1.0)];
        let cart = DVec3::new(0.3, 0.0, 0.2);
        let deck = Placed { pose: Pose::IDENTITY, shape: Shape::Compound { parts: deck.to_vec() } };
        scene.add_slider(deck, DVec3::new(-0.2, half.y, -0.1), 0.0, cart, 0.0);
        let (index, (shape, height)) =
            (scene.slider, slider_shape(SLIDERS[seed as usize % SLIDERS.len()], &mut stream));
        scene.world.mechanism.bodies[index].mass = 200.0;
        let speed = DVec3::new(stream.between(-0.4, 0.4), 0.0, stream.between(-0.4, 0.4));
        let start = DVec3::new(-0.2, height + 2.0 * half.y, -0.1) - 0.4 * speed;
        scene.add_slider(shape, start, stream.between(-3.0, 3.0), cart + speed, 0.0);
        let mut engine = build(&scene.world, h);
        (0..steps(h, 0.8)).for_each(|_| engine.step());
        for (body, expected) in [(index, cart), (scene.slider, cart + speed)] {
            let off = (scene.turn.inverse() * velocity(&*engine, body) - expected).length();
            assert!(off < 1e-9, "{seed} at {h} s: body {body} is {off:.1e} m/s off");
        }
    }
}

/// A rover of cylinder wheels drives over tiles of 0.3 m as over one box: nothing kicks it.
#[test]
fn a_rover_drives_over_tiles_as_over_a_box() {
    for h in [0.001, 0.01] {
        let kicks = [0.3, 60.0].map(|size| {
            let mut world = scene::world();
            let count = if size < 1.0 { 35 } else { 1 };
            for index in 0..count * count {
                let place = |index: usize| size * (index as f64 - 0.5 * (count - 1) as f64);
                let at = DVec3::new(place(index / count), -0.1, place(index % count) + 0.07);
                let shape = Shape::Box { size: DVec3::new(size, 0.2, size) };
                let mut tile = body(&format!("tile{index}"), 1.0, Some(shape), at);
                (tile.fixed, tile.material) = (true, scene::GRIP);
                world.mechanism.bodies.push(tile);
            }
            let rover = rover::add(&mut world, DVec3::new(-2.0, 0.0, 0.1), Wheel::Cylinder);
            let base = count * count;
            let mut engine = build(&world, h);
            rover.drive(&mut *engine, 4.0);
            let (mut kick, mut last) = (0.0f64, DVec3::ZERO);
            for step in 0..steps(h, 6.0) {
                engine.step();
                let now = velocity(&*engine, base);
                if step > steps(h, 1.5) {
                    kick = kick.max((now - last).length());
                }
                last = now;
            }
            (kick, position(&*engine, base))
        });
        println!(
            "{h} s: kicks {:.1e} m/s over tiles, {:.1e} over a box; at {}, {}",
            kicks[0].0, kicks[1].0, kicks[0].1, kicks[1].1
        );
        assert!(kicks[0].1.x > -1.5, "it drives");
        // At 1e-6 m/s a contact counts as solved. Wide wheels creep sideways at 10 ms, over a box as well.
        let allowed = if h < 0.005 { 1e-5 } else { 5e-4 };
        let ways = (kicks[0].1 - kicks[1].1).x.abs();
        assert!(kicks[0].0 < allowed && kicks[1].0 < allowed && ways < 1e-3, "{kicks:?}");
    }
}

/// A real step stops or deflects a body as it does beyond a gap of 1 mm, where the floor ends and nothing is a seam.
#[test]
fn real_steps_stop_a_body() {
    let mut slowed = 0;
    let seeds = if is_long() { 500 } else { 45 };
    for seed in 0..seeds {
        let after = [0.0, 1e-3].map(|gap| {
            let mut stream = Stream::from_number(9000 + seed);
            let mut scene = Scene::new(&mut stream);
            let (shape, height) = slider_shape(SLIDERS[seed as usize % SLIDERS.len()], &mut stream);
            let step = stream.between(1e-3, 0.05);
            let (speed, yaw, tile) = (stream.between(0.3, 3.0), stream.between(-3.0, 3.0), stream.below(3));
            for (from, to, top) in [(-HALF, -gap, 0.0), (0.0, HALF, step)] {
                let half = DVec3::new(0.5 * (to - from), 0.2, HALF);
                let shape = match tile {
                    0 => Shape::Box { size: 2.0 * half },
                    1 => Shape::ConvexHull { points: block_corners(half) },
                    _ => floors::block_mesh(half),
                };
                let translation = DVec3::new(0.5 * (from + to), top - 0.2, 0.0);
                scene.add_fixed(Pose { translation, ..Pose::IDENTITY }, shape);
            }
            let velocity = DVec3::X * speed;
            scene.add_slider(shape, DVec3::new(-0.8, height, 0.0), yaw, velocity, 0.0);
            let mut engine = build(&scene.world, 0.001);
            let mut least = speed;
            for _ in 0..steps(0.001, 0.8 / speed) {
                engine.step();
                least = least.min((scene.turn.inverse() * self::velocity(&*engine, scene.slider)).x);
            }
            least / speed
        });
        slowed += usize::from(after[0] < 0.9);
        assert!(
            (after[0] - after[1]).abs() < 0.05,
            "{seed}: speed {:.4} of before, {:.4} beyond a gap",
            after[0],
            after[1]
        );
    }
    println!("{slowed} of {seeds} lost more than a tenth of their speed");
    assert!(10 * slowed > 5 * seeds as usize, "{slowed} of {seeds}");
}

/// Two wedges flush along the bottom of a groove of 90 degrees: a ball rests on both of their sides, which no seam
/// covers.
#[test]
fn a_ball_rests_in_a_groove() {
    let mut world = scene::world();
    for side in [-1.0, 1.0] {
        let profile = [DVec3::ZERO, DVec3::new(side, 1.0, 0.0), DVec3::new(side, -0.5, 0.0), DVec3::NEG_Y * 0.5];
        let points = [-1.0, 1.0].into_iter().flat_map(|z| profile.map(|point| point + DVec3::Z * z)).collect();
        let mut wedge = body(&format!("wedge{side}"), 1.0, Some(Shape::ConvexHull { points }), DVec3::ZERO);
        (wedge.fixed, wedge.material) = (true, scene::GRIP);
        world.mechanism.bodies.push(wedge);
    }
    let radius = 0.1;
    world.mechanism.bodies.push(body("ball", 2.0, scene::ball(radius), DVec3::Y * (radius * SQRT_2 + 1e-3)));
    let mut engine = build(&world, 0.001);
    (0..500).for_each(|_| engine.step());
    let state = engine.body(BodyId::new(2));
    assert!((state.pose.translation.y - radius * SQRT_2).abs() < 2e-6, "{}", state.pose.translation);
    assert!((state.force.y - 2.0 * G).abs() < 1e-6 && engine.contacts().len() == 2, "{:?}", engine.contacts());
}

/// A box that starts deep in a seam is pushed out, and gains no energy but that of its rise.
#[test]
fn a_deep_overlap_at_a_seam_ends() {
    for depth in [1e-4, 1e-3, 0.01, 0.08] {
        let mut stream = Stream::from_number(3);
        let mut scene = Scene::new(&mut stream);
        scene.add_floor("boxes", &mut stream, 0.0, 0.0);
        let shape = Placed { pose: Pose::IDENTITY, shape: Shape::Box { size: DVec3::new(0.5, 0.2, 0.4) } };
        scene.add_slider(shape, DVec3::Y * (0.1 - depth), 0.3, DVec3::ZERO, 0.5);
        scene.world.mechanism.bodies[scene.slider].material = Material { friction: 0.5, ..Material::default() };
        let mut engine = build(&scene.world, 0.001);
        let start = energy(&scene.world, &*engine);
        (0..3000).for_each(|_| engine.step());
        let deepest = engine.contacts().iter().fold(0.0f64, |deepest, contact| deepest.max(-contact.gap));
        let speed = velocity(&*engine, scene.slider).length();
        let gained = energy(&scene.world, &*engine) - start;
        println!("from {depth} m: {deepest:.1e} m deep, {speed:.1e} m/s, {gained:.3} J");
        assert!(
            deepest < 1e-5 && speed < 1e-5 && gained < 2.0 * G * depth + 1e-6,
            "from {depth} m: {deepest} {speed} {gained}"
        );
    }
}
