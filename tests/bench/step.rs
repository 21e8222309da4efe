//! Cost of a step: the physics alone, with the list of its contacts for the page, with devices and publisher, and with
//! full logging. `cargo bench --bench step`.
//!
//! The four are measured in turn, in several rounds of one run, so that their ratios are valid on a machine with
//! varying speed. The robot is WorkPartner 1, driving straight on the flat world.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use simpartner::{
    realtime::{self, Mode, Outputs, PhysicsThread, channel},
    recorder::{Database, Recorder, RunDescription, RunOutcome},
    sim::{Simulation, contact_of},
};
use simpartner_description::{World, xml};
use simpartner_dynamics::{MassProperties, Motor, Settings};
use simpartner_model::{DeviceId, JointId, StepIndex, Timestep};
use simpartner_wire::{
    protocol,
    signal::{ClientId, Command, Contacts, Reservation},
};

const STEPS: u64 = 5000;
const BLOCK: u64 = 50;
const ROUNDS: usize = 7;

fn main() {
    // `cargo test --benches` only checks that the bench runs.
    let rounds = if std::env::args().any(|argument| argument == "--bench") { ROUNDS } else { 1 };
    let world = Arc::new(xml::read_world(Path::new("worlds/flat.xml")).unwrap_or_else(|problems| panic!("{problems}")));
    let folder = tempfile::tempdir().expect("a folder for the log");
    let names = ["physics alone", "listing its contacts", "with devices and publisher", "with full logging"];
    let mut rows = names.map(|name| (name, Vec::new()));
    for round in 0..rounds {
        let (physics, contacts) = physics_alone(&world);
        rows[0].1.push(physics);
        rows[1].1.push(contacts);
        rows[2].1.push(whole_step(&world, None));
        rows[3].1.push(whole_step(&world, Some(&folder.path().join(format!("{round}.db")))));
    }
    println!("WorkPartner 1, flat world, {STEPS} steps of 1 ms, {rounds} rounds in turn: microseconds a step");
    println!("{:<28} {:>8} {:>8} {:>8}   ratio of medians", "", "least", "median", "most");
    let base = median(&rows[0].1);
    for (name, times) in &rows {
        let (least, most) = times.iter().fold((f64::MAX, 0.0f64), |(l, m), &t| (l.min(t), m.max(t)));
        println!("{name:<28} {least:>8.2} {:>8.2} {most:>8.2}   {:.4}", median(times), median(times) / base);
    }
}

fn median(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// Velocity motors of the wheels, as the joint controllers set them: cost of a step, and of the list of its contacts.
fn physics_alone(world: &World) -> (f64, f64) {
    let mut engine = simpartner_dynamics::build(&world.mechanism, Timestep::MILLISECOND, &Settings::default())
        .expect("it can be built");
    for (joint, definition) in world.mechanism.joints() {
        let motor = if definition.name.starts_with("Axle") {
            Motor::Velocity { target: 1.0, max_effort: 100.0 }
        } else {
            Motor::Position { target: 0.0, max_effort: 1000.0 }
        };
        drive(&mut *engine, joint, motor);
    }
    let (mut steps, mut lists) = (Duration::ZERO, Duration::ZERO);
    let mut contacts = Contacts::new();
    // Alternately, so that conditions are equal, and in blocks, so that reading the clock is negligible.
    for _ in 0..STEPS / BLOCK {
        let start = Instant::now();
        (0..BLOCK).for_each(|_| engine.step());
        let between = Instant::now();
        for _ in 0..BLOCK {
            let moves = |body| !world.mechanism.body(body).fixed;
            contacts.refill(engine.contacts().iter().filter_map(|contact| contact_of(contact, moves)));
            std::hint::black_box(&contacts);
        }
        lists += between.elapsed();
        steps += between - start;
    }
    let micros = |time: Duration| time.as_secs_f64() * 1e6 / STEPS as f64;
    (micros(steps), micros(lists))
}

fn drive(engine: &mut dyn simpartner_dynamics::Engine, joint: JointId, motor: Motor) {
    (0..3).for_each(|axis| engine.set_motor(joint, axis, motor));
}

/// The physics thread in the mode fast, with or without a log; the time includes waiting for the log.
fn whole_step(world: &Arc<World>, database: Option<&Path>) -> f64 {
    let mut simulation =
        Simulation::new(Arc::clone(world), Timestep::MILLISECOND, Settings::default()).expect("it can be built");
    command_wheels(&mut simulation);
    let recorder = database.map(|path| start_log(&simulation, world, path));
    let (_handle, inbox) = channel(Arc::clone(simulation.layout()), simulation.timestep(), simulation.observe());
    let settings = realtime::ClockSettings {
        mode: Mode::Fast,
        end: Some(StepIndex(STEPS)),
        unattended: true,
        ..realtime::ClockSettings::default()
    };
    let (mut thread, _) = PhysicsThread::prepare(simulation, inbox, settings).expect("a thread can be had");
    let start = Instant::now();
    let log = recorder.as_ref().map(Recorder::sender);
    thread.start(Outputs { log, log_flags: Arc::default() }).expect("a thread can be had");
    let report = thread.join().expect("it does not panic").expect("it was started");
    if let Some(recorder) = recorder {
        recorder.finish(RunOutcome::default()).expect("the log can be written");
    }
    assert_eq!(report.steps, STEPS);
    start.elapsed().as_secs_f64() * 1e6 / STEPS as f64
}

fn command_wheels(simulation: &mut Simulation) {
    let layout = Arc::clone(simulation.layout());
    let wheels = layout.devices().iter().enumerate().filter(|(_, info)| info.name.starts_with("WheelMotor"));
    for (index, info) in wheels {
        let text = "1000,1000,100,0,0,1".to_owned();
        let action = protocol::command(info, &text).expect("a wheel motor takes six numbers");
        let device = DeviceId::new(index);
        simulation.submit(Command {
            target: device.into(),
            at: None,
            client: ClientId(0),
            sequence: 0,
            text,
            action,
            memory: Reservation::default(),
        });
    }
}

fn start_log(simulation: &Simulation, world: &Arc<World>, path: &Path) -> Recorder {
    let settings = simpartner::recorder::Settings::new(Database::Sqlite(path.to_owned()));
    let mass = |body| simpartner_dynamics::mass_properties(body).unwrap_or(MassProperties::ZERO);
    let description = RunDescription {
        world: Arc::clone(world),
        layout: Arc::clone(simulation.layout()),
        masses: world.mechanism.bodies.iter().map(mass).collect(),
        timestep: simulation.timestep(),
        properties: String::new(),
        engine: simulation.engine_identity(),
        target: String::new(),
        mode: Mode::Fast,
        realtime_grants: String::new(),
        origin: None,
    };
    Recorder::start(settings, description).expect("the log can be opened")
}
