//! WorkPartner 1 on a ground of friction 0.025 (thesis 4.3), and the circle by gamepad (4.2.1), as built in but
//! shorter.
//!
//! The largest friction force of the ground is mu m g = 4.4 N, 1.1 N at each of four wheels of 44 N. So the
//! acceleration of the robot is at most mu g = 0.245 m/s², with a locked pair of wheels at most half of that, with one
//! driven wheel at most a quarter. Legs alone move only themselves: every change of the robot's momentum comes from the
//! ground.

use crate::workpartner::{G, MASS, Observer, WHEEL_RADIUS, fit_circle, play, simulation};
use simpartner::sim::Simulation;
use simpartner_model::BodyId;

const MU: f64 = 0.025;

/// Record of a walk: the centre of mass after each step, and the loads of the wheels.
struct Walk {
    /// Ahead and sideways, m.
    path: Vec<(f64, f64)>,
    /// Mean vertical force of each wheel, N.
    loads: [f64; 4],
    /// The largest angle between the robot and straight ahead, rad.
    heading: f64,
}

impl Walk {
    /// Plays the first steps of a shipped sequence. An event of any kind fails it.
    fn of(sequence: &str, steps: usize) -> Self {
        let mut simulation = simulation("worlds/slippery.xml");
        play(&mut simulation, sequence);
        let mut observer = Observer::new(&simulation);
        let mut walk = Self { path: vec![centre_of_mass(&simulation, &observer)], loads: [0.0; 4], heading: 0.0 };
        for _ in 0..steps {
            observer.step(&mut simulation);
            walk.path.push(centre_of_mass(&simulation, &observer));
            let value =
                |wheel: usize, at: usize| observer.record.values[simulation.layout().pose(observer.wheels[wheel])][at];
            for (load, wheel) in walk.loads.iter_mut().zip(&observer.wheels) {
                *load += observer.record.values[simulation.layout().wrench(*wheel)][1] / steps as f64;
            }
            // From the middle of the rear wheels to that of the front wheels.
            let along = |at: usize| value(0, at) + value(1, at) - value(2, at) - value(3, at);
            walk.heading = walk.heading.max(along(2).atan2(along(0)).abs());
        }
        println!(
            "{sequence}: {:.4} m/s over {} s, {:.4} m/s at the end; sideways {:.1e} m, heading within {:.1e} rad; loads {:.2?} N",
            walk.speed(0.0, steps as f64 / 1000.0),
            steps / 1000,
            walk.speed(steps as f64 / 1000.0 - 1.0, steps as f64 / 1000.0),
            walk.sideways(),
            walk.heading,
            walk.loads
        );
        walk
    }

    /// Mean velocity of the centre of mass ahead between two times, m/s.
    fn speed(&self, from: f64, to: f64) -> f64 {
        let at = |time: f64| self.path[(time * 1000.0).round() as usize].0;
        (at(to) - at(from)) / (to - from)
    }

    /// Largest distance of the centre of mass from the straight line, m.
    fn sideways(&self) -> f64 {
        self.path.iter().map(|(_, side)| side.abs()).fold(0.0, f64::max)
    }

    /// Each wheel carries a quarter of the weight on average, to `share`, and all of them the whole.
    fn assert_even(&self, share: f64) {
        let quarter = MASS * G / 4.0;
        assert!(self.loads.iter().all(|load| (load / quarter - 1.0).abs() < share), "{:?}", self.loads);
        let sum = self.loads.iter().sum::<f64>();
        assert!((sum / (MASS * G) - 1.0).abs() < 2e-3, "{sum}");
    }
}

fn centre_of_mass(simulation: &Simulation, observer: &Observer) -> (f64, f64) {
    let mut sum = (0.0, 0.0);
    for (body, n) in simulation.world().mechanism.bodies.iter().zip(0..) {
        let pose = &observer.record.values[simulation.layout().pose(BodyId::new(n))];
        sum = (sum.0 + body.mass * pose[0], sum.1 + body.mass * pose[2]);
    }
    (sum.0 / MASS, sum.1 / MASS)
}

/// Wheels at 1 rad/s skid while the robot accelerates to their rim speed at mu g: 0.235 / 0.245 = 0.958 s. From then on
/// it rolls. (The thesis's 0.0038 m/s does not fit this law; the sequence's file has details.)
#[test]
fn skidding_wheels_push_with_the_friction_there_is() {
    let walk = Walk::of("robots/skidding.xml", 3000);
    let (rim, pull) = (WHEEL_RADIUS, MU * G);
    let skidding = 2.0 * (walk.path[800].0 - walk.path[0].0) / (0.8 * 0.8);
    assert!((skidding / pull - 1.0).abs() < 0.01, "{skidding}");
    let expected = rim - rim * rim / (2.0 * pull) / 3.0;
    assert!((walk.speed(0.0, 3.0) / expected - 1.0).abs() < 2e-3, "{} {expected}", walk.speed(0.0, 3.0));
    assert!((walk.speed(2.0, 3.0) / rim - 1.0).abs() < 2e-3);
    assert!(walk.sideways() < 1e-4 && walk.heading < 1e-4);
    walk.assert_even(0.02);
}

/// Stretching and contracting, with one pair of wheels locked at a time. The displacements of the rims, 0.456 m a
/// second, and the times of locking determine the speed: 0.66 m/s, between 0.506 m/s and 0.716 m/s. Half the friction
/// accelerates the robot, with at most mu g / 2 in the half of the time in which a pair is locked.
#[test]
fn the_caterpillar_outruns_the_wheels() {
    let walk = Walk::of("robots/caterpillar.xml", 16_800);
    assert!(walk.speed(0.0, 16.8) > 0.4, "the thesis has 0.057 m/s: {}", walk.speed(0.0, 16.8));
    assert!(walk.speed(0.0, 2.1) < MU * G / 2.0 * 0.5 * 2.1, "{}", walk.speed(0.0, 2.1));
    let last = walk.speed(14.7, 16.8);
    assert!((0.6..0.7).contains(&last), "{last}");
    assert!(walk.sideways() < 5e-3 && walk.heading < 1e-3, "{} {}", walk.sideways(), walk.heading);
    walk.assert_even(0.02);
}

/// One leg after the other moves forward with its wheel driven, while its neighbour yields. The driven wheel rolls
/// without slipping at 0.276 m/s, which the robot nearly reaches. Four legs in turn, left and right, keep it on its
/// path.
#[test]
fn rolking_walks_straight_on_even_loads() {
    let walk = Walk::of("robots/rolking.xml", 22_200);
    assert!(walk.path[1400].0.abs() < 5e-3, "free wheels take it nowhere: {}", walk.path[1400].0);
    assert!(walk.speed(1.4, 22.2) > 0.18, "the thesis has 0.048 m/s: {}", walk.speed(1.4, 22.2));
    let last = walk.speed(11.8, 22.2);
    assert!((0.24..0.3).contains(&last), "{last}");
    assert!(walk.sideways() < 5e-3 && walk.heading < 5e-3, "{} {}", walk.sideways(), walk.heading);
    // Between two strokes all four legs are stiff, and share the weight as their angles happen to be.
    walk.assert_even(0.05);
}

/// Turner at 0.2972 rad, all wheels at the same speed. Without slip the middle of the wheels would run on 0.6
/// cot(0.1486) cos(0.1486) = 3.964 m. Inner wheels at the speed of the outer ones straighten the path: to 4.55 m with
/// isotropic friction, by 15 %; by 7 % in the thesis, whose wheels have more friction across than along.
#[test]
fn equal_wheels_straighten_the_circle() {
    let mut simulation = simulation("worlds/circle_gamepad.xml");
    play(&mut simulation, "robots/circle_gamepad.xml");
    let mut observer = Observer::new(&simulation);
    let mut path = Vec::new();
    for step in 0..45_000 {
        observer.step(&mut simulation);
        if step > 6000 && step % 100 == 0 {
            path.push(observer.middle(&simulation));
        }
    }
    let (_, radius) = fit_circle(&path);
    let ideal = 0.6 / 0.1486f64.tan() * 0.1486f64.cos();
    println!("circle by gamepad: radius {radius:.4} m, {:+.1} % of {ideal:.4} m", 100.0 * (radius / ideal - 1.0));
    assert!((1.08..1.16).contains(&(radius / ideal)), "{radius}");
}
