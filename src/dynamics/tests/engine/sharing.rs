//! Load distribution that statics leaves open: contacts take the forces of least squares, as equally stiff springs
//! would.
//!
//! Feet at (x, z) on a plane that carry only a weight W at (X, Z) have N = a + b x + c z where that is positive and 0
//! elsewhere, with sum N = W, sum N x = W X, sum N z = W Z. All other distributions have the same force and moment, and
//! a larger sum of squares.

use bevy_math::{DQuat, DVec3};
use simpartner_description::World;
use simpartner_dynamics::{Engine, Motor};
use simpartner_model::{BodyId, JointId, JointKind, Material, Shape, random::Stream};

use super::{G, build, on_plane, position, run, steps, velocity};
use crate::{
    rover::{self, Wheel},
    scene::{self, ball, body, cube, joint},
};

const FOOT: f64 = 0.02;
const TOP: f64 = 0.5;
const FRICTION: f64 = 0.8;

/// A table: feet at these places on the plane y = 0, welded to a top of 5 kg whose middle is above `top`. Feet weigh 10
/// g.
fn table(feet: &[DVec3], top: DVec3) -> World {
    let mut world = on_plane(scene::world());
    let mut plate = body("top", 5.0, Some(Shape::Box { size: DVec3::new(0.4, 0.05, 0.4) }), top + DVec3::Y * TOP);
    plate.collision = None;
    world.mechanism.bodies.push(plate);
    for (index, foot) in feet.iter().enumerate() {
        world.mechanism.bodies.push(body("foot", 0.01, ball(FOOT), *foot + DVec3::Y * FOOT));
        world.mechanism.joints.push(joint("leg", JointKind::Fixed, 0, index + 1, *foot + DVec3::Y * 0.2));
    }
    world
}

/// The force on each foot.
fn forces(engine: &dyn Engine, feet: usize) -> Vec<DVec3> {
    (1..=feet).map(|foot| engine.body(BodyId::new(foot)).force).collect()
}

/// Solves three equations.
fn solve(rows: [[f64; 3]; 3], right: [f64; 3]) -> [f64; 3] {
    let matrix = bevy_math::DMat3::from_cols_array_2d(&rows).transpose();
    (matrix.inverse() * DVec3::from_array(right)).to_array()
}

/// Distribution of a weight at a position, by the normal equations of the loaded feet: feet that would pull are
/// removed, the worst first.
fn least_squares(feet: &[DVec3], weight: f64, at: DVec3) -> Vec<f64> {
    let mut carries = vec![true; feet.len()];
    loop {
        let mut rows = [[0.0; 3]; 3];
        for foot in feet.iter().zip(&carries).filter(|(_, carries)| **carries).map(|(foot, _)| foot) {
            let basis = [1.0, foot.x, foot.z];
            (0..3).for_each(|r| (0..3).for_each(|c| rows[r][c] += basis[r] * basis[c]));
        }
        let [a, b, c] = solve(rows, [weight, weight * at.x, weight * at.z]);
        let share = |foot: &DVec3| a + b * foot.x + c * foot.z;
        let worst =
            (0..feet.len()).filter(|&k| carries[k]).min_by(|&i, &k| share(&feet[i]).total_cmp(&share(&feet[k])));
        let worst = worst.unwrap();
        if share(&feet[worst]) >= 0.0 {
            let left_out = feet.iter().zip(&carries).filter(|(_, carries)| !**carries);
            assert!(left_out.into_iter().all(|(foot, _)| share(foot) <= 0.0), "the test's own answer is one");
            return feet.iter().zip(&carries).map(|(foot, &carries)| if carries { share(foot) } else { 0.0 }).collect();
        }
        carries[worst] = false;
    }
}

/// Feet at random in a square of 2 m, and a place within the quarter in the middle that is safely inside of three of
/// them.
fn random_feet(numbers: &mut Stream) -> (Vec<DVec3>, DVec3) {
    loop {
        let count = 4 + numbers.below(9);
        let mut place = |size: f64| DVec3::new(numbers.between(-size, size), 0.0, numbers.between(-size, size));
        let (feet, top): (Vec<DVec3>, DVec3) = ((0..count).map(|_| place(1.0)).collect(), place(0.4));
        let is_apart = (0..count).all(|i| (0..i).all(|k| feet[i].distance(feet[k]) > 5.0 * FOOT));
        // In every direction from the middle there is a foot beyond it.
        let stands = (0..36).map(|k| DQuat::from_rotation_y(f64::from(k) * 0.1745) * DVec3::X);
        let stands = stands.into_iter().all(|way| feet.iter().any(|foot| (*foot - top).dot(way) > 0.1));
        if is_apart && stands {
            return (feet, top);
        }
    }
}

/// Weight and centre of a table.
fn weight(feet: &[DVec3], top: DVec3) -> (f64, DVec3) {
    let mass = 5.0 + 0.01 * feet.len() as f64;
    (mass * G, (top * 5.0 + feet.iter().sum::<DVec3>() * 0.01) / mass)
}

/// Many tables of four to twelve legs: for each timestep, order of the legs, and for placed and dropped tables, the
/// distribution is that of least squares.
#[test]
fn feet_share_by_least_squares() {
    let mut numbers = Stream::from_number(5);
    let mut worst = [0.0f64; 2];
    let mut without = 0;
    for round in 0..60 {
        let (mut feet, top) = random_feet(&mut numbers);
        let (weight, centre) = weight(&feet, top);
        for (h, dropped) in [(0.001, false), (0.01, false), (0.001, true), (0.01, true)] {
            let expected = least_squares(&feet, weight, centre);
            without += expected.iter().filter(|share| **share == 0.0).count();
            let mut world = table(&feet, top);
            if dropped {
                world.mechanism.bodies.iter_mut().for_each(|body| body.pose.translation.y += 0.002);
                world.mechanism.joints.iter_mut().for_each(|joint| joint.anchor.y += 0.002);
            }
            let mut engine = build(&world, h);
            (0..steps(h, if dropped { 0.5 } else { 0.1 })).for_each(|_| engine.step());
            let found = forces(&*engine, feet.len());
            for (found, expected) in found.iter().zip(&expected) {
                let off = (*found - DVec3::Y * *expected).length() / weight;
                worst[usize::from(dropped)] = worst[usize::from(dropped)].max(off);
                assert!(
                    off < 1e-7,
                    "table {round}, {} feet, h {h}, dropped {dropped}: {found} for {expected}",
                    feet.len()
                );
            }
            feet.rotate_left(1);
            feet.swap(0, 2);
        }
    }
    println!("shares of feet are off by {worst:?} of the weight (set down, dropped); {without} feet carry nothing");
    assert!(without > 10);
}

/// On a slope the feet share friction as well: F / n each, plus the moment's part M (r - c) / sum (r - c)² at right
/// angles, with the moment M about the middle c of the feet. The normal forces are those of a weight at the point where
/// the line of gravity meets the plane.
#[test]
fn feet_on_a_slope_share_friction_too() {
    let mut numbers = Stream::from_number(11);
    let (mut compared, slant) = (0, 0.1f64);
    for round in 0..60 {
        let (feet, top) = random_feet(&mut numbers);
        let (weight, centre) = weight(&feet, top);
        let height = (5.0 * TOP + 0.01 * feet.len() as f64 * FOOT) / (weight / G);
        let at = centre + DVec3::X * (height * slant.tan());
        let expected = least_squares(&feet, weight * slant.cos(), at);
        let (pull, count) = (-weight * slant.sin(), feet.len() as f64);
        let middle = feet.iter().sum::<DVec3>() / count;
        let spread: f64 = feet.iter().map(|foot| foot.distance_squared(middle)).sum();
        let turn = DVec3::Y * (pull * (centre.z - middle.z) / spread);
        let friction = feet.iter().map(|foot| DVec3::X * pull / count + turn.cross(*foot - middle));
        let expected: Vec<DVec3> = friction.zip(&expected).map(|(along, share)| along + DVec3::Y * *share).collect();
        // In the other cases a foot is at the edge of its friction cone, and the others carry the rest.
        if !expected.iter().all(|force| DVec3::new(force.x, 0.0, force.z).length() < 0.9 * FRICTION * force.y) {
            continue;
        }
        compared += 1;
        let mut world = table(&feet, top);
        world.mechanism.gravity = DVec3::new(G * slant.sin(), -G * slant.cos(), 0.0);
        world.mechanism.bodies.iter_mut().for_each(|body| body.material.friction = FRICTION);
        let mut engine = build(&world, 0.001);
        run(&mut *engine, 0.001, 0.1);
        for (found, expected) in forces(&*engine, feet.len()).iter().zip(&expected) {
            assert!((*found - *expected).length() < 1e-6 * weight, "table {round}: {found} for {expected}");
        }
    }
    assert!(compared > 10, "{compared}");
}

/// Feet with slip carry as much as rigid ones beside them: slip is a law of the tangential direction.
#[test]
fn slip_empties_no_foot() {
    let mut numbers = Stream::from_number(17);
    let mut worst = 0.0f64;
    for round in 0..20 {
        let (feet, top) = random_feet(&mut numbers);
        let (weight, centre) = weight(&feet, top);
        let expected = least_squares(&feet, weight, centre);
        for h in [0.001, 0.01] {
            let mut world = table(&feet, top);
            for foot in (1..=feet.len()).step_by(2) {
                world.mechanism.bodies[foot].material = Material { slip: 1e-3, ..Material::default() };
            }
            let mut engine = build(&world, h);
            run(&mut *engine, h, 1.0);
            for (found, expected) in forces(&*engine, feet.len()).iter().zip(&expected) {
                let off = (found.y - expected).abs() / weight;
                worst = worst.max(off);
                assert!(off < 1e-6, "table {round}, h {h}: {found} for {expected}");
            }
        }
    }
    println!("shares of feet, every second with slip, are off by {worst:.1e} of the weight");
}

/// A table that slides and turns: friction depends on the distribution, and the distribution on the moment of friction.
/// All are linear in the positions of the feet in every step, and the order of the legs changes only rounding.
#[test]
fn a_table_slides_and_turns_the_same_in_any_order() {
    for h in [0.001, 0.01] {
        let feet = [(0.5, 0.4), (-0.5, 0.4), (0.5, -0.4), (-0.5, -0.4), (0.1, 0.55), (-0.2, 0.0)];
        let feet = feet.map(|(x, z)| DVec3::new(x, 0.0, z));
        let mut ends: Vec<(DVec3, DVec3)> = Vec::new();
        let mut worst = 0.0f64;
        for order in [[0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0], [2, 0, 5, 1, 3, 4]] {
            let feet: Vec<DVec3> = order.iter().map(|&k| feet[k]).collect();
            let mut world = scene::with_plane(table(&feet, DVec3::ZERO), 0.2);
            for body in &mut world.mechanism.bodies {
                let spin = DVec3::Y * 3.0;
                body.linear_velocity = DVec3::X + spin.cross(body.pose.translation * (DVec3::X + DVec3::Z));
                body.angular_velocity = spin;
            }
            let mut engine = build(&world, h);
            for step in 0..steps(h, 0.3) {
                engine.step();
                if step as f64 * h > 0.05 {
                    worst = worst.max(curvature(&*engine, feet.len()));
                }
            }
            ends.push((position(&*engine, 0), velocity(&*engine, 0)));
        }
        let off =
            ends.iter().map(|end| (end.0 - ends[0].0).length() + (end.1 - ends[0].1).length()).fold(0.0, f64::max);
        println!(
            "a table that slides and turns, h {h}: {off:.1e} m and m/s by the order of legs, shares off by {worst:.1e}"
        );
        assert!(off < 1e-6, "{off}");
        assert!(worst < 1e-6, "{worst}");
    }
}

/// Largest deviation of the feet's normal forces from a linear function of their positions, as a fraction of the
/// weight.
fn curvature(engine: &dyn Engine, feet: usize) -> f64 {
    let places: Vec<DVec3> = (1..=feet).map(|foot| position(engine, foot)).collect();
    let forces: Vec<f64> = forces(engine, feet).iter().map(|force| force.y).collect();
    let (weight, moment) = forces.iter().zip(&places).fold((0.0, DVec3::ZERO), |(w, m), (n, at)| (w + n, m + *at * *n));
    let expected = least_squares(&places, weight, moment / weight);
    forces.iter().zip(expected).map(|(force, expected)| (force - expected).abs() / weight).fold(0.0, f64::max)
}

/// A cube on four corners and a beam on five posts: a quarter each, a fifth each.
#[test]
fn boxes_and_beams_share_evenly() {
    for h in [0.001, 0.01] {
        let mut world = on_plane(scene::world());
        world.mechanism.bodies.push(body("cube", 4.0, cube(0.5), DVec3::new(0.0, 0.25, 0.0)));
        for post in 0..5 {
            let at = DVec3::new(-2.0 + f64::from(post), 0.1, 5.0);
            world.mechanism.bodies.push(body("post", 1.0, cube(0.2), at));
        }
        let beam = Some(Shape::Box { size: DVec3::new(6.0, 0.1, 0.1) });
        world.mechanism.bodies.push(body("beam", 10.0, beam, DVec3::new(0.0, 0.25, 5.0)));
        let mut engine = build(&world, h);
        run(&mut *engine, h, 0.5);
        let corners: Vec<f64> = engine
            .contacts()
            .iter()
            .filter(|contact| contact.bodies[1] == Some(BodyId::new(0)))
            .map(|c| c.wrench.force.y)
            .collect();
        assert_eq!(corners.len(), 4);
        assert!(corners.iter().all(|force| (force - G).abs() < 1e-8), "{corners:?}");
        for post in 1..6 {
            // Force of the ground at each corner.
            let ground = engine.contacts().iter().filter(|c| c.bodies == [None, Some(BodyId::new(post))]);
            let force: f64 = ground.map(|contact| contact.wrench.force.y).sum();
            assert!((force - 3.0 * G).abs() < 1e-6 * G, "h {h}, post {post}: {force}");
        }
    }
}

/// A robot on four cylinder wheels, each of which touches with two rims. Both rims of a wheel carry the same load, and
/// the robot moves with omega r, straight ahead. The remaining differences and slips are those of leg springs that have
/// not settled yet.
#[test]
fn cylinder_wheels_roll_at_their_rate() {
    for h in [0.001, 0.01] {
        let mut world = on_plane(scene::world());
        let rover = rover::add(&mut world, DVec3::ZERO, Wheel::Cylinder);
        let mut engine = build(&world, h);
        let (mut uneven, mut off) = (0.0f64, 0.0f64);
        let wheels = [0, 1, 2, 3].map(|wheel| world.mechanism.joint(rover.axle(wheel)).child);
        for step in 0..steps(h, 8.0) {
            rover.drive(&mut *engine, (4.0 * step as f64 * h).min(4.0));
            engine.step();
            if step as f64 * h < 5.0 {
                continue;
            }
            for (number, wheel) in wheels.into_iter().enumerate() {
                let rims = engine.contacts().iter().filter(|contact| contact.bodies.contains(&Some(wheel)));
                let rims: Vec<f64> = rims.map(|contact| contact.wrench.force.y).collect();
                let [one, two] = rims[..] else { panic!("two rims: {rims:?}") };
                uneven = uneven.max((one - two).abs() / (one + two));
                let rate = engine.joint(rover.axle(number)).rate[2];
                off = off.max((velocity(&*engine, wheel.index()).x / (rate * rover::WHEEL_RADIUS) - 1.0).abs());
            }
        }
        let side = position(&*engine, 0).z;
        println!(
            "cylinder wheels, h {h}: rims differ by {uneven:.1e}, speed by {off:.1e} of omega r, {side:.1e} m to the side"
        );
        assert!(uneven < 1e-3 && off < 1e-3 && side.abs() < 1e-4, "{uneven} {off} {side}");
    }
}

/// On gentle waves, level across, the forces on cylinder wheels are smooth: from step to step they change as the ground
/// does.
#[test]
fn cylinder_wheels_are_quiet_on_smooth_ground() {
    let noise = |wheel: Wheel| {
        let mut world = scene::terrain(|x, _| 0.02 * (0.8 * x).sin());
        let rover = rover::add(&mut world, DVec3::new(-10.0, 0.03, 0.0), wheel);
        let mut engine = build(&world, 0.001);
        let mut forces: Vec<[f64; 4]> = Vec::new();
        for step in 0..8000 {
            rover.drive(&mut *engine, (2.0 * f64::from(step) * 0.001).min(2.0));
            engine.step();
            if step >= 5000 {
                forces.push(std::array::from_fn(|k| engine.body(world.mechanism.joint(rover.axle(k)).child).force.y));
            }
        }
        let jump = |k: usize| {
            let each = forces.windows(3).map(|f| (f[0][k] - 2.0 * f[1][k] + f[2][k]).powi(2));
            (each.sum::<f64>() / forces.len() as f64).sqrt() / (rover::MASS * G / 4.0)
        };
        (0..4).map(jump).fold(0.0, f64::max)
    };
    let (balls, cylinders) = (noise(Wheel::Ball), noise(Wheel::Cylinder));
    println!(
        "second differences of wheel forces, rms over a quarter of the weight: balls {balls:.1e}, cylinders {cylinders:.1e}"
    );
    assert!(cylinders < 0.01, "{cylinders}");
}

/// Legs on hinges that velocity motors hold rigidly: loads are those of least squares here as well.
#[test]
fn legs_that_motors_hold_share_as_one_body() {
    for h in [0.001, 0.01] {
        let mut world = on_plane(scene::world());
        let plate = Some(Shape::Box { size: DVec3::new(0.4, 0.05, 0.4) });
        world.mechanism.bodies.push(body("top", 10.0, plate, DVec3::new(0.1, TOP, 0.05)));
        for (leg, (x, z)) in [(0.5, 0.4), (-0.5, 0.4), (0.5, -0.4), (-0.5, -0.4)].into_iter().enumerate() {
            world.mechanism.bodies.push(body("foot", 0.5, ball(0.05), DVec3::new(1.5 * x, 0.05, z)));
            world.mechanism.joints.push(joint("hip", JointKind::Hinge, 0, leg + 1, DVec3::new(x, TOP, z)));
        }
        let mut engine = build(&world, h);
        for leg in 0..4 {
            engine.set_motor(JointId::new(leg), 2, Motor::Velocity { target: 0.0, max_effort: 1e4 });
        }
        run(&mut *engine, h, 1.0);
        let off = curvature(&*engine, 4);
        println!("legs that motors hold, h {h}: shares off by {off:.1e} of the weight");
        assert!(off < 1e-5, "{off}");
    }
}
