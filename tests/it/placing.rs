//! Poses set during a run: permissions, the step of their effect, readings of sensors, and replay from the log.

use std::{net::SocketAddr, sync::Arc};

use bevy_math::{DQuat, DVec3};
use simpartner::{
    realtime::{ClockSettings, Mode},
    sim::Simulation,
};
use simpartner_description::{Sensor, World};
use simpartner_dynamics::EngineKind;
use simpartner_model::{BodyId, Pose, Timestep};
use simpartner_wire::{
    protocol::{TRUTH_OF_BODY, read_numbers, word},
    signal::{
        Action, BodyPlacement, ClientId, Command, DeviceId, DeviceKind, EventKind, Reservation, StepRecord, Target,
    },
};

use crate::{
    cli::{Running, Scratch, number, output, text},
    scene,
    server::{Client, Rig, robot, settings},
};

/// True if the engine of the tests supports setting poses.
fn is_supported() -> bool {
    scene::settings().engine == EngineKind::Dynamics
}

fn paused(world: World) -> Rig {
    let clock = ClockSettings { mode: Mode::Fast, start_paused: true, ..ClockSettings::default() };
    Rig::with(world, settings(), clock)
}

/// The 13 numbers of a body after the newest step.
pub(crate) fn truth(control: SocketAddr, body: usize) -> Vec<f64> {
    let line = Client::connect(control).ask("TRUTH");
    let numbers = read_numbers(word(&line, "bodies").unwrap()).unwrap();
    numbers[body * TRUTH_OF_BODY..(body + 1) * TRUTH_OF_BODY].to_vec()
}

#[test]
fn a_client_puts_a_robot_elsewhere_and_the_log_tells() {
    if !is_supported() {
        return;
    }
    let rig = paused(robot([0; 3]));
    let mut control = Client::connect(rig.control);
    control.ask("STEP 10");
    let line = "PLACE robot position=1,2,3 orientation=0,0.6,0,0.8 linearVelocity=1,0,0 angularVelocity=0,0,2";
    assert_eq!(control.ask(line), "OK");
    assert_eq!(truth(rig.control, 0)[..3], [0.0; 3], "nothing moves before the next step");
    control.ask("STEP 1");
    // No force acts: it has moved for one step.
    let found = truth(rig.control, 0);
    let expected = [1.001, 2.0, 3.0, 0.0, 0.6, 0.0, 0.8];
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((found - expected).abs() < if index < 3 { 1e-4 } else { 2e-3 }, "{index}: {found}, not {expected}");
    }
    // The rotor is still a metre above it.
    let rotor = truth(rig.control, 1);
    assert!((DVec3::from_slice(&rotor) - DVec3::from_slice(&found)).distance(DVec3::Y) < 3e-3, "{rotor:?}");
    // A single body of it cannot be moved.
    assert_eq!(control.ask("PLACE robot/trunk position=0,0,0"), "OK");
    control.ask("STEP 1");
    let found = truth(rig.control, 0);
    assert!(
        (found[0] - 0.001).abs() < 1e-4 && (found[4] - 0.6).abs() < 4e-3 && (found[12] - 2.0).abs() < 1e-2,
        "{found:?}"
    );
    let (_, log) = rig.end();
    let told: Vec<_> =
        log.iter().flat_map(|record| &record.events).filter(|event| event.kind == EventKind::Place).collect();
    let told: Vec<_> = told.iter().map(|event| (event.step.0, event.subject.as_str(), event.text.as_str())).collect();
    assert_eq!(told, [(10, "robot/trunk", line), (11, "robot/trunk", "PLACE robot/trunk position=0,0,0")]);
    let commands: Vec<_> = log.iter().flat_map(|record| &record.commands).map(|c| c.command.text.as_str()).collect();
    assert_eq!(commands, [line, "PLACE robot/trunk position=0,0,0"]);
}

#[test]
fn what_cannot_be_placed_is_refused_with_the_reason() {
    let mut world = robot([0; 3]);
    world.mechanism.bodies[0].fixed = true;
    let rig = paused(world);
    let mut control = Client::connect(rig.control);
    let why = match is_supported() {
        true => "it is static, or joints tie it to something that is",
        false => "this engine moves bodies by forces alone; use physics.engine = \"dynamics\"",
    };
    for (said, heard) in [
        ("PLACE robot position=0,0,0", format!("ERR 7 'robot' cannot be placed: {why}")),
        ("PLACE robot/rotor position=0,0,0", format!("ERR 7 'robot/rotor' cannot be placed: {why}")),
        ("PLACE rotor position=0,0,0", "ERR 8 expected one of robot, got 'rotor'; did you mean 'robot'?".into()),
        ("PLACE robot position=0,0,nan", "ERR 3 number 3: expected a finite decimal, got 'nan'".into()),
        ("PLACE robot position=0,0,1e6", "ERR 4 position: expected -100000 to 100000, got 1000000".into()),
    ] {
        assert_eq!(control.ask(said), heard);
    }
    for said in ["PLACE", "PLACE robot", "PLACE position=1,2,3", "PLACE robot pose=1"] {
        assert!(control.ask(said).starts_with("ERR 8 expected "), "{said}");
    }
}

/// A robot in free fall with an accelerometer off its middle, and a gyroscope.
fn falling() -> World {
    let mut world = robot([0; 3]);
    world.mechanism.gravity = DVec3::new(0.0, -scene::G, 0.0);
    let mount = Pose { translation: DVec3::X * 0.3, rotation: DQuat::IDENTITY };
    world.devices[1].spec = Sensor::on(BodyId::new(0), mount, DeviceKind::Accelerometer).into();
    world.devices.truncate(2);
    world
}

#[test]
fn an_accelerometer_does_not_feel_it() {
    if !is_supported() {
        return;
    }
    let mut simulation = Simulation::new(Arc::new(falling()), Timestep::MILLISECOND, scene::settings()).unwrap();
    let mut record = StepRecord::new(simulation.layout());
    for round in 0..5 {
        for _ in 0..100 {
            simulation.step(&mut record);
            let reading = &record.values[simulation.layout().device(DeviceId::new(1))];
            assert!(DVec3::from_slice(reading).length() < 1e-9, "round {round}: {reading:?}");
        }
        let (position, linear_velocity) = (Some([10.0, 20.0, -30.0]), Some([5.0, f64::from(round), 0.0]));
        let orientation = Some([0.0, 0.0, 0.6, 0.8]);
        simulation.submit(Command {
            target: Target::Body(BodyId::new(0)),
            at: None,
            client: ClientId(1),
            sequence: 0,
            text: "PLACE".into(),
            action: Action::Place(BodyPlacement { position, orientation, linear_velocity, angular_velocity: None }),
            memory: Reservation::default(),
        });
    }
}

#[test]
fn a_run_in_which_a_robot_was_put_elsewhere_is_replayed_and_forked() {
    if !is_supported() {
        return;
    }
    let scratch = Scratch::new();
    let database = scratch.database("run.db");
    let mut server = Running::start(&scratch, &["--set", "log.snapshot_interval_s=0.1"]);
    for round in 1..=20 {
        let step = server.step();
        server.reach(step + 7);
        let (x, turn) = (0.1 * f64::from(round), 0.04 * f64::from(round));
        let (sine, cosine) = (libm::sin(turn), libm::cos(turn));
        let line =
            format!("PLACE WorkPartner position={x},0.6,-{x} orientation=0,{sine},0,{cosine} linearVelocity=0,-1,{x}");
        assert_eq!(server.ask(&line), "OK");
    }
    let end = server.step() + 50;
    server.reach(end);
    server.ask("QUIT");
    server.end();
    let log = scratch.path("run.db");
    assert_eq!(
        number(&log, "SELECT count(*) FROM command WHERE text LIKE 'PLACE %' AND port = 0 AND reply = 'OK'"),
        20
    );
    assert_eq!(
        number(&log, "SELECT count(*) FROM event WHERE kind = 'place' AND subject = 'WorkPartner/FrontChassis'"),
        20
    );
    let made = output(&["replay", "1", "--database", &database]);
    assert_eq!(made.status.code(), Some(0), "{}{}", text(&made.stdout), text(&made.stderr));
    // A fork in the middle reaches the same end, and its own log repeats it.
    let middle = (end / 2).to_string();
    let made = output(&["fork", "1", "--database", &database, "--at", &middle]);
    assert_eq!(made.status.code(), Some(0), "{}{}", text(&made.stdout), text(&made.stderr));
    let made = output(&["replay", "2", "--database", &database]);
    assert_eq!(made.status.code(), Some(0), "{}{}", text(&made.stdout), text(&made.stderr));
    let last =
        "SELECT count(DISTINCT state_hash) FROM simulationRow WHERE step = (SELECT max(step) FROM simulationRow)";
    assert_eq!(number(&log, last), 1);
    for (which, runs) in [(&[][..], 2), (&["last"], 1)] {
        let verified = output(&[&["db", "verify", "--database", &database][..], which].concat());
        assert_eq!(verified.status.code(), Some(0), "{}{}", text(&verified.stdout), text(&verified.stderr));
        assert_eq!(text(&verified.stdout).lines().count(), runs);
    }
}
