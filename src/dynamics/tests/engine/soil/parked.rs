//! A vehicle parked on a soil slope stays: it slides until enough of the shear strength is mobilised, swings, and comes
//! to rest.

use bevy_math::{DQuat, DVec3};
use simpartner_dynamics::{Engine, soil::Pressure};
use simpartner_model::{BodyId, Placed, Pose, Shape, Soil};

use super::{G, run, slope, soil, steps};
use crate::{
    build,
    scene::body,
    six_wheels::{self, SixWheels},
};

/// Largest permitted displacement of a parked rover after settling, m.
const HOLDS: f64 = 1e-4;
/// Degrees.
const SLOPE: f64 = 15.0;

/// A rover of six braked wheels on a slope, after `settled` seconds.
fn parked(soil: Soil, h: f64, degrees: f64, heading: f64, settled: f64) -> (Box<dyn Engine>, SixWheels) {
    let mut world = slope(soil, degrees.to_radians());
    let turn = DQuat::from_rotation_z(-degrees.to_radians());
    let rover = six_wheels::add(&mut world, DVec3::ZERO, turn * DQuat::from_rotation_y(heading));
    let mut engine = build(&world, h);
    rover.park(&mut *engine);
    run(&mut *engine, h, settled);
    (engine, rover)
}

/// Displacement of the settled rover in `seconds`, m.
fn creep(soil: Soil, h: f64, heading: f64, seconds: f64) -> f64 {
    let (mut engine, SixWheels { chassis, .. }) = parked(soil, h, SLOPE, heading, 15.0);
    let before = engine.body(chassis).pose.translation;
    run(&mut *engine, h, seconds);
    (engine.body(chassis).pose.translation - before).length()
}

/// In forty directions around, of which small steps try some.
#[test]
fn a_rover_stays_whichever_way_it_points() {
    for (h, every) in [(0.001, 5), (0.002, 4), (0.005, 1), (0.01, 1)] {
        let mut most = 0.0f64;
        for heading in (0..40).step_by(every) {
            let creep = creep(soil("drySand"), h, f64::from(heading) * std::f64::consts::TAU / 40.0, 10.0);
            assert!(creep < HOLDS, "{h} s, {} degrees: {creep} m in 10 s", 9 * heading);
            most = most.max(creep);
        }
        println!("{h} s: {:.1e} mm at most", 1e3 * most);
    }
}

#[test]
fn a_rover_stays_on_every_soil() {
    for named in Soil::NAMED {
        for heading in 0..5 {
            let creep = creep(named.soil, 0.01, 0.7 * f64::from(heading), 10.0);
            println!("{}, heading {heading}: {:.1e} mm", named.name, 1e3 * creep);
            assert!(creep < HOLDS, "{}, heading {heading}: {creep} m in 10 s", named.name);
        }
    }
}

/// Extent of the positions that a braked, settled rover takes in 3 s, m; and the recoil p/k_e of the soil under its
/// wheels, m.
fn rocks(soil: Soil, h: f64, degrees: f64, heading: f64) -> [f64; 2] {
    let (mut engine, SixWheels { chassis, wheels, .. }) = parked(soil, h, degrees, heading, 15.0);
    let (mut low, mut high) = (DVec3::MAX, DVec3::MIN);
    for _ in 0..steps(h, 3.0) {
        engine.step();
        let place = engine.body(chassis).pose.translation;
        (low, high) = (low.min(place), high.max(place));
    }
    let sinkages = wheels.iter().filter_map(|&wheel| engine.soil_reading(wheel)).map(|reading| reading.sinkage);
    let pressure = Pressure::new(&soil, six_wheels::WHEEL_WIDTH, 0.0, G);
    [(high - low).length(), pressure.at(sinkages.fold(f64::MAX, f64::min), 0.0).0 / pressure.elastic]
}

/// On level ground and on slopes it does not rock in its ruts. Rocking by a hundredth of the soil's recoil changes no
/// stress by more than that fraction: no contact separates, and no cell is pressed further.
#[test]
fn a_rover_comes_to_rest() {
    for named in Soil::NAMED {
        for (h, degrees, heading) in [
            (0.001, 15.0, 0.6),
            (0.002, 0.0, 0.0),
            (0.005, 0.0, 0.6),
            (0.005, 10.0, 0.0),
            (0.005, 15.0, 0.0),
            (0.01, 0.0, 0.0),
            (0.01, 10.0, 0.6),
            (0.01, 15.0, 0.6),
        ] {
            let [rocks, recoil] = rocks(named.soil, h, degrees, heading);
            println!("{}, {h} s, {degrees} degrees: {:.1e} mm of {:.3}", named.name, 1e3 * rocks, 1e3 * recoil);
            assert!(rocks < 0.01 * recoil, "{}, {h} s, {degrees} degrees, heading {heading}: {rocks} m", named.name);
        }
    }
}

#[test]
fn a_rover_stays_for_a_minute() {
    for (h, heading) in [(0.001, 0.0), (0.005, 1.5), (0.01, 1.0), (0.01, std::f64::consts::PI)] {
        let creep = creep(soil("drySand"), h, heading, 60.0);
        println!("{h}, heading {heading}: {:.1e} mm in 60 s", 1e3 * creep);
        assert!(creep < HOLDS, "{h}, heading {heading}: {creep} m in 60 s");
    }
}

/// A foot at an angle, and an unbraked wheel whose axle points down the slope; each is dropped on the slope.
#[test]
fn a_foot_and_a_wheel_stay() {
    let foot = Shape::Box { size: DVec3::new(0.4, 0.1, 0.3) };
    let wheel = Shape::Cylinder { radius: 0.13, length: 0.16 };
    let lying = DQuat::from_rotation_z(std::f64::consts::FRAC_PI_2);
    for (shape, lying, by) in [(foot, DQuat::IDENTITY, 0.1), (wheel, lying, 0.0)] {
        for (h, turns) in [(0.001, 0.0), (0.002, 1.0), (0.005, -1.0), (0.01, 2.0)] {
            let turned = by * turns;
            let angle = SLOPE.to_radians();
            let mut world = slope(soil("drySand"), angle);
            let turn = DQuat::from_rotation_z(-angle);
            let mut one = body("one", 30.0, None, turn * DVec3::Y * 0.14);
            one.shape = Some(Placed { pose: Pose { rotation: lying, ..Pose::default() }, shape: shape.clone() });
            one.pose.rotation = turn * DQuat::from_rotation_y(turned);
            world.mechanism.bodies.push(one);
            let mut engine = build(&world, h);
            let place = |engine: &dyn Engine| engine.body(BodyId::new(0)).pose.translation;
            // The energy check may slow its fall down.
            (0..steps(h, 15.0)).for_each(|_| engine.step());
            let before = place(&*engine);
            run(&mut *engine, h, 10.0);
            let creep = (place(&*engine) - before).length();
            println!("{shape:?}, {h} s, turned by {turned}: {:.1e} mm", 1e3 * creep);
            assert!(creep < HOLDS, "{shape:?}, {h} s, turned by {turned}: {creep} m in 10 s");
        }
    }
}
