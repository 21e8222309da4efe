//! A vehicle without drive comes to rest on level soil: pressing the soil slows it down, and the soil recoils by p/k_e
//! only.

use bevy_math::{DQuat, DVec3};
use simpartner_dynamics::{
    Engine, Motor,
    soil::{Pressure, SteadyWheel},
};
use simpartner_model::{BodyId, Placed, Pose, Shape, Soil};

use super::{G, ground, soil, steps};
use crate::{
    build,
    scene::body,
    six_wheels::{self, SixWheels},
    worlds::Chance,
};

/// A free wheel: radius, width, m, and mass, kg.
#[derive(Debug, Clone, Copy)]
struct Free {
    radius: f64,
    width: f64,
    mass: f64,
}

impl Free {
    /// Let down on soil, and rolling at a speed.
    fn roll(self, soil: Soil, speed: f64, h: f64) -> Box<dyn Engine> {
        let Self { radius, width: length, mass } = self;
        let mut world = ground(soil);
        let mut wheel = body("wheel", mass, None, DVec3::Y * radius);
        let pose = Pose { rotation: DQuat::from_rotation_x(std::f64::consts::FRAC_PI_2), ..Pose::default() };
        wheel.shape = Some(Placed { pose, shape: Shape::Cylinder { radius, length } });
        (wheel.linear_velocity, wheel.angular_velocity) = (DVec3::X * speed, DVec3::NEG_Z * (speed / radius));
        world.mechanism.bodies.push(wheel);
        build(&world, h)
    }

    /// Upper bound of the speed that elastic recoil of the soil can give to the wheel, m/s. The recoil distance is
    /// p/k_e, and its energy is half of the load times this distance.
    fn recoils(self, soil: &Soil, depth: f64) -> f64 {
        let pressure = Pressure::new(soil, self.width, 0.0, G);
        (G * pressure.at(depth, 0.0).0 / pressure.elastic).sqrt()
    }
}

/// The largest speed that a free wheel could reach along the ground with its total energy, rolling, in a period of
/// time, m/s: its speed may rise while its rotation slows down.
fn liveliest(engine: &mut dyn Engine, radius: f64, h: f64, seconds: f64) -> f64 {
    (0..steps(h, seconds)).fold(0.0, |most, _| {
        engine.step();
        let body = engine.body(BodyId::new(0));
        let (goes, turns) = (body.linear_velocity.x, radius * body.angular_velocity.z);
        f64::max(most, ((goes * goes + 0.5 * turns * turns) / 1.5).sqrt())
    })
}

/// The largest speed along the ground in a period of time, m/s.
fn fastest(engine: &mut dyn Engine, body: BodyId, h: f64, seconds: f64) -> f64 {
    (0..steps(h, seconds)).fold(0.0, |most, _| {
        engine.step();
        let velocity = engine.body(body).linear_velocity;
        f64::max(most, velocity.x.hypot(velocity.z))
    })
}

/// The case that was found: 10 kg at 5 cm/s and 1 mm/s on dry sand. It swung ever faster, and dug itself in by 123 of
/// 130 mm.
#[test]
fn a_free_wheel_stops_where_its_resistance_stops_it() {
    let wheel = Free { radius: 0.13, width: 0.16, mass: 10.0 };
    for (speed, way) in [(0.05, 4e-3), (0.001, 0.1e-3), (0.0, 0.0)] {
        for h in [1e-4, 0.001, 0.002, 0.005, 0.01] {
            let mut engine = wheel.roll(soil("drySand"), speed, h);
            let place = |engine: &dyn Engine| engine.body(BodyId::new(0)).pose.translation;
            let first = fastest(&mut *engine, BodyId::new(0), h, 1.0);
            let stopped = place(&*engine);
            let after = fastest(&mut *engine, BodyId::new(0), h, 2.0);
            let moved = (place(&*engine) - stopped).length();
            let sunk = wheel.radius - stopped.y;
            println!(
                "{speed} m/s, {h} s: {first:.3e}, then {after:.1e} m/s, at {:.3} mm, {:.3} mm deep",
                1e3 * stopped.x,
                1e3 * sunk
            );
            assert!(first <= speed + 1e-4 && after < 1e-4 && moved < 1e-5, "{speed}, {h}: {first} {after} {moved}");
            assert!((stopped.x - way).abs() < 0.3e-3, "{speed}, {h}: {} m", stopped.x);
            assert!(sunk > 0.0175 && sunk < 0.0195, "{speed}, {h}: {sunk} m");
        }
    }
}

/// Free wheels by seed: all soils, loads, radii, speeds, directions and timesteps. 24 of them; 2,000 with
/// `SIMPARTNER_LONG_TESTS=1`. They start on the surface and fall into the soil within 0.1 s. At a timestep of 10 ms
/// these are ten steps, too few to measure a speed, so the first half second is not judged.
#[test]
fn no_free_wheel_speeds_up() {
    let count = if std::env::var_os("SIMPARTNER_LONG_TESTS").is_some() { 2000 } else { 24 };
    let mut worst = [0.0f64; 3];
    for seed in 0..count {
        let mut chance = Chance(seed);
        let named = Soil::NAMED[chance.below(Soil::NAMED.len())];
        let h = [2e-4, 0.001, 0.002, 0.005, 0.01][chance.below(5)];
        let radius = chance.between(0.05, 0.4);
        let width = radius * chance.between(0.3, 1.5);
        // A weight that presses a rolling wheel in by up to a third of its radius.
        let sinks = radius * 10f64.powf(chance.between(-1.5, -0.5));
        let form = SteadyWheel { radius, width, shear_radius: radius, slip: 0.0, slip_angle: 0.0, gravity: G };
        let wheel = Free { radius, width, mass: form.forces(&named.soil, sinks).normal / G };
        let speed = 10f64.powf(chance.between(-3.0, -0.3)) * if chance.below(2) == 0 { 1.0 } else { -1.0 };
        let case = format!("{seed}: {}, {wheel:?}, {speed:.4} m/s, {h} s", named.name);
        let mut engine = wheel.roll(named.soil, speed, h);
        let depth = |engine: &dyn Engine| radius - engine.body(BodyId::new(0)).pose.translation.y;
        let floor = wheel.recoils(&named.soil, 2.0 * sinks);
        let mut most = speed.abs();
        // The heaviest press soil so hard that it recoils by millimetres, and swing on that for ten seconds.
        for half_second in 0..24 {
            let now = liveliest(&mut *engine, radius, h, 0.5);
            if h < 0.01 || half_second > 0 {
                worst[0] = worst[0].max(now - most.max(floor));
                assert!(now <= 1.0001 * most.max(floor), "{case}: {now} m/s after {most}, {floor} by recoil");
            }
            most = most.min(now);
        }
        let deep = depth(&*engine);
        let after = fastest(&mut *engine, BodyId::new(0), h, 1.0);
        let (sinks_on, at_rest) = (depth(&*engine) - deep, after);
        (worst[1], worst[2]) = (worst[1].max(at_rest), worst[2].max(sinks_on));
        assert!(at_rest < 2e-3, "{case}: {at_rest} m/s after 12 s");
        assert!(sinks_on < 1e-5, "{case}: sinks on by {sinks_on} m");
    }
    println!(
        "{count} wheels: {:.1e} m/s faster, {:.1e} m/s and {:.1e} m deeper in the last second",
        worst[0], worst[1], worst[2]
    );
}

/// Elastic energy of the soil under driving wheels, J: its pressure p recovers along p/k_e, and a shear force F with
/// the mobilised fraction m recovers along K m, at most K.
fn held(engine: &dyn Engine, rover: &SixWheels, soil: &Soil) -> f64 {
    let pressure = Pressure::new(soil, six_wheels::WHEEL_WIDTH, 0.0, G);
    let each = rover.wheels.iter().filter_map(|&wheel| engine.soil_reading(wheel)).map(|reading| {
        let recoil = pressure.at(reading.sinkage, 0.0).0 / pressure.elastic;
        let shear = reading.torque.abs() / six_wheels::WHEEL_RADIUS;
        0.5 * (reading.normal_force * recoil + shear * soil.shear_modulus)
    });
    each.sum()
}

/// Sinkage of a wheel of the rover that rolls on this soil without shear, m.
fn borne_by_pressure(soil: Soil) -> f64 {
    let radius = six_wheels::WHEEL_RADIUS;
    let wheel = SteadyWheel {
        radius,
        width: six_wheels::WHEEL_WIDTH,
        shear_radius: radius,
        slip: 0.0,
        slip_angle: 0.0,
        gravity: G,
    };
    let smooth = Soil { cohesion: 0.0, friction_angle: 0.0, ..soil };
    wheel.under_load(&smooth, six_wheels::MASS * G / 6.0).unwrap().0
}

/// The kinetic energy of all that a world has, J.
fn kinetic(engine: &dyn Engine) -> f64 {
    engine.energy_balance().unwrap().kinetic
}

/// A rover that has driven, and whose motors then have no power, no effort or brake: it stops and stays. Its only
/// energy is its motion and the elastic energy of the soil: wheels that pulled spring back by their shear displacement.
/// 4 by seed; 200 with `SIMPARTNER_LONG_TESTS=1`.
#[test]
fn a_rover_without_power_stops() {
    let count = if std::env::var_os("SIMPARTNER_LONG_TESTS").is_some() { 200 } else { 4 };
    for seed in 0..count {
        let mut chance = Chance(seed);
        let named = Soil::NAMED[chance.below(Soil::NAMED.len())];
        let h = [0.001, 0.002, 0.005, 0.01][chance.below(4)];
        let rate = chance.between(0.3, 1.0) * if chance.below(2) == 0 { 1.0 } else { -1.0 };
        let end = [Motor::Off, Motor::Effort(0.0), Motor::Velocity { target: 0.0, max_effort: 1e6 }][chance.below(3)];
        let mut world = ground(named.soil);
        let rover = six_wheels::add(&mut world, DVec3::ZERO, DQuat::IDENTITY);
        let mut engine = build(&world, h);
        rover.drive(&mut *engine, rate);
        fastest(&mut *engine, rover.chassis, h, 2.0 + chance.between(0.0, 2.0));
        let sunk = |engine: &dyn Engine| {
            rover
                .wheels
                .iter()
                .filter_map(|&wheel| engine.soil_reading(wheel))
                .map(|soil| soil.sinkage / 6.0)
                .sum::<f64>()
        };
        let place = |engine: &dyn Engine| engine.body(rover.chassis).pose.translation.x;
        let (before, deep) = (place(&*engine), sunk(&*engine));
        let (moves, held) = (kinetic(&*engine), held(&*engine, &rover, &named.soil));
        rover.axles.iter().for_each(|&axle| engine.set_motor(axle, 2, end));
        let mut most = 0.0f64;
        for _ in 0..steps(h, 2.0) {
            engine.step();
            most = most.max(kinetic(&*engine));
        }
        let later = fastest(&mut *engine, rover.chassis, h, 2.0);
        let (moved, deeper) = (place(&*engine) - before, sunk(&*engine) - deep);
        let case = format!("{seed}: {}, {rate:.2} rad/s, {end:?}, {h} s", named.name);
        println!(
            "{case}: {moves:.3} J, then {most:.3} with {held:.3} held; later {later:.1e} m/s; {:.2} mm on, {:.2} of {:.2} mm deeper",
            1e3 * moved,
            1e3 * deeper,
            1e3 * deep
        );
        assert!(most <= moves + held, "{case}: {most} J, {moves} before, and {held} held");
        assert!(later < 0.01 && moved.abs() < 0.015, "{case}: {later} m/s, {moved} m");
        // Shear carried a part of the load while pulling; a rover that is released while it still sinks comes down to
        // the depth at which pressure alone carries it.
        let deepest = (1.1 * deep).max(borne_by_pressure(named.soil)) + 1e-3;
        assert!(deep + deeper < deepest, "{case}: {deeper} m deeper, {deep} before, {deepest} at most");
    }
}
