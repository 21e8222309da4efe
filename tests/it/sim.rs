//! Guarantees of a step: commands act at its boundary, sensors read after it, and the bits do not depend on how it is
//! reached.

use std::sync::Arc;

use bevy_math::{DQuat, DVec3};
use simpartner::sim::{MAX_EVENTS, Simulation};
use simpartner_description::{Actuator, Device, DeviceSpec, Law, Noise, OnTimeout, PidGains, Sensor, Watchdog, World};
use simpartner_model::{DeviceId, JointId, JointKind, Pose, RobotId, StepIndex, Timestep};
use simpartner_wire::{
    protocol,
    signal::{Action, ClientId, Command, Configuration, DeviceKind, EventKind, Fault, Port, Reservation, StepRecord},
};

use crate::scene::{self, Within, as_robot, body, close, cube, joint, with_plane};

const MOTOR: DeviceId = DeviceId::new(0);
const ANGLE: DeviceId = DeviceId::new(1);
const POSITION: DeviceId = DeviceId::new(2);
const SCANNER: DeviceId = DeviceId::new(3);

/// A trunk on the ground with a spinning rotor and a swinging arm, a position sensor and a scanner that faces down.
fn robot() -> World {
    let mut world = with_plane(scene::world(), 1.0);
    world.mechanism.bodies.push(body("trunk", 20.0, cube(1.0), DVec3::new(0.0, 0.5, 0.0)));
    world.mechanism.bodies.push(body("rotor", 1.0, cube(0.2), DVec3::new(0.0, 1.5, 0.0)));
    world.mechanism.bodies.push(body("arm", 1.0, cube(0.2), DVec3::new(0.8, 0.9, 0.0)));
    world.mechanism.joints.push(joint("axle", JointKind::Hinge, 0, 1, DVec3::new(0.0, 1.5, 0.0)));
    world.mechanism.joints.push(joint("shoulder", JointKind::Hinge, 0, 2, DVec3::new(0.6, 0.9, 0.0)));
    let mut world = as_robot(world);
    let down =
        Pose { translation: DVec3::new(2.0, 2.5, 0.0), rotation: DQuat::from_rotation_x(std::f64::consts::FRAC_PI_2) };
    let trunk = simpartner_model::BodyId::new(0);
    world.devices = [
        ("motor", Actuator::new(JointId::new(0), Law::Velocity).into()),
        ("angle", Actuator::new(JointId::new(1), Law::Angle(PidGains::default())).into()),
        ("position", Sensor::on(trunk, Pose::IDENTITY, DeviceKind::PositionSensor).into()),
        ("scanner", Sensor { rate_hz: Some(100.0), ..Sensor::on(trunk, down, DeviceKind::ScannerSensor) }.into()),
    ]
    .map(|(name, spec)| Device {
        name: name.into(),
        robot: RobotId::new(0),
        port: Port::ANY,
        spec,
        source: String::new(),
    })
    .into();
    world
}

fn simulation() -> Simulation {
    Simulation::new(Arc::new(robot()), Timestep::MILLISECOND, scene::settings()).expect("the robot can be built")
}

fn command(device: DeviceId, at: Option<u64>, values: &[f64]) -> Command {
    Command {
        target: device.into(),
        at: at.map(StepIndex),
        client: ClientId(1),
        sequence: 1,
        text: "text".into(),
        action: Action::Drive(values.into()),
        memory: Reservation::default(),
    }
}

fn steps(simulation: &mut Simulation, count: u64) -> StepRecord {
    let mut record = StepRecord::new(simulation.layout());
    for _ in 0..count {
        record.commands.clear();
        record.events.clear();
        simulation.step(&mut record);
    }
    record
}

fn values<'a>(simulation: &Simulation, record: &'a StepRecord, device: DeviceId) -> &'a [f64] {
    &record.values[simulation.layout().device(device)]
}

#[test]
fn a_command_acts_in_the_next_step_and_is_recorded_with_the_previous_state() {
    let mut simulation = simulation();
    steps(&mut simulation, 100);
    simulation.submit(command(MOTOR, None, &[1000.0, 1000.0, 5.0, 0.0, 0.0, 2.0]));
    simulation.submit(command(MOTOR, None, &[1000.0, 1000.0, 5.0, 0.0, 0.0, 3.0]));
    let record = steps(&mut simulation, 1);
    assert_eq!(record.step, StepIndex(101));
    let replies: Vec<String> = record.commands.iter().map(protocol::reply).collect();
    assert_eq!(replies, ["<1000,1000,1000,0,0,0>", "<1000,1000,5,0,0,2>"]);
    assert_eq!(record.commands.iter().map(|applied| applied.order).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(values(&simulation, &record, MOTOR), [1000.0, 1000.0, 5.0, 0.0, 0.0, 3.0]);
    assert_eq!(record.applied[MOTOR.index()], 1);
    let joint = &record.values[simulation.layout().joint(JointId::new(0))];
    // 5 N m on the rotor's 1 kg 0.2 m cube: I = m a² / 6, so 0.75 rad/s after the first millisecond.
    assert!((joint[8] - 0.75).abs() < 1e-3, "{joint:?}");
    assert_eq!(joint[11], 5.0);
}

#[test]
fn a_command_for_a_later_step_waits_for_it_and_one_for_a_past_step_is_refused() {
    let mut simulation = simulation();
    simulation.submit(command(MOTOR, Some(50), &[0.0, 0.0, 9.0, 0.0, 0.0, 1.0]));
    assert!(steps(&mut simulation, 49).commands.is_empty());
    assert_eq!(steps(&mut simulation, 1).commands.len(), 1);
    simulation.submit(command(MOTOR, Some(50), &[0.0, 0.0, 9.0, 0.0, 0.0, 2.0]));
    let record = steps(&mut simulation, 1);
    assert!(record.commands.is_empty());
    assert_eq!(record.events.len(), 1);
    assert_eq!((record.events[0].kind, record.events[0].subject.as_str()), (EventKind::CommandRefused, "motor"));
}

#[test]
fn an_untouched_actuator_holds_the_initial_pose() {
    let mut simulation = simulation();
    let record = steps(&mut simulation, 2000);
    let shoulder = &record.values[simulation.layout().joint(JointId::new(1))];
    // The arm's weight at 0.2 m. The motor yields at a rate proportional to its load, and the actuator returns at a
    // hundred times its deviation a second.
    let yields = scene::motor_compliance()[0] * 9.81 * 0.2 / 100.0;
    assert!(shoulder[5].abs() < 1.1 * yields + 1e-12, "{shoulder:?}");
    assert!((shoulder[11] - 9.81 * 0.2).abs() < 1e-5, "{shoulder:?}");
}

#[test]
fn an_angle_controller_reaches_its_target_and_six_numbers_keep_the_efforts() {
    let mut simulation = simulation();
    simulation.submit(command(ANGLE, None, &[1000.0, 1000.0, 50.0, 0.0, 0.0, 0.4, 10.0, 25.0, 0.0]));
    steps(&mut simulation, 2500);
    simulation.submit(command(ANGLE, None, &[0.0, 0.0, 0.7, 10.0, 25.0, 0.0]));
    let record = steps(&mut simulation, 3000);
    assert_eq!(values(&simulation, &record, ANGLE)[..6], [1000.0, 1000.0, 50.0, 0.0, 0.0, 0.7]);
    let shoulder = &record.values[simulation.layout().joint(JointId::new(1))];
    assert!((shoulder[5] - 0.7).abs() < 1e-3, "{shoulder:?}");
}

/// A motor that is too weak for a while does not wind up the integral.
///
/// While the motor follows the controller, the error obeys e'' + P e' + I e = 0, with the initial error e1 and without
/// an integral: e(t) = e1 (a exp(-a t) - b exp(-b t)) / (a - b), with the roots a and b of s² - P s + I. It passes
/// through zero and is lowest at t = 2 ln(a / b) / (a - b). For P = 10 and I = 20 that is an overshoot of 0.116 e1. An
/// integral over three seconds of an error near a radian would cause a many times larger overshoot.
#[test]
fn a_saturated_angle_controller_does_not_wind_up() {
    let mut simulation = simulation();
    simulation.submit(command(ANGLE, None, &[1000.0, 1000.0, 0.0, 0.0, 0.0, 0.5, 10.0, 20.0, 0.0]));
    steps(&mut simulation, 3000);
    simulation.submit(command(ANGLE, None, &[1000.0, 1000.0, 100.0, 0.0, 0.0, 0.5, 10.0, 20.0, 0.0]));
    let (mut highest, mut first_error) = (f64::NEG_INFINITY, None);
    for _ in 0..3000 {
        let record = steps(&mut simulation, 1);
        let shoulder = &record.values[simulation.layout().joint(JointId::new(1))];
        let (angle, effort) = (shoulder[5], shoulder[11]);
        highest = highest.max(angle);
        // From the first step that needs less than the maximum effort on, the motor follows.
        if effort.abs() < 100.0 {
            first_error.get_or_insert(0.5 - angle);
        }
    }
    let (p, i) = (10.0f64, 20.0);
    let root = (p * p / 4.0 - i).sqrt();
    let (a, b) = (p / 2.0 + root, p / 2.0 - root);
    let lowest = 2.0 * (a / b).ln() / (a - b);
    let overshoot = (b * (-b * lowest).exp() - a * (-a * lowest).exp()) / (a - b) * first_error.unwrap();
    // The controller measures before the step at whose end the rate is reached: two steps late at most, each worth h P
    // = 1 %.
    close("highest angle", highest, 0.5 + overshoot, Within::both(2.0 * 1e-3 * p * overshoot));
}

#[test]
fn sensors_read_the_state_after_the_step_at_their_rate() {
    let mut simulation = simulation();
    let first = simulation.observe();
    assert_eq!(values(&simulation, &first, POSITION), [0.0, 0.5, 0.0]);
    // The scanner faces straight down from 3 m; the outermost rays are at 0.1 rad.
    let fan = values(&simulation, &first, SCANNER).to_vec();
    assert_eq!(fan.len(), 11);
    assert!((fan[5] - 3.0).abs() < 1e-9 && (fan[0] - 3.0 / 0.1f64.cos()).abs() < 1e-9, "{fan:?}");
    let fresh: Vec<bool> = (1..=20).map(|_| steps(&mut simulation, 1).fresh[SCANNER.index()]).collect();
    assert_eq!(fresh.iter().enumerate().filter(|(_, fresh)| **fresh).map(|(i, _)| i + 1).collect::<Vec<_>>(), [10, 20]);
    simulation.submit(Command {
        action: Action::Configure(vec![Configuration::RateHz(500.0), Configuration::RangeM(2.0)]),
        ..command(SCANNER, None, &[])
    });
    let record = steps(&mut simulation, 2);
    assert!(record.fresh[SCANNER.index()]);
    assert_eq!(values(&simulation, &record, SCANNER)[5], 2.0);
}

#[test]
fn equal_commands_give_equal_bits_and_a_reset_is_a_fresh_start() {
    let drive = |simulation: &mut Simulation| {
        simulation.submit(command(MOTOR, Some(20), &[0.0, 0.0, 9.0, 0.0, 0.0, -4.0]));
        simulation.submit(command(ANGLE, Some(300), &[0.0, 0.0, 0.3, 5.0, 1.0, 0.1]));
        steps(simulation, 1500);
        simulation.state_hash()
    };
    let mut first = simulation();
    let expected = drive(&mut first);
    assert_eq!(drive(&mut simulation()), expected);
    assert_ne!(simulation().state_hash(), expected);
    steps(&mut first, 77);
    first.submit(command(MOTOR, Some(5000), &[0.0, 0.0, 9.0, 0.0, 0.0, 4.0]));
    first.reset().expect("what was built once can be built again");
    assert_eq!((first.epoch(), first.step_index()), (1, StepIndex(0)));
    assert_eq!(first.state_hash(), simulation().state_hash());
    assert_eq!(drive(&mut first), expected);
}

/// The robot with all state that a device can have: integrals, a watchdog, pending commands and readings, noise that
/// drifts, losses, random faults.
fn burdened(seed: u64) -> Simulation {
    let mut world = robot();
    let trunk = simpartner_model::BodyId::new(0);
    let noise = Noise { standard_deviation: 0.1, bias: 0.0, drift: 0.1, quantisation: 0.0 };
    for device in &mut world.devices {
        match &mut device.spec {
            DeviceSpec::Sensor(sensor) => {
                (sensor.latency_s, sensor.dropout, sensor.noise) = (0.007, 0.2, vec![noise]);
            }
            DeviceSpec::Actuator(actuator) => {
                actuator.watchdog = Some(Watchdog { timeout_s: 0.15, action: OnTimeout::Hold });
            }
            DeviceSpec::Vehicle(_) => {}
        }
    }
    let inertial = Sensor::on(trunk, Pose::IDENTITY, DeviceKind::ImuSensor);
    world.devices.push(Device { name: "imu".into(), spec: inertial.into(), ..world.devices[0].clone() });
    let mut simulation = Simulation::seeded(Arc::new(world), Timestep::MILLISECOND, scene::settings(), seed)
        .expect("the robot can be built");
    let act = |device, action| Command { action, ..command(device, None, &[]) };
    simulation.submit(command(MOTOR, None, &[50.0, 50.0, 50.0, 0.0, 0.0, 4.0]));
    simulation.submit(command(ANGLE, None, &[50.0, 50.0, 50.0, 0.0, 0.0, 0.3, 5.0, 1.0, 0.1]));
    simulation.submit(act(ANGLE, Action::Fault(Fault::Delayed(0.05))));
    simulation.submit(act(MOTOR, Action::Fault(Fault::Intermittent(0.5))));
    simulation.submit(act(POSITION, Action::Fault(Fault::Intermittent(0.3))));
    simulation.submit(act(SCANNER, Action::Configure(vec![Configuration::RangeM(2.2)])));
    simulation
}

/// Steps on, with commands at every seventh, and returns all that can be read of it.
fn go_on(simulation: &mut Simulation, count: u64) -> Vec<(Vec<u64>, Box<[bool]>)> {
    let mut read = Vec::new();
    for _ in 0..count {
        let step = simulation.step_index().0;
        if step.is_multiple_of(7) {
            let target = (step % 11) as f64 * 0.1;
            simulation.submit(command(MOTOR, None, &[50.0, 50.0, 50.0, 0.0, 0.0, target]));
            simulation.submit(command(ANGLE, None, &[0.0, 0.0, target, 5.0, 1.0, 0.1]));
        }
        let record = steps(simulation, 1);
        read.push((record.values.iter().map(|value| value.to_bits()).collect(), record.fresh));
    }
    read
}

#[test]
fn a_snapshot_goes_on_bit_for_bit() {
    for before in [0, 1, 60, 333] {
        let mut first = burdened(5);
        go_on(&mut first, before);
        let snapshot = first.snapshot();
        let mut second = burdened(5);
        // Its earlier state has no effect.
        go_on(&mut second, 40);
        second.restore(&snapshot).expect("a snapshot of the same model");
        assert_eq!((second.step_index(), second.state_hash()), (first.step_index(), first.state_hash()));
        assert!(go_on(&mut second, 400) == go_on(&mut first, 400), "after {before} steps");
        assert_eq!(second.state_hash(), first.state_hash());
    }
}

#[test]
fn a_snapshot_under_another_seed_goes_on_with_other_noise() {
    let mut first = burdened(5);
    go_on(&mut first, 60);
    let (mut same, mut other) = (burdened(5), burdened(6));
    same.restore(&first.snapshot()).expect("a snapshot of the same model");
    other.restore(&first.snapshot()).expect("a snapshot of the same model");
    assert_ne!(other.state_hash(), same.state_hash());
    let (same, other) = (go_on(&mut same, 100), go_on(&mut other, 100));
    assert!(same != other);
}

#[test]
fn what_is_no_snapshot_of_this_model_is_refused_and_changes_nothing() {
    let mut simulation = simulation();
    steps(&mut simulation, 10);
    let (hash, snapshot) = (simulation.state_hash(), simulation.snapshot());
    let mut damaged = snapshot.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    let fewer = {
        let mut world = robot();
        world.devices.pop();
        Simulation::new(Arc::new(world), Timestep::MILLISECOND, scene::settings()).expect("the robot can be built")
    };
    let others = {
        let mut world = robot();
        world.devices.swap(0, 2);
        Simulation::new(Arc::new(world), Timestep::MILLISECOND, scene::settings()).expect("the robot can be built")
    };
    let refused = [
        (Vec::new(), "the snapshot is damaged: its bytes do not give the hash that was written with them"),
        (damaged, "the snapshot is damaged: its bytes do not give the hash that was written with them"),
        (fewer.snapshot(), "the snapshot is of another model: it has 3 devices, and this one 4"),
        (others.snapshot(), "the snapshot is of another model: its 'motor' is another device"),
    ];
    for (snapshot, message) in refused {
        assert_eq!(simulation.restore(&snapshot).expect_err("it is no such snapshot").to_string(), message);
        assert_eq!(simulation.state_hash(), hash);
    }
    simulation.restore(&snapshot).expect("its own");
}

#[test]
fn faults_while_the_world_stands_still_leave_a_bounded_number_of_events() {
    let mut simulation = simulation();
    for index in 0..30_000 {
        let action = Action::Fault(if index % 2 == 0 { Fault::Stuck } else { Fault::None });
        simulation.submit(Command { action, ..command(MOTOR, None, &[]) });
    }
    let record = steps(&mut simulation, 1);
    assert_eq!((record.commands.len(), record.events.len()), (30_000, MAX_EVENTS + 1));
    let last = &record.events[MAX_EVENTS];
    assert_eq!(last.value, Some((30_000 - MAX_EVENTS) as f64), "{last:?}");
    // Later ones are reported again.
    simulation.submit(Command { action: Action::Fault(Fault::Stuck), ..command(MOTOR, None, &[]) });
    assert_eq!(steps(&mut simulation, 1).events.len(), 1);
}

#[test]
fn a_refused_command_is_told_in_a_short_event() {
    let mut simulation = simulation();
    steps(&mut simulation, 10);
    simulation.submit(Command { text: "1".repeat(4000), ..command(MOTOR, Some(3), &[]) });
    let text = steps(&mut simulation, 1).events[0].text.clone();
    let start = "1".repeat(40);
    assert_eq!(text, format!("'{start}...' was not carried out: step 3 has been made already"));
}
