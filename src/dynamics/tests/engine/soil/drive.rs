//! Driving wheels climb out of the holes that they have dug.

use bevy_math::{DQuat, DVec3};

use simpartner_dynamics::{Engine, Motor};
use simpartner_model::{BodyId, JointId};

use super::{G, MASS, RADIUS, rig, run, slope, soil, steps};
use crate::{build, six_wheels};

/// Wheels dig in before they advance: after 1.2 m the rear wheels cross holes of the front wheels that are deeper than
/// their own sinkage. They go down into them, and no events occur.
#[test]
fn a_rover_drives_over_the_holes_that_it_has_dug() {
    let mut world = slope(soil("drySand"), 0.0);
    let rover = six_wheels::add(&mut world, DVec3::ZERO, DQuat::IDENTITY);
    let mut engine = build(&world, 0.001);
    rover.drive(&mut *engine, 0.1 / six_wheels::WHEEL_RADIUS);
    for step in 0..40_000 {
        engine.step();
        assert!(step < 1000 || engine.step_events().is_empty(), "step {step}: {:?}", engine.step_events());
    }
    let way = engine.body(rover.chassis).pose.translation.x;
    println!("it comes {way:.3} m far");
    assert!(way > 1.35, "{way}");
}

/// A wheel that reverses rolls into its own rut, which is deeper than the wheel's sinkage where the wheel carried a
/// larger load, and out of the rut again. At the edges of the rut it rises and sinks; it never leaves the soil.
#[test]
fn a_wheel_that_turns_back_stays_in_the_soil() {
    for name in ["drySand", "sandyLoam", "clay"] {
        for (h, speed) in [(0.001, 0.001), (0.001, 0.003), (0.005, 0.003)] {
            let mut engine = build(&rig(soil(name)), h);
            let drive = |engine: &mut dyn Engine, speed: f64| {
                engine.set_motor(JointId::new(0), 0, Motor::Velocity { target: -speed, max_effort: 1e6 });
                engine.set_motor(
                    JointId::new(0),
                    2,
                    Motor::Velocity { target: speed / (0.9 * RADIUS), max_effort: 1e6 },
                );
            };
            drive(&mut *engine, 0.1);
            run(&mut *engine, h, 2.0);
            // An upward force takes most of its load, so it rises while it rolls: the rut behind it is deeper than the
            // wheel.
            engine.set_motor(JointId::new(0), 1, Motor::Velocity { target: 1.0, max_effort: 0.7 * MASS * G });
            drive(&mut *engine, 0.02);
            run(&mut *engine, h, 3.0);
            let (mut out, mut most) = (0, 0.0f64);
            for leg in 0..6 {
                let sign = if leg % 2 == 0 { -1.0 } else { 1.0 };
                drive(&mut *engine, sign * speed);
                // Over its whole contact, and not so far.
                for _ in 0..steps(h, if leg < 2 { 10.0 } else { 2.0 }) {
                    engine.step();
                    assert!(engine.step_events().is_empty(), "{}, {h}, {speed}: {:?}", name, engine.step_events());
                    let reading = engine.soil_reading(BodyId::new(1));
                    out += usize::from(reading.is_none());
                    most = most.max(reading.map_or(0.0, |reading| reading.normal_force));
                }
            }
            println!("{}, {h}, {speed}: {out} steps out of the soil, at most {most:.2} of {:.2} N", name, MASS * G);
            assert!(out == 0, "{}, {h}, {speed}: {out} steps out of the soil, {most} N", name);
        }
    }
}
