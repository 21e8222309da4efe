//! Lines and faces of contact: their friction is that of even pressure over the whole of them.
//!
//! A robot on two cylinder wheels of width w and track T turns at constant rates of its wheels. On each wheel, the
//! point at the distance delta beyond its middle is at rest. Friction drives with mu N 2 delta / w and resists the turn
//! with mu N (w / 4) (1 - (2 delta / w)²). The moments about the vertical axis balance for delta² + T delta = w² / 4,
//! so the yaw rate is the difference of the wheels' speeds over sqrt(T² + w²).

use bevy_math::{DQuat, DVec3};
use simpartner_description::World;
use simpartner_dynamics::{Engine, Motor, Wrench};
use simpartner_model::{BodyId, Joint, JointId, JointKind, Placed, Pose, Shape};

use super::{build, on_plane, run, steps};
use crate::scene::{self, as_robot, ball, body, joint};

const WHEEL_RADIUS: f64 = 0.05;
const TRACK_WIDTH: f64 = 0.3;

/// Third support of the robot, beside its wheels.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Caster {
    Smooth,
    Rough,
}

/// A robot of 5 kg on wheels at these places forward of its middle, on both sides. Body 0 is its base; joint k turns
/// wheel k, left ones first, positively when it rolls along +x.
fn robot_on_wheels(width: f64, axles: &[f64], caster: Option<Caster>, mu: f64) -> World {
    let mut world = on_plane(scene::world());
    let base = Shape::Box { size: DVec3::new(0.3, 0.06, 0.1) };
    let ahead = if caster.is_some() { 0.03 } else { 0.0 };
    world.mechanism.bodies.push(body("base", 5.0, Some(base), DVec3::new(ahead, 0.15, 0.0)));
    for side in [-1.0, 1.0] {
        for &x in axles {
            let at = DVec3::new(x, WHEEL_RADIUS, 0.5 * TRACK_WIDTH * side);
            let mut wheel = body("wheel", 0.4, None, at);
            let rotation = DQuat::from_rotation_x(std::f64::consts::FRAC_PI_2);
            let shape = Shape::Cylinder { radius: WHEEL_RADIUS, length: width };
            wheel.shape = Some(Placed { pose: Pose { translation: DVec3::ZERO, rotation }, shape });
            wheel.material.friction = mu;
            let child = world.mechanism.bodies.len();
            world.mechanism.bodies.push(wheel);
            let frame = DQuat::from_rotation_y(std::f64::consts::PI);
            world.mechanism.joints.push(Joint { frame, ..joint("axle", JointKind::Hinge, 0, child, at) });
        }
    }
    if let Some(caster) = caster {
        let at = DVec3::new(0.13, 0.03, 0.0);
        let mut foot = body("caster", 0.05, ball(0.03), at);
        foot.material.friction = if caster == Caster::Rough { 0.2 } else { 0.0 };
        let child = world.mechanism.bodies.len();
        world.mechanism.bodies.push(foot);
        world.mechanism.joints.push(joint("caster", JointKind::Fixed, 0, child, at));
    }
    as_robot(world)
}

/// Mean and standard deviation of the yaw rate over the last second, rad/s, with these rates of the left and the right
/// wheels, rad/s.
fn yaw_rate(world: &World, h: f64, rates: [f64; 2]) -> [f64; 2] {
    let mut engine = build(world, h);
    turn_wheels(&mut *engine, world, rates);
    run(&mut *engine, h, 1.0);
    let count = steps(h, 1.0);
    let mut sums = [0.0; 2];
    for _ in 0..count {
        run(&mut *engine, h, h);
        let rate = engine.body(BodyId::new(0)).angular_velocity.y;
        sums = [sums[0] + rate, sums[1] + rate * rate];
    }
    let mean = sums[0] / count as f64;
    [mean, (sums[1] / count as f64 - mean * mean).max(0.0).sqrt()]
}

fn turn_wheels(engine: &mut dyn Engine, world: &World, rates: [f64; 2]) {
    let wheels: Vec<usize> = (0..world.mechanism.joints.len())
        .filter(|&index| world.mechanism.joints[index].kind == JointKind::Hinge)
        .collect();
    for (place, &index) in wheels.iter().enumerate() {
        let target = rates[usize::from(2 * place >= wheels.len())];
        engine.set_motor(JointId::new(index), 2, Motor::Velocity { target, max_effort: 100.0 });
    }
}

#[test]
fn a_differential_drive_turns_at_the_rate_of_even_pressure() {
    for width in [0.002, 0.03, 0.06, 0.1] {
        for h in [0.001, 0.004, 0.01] {
            let world = robot_on_wheels(width, &[0.0], Some(Caster::Smooth), 0.9);
            for rates in [[-3.0, 3.0], [1.0, 4.0]] {
                let [mean, sd] = yaw_rate(&world, h, rates);
                let expected = (rates[1] - rates[0]) * WHEEL_RADIUS / TRACK_WIDTH.hypot(width);
                let ratio = mean / expected - 1.0;
                println!("width {width}, h {h}, rates {rates:?}: yaw rate {ratio:+.1e} off, sd {:.1e}", sd / mean);
                assert!(ratio.abs() < 1e-3 && sd < 1e-4 * mean, "{width} {h} {rates:?}: {ratio} {sd}");
            }
        }
    }
}

/// A support in the reference: a line of this half width, forward and left of the middle, with its load
/// in newtons, its friction and the speed of its rim.
#[derive(Debug, Clone, Copy)]
struct Support {
    at: [f64; 2],
    half: f64,
    load: f64,
    friction: f64,
    rim: f64,
}

/// Friction on all supports: forward, left, and about the vertical through the middle, for these velocities of the
/// middle forward, left and about the vertical. Each line is a sum over many points.
fn friction_of(supports: &[Support], [forward, left, turn]: [f64; 3]) -> [f64; 3] {
    const LINE_POINTS: usize = 400;
    let mut sums = [0.0; 3];
    for support in supports {
        for point in 0..LINE_POINTS {
            let y = support.at[1] + support.half * ((2 * point + 1) as f64 / LINE_POINTS as f64 - 1.0);
            let u = [forward - turn * y - support.rim, left + turn * support.at[0]];
            // A point of the sum stands for its part of the line, over which the slip changes.
            let rest = 0.3 * turn * support.half / LINE_POINTS as f64;
            let speed = (u[0] * u[0] + u[1] * u[1] + rest * rest).sqrt().max(1e-12);
            let force = u.map(|u| -support.friction * support.load * u / speed / LINE_POINTS as f64);
            sums[0] += force[0];
            sums[1] += force[1];
            sums[2] += support.at[0] * force[1] - y * force[0];
        }
    }
    sums
}

/// Steady velocities of a robot on these supports, whose mass is centred forward of its middle: friction is what its
/// circle takes. Newton's method with differences.
fn steady_turn(supports: &[Support], mass: f64, ahead: f64, mut v: [f64; 3]) -> [f64; 3] {
    let defect = |v: [f64; 3]| {
        let [x, y, moment] = friction_of(supports, v);
        let asked = [-v[2] * (v[1] + v[2] * ahead), v[2] * v[0]].map(|rate| mass * rate);
        [x - asked[0], y - asked[1], moment - ahead * asked[1]]
    };
    let size = |of: [f64; 3]| of.iter().map(|part| part * part).sum::<f64>();
    for _ in 0..1000 {
        let off = defect(v);
        let columns = [0, 1, 2].map(|c| {
            let mut moved = v;
            moved[c] += 1e-7;
            let moved = defect(moved);
            DVec3::from_array(std::array::from_fn(|r| (moved[r] - off[r]) / 1e-7))
        });
        let matrix = bevy_math::DMat3::from_cols(columns[0], columns[1], columns[2]);
        let step = matrix.inverse() * DVec3::from_array(off);
        let mut length = 1.0;
        while length > 1e-9 {
            let next = std::array::from_fn(|c| v[c] - length * step[c]);
            if size(defect(next)) < size(off) {
                v = next;
                break;
            }
            length *= 0.5;
        }
        if length * step.length() < 1e-11 {
            break;
        }
    }
    let left = size(defect(v)).sqrt();
    assert!(left < 1e-4 * mass, "the reference is off by {left} N");
    v
}

/// Robots on two, four and six wheels, and with a caster that brakes, against the sum over the points of their lines.
#[test]
fn robots_on_more_wheels_turn_as_the_sum_over_their_lines_says() {
    let cases: [(&str, &[f64], Option<Caster>); 4] = [
        ("two wheels and a smooth caster", &[0.0], Some(Caster::Smooth)),
        ("two wheels and a rough caster", &[0.0], Some(Caster::Rough)),
        ("four wheels", &[-0.1, 0.1], None),
        ("six wheels", &[-0.12, 0.0, 0.12], None),
    ];
    for (name, axles, caster) in cases {
        for (width, h) in [(0.03, 0.001), (0.06, 0.004), (0.1, 0.01)] {
            let rates = [-2.0, 2.0];
            let expected = reference_rates(width, axles, caster, 0.9, 5.0, rates)[2];
            let [mean, sd] = yaw_rate(&robot_on_wheels(width, axles, caster, 0.9), h, rates);
            let ratio = mean / expected - 1.0;
            println!(
                "{name}, width {width}, h {h}: yaw rate {mean:.5} of {expected:.5}, {ratio:+.1e}, sd {:.1e}",
                sd / mean
            );
            assert!(ratio.abs() < 1e-3 && sd < 1e-4 * mean, "{name} {width} {h}: {ratio} {sd}");
        }
    }
}

/// Steady velocities of the robot of [`robot`] with a base of this mass.
fn reference_rates(width: f64, axles: &[f64], caster: Option<Caster>, mu: f64, base: f64, rates: [f64; 2]) -> [f64; 3] {
    let wheels = 0.4 * 2.0 * axles.len() as f64;
    let (ahead, foot) = if caster.is_some() { (0.03, 0.05) } else { (0.0, 0.0) };
    let mass = base + wheels + foot;
    let centre = (base * ahead + foot * 0.13) / mass;
    let on_foot = mass * super::G * centre / 0.13;
    let load = (mass * super::G - on_foot) / (2.0 * axles.len() as f64);
    let mut supports = Vec::new();
    for (side, rate) in [1.0, -1.0].into_iter().zip(rates) {
        for &x in axles {
            let at = [x, 0.5 * TRACK_WIDTH * side];
            supports.push(Support { at, half: 0.5 * width, load, friction: mu, rim: rate * WHEEL_RADIUS });
        }
    }
    let brakes = if caster == Some(Caster::Rough) { 0.2 } else { 0.0 };
    supports.push(Support { at: [0.13, 0.0], half: 0.0, load: on_foot, friction: brakes, rim: 0.0 });
    let guess = (rates[1] - rates[0]) * WHEEL_RADIUS / TRACK_WIDTH.hypot(width);
    steady_turn(&supports, mass, centre, [0.5 * (rates[0] + rates[1]) * WHEEL_RADIUS, 0.0, guess])
}

/// Random widths, loads, frictions and speeds, by seed: 30, or 1000 with `SIMPARTNER_LONG_TESTS=1`. Wheels of up to a
/// third of the track turn at up to 4 rad/s, so that the circle shifts the loads by less than a hundredth.
#[test]
fn random_differential_drives_turn_as_the_sum_over_their_lines_says() {
    let count = if std::env::var_os("SIMPARTNER_LONG_TESTS").is_some() { 1000 } else { 30 };
    let mut worst = 0.0f64;
    for seed in 0..count {
        let mut stream = simpartner_model::random::Stream::from_number(seed);
        let width = 0.1 * stream.between(0.02, 1.0);
        let [mu, mass] = [stream.between(0.2, 1.2), stream.between(1.0, 30.0)];
        let h = [0.001, 0.004, 0.01][stream.below(3)];
        let middle = stream.between(-1.0, 1.0);
        let apart = stream.between(0.5, 3.0);
        let rates = [middle - apart, middle + apart];
        let mut world = robot_on_wheels(width, &[0.0], Some(Caster::Smooth), mu);
        world.mechanism.bodies[0].mass = mass;
        let expected = reference_rates(width, &[0.0], Some(Caster::Smooth), mu, mass, rates)[2];
        let [mean, sd] = yaw_rate(&world, h, rates);
        let ratio = mean / expected - 1.0;
        worst = worst.max(ratio.abs());
        assert!(
            ratio.abs() < 1e-3 && sd < 1e-4 * mean,
            "seed {seed}, width {width}, mu {mu}, {mass} kg, h {h}, rates {rates:?}: {mean} of {expected}, sd {sd}"
        );
    }
    println!("{count} robots: yaw rate {worst:.1e} off at most");
}

/// On a slope, the wheels creep sideways while they turn, and the yaw rate stays.
#[test]
fn a_differential_drive_keeps_its_yaw_rate_on_a_slope() {
    for degrees in [1.0f64, 3.0, 5.0] {
        for (width, h) in [(0.03, 0.001), (0.03, 0.01), (0.06, 0.004)] {
            let mut world = robot_on_wheels(width, &[0.0], Some(Caster::Smooth), 0.9);
            let (sine, cosine) = degrees.to_radians().sin_cos();
            world.mechanism.gravity = DVec3::new(sine, -cosine, 0.0) * super::G;
            let rates = [-3.0, 3.0];
            let expected = (rates[1] - rates[0]) * WHEEL_RADIUS / TRACK_WIDTH.hypot(width);
            // Half a second to turn, then whole turns.
            let mut engine = build(&world, h);
            turn_wheels(&mut *engine, &world, rates);
            run(&mut *engine, h, 0.5);
            let turn = std::f64::consts::TAU / expected;
            let (mut angle, mut least, mut most) = (0.0, f64::INFINITY, 0.0f64);
            for _ in 0..steps(h, turn) {
                run(&mut *engine, h, h);
                let rate = engine.body(BodyId::new(0)).angular_velocity.y;
                angle += rate * h;
                (least, most) = (least.min(rate), most.max(rate));
            }
            let ratio = angle / (expected * steps(h, turn) as f64 * h) - 1.0;
            let [low, high] = [least, most].map(|rate| rate / expected - 1.0);
            println!(
                "slope {degrees}, width {width}, h {h}: yaw rate {ratio:+.1e} off in a turn, {low:+.1e} to {high:+.1e}"
            );
            assert!(ratio.abs() < 1e-3 && high - low < 0.02, "{degrees} {width} {h}: {ratio} {low} {high}");
        }
    }
}

/// Shapes that slide and spin on their faces.
#[derive(Debug, Clone, Copy)]
enum Face {
    Disc(f64),
    Rectangle([f64; 2]),
}

impl Face {
    /// Second moment of the area over the area: polar, m².
    fn radius_of_gyration(self) -> f64 {
        match self {
            Self::Disc(radius) => 0.5 * radius * radius,
            Self::Rectangle([a, b]) => (a * a + b * b) / 12.0,
        }
    }

    /// Force against x and moment against the turn over mu N, at the speed v along x and the rate w, for even pressure:
    /// a sum over small cells, with the face turned by an angle. The force across is the third.
    fn friction_of_slip(self, v: [f64; 2], w: f64, angle: f64) -> [f64; 3] {
        const FACE_CELLS: usize = 100;
        let (sine, cosine) = angle.sin_cos();
        let mut sums = [0.0; 3];
        let mut area = 0.0;
        for i in 0..FACE_CELLS {
            for k in 0..FACE_CELLS {
                let [a, b] = [i, k].map(|cell| (cell as f64 + 0.5) / FACE_CELLS as f64);
                let (x, z, part) = match self {
                    Self::Disc(radius) => {
                        let angle = std::f64::consts::TAU * b;
                        (radius * a * angle.cos(), radius * a * angle.sin(), a)
                    }
                    Self::Rectangle([length, width]) => (length * (a - 0.5), width * (b - 0.5), 1.0),
                };
                let (x, y) = (cosine * x - sine * z, sine * x + cosine * z);
                let u = [v[0] - w * y, v[1] + w * x];
                let speed = u[0].hypot(u[1]).max(1e-12);
                area += part;
                sums[0] += part * u[0] / speed;
                sums[1] += part * u[1] / speed;
                sums[2] += part * (x * u[1] - y * u[0]) / speed;
            }
        }
        sums.map(|sum| sum / area)
    }

    /// Time until it stops, s, and the distance, m, by Heun's method with the sum over cells.
    fn stopping_times(self, mu: f64, speed: f64, rate: f64) -> [f64; 2] {
        let (mut v, mut w, mut angle, mut time, mut way) = ([speed, 0.0], rate, 0.0, 0.0, DVec3::ZERO);
        let h = 1e-3 * speed.max(rate * self.radius_of_gyration().sqrt()) / (mu * super::G);
        let own = self.radius_of_gyration();
        let change = |v: [f64; 2], w: f64, angle: f64| {
            let [x, y, turn] = self.friction_of_slip(v, w, angle);
            [x, y, turn / own].map(|part| -mu * super::G * part)
        };
        while v[0].hypot(v[1]).max(w * own.sqrt()) > 2.0 * mu * super::G * h {
            let first = change(v, w, angle);
            let ahead = [v[0] + h * first[0], v[1] + h * first[1]];
            let second = change(ahead, w + h * first[2], angle + h * w);
            way += DVec3::new(v[0], v[1], 0.0) * h;
            angle += h * w;
            (0..2).for_each(|c| v[c] += 0.5 * h * (first[c] + second[c]));
            w += 0.5 * h * (first[2] + second[2]);
            time += h;
        }
        // At the end, its speeds fall in proportion.
        let left = v[0].hypot(v[1])
            / (mu * super::G * self.friction_of_slip(v, w, angle)[0].hypot(self.friction_of_slip(v, w, angle)[1]));
        [time + left, way.length()]
    }

    fn body(self, h: f64, speed: f64, rate: f64, mu: f64) -> World {
        let mut world = on_plane(scene::world());
        let thick = h;
        let shape = match self {
            Self::Disc(radius) => Shape::Cylinder { radius, length: thick },
            Self::Rectangle([length, width]) => Shape::Box { size: DVec3::new(length, thick, width) },
        };
        world.mechanism.bodies.push(body("face", 1.0, Some(shape), DVec3::Y * 0.5 * thick));
        let face = &mut world.mechanism.bodies[0];
        face.material.friction = mu;
        (face.linear_velocity, face.angular_velocity) = (DVec3::X * speed, DVec3::Y * rate);
        world
    }
}

/// A thin plate slides at a speed and spins at a rate: both end together, later than either would alone. The reference
/// is even pressure, integrated apart from the engine. Farkas, Bartels, Unger and Wolf (Phys. Rev. Lett. 90, 248302,
/// 2003): the ratio of speed to rim speed of a disc tends to 0.653.
#[test]
fn plates_that_slide_and_spin_stop_as_those_of_even_pressure_do() {
    for face in [Face::Disc(0.1), Face::Rectangle([0.2, 0.2]), Face::Rectangle([0.3, 0.1])] {
        for (speed, rate) in [(0.8, 10.0), (0.3, 20.0), (1.0, 2.0)] {
            let [expected, way] = face.stopping_times(0.3, speed, rate);
            for h in [0.001, 0.004] {
                let world = face.body(0.002, speed, rate, 0.3);
                let mut engine = build(&world, h);
                let (mut time, mut ratio) = (0.0, 0.0);
                let start = engine.body(BodyId::new(0)).pose.translation;
                loop {
                    run(&mut *engine, h, h);
                    time += h;
                    let state = engine.body(BodyId::new(0));
                    let [v, w] = [state.linear_velocity.length(), state.angular_velocity.y.abs()];
                    if v < 1e-3 && w < 1e-2 || time > 2.0 {
                        break;
                    }
                    ratio = v / (0.1 * w);
                }
                let end = engine.body(BodyId::new(0)).pose.translation - start;
                println!(
                    "{face:?} at {speed} m/s and {rate} rad/s, h {h}: stops after {time:.4} s of {expected:.4}, at \
                     {:.4} m of {way:.4}, {:.1e} m aside; last ratio {ratio:.3}",
                    end.x, end.z
                );
                assert!((time - expected).abs() < 0.01 * expected + 2.0 * h, "{face:?} {speed} {rate} {h}: {time}");
            }
        }
    }
}

/// The moment that a face resists a turn with is mu N times its mean distance from its middle: for a rectangle of
/// edges a and b with the diagonal d, d / 6 + a² / (12 b) asinh(b / a) + b² / (12 a) asinh(a / b).
#[test]
fn a_rectangle_resists_turning_with_the_moment_of_even_pressure() {
    for [a, b] in [[0.2f64, 0.2], [0.3, 0.1], [0.4, 0.02]] {
        let arm = a.hypot(b) / 6.0 + a * a / (12.0 * b) * (b / a).asinh() + b * b / (12.0 * a) * (a / b).asinh();
        let (face, mu, rate, h) = (Face::Rectangle([a, b]), 0.5, 8.0, 0.001);
        let world = face.body(0.02, 0.0, rate, mu);
        let mut engine = build(&world, h);
        run(&mut *engine, h, 0.01);
        let before = engine.body(BodyId::new(0)).angular_velocity.y;
        run(&mut *engine, h, 0.02);
        let slowed = (before - engine.body(BodyId::new(0)).angular_velocity.y) / 0.02;
        let found = slowed * face.radius_of_gyration() / (mu * super::G);
        println!("face of {a} m by {b} m: arm {found:.6} m of {arm:.6}");
        assert!((found / arm - 1.0).abs() < 0.01, "{a} {b}: {found} {arm}");
    }
}

/// A box on its face starts to turn at the moment of even pressure: below it stays, and above it turns.
#[test]
fn a_face_at_rest_starts_to_turn_at_the_moment_of_even_pressure() {
    for [a, b] in [[0.2f64, 0.2], [0.3, 0.1]] {
        let arm = a.hypot(b) / 6.0 + a * a / (12.0 * b) * (b / a).asinh() + b * b / (12.0 * a) * (a / b).asinh();
        for fraction in [0.99, 1.01] {
            let (face, mu, h) = (Face::Rectangle([a, b]), 0.5, 0.001);
            let world = face.body(0.02, 0.0, 0.0, mu);
            let mut engine = build(&world, h);
            let torque = DVec3::Y * (fraction * mu * super::G * arm);
            for _ in 0..500 {
                engine.apply_wrench(BodyId::new(0), DVec3::ZERO, Wrench { force: DVec3::ZERO, torque });
                run(&mut *engine, h, h);
            }
            let rate = engine.body(BodyId::new(0)).angular_velocity.y;
            println!("{a} m by {b} m at {fraction} of its moment: {rate:.3e} rad/s after 0.5 s");
            assert!(if fraction < 1.0 { rate.abs() < 1e-12 } else { rate > 0.1 }, "{a} {b} {fraction}: {rate}");
        }
    }
}

/// The loads of both ends of a wheel's line change gradually while the robot weaves: by at most half a per cent of a
/// load in a step of 1 ms, and each of them carries.
#[test]
fn the_ends_of_a_line_share_its_load_without_jumps() {
    let (h, width) = (0.001, 0.03);
    let world = robot_on_wheels(width, &[0.0], Some(Caster::Smooth), 0.9);
    let mut engine = build(&world, h);
    let (mut before, mut fastest): (Vec<f64>, f64) = (Vec::new(), 0.0);
    for step in 0..4000 {
        let swing = 2.0 * (1.5 * f64::from(step) * h).sin();
        turn_wheels(&mut *engine, &world, [4.0 - swing, 4.0 + swing]);
        run(&mut *engine, h, h);
        let loads: Vec<f64> =
            engine.contacts().iter().map(|contact| contact.wrench.force.dot(contact.normal)).collect();
        if step > 500 {
            assert_eq!(loads.len(), 5, "two ends of each wheel, and the caster");
            assert!(loads.iter().all(|&load| load > 1.0), "{loads:?}");
            for (&load, &before) in loads.iter().zip(&before) {
                fastest = fastest.max((load / before - 1.0).abs() / h);
            }
        }
        before = loads;
    }
    println!("loads change by {fastest:.3} of themselves in a second at most");
    assert!(fastest < 5.0, "{fastest}");
}

/// A robot that fell back on its tail drives a curve with the edge of the tail on the ground. Both ends of the edge
/// carry, so the yaw rate is the same at all timesteps.
#[test]
fn a_robot_on_its_tail_turns_alike_at_all_timesteps() {
    for width in [0.03, 0.06] {
        let rate = |h: f64| {
            let mut world = robot_on_wheels(width, &[0.0], Some(Caster::Smooth), 0.9);
            let base = &mut world.mechanism.bodies[0];
            base.shape = Some(Placed { pose: Pose::default(), shape: Shape::Box { size: DVec3::new(0.3, 0.06, 0.2) } });
            (base.pose.translation, base.material.friction) = (DVec3::Y * 0.09, 1.0);
            yaw_rate(&world, h, [4.0, 8.0])[0]
        };
        let expected = rate(0.001);
        for h in [0.002, 0.005, 0.01] {
            let ratio = rate(h) / expected - 1.0;
            println!("width {width}, h {h}: yaw rate {ratio:+.1e} off {expected:.5}");
            assert!(ratio.abs() < 1e-3, "{width} {h}: {ratio}");
        }
    }
}
