//! Cost of the log: the writers compared with the databases' own tools, the mode fast with and without a log, real time
//! with each database, and real time with a lidar of 64 by 1024 rays. `cargo bench --bench log --
//! [writers|fast|realtime|lidar|chain]`; servers as in the tests, by `SIMPARTNER_TEST_POSTGRES` and
//! `SIMPARTNER_TEST_MYSQL`. On a machine with other load, only the ratios are meaningful. Reading of a large log is
//! measured on request only: `export`, `cookbook`.

mod cookbook;
mod export;
mod lidar;
mod own;
mod sample;

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use simpartner::{
    realtime::{self, ClockReport, Mode, Outputs, PhysicsThread},
    recorder::{Database, LogSummary, Reader, Recorder, RunDescription, RunOutcome, Settings},
    sim::Simulation,
};
use simpartner_description::xml;
use simpartner_dynamics::MassProperties;
use simpartner_model::{StepIndex, Timestep};
use simpartner_wire::signal::{StateChain, StepRecord};

/// The robot with the most bodies and joints, and its load.
const WORLD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/worlds/pole.xml");

fn simulation() -> Simulation {
    simulation_of(Path::new(WORLD))
}

fn simulation_of(world: &Path) -> Simulation {
    let world = Arc::new(xml::read_world(world).expect("the world is right"));
    Simulation::new(world, Timestep::MILLISECOND, simpartner_dynamics::Settings::default()).expect("it can be built")
}

fn description(simulation: &Simulation, mode: Mode) -> RunDescription {
    let world = simulation.world();
    let mass = |body| simpartner_dynamics::mass_properties(body).unwrap_or(MassProperties::ZERO);
    RunDescription {
        world: Arc::clone(world),
        layout: Arc::clone(simulation.layout()),
        masses: world.mechanism.bodies.iter().map(mass).collect(),
        timestep: simulation.timestep(),
        properties: String::new(),
        engine: simulation.engine_identity(),
        target: String::new(),
        mode,
        realtime_grants: String::new(),
        origin: None,
    }
}

/// A complete run, timed to the last committed row.
fn run(mode: Mode, steps: u64, database: Option<&Database>) -> (ClockReport, Option<LogSummary>, f64) {
    run_of(simulation(), mode, steps, database)
}

fn run_of(
    simulation: Simulation,
    mode: Mode,
    steps: u64,
    database: Option<&Database>,
) -> (ClockReport, Option<LogSummary>, f64) {
    let recorder = database.map(|database| {
        let settings = Settings { spill_folder: std::env::temp_dir(), ..Settings::new(database.clone()) };
        Recorder::start(settings, description(&simulation, mode)).expect("the log can be opened")
    });
    let (_handle, inbox) =
        realtime::channel(Arc::clone(simulation.layout()), simulation.timestep(), simulation.observe());
    let settings = realtime::ClockSettings {
        mode,
        end: Some(StepIndex(steps)),
        unattended: true,
        scheduling: realtime::Scheduling { priority: 80, fast_niceness: 0, lock_memory: true },
        ..realtime::ClockSettings::default()
    };
    let (mut thread, _) = PhysicsThread::prepare(simulation, inbox, settings).expect("a thread can be had");
    let start = Instant::now();
    let log = recorder.as_ref().map(Recorder::sender);
    thread.start(Outputs { log, log_flags: Arc::default() }).expect("a thread can be had");
    let report = thread.join().expect("it does not panic").expect("it was started");
    let outcome = RunOutcome { status: report.outcome.name().into(), steps: report.step.0, ..RunOutcome::default() };
    let log = recorder.map(|recorder| recorder.finish(outcome).expect("the log can be written"));
    (report, log, start.elapsed().as_secs_f64())
}

/// Steps of the robot at rest and driving, made once and logged repeatedly.
fn records(count: u64) -> Vec<Arc<StepRecord>> {
    let mut simulation = simulation();
    let made = (0..count.min(2000)).map(|_| {
        let mut record = StepRecord::new(simulation.layout());
        simulation.step(&mut record);
        record
    });
    let made: Vec<_> = made.collect();
    let again = made.iter().cycle().take(count as usize).zip(1..);
    again.map(|(record, step)| Arc::new(StepRecord { step: StepIndex(step), ..record.clone() })).collect()
}

fn writers(places: &[own::Place]) {
    println!("\nwriters at full speed, rows of a step of {} bodies and {} joints", bodies().0, bodies().1);
    println!("{:<10} {:>9} {:>12} {:>12} {:>7}", "", "rows", "rows/s", "own way", "ratio");
    let records = records(10_000);
    for place in places {
        let simulation = simulation();
        let settings = Settings { spill_folder: std::env::temp_dir(), ..Settings::new(place.database.clone()) };
        let recorder = Recorder::start(settings, description(&simulation, Mode::Fast)).expect("the log can be opened");
        let sender = recorder.sender();
        let start = Instant::now();
        records.iter().for_each(|record| sender.send(Arc::clone(record)).expect("the log takes it"));
        drop(sender);
        let outcome = RunOutcome { steps: records.len() as u64, ..RunOutcome::default() };
        let log = recorder.finish(outcome).expect("the log can be written");
        let (ours, rows) = (start.elapsed().as_secs_f64(), log.simulations[0].rows);
        match place.own_way() {
            Ok(own) => {
                let per_second = |seconds: f64| rows as f64 / seconds;
                let (mine, theirs) = (per_second(ours), per_second(own));
                println!("{:<10} {rows:>9} {mine:>12.0} {theirs:>12.0} {:>7.2}", place.name, mine / theirs);
            }
            Err(why) => println!("{:<10} {rows:>9} {:>12.0} {why}", place.name, rows as f64 / ours),
        }
    }
}

fn bodies() -> (usize, usize) {
    let simulation = simulation();
    (simulation.layout().bodies(), simulation.layout().joints())
}

fn fast(places: &[own::Place]) {
    const STEPS: u64 = 20_000;
    println!("\nfast mode, {STEPS} steps");
    let (_, _, bare) = run(Mode::Fast, STEPS, None);
    println!("{:<10} {:>8.1} us a step", "no log", bare * 1e6 / STEPS as f64);
    for place in places {
        let (_, _, logged) = run(Mode::Fast, STEPS, Some(&place.database));
        println!("{:<10} {:>8.1} us a step, ratio {:.2}", place.name, logged * 1e6 / STEPS as f64, logged / bare);
    }
}

fn steps_in_real_time() -> u64 {
    std::env::var("STEPS").ok().and_then(|steps| steps.parse().ok()).unwrap_or(60_000)
}

fn real_time(places: &[own::Place]) {
    let steps = steps_in_real_time();
    println!("\nreal time, {steps} steps at 1 kHz: lateness in microseconds");
    println!(
        "{:<10} {:>9} {:>9} {:>6} {:>8} {:>8} {:>8} {:>6}",
        "", "expected", "found", "queue", "p50", "p99", "max", "slips"
    );
    let tell = |name: &str, report: &ClockReport, log: Option<(u64, u64, u64)>| {
        let late = report.lateness.unwrap_or_default();
        let (expected, found, queue) = log.unwrap_or_default();
        let (p50, p99, max) = (late.p50_us, late.p99_us, late.max_us);
        println!("{name:<10} {expected:>9} {found:>9} {queue:>6} {p50:>8.1} {p99:>8.1} {max:>8.1} {:>6}", report.slips);
    };
    tell("no log", &run(Mode::RealTime, steps, None).0, None);
    for place in places {
        let (report, log, _) = run(Mode::RealTime, steps, Some(&place.database));
        let log = log.expect("there is a log");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("there is memory");
        let id = log.simulations[0].simulation_id;
        let found = runtime.block_on(Reader::new(&place.database).verify(Some(id))).expect("it can be read").remove(0);
        tell(place.name, &report, Some((log.simulations[0].rows, found.rows, log.batches.longest as u64)));
        found.findings.iter().for_each(|finding| println!("           {finding}"));
    }
}

/// The chain compared with the step whose record it hashes.
fn chain() {
    let records = records(2000);
    let mut simulation = simulation();
    let mut record = StepRecord::new(simulation.layout());
    let time = |mut work: Box<dyn FnMut() + '_>| {
        let start = Instant::now();
        (0..2000).for_each(|_| work());
        start.elapsed() / 2000
    };
    let step = time(Box::new(|| simulation.step(&mut record)));
    let (mut chain, mut next) = (StateChain::default(), records.iter());
    let hash = time(Box::new(|| {
        let _ = chain.advance(next.next().expect("there are as many"));
    }));
    let micros = |time: Duration| time.as_nanos() as f64 * 1e-3;
    println!("\nstep {:.1} us, its hash {:.2} us ({} numbers)", micros(step), micros(hash), record.values.len());
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let wants = |name: &str| wanted.is_empty() || wanted.iter().any(|other| other == name);
    let places = own::places();
    if wants("chain") {
        chain();
    }
    if wants("writers") {
        writers(&places);
    }
    if wants("fast") {
        fast(&places);
    }
    if wants("realtime") {
        real_time(&places);
    }
    if wants("lidar") {
        lidar::lateness(&places);
    }
    if wanted.iter().any(|name| name == "export") {
        export::exports();
    }
    if wanted.iter().any(|name| name == "cookbook") {
        cookbook::times(&places);
    }
}
