//! What a step promises: commands at its boundary, sensors after it, the same bits however it is reached.

use std::sync::Arc;

use bevy_math::{DQuat, DVec3};
use simpartner::{
    model::{Actuator, Device, JointKind, Law, Measures, PidGains, Pose, Scanner, Sensor, World},
    signal::{
        Action, ClientId, Command, Configuration, DeviceId, EventKind, JointId, Port, RobotId, StepIndex, StepRecord,
        Timestep,
    },
    sim::Simulation,
};

use crate::scene::{self, as_robot, body, cube, joint, with_plane};

const MOTOR: DeviceId = DeviceId::new(0);
const ANGLE: DeviceId = DeviceId::new(1);
const POSITION: DeviceId = DeviceId::new(2);
const SCANNER: DeviceId = DeviceId::new(3);

/// A trunk on the ground with a spinning rotor and a swinging arm, a position sensor and a scanner that looks down.
fn robot() -> World {
    let mut world = with_plane(scene::world(), 1.0);
    world.bodies.push(body("trunk", 20.0, cube(1.0), DVec3::new(0.0, 0.5, 0.0)));
    world.bodies.push(body("rotor", 1.0, cube(0.2), DVec3::new(0.0, 1.5, 0.0)));
    world.bodies.push(body("arm", 1.0, cube(0.2), DVec3::new(0.8, 0.9, 0.0)));
    world.joints.push(joint("axle", JointKind::Hinge, 0, 1, DVec3::new(0.0, 1.5, 0.0)));
    world.joints.push(joint("shoulder", JointKind::Hinge, 0, 2, DVec3::new(0.6, 0.9, 0.0)));
    let mut world = as_robot(world);
    let down =
        Pose { translation: DVec3::new(2.0, 2.5, 0.0), rotation: DQuat::from_rotation_x(std::f64::consts::FRAC_PI_2) };
    let trunk = simpartner::signal::BodyId::new(0);
    world.devices = [
        ("motor", Actuator::new(JointId::new(0), Law::Velocity).into()),
        ("angle", Actuator::new(JointId::new(1), Law::Angle(PidGains::default())).into()),
        ("position", Sensor::on(trunk, Pose::IDENTITY, Measures::Position).into()),
        (
            "scanner",
            Sensor { rate_hz: Some(100.0), ..Sensor::on(trunk, down, Measures::Scan(Scanner::default())) }.into(),
        ),
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
        device,
        at: at.map(StepIndex),
        client: ClientId(1),
        sequence: 1,
        text: "text".into(),
        action: Action::Drive(values.into()),
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
    let replies: Vec<&str> = record.commands.iter().map(|applied| applied.reply.as_str()).collect();
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
    // The arm's weight at 0.2 m against the holding stiffness of 1e5 N m/rad.
    assert!((shoulder[5] + 9.81 * 0.2 / 1e5).abs() < 1e-6, "{shoulder:?}");
    assert!((shoulder[11] - 9.81 * 0.2).abs() < 1e-3, "{shoulder:?}");
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

/// A motor too weak for a while winds up no integral: it comes back to the target without overshoot worth the name.
#[test]
fn a_saturated_angle_controller_does_not_wind_up() {
    let mut simulation = simulation();
    simulation.submit(command(ANGLE, None, &[1000.0, 1000.0, 0.0, 0.0, 0.0, 0.5, 10.0, 20.0, 0.0]));
    steps(&mut simulation, 3000);
    simulation.submit(command(ANGLE, None, &[1000.0, 1000.0, 100.0, 0.0, 0.0, 0.5, 10.0, 20.0, 0.0]));
    let mut highest = f64::NEG_INFINITY;
    for _ in 0..3000 {
        let record = steps(&mut simulation, 1);
        highest = highest.max(record.values[simulation.layout().joint(JointId::new(1))][5]);
    }
    // Without a bound on it the integral of three seconds at an error near a radian would throw the arm far past it.
    assert!(highest < 0.9, "{highest}");
}

#[test]
fn sensors_read_the_state_after_the_step_at_their_rate() {
    let mut simulation = simulation();
    let first = simulation.observe();
    assert_eq!(values(&simulation, &first, POSITION), [0.0, 0.5, 0.0]);
    // The scanner looks straight down from 3 m; the outermost rays stand at 0.1 rad.
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
