//! Embedded simulations: the same bits as a simulation that is stepped by itself, in one world and in many.

use std::{path::Path, sync::Arc};

use simpartner_description::{Parameter, Parameters, World};
use simpartner_embed::{Batch, Channels, EmbedError, EmbeddedSimulation, Options, read_world, read_world_text};
use simpartner_model::DeviceId;
use simpartner_simulation::sim::Simulation;
use simpartner_wire::{
    protocol::{self, Spawn, SpawnSource},
    signal::{ClientId, Command, Reservation, StepRecord},
};

/// A cart with a motor on each of two axles, and sensors with noise; a camera above it.
const CART: &str = r#"<world name="carts">
  <surface a="0" b="1" c="0" d="0" friction="0.8"/>
  <gravity y="-9.81"/>
  <robot name="Cart">
    <body name="Trunk"><mass>5</mass><pose y="0.3"/><box x="1" y="0.2" z="0.5"/></body>
    <body name="Left"><mass>1</mass><pose x="0.4" y="0.2"/><sphere radius="0.2"/></body>
    <body name="Right"><mass>1</mass><pose x="-0.4" y="0.2"/><sphere radius="0.2"/></body>
    <joint type="hinge" name="LeftAxle"><parent>Trunk</parent><child>Left</child><axis x="0" y="0" z="1"/></joint>
    <joint type="hinge" name="RightAxle"><parent>Trunk</parent><child>Right</child><axis x="0" y="0" z="1"/></joint>
    <sensor type="PositionSensor" name="Place" body="Trunk" port="0"><noise standardDeviation="0.01"/></sensor>
    <sensor type="PositionSensor" name="Exact" body="Trunk" port="0"/>
    <sensor type="EchoSensor" name="Echo" body="Trunk" port="0"/>
    <sensor type="Camera" name="Eye" body="Trunk" port="0" rate="100" width="16" height="12">
      <pose x="0.6" pitch="1.5707963"/>
    </sensor>
    <actuator type="JointController" name="LeftMotor" joint="LeftAxle" port="0"/>
    <actuator type="JointController" name="RightMotor" joint="RightAxle" port="0"/>
  </robot>
</world>"#;

fn cart() -> Arc<World> {
    read_world_text("cart.xml", CART, &Parameters::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn embedded() -> EmbeddedSimulation {
    EmbeddedSimulation::new(cart(), Options::default()).expect("the engine knows all of it")
}

/// Commands of both motors, largest torques and velocities about the three axes.
fn motors(left: f64, right: f64) -> Vec<f64> {
    [[9.0, 9.0, 9.0, 0.0, 0.0, left], [9.0, 9.0, 9.0, 0.0, 0.0, right]].concat()
}

fn named(simulation: &EmbeddedSimulation, name: &str) -> DeviceId {
    protocol::device_named(simulation.layout(), name, &[]).expect("it is there")
}

fn readings(simulation: &EmbeddedSimulation) -> Vec<f64> {
    let mut values = vec![0.0; simulation.sensors().width()];
    simulation.read(&mut values).expect("the array has that length");
    values
}

#[test]
fn commands_from_an_array_act_as_those_of_a_client() {
    let mut embedded = embedded();
    let mut plain = Simulation::new(cart(), embedded.timestep(), Options::default().physics).expect("the same world");
    let mut record = StepRecord::new(plain.layout());
    for step in 0..200 {
        if step % 20 == 0 {
            let speed = f64::from(step) / 50.0;
            embedded.command(&motors(speed, -0.5)).expect("in range");
            for (name, text) in [("LeftMotor", format!("9,9,9,0,0,{speed}")), ("RightMotor", "9,9,9,0,0,-0.5".into())] {
                let id = named(&embedded, name);
                let action = protocol::command(embedded.layout().device_info(id), &text).expect("in range");
                let (client, memory) = (ClientId::default(), Reservation::default());
                plain.submit(Command { target: id.into(), at: None, client, sequence: 1, text, action, memory });
            }
        }
        embedded.step().expect("it has not diverged");
        plain.step(&mut record);
    }
    assert_eq!(embedded.state_hash(), plain.state_hash());
    assert_eq!(embedded.record().values, record.values);
    let exact = embedded.record().device(embedded.layout(), named(&embedded, "Exact")).to_vec();
    assert_eq!(readings(&embedded)[3..6], exact[..]);
    assert!(exact[0].abs() > 1e-3, "the cart has moved: {exact:?}");
}

#[test]
fn nan_keeps_a_field_and_a_number_out_of_range_commands_no_actuator() {
    let mut embedded = embedded();
    embedded.command(&motors(1.0, 2.0)).expect("in range");
    let mut partly = vec![f64::NAN; 12];
    partly[5] = 3.0;
    embedded.command(&partly).expect("in range");
    let mut present = vec![0.0; 12];
    embedded.present_commands(&mut present).expect("the array has that length");
    assert_eq!(present, motors(3.0, 2.0));
    let mut wrong = motors(-1.0, 0.0);
    wrong[6] = -5.0;
    let error = embedded.command(&wrong).expect_err("a torque cannot be negative");
    assert!(error.to_string().contains("RightMotor: max_force_1: expected 0 to"), "{error}");
    embedded.step().expect("it has not diverged");
    embedded.present_commands(&mut present).expect("the array has that length");
    assert_eq!(present, motors(3.0, 2.0));
    let error = embedded.command(&[0.0]).expect_err("it is too short");
    assert_eq!(error.to_string(), "expected 12 numbers for the commands, got 1");
}

#[test]
fn a_reset_is_a_fresh_start_with_its_seed() {
    let run = |simulation: &mut EmbeddedSimulation| {
        simulation.command(&motors(2.0, 2.0)).expect("in range");
        simulation.advance(50).expect("it has not diverged");
        (simulation.state_hash(), readings(simulation))
    };
    let seeded = |seed| EmbeddedSimulation::new(cart(), Options { seed, ..Options::default() }).expect("built before");
    let (mut first, mut second) = (seeded(0), seeded(7));
    let (zero, seven) = (run(&mut first), run(&mut second));
    assert_ne!(zero.1[..3], seven.1[..3], "noise depends on the seed");
    assert_eq!(zero.1[3..6], seven.1[3..6], "motion does not");
    first.reset(Some(7)).expect("built before");
    assert_eq!(first.seed(), 7);
    assert_eq!(run(&mut first), seven);
    second.reset(None).expect("built before");
    assert_eq!(run(&mut second), seven);
    second.reset(Some(0)).expect("built before");
    assert_eq!(run(&mut second), zero);
}

#[test]
fn a_snapshot_continues_bit_for_bit_and_a_damaged_one_changes_nothing() {
    let mut simulation = embedded();
    simulation.command(&motors(2.0, 1.0)).expect("in range");
    simulation.advance(30).expect("it has not diverged");
    let (snapshot, there) = (simulation.snapshot(), readings(&simulation));
    simulation.advance(40).expect("it has not diverged");
    let later = simulation.state_hash();
    simulation.command(&motors(0.0, 0.0)).expect("in range");
    simulation.restore(&snapshot).expect("it is of this model");
    assert_eq!((simulation.step_index().0, readings(&simulation)), (30, there));
    simulation.advance(40).expect("it has not diverged");
    assert_eq!(simulation.state_hash(), later, "the command after the snapshot is forgotten");
    let mut damaged = snapshot;
    damaged[40] ^= 1;
    assert!(simulation.restore(&damaged).is_err());
    assert_eq!(simulation.state_hash(), later);
}

#[test]
fn requests_are_answered_in_a_servers_words() {
    let mut simulation = embedded();
    let motor = named(&simulation, "LeftMotor");
    assert_eq!(
        simulation.ask_device(motor, "<9,9,9,0,0,2>"),
        "<0,0,0,0,0,0>\n".replace("<0,0,0", &before(&simulation))
    );
    assert_eq!(simulation.ask_device(motor, "<>"), "<9,9,9,0,0,2>\n");
    assert_eq!(simulation.ask("STEP 5").split(' ').nth(2), Some("step=5"));
    assert!(simulation.ask("STATE").starts_with("OK state=PAUSED step=5 time=0.005 timestep=0.001 "));
    let short = simulation.ask_device(motor, "<1,2>");
    assert!(short.starts_with("ERR 2 expected ") && short.ends_with("numbers, got 2\n"), "{short}");
    assert!(simulation.ask_device(motor, "SUB 1").starts_with("ERR 7 "));
    assert!(simulation.ask("PLAY").starts_with("ERR 7 "));
    assert!(simulation.ask("STEPS").starts_with("ERR 1 "));
    assert_eq!(simulation.ask("FAULT Cart/Exact off"), "OK\n");
    simulation.step().expect("it has not diverged");
    let exact = named(&simulation, "Exact");
    assert!(simulation.ask_device(exact, "GET").starts_with("ERR 10 "));
    let echo = named(&simulation, "Echo");
    assert_eq!(simulation.ask_device(echo, "sub rosa"), "<sub rosa>\n");
    let robots = simulation.layout().robots().len();
    assert_eq!(robots, 1);
    assert!(simulation.ask_robot(simpartner_model::RobotId::new(0), "INFO").contains("readings=Place.x[m]"));
    assert_eq!(simulation.ask("SYNC here"), "DONE 6 here\n");
    assert_eq!(simulation.ask("RUNTO 0.01").split(' ').nth(2), Some("step=10"));
}

/// The first half of a motor's state before its first command.
fn before(simulation: &EmbeddedSimulation) -> String {
    let state = simulation.record().device(simulation.layout(), named(simulation, "LeftMotor"));
    let mut text = protocol::frame(&state[..3]);
    text.pop();
    text
}

#[test]
fn a_camera_has_the_image_of_the_step_that_it_shows() {
    let mut simulation = embedded();
    let eye = named(&simulation, "Eye");
    simulation.advance(25).expect("it has not diverged");
    let (step, images) = simulation.images(eye, 1).expect("an image has arrived");
    assert_eq!((step.0, images.len(), images[0].size()), (20, 1, [16, 12]));
    let (_, again) = simulation.images(eye, 2).expect("an image has arrived");
    assert_eq!(images, again);
    let error = simulation.images(named(&simulation, "Exact"), 1).expect_err("it is no camera");
    assert!(error.to_string().contains("which has no images"), "{error}");
}

#[test]
fn robots_come_and_go_and_the_others_continue() {
    let mut simulation = embedded();
    simulation.command(&motors(2.0, 2.0)).expect("in range");
    simulation.advance(20).expect("it has not diverged");
    let alone = readings(&simulation);
    let text = r#"<robot name="Ball"><body name="b"><mass>1</mass><sphere radius="0.1"/></body>
        <sensor type="PositionSensor" name="Height" body="b" port="0"/></robot>"#;
    let mut spawn = Spawn { source: SpawnSource::Text(text.into()), ..Spawn::default() };
    spawn.placement.position = Some([0.0, 5.0, 3.0]);
    assert_eq!(simulation.spawn(&spawn).expect("it is a robot"), "Ball");
    assert_eq!(readings(&simulation)[..alone.len()], alone[..]);
    assert_eq!(readings(&simulation)[alone.len()..], [0.0, 5.0, 3.0]);
    let twice = simulation.spawn(&spawn).expect_err("the name is taken");
    assert!(matches!(twice, EmbedError::Files(_)), "{twice}");
    simulation.advance(100).expect("it has not diverged");
    simulation.remove("Ball").expect("it is there");
    assert_eq!(simulation.sensors().width(), alone.len());
    let mut undisturbed = embedded();
    undisturbed.command(&motors(2.0, 2.0)).expect("in range");
    undisturbed.advance(120).expect("it has not diverged");
    assert_eq!(readings(&simulation)[3..6], readings(&undisturbed)[3..6]);
}

#[test]
fn a_batch_has_the_bits_of_its_worlds_alone_on_any_number_of_threads() {
    let model = embedded();
    let run = |threads| {
        let mut batch = Batch::new(&model, 5, threads).expect("built before");
        batch.select(&["Exact".into()], &["LeftMotor".into()]).expect("they are there");
        batch.reset(&[(1, Some(3)), (4, Some(9))]).expect("built before");
        let (mut readings, mut active) = (vec![0.0; 15], [true; 5]);
        for turn in 0..6_u8 {
            active[2] = turn < 3;
            let speeds = (0..5_u8).map(|index| f64::from(turn) * 0.3 - f64::from(index));
            let rows: Vec<f64> = speeds.flat_map(|speed| [9.0, 9.0, 9.0, 0.0, 0.0, speed]).collect();
            batch.advance(10, Some(&rows), &active).expect("in range");
        }
        batch.read(&mut readings).expect("the length fits");
        let hashes: Vec<String> = batch.simulations().iter().map(EmbeddedSimulation::state_hash).collect();
        (readings, hashes)
    };
    let (readings, hashes) = run(1);
    assert_eq!(run(3), (readings.clone(), hashes.clone()));
    for index in [2_usize, 4] {
        let mut alone = embedded();
        let select = Channels::actuators_named(alone.layout(), ["LeftMotor"]).expect("it is there");
        alone.select(Channels::all_sensors(alone.layout()), select);
        alone.reset((index == 4).then_some(9)).expect("built before");
        for turn in 0..if index == 2 { 3_u8 } else { 6 } {
            let speed = f64::from(turn) * 0.3 - index as f64;
            alone.command(&[9.0, 9.0, 9.0, 0.0, 0.0, speed]).expect("in range");
            alone.advance(10).expect("it has not diverged");
        }
        assert_eq!(alone.state_hash(), hashes[index]);
    }
    assert!(readings[0] != readings[3], "worlds with other commands move otherwise");
}

/// Shapes and terrain are shared; what moves is not.
#[test]
fn siblings_on_shared_terrain_have_the_bits_of_a_fresh_start() {
    let world = read_world(Path::new("worlds/terrain.xml"), false, &Parameters::default()).expect("it is built in");
    let new = || EmbeddedSimulation::new(Arc::clone(&world), Options::default()).expect("the engine knows all of it");
    let run = |simulation: &mut EmbeddedSimulation| {
        let mut commands = vec![0.0; simulation.actuators().width()];
        simulation.present_commands(&mut commands).expect("the array has that length");
        simulation.command(&commands).expect("they are in range");
        simulation.advance(100).expect("it has not diverged");
        simulation.state_hash()
    };
    let mut first = new();
    let fresh = run(&mut first);
    let mut sibling = first.sibling().expect("built before");
    assert_eq!(sibling.step_index().0, 0);
    assert_eq!(run(&mut sibling), fresh);
    first.advance(50).expect("it has not diverged");
    first.reset(None).expect("built before");
    assert_eq!(run(&mut first), fresh);
    assert_eq!(run(&mut new()), fresh);
}

#[test]
fn errors_of_a_batch_name_the_world() {
    let mut batch = Batch::new(&embedded(), 3, 2).expect("built before");
    let mut rows = vec![0.0; 36];
    rows[24] = -1.0;
    let error = batch.advance(1, Some(&rows), &[true; 3]).expect_err("a torque cannot be negative");
    assert!(error.to_string().starts_with("world 2: ERR 4 LeftMotor: "), "{error}");
    assert!(batch.advance(1, Some(&rows), &[true, true, false]).is_ok(), "a world that rests gets no command");
    let error = batch.advance(1, None, &[true; 2]).expect_err("one is missing");
    assert_eq!(error.to_string(), "expected 3 numbers for the active worlds, got 2");
    let error = batch.select(&[], &["Exact".into()]).expect_err("it is a sensor");
    assert!(error.to_string().contains("'Cart/Exact' is a PositionSensor, which takes no commands"), "{error}");
}

#[test]
fn files_are_read_as_a_server_reads_them() {
    let error = read_world(Path::new("no such file.xml"), false, &Parameters::default()).expect_err("there is none");
    assert!(error.to_string().starts_with("no such file.xml:1:1: "), "{error}");
    let error = read_world_text("w.xml", "<world name='w'>\n  <wall/>\n</world>", &Parameters::default())
        .expect_err("there is no such element");
    assert!(error.to_string().starts_with("w.xml:2:3: "), "{error}");
    let robot = r#"<robot name="r"><body name="b"><mass>1</mass><sphere radius="1"/></body></robot>"#;
    let error = read_world_text("r.xml", robot, &Parameters::default()).expect_err("it is no world");
    assert!(error.to_string().contains("expected a <world>"), "{error}");
    assert!(read_world(Path::new("worlds/flat.xml"), false, &Parameters::default()).is_ok(), "it is built in");
}

/// A value that is replaced at the start, in a request, and for an episode: the same world, and the rest continues.
#[test]
fn values_of_the_model_are_replaced() {
    let parameter = |text: &str| Parameter::parse(text).expect("it is written right");
    let given: Parameters = [parameter("surface.friction=0.1")].into_iter().collect();
    let slippery = read_world_text("cart.xml", CART, &given).unwrap_or_else(|error| panic!("{error}"));
    let friction = |simulation: &EmbeddedSimulation| simulation.world().mechanism.grounds[0].material().friction;
    let mut from_start = EmbeddedSimulation::new(slippery, Options::default()).expect("the engine takes it");
    let world = read_world_text("cart.xml", CART, &Parameters::default()).unwrap_or_else(|error| panic!("{error}"));
    let mut changed = EmbeddedSimulation::new(world, Options::default()).expect("the engine takes it");
    assert_eq!(changed.ask("PARAM surface.friction 0.1"), "OK\n");
    assert_eq!(changed.ask("PARAM"), "PARAM surface.friction=0.1\nOK 1\n");
    assert_eq!((friction(&from_start), friction(&changed)), (0.1, 0.1));
    for simulation in [&mut from_start, &mut changed] {
        simulation.advance(50).expect("it makes steps");
    }
    assert_eq!(from_start.state_hash(), changed.state_hash());
    let refused = changed.ask("PARAM surface.frict 1");
    assert!(refused.starts_with("ERR 8 ") && refused.contains("did you mean 'friction'?"), "{refused}");
    let mut batch = Batch::new(&changed, 3, 2).expect("there are threads");
    batch.reset_with(&[(1, Some(5), vec![parameter("Cart.*.mass=*2")])]).expect("it is a value");
    let masses: Vec<f64> = batch.simulations().iter().map(|one| one.world().mechanism.bodies[0].mass).collect();
    assert_eq!(masses, [5.0, 10.0, 5.0]);
    let error = batch.reset_with(&[(2, None, vec![parameter("Crt.Trunk.mass=1")])]).expect_err("there is no Crt");
    assert!(error.to_string().contains("world 2: ") && error.to_string().contains("'Cart'"), "{error}");
}
