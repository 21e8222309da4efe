//! Faults put into devices while they run.

use bevy_math::DVec3;
use simpartner_description::{Actuator, DeviceReference, Law, Section, Sensor, Timeline, TimelineCommand, World};
use simpartner_model::{BodyId, JointId, JointKind, Pose};
use simpartner_wire::signal::{DeviceKind, EventKind, Fault, Port};

use super::{Run, cube_at, device, near};
use crate::scene::{self, as_robot, ball, body, joint};

fn falling() -> Run {
    let mut world = cube_at(100.0);
    let position = || Sensor::on(BodyId::new(0), Pose::IDENTITY, DeviceKind::PositionSensor);
    world.devices = vec![device("sensor", position()), device("sound", position())];
    Run::of(world)
}

#[test]
fn a_sensor_that_is_off_reads_nothing_until_it_is_on_again() {
    let mut run = falling();
    run.steps(10);
    let last = run.read("sensor");
    run.fail("sensor", Fault::Off);
    run.steps(5);
    assert_eq!((run.read("sensor"), run.is_fresh("sensor"), &run.record.off[..]), (last, false, &[true, false][..]));
    run.fail("sensor", Fault::None);
    run.steps(1);
    assert_eq!((run.read("sensor"), run.is_fresh("sensor")), (run.read("sound"), true));
    assert!(!run.record.off[0]);
    let told = [(10, "robot/sensor", "off", None), (15, "robot/sensor", "ok", None)];
    assert_eq!(run.told(EventKind::Fault), told);
}

#[test]
fn a_stuck_sensor_tells_the_same_as_if_it_were_new() {
    let mut run = falling();
    run.steps(10);
    let last = run.read("sensor");
    run.fail("sensor", Fault::Stuck);
    for _ in 0..5 {
        run.steps(1);
        assert_eq!((run.read("sensor"), run.is_fresh("sensor")), (last.clone(), true));
    }
    assert_ne!(run.read("sound"), last);
}

#[test]
fn a_garbled_sensor_reads_anything_within_its_range() {
    let mut run = falling();
    run.fail("sensor", Fault::Garbage);
    let read: Vec<f64> = (0..1000).flat_map(|_| run.steps(1).read("sensor")).collect();
    assert!(read.iter().all(|value| value.abs() <= 1e9));
    let mean = read.iter().sum::<f64>() / read.len() as f64;
    // Even from -1e9 to 1e9: the deviation is 2e9 / sqrt 12.
    assert!(mean.abs() < 4.0 * 2e9 / (12.0 * read.len() as f64).sqrt(), "{mean}");
}

#[test]
fn a_delayed_sensor_is_late_and_an_intermittent_one_has_gaps() {
    let mut run = falling();
    let mut heights = vec![run.read("sound")[1]];
    run.fail("sensor", Fault::Delayed(0.03));
    for step in 1..=100usize {
        heights.push(run.steps(1).read("sound")[1]);
        assert_eq!(run.read("sensor")[1], heights[step.saturating_sub(30)], "step {step}");
    }
    run.fail("sensor", Fault::Intermittent(0.25));
    let fresh = (0..1000).filter(|_| run.steps(1).is_fresh("sensor")).count();
    assert!((fresh as f64 - 750.0).abs() < 4.0 * (1000.0f64 * 0.25 * 0.75).sqrt(), "{fresh}");
    assert_eq!(run.told(EventKind::Fault)[1], (100, "robot/sensor", "intermittent 0.25", Some(0.25)));
}

/// A wheel of 1 kg m² on a fixed axle without friction: sphere of radius 1 m and 2.5 kg, I = 0.4 m r².
pub(super) fn wheel(law: Law) -> World {
    let mut world = scene::world();
    world.mechanism.gravity = DVec3::ZERO;
    world.mechanism.bodies.push(body("post", 1.0, None, DVec3::ZERO));
    world.mechanism.bodies[0].fixed = true;
    world.mechanism.bodies.push(body("wheel", 2.5, ball(1.0), DVec3::ZERO));
    world.mechanism.joints.push(joint("axle", JointKind::Hinge, 0, 1, DVec3::ZERO));
    let mut world = as_robot(world);
    world.devices = vec![
        device("motor", Actuator::new(JointId::new(0), law)),
        device("encoder", Sensor::of(JointId::new(0), DeviceKind::JointEncoder)),
    ];
    world
}

fn rate(run: &Run) -> f64 {
    run.read("encoder")[5]
}

#[test]
fn an_actuator_that_is_off_exerts_nothing_and_forgets_what_it_is_told() {
    let mut run = Run::of(wheel(Law::Effort));
    run.drive("motor", &[0.0, 0.0, 2.0]);
    run.steps(100);
    near(&[rate(&run)], &[0.2], 1e-9);
    run.fail("motor", Fault::Off);
    run.drive("motor", &[0.0, 0.0, -2.0]);
    run.steps(100);
    near(&[rate(&run)], &[0.2], 1e-9);
    run.fail("motor", Fault::None);
    run.steps(100);
    // It continues with its previous command.
    near(&[rate(&run)], &[0.4], 1e-9);
    assert_eq!(run.read("motor"), [0.0, 0.0, 2.0]);
}

#[test]
fn a_stuck_actuator_goes_on_and_a_delayed_one_obeys_later() {
    let mut run = Run::of(wheel(Law::Effort));
    run.drive("motor", &[0.0, 0.0, 1.0]);
    run.steps(10);
    run.fail("motor", Fault::Stuck);
    run.drive("motor", &[0.0, 0.0, -5.0]);
    run.steps(10);
    near(&[rate(&run)], &[0.02], 1e-9);
    run.fail("motor", Fault::Delayed(0.05));
    run.drive("motor", &[0.0, 0.0, -1.0]);
    run.steps(50);
    near(&[rate(&run)], &[0.07], 1e-9);
    assert_eq!(run.read("motor"), [0.0, 0.0, 1.0]);
    run.steps(70);
    near(&[rate(&run)], &[0.0], 1e-9);
}

#[test]
fn a_garbled_actuator_pulls_both_ways_within_its_limit() {
    let mut run = Run::of(wheel(Law::Velocity));
    run.drive("motor", &[0.0, 0.0, 3.0, 0.0, 0.0, 0.0]);
    run.fail("motor", Fault::Garbage);
    let (mut least, mut most, mut before) = (0.0f64, 0.0f64, 0.0);
    for _ in 0..1000 {
        run.steps(1);
        let effort = (rate(&run) - before) / 1e-3;
        (before, least, most) = (rate(&run), least.min(effort), most.max(effort));
    }
    assert!(least > -3.0 - 1e-6 && least < -2.9 && most > 2.9 && most < 3.0 + 1e-6, "{least} to {most}");
}

#[test]
fn of_an_intermittent_actuators_commands_some_are_lost() {
    let mut run = Run::of(wheel(Law::Effort));
    run.fail("motor", Fault::Intermittent(0.5));
    let mut taken = 0;
    for index in 1..=400 {
        let effort = f64::from(index) * 1e-3;
        run.drive("motor", &[0.0, 0.0, effort]);
        taken += u32::from(run.steps(1).read("motor")[2] == effort);
    }
    assert!((f64::from(taken) - 200.0).abs() < 40.0, "{taken}");
}

#[test]
fn a_reset_mends_everything() {
    let mut run = falling();
    run.fail("sensor", Fault::Off);
    run.steps(10);
    run.simulation.reset().unwrap();
    assert_eq!(run.simulation.state_hash(), falling().simulation.state_hash());
}

/// Faults in the `command` table can be replayed with the same bits.
#[test]
fn a_fault_can_be_played_again_from_its_text() {
    let play = |text: &str| {
        let mut world = wheel(Law::Effort);
        world.devices[0].port = Port::new(2000).unwrap();
        let mut run = Run::of(world);
        let entry = |after_steps, text: &str| TimelineCommand {
            after_steps,
            device: DeviceReference::Port(2000),
            text: text.into(),
            source: "s.xml:1".into(),
        };
        let commands = vec![entry(0, "0,0,1"), entry(40, text)];
        run.simulation
            .schedule(&Timeline { sections: vec![Section { commands, steps: 100, until: None }], steps: 100 })
            .unwrap();
        run.steps(100);
        (rate(&run), run.simulation.state_hash())
    };
    let mut run = Run::of(wheel(Law::Effort));
    run.drive("motor", &[0.0, 0.0, 1.0]);
    run.steps(40);
    run.fail("motor", Fault::Off);
    run.steps(60);
    assert_eq!(play("FAULT off"), (rate(&run), run.simulation.state_hash()));
    near(&[rate(&run)], &[0.04], 1e-9);
}
