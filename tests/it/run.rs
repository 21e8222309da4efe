//! Runs, replays and forks as functions: reports and errors are values, and nothing is printed.

use std::{path::Path, process::Command};

use simpartner::{
    config::{Config, Override},
    realtime::Outcome,
    recorder::{Database, Inquiry, RecordedRun},
    replay::{ForkCommands, ForkOptions, Replay, ReplayError, fork},
    run::{self, Job, Observer, RunError, RunReport, Started, StopSignals},
};
use simpartner_description::xml;
use simpartner_model::StepIndex;
use simpartner_wire::signal::StepRecord;
use tokio::sync::oneshot;

use super::{
    cli::{SHORT, Scratch, text},
    replay::execute,
};

/// A computation of 200 steps without a log.
const COMPUTATION: &str = "[simulation]\nmode = 'fast'\nduration_s = 0.2\n[log]\nenabled = false\n";

/// The properties of a fast run with a snapshot every tenth of a second, and a seed.
fn logged(scratch: &Scratch) -> Config {
    let database = scratch.database("run.db");
    let text = format!(
        "[simulation]\nmode = 'fast'\nseed = 5\n[log]\ndatabase = '{database}'\nsnapshot_interval_s = 0.1\n\
         spill_folder = '{}'\n",
        scratch.path("").display()
    );
    Config::from_text(&text).unwrap()
}

/// 500 steps with the commands of a sequence.
fn drive(scratch: &Scratch) -> RunReport {
    let sequence = scratch.write("short.xml", SHORT);
    run::run(Job::read(logged(scratch), Some(Path::new(&sequence))).unwrap(), &mut ()).unwrap()
}

fn open(scratch: &Scratch, number: i64) -> Replay {
    let (inquiry, run) = find(scratch, number);
    Replay::open(inquiry, run).unwrap()
}

fn find(scratch: &Scratch, number: i64) -> (Inquiry, RecordedRun) {
    let mut inquiry = Inquiry::open(&Database::parse(&scratch.database("run.db")).unwrap()).unwrap();
    let run = inquiry.runs().unwrap().into_iter().find(|run| run.simulation_id == number).unwrap();
    (inquiry, run)
}

/// The options of a fork without changes.
fn unchanged(at: u64) -> ForkOptions<'static> {
    ForkOptions { at: StepIndex(at), overrides: &[], commands: ForkCommands::OfTheRun, duration_s: None }
}

#[test]
fn a_run_from_a_text_of_properties_has_the_state_of_a_simulation_without_a_clock() {
    let job = || Job::read(Config::from_text(COMPUTATION).unwrap(), None).unwrap();
    let RunReport { clock, log } = run::run(job(), &mut ()).unwrap();
    assert_eq!((&clock.outcome, clock.step, clock.steps), (&Outcome::Completed, StepIndex(200), 200));
    assert!(log.is_none());
    let mut simulation = job().simulation;
    let mut record = StepRecord::new(simulation.layout());
    (0..200).for_each(|_| simulation.step(&mut record));
    assert_eq!(clock.state_hash, simulation.state_hash());
}

#[test]
fn a_replay_reports_the_hashes_of_its_run_and_a_fork_with_nothing_changed_ends_in_the_same_state() {
    let scratch = Scratch::new();
    let RunReport { clock, log } = drive(&scratch);
    let log = log.unwrap().unwrap();
    assert_eq!((log.simulations[0].simulation_id, log.simulations[0].steps_logged), (1, 500));

    let mut replay = open(&scratch, 1);
    assert_eq!(replay.environment_changes(), Vec::<String>::new());
    let report = replay.run(None, &mut ()).unwrap();
    assert!(report.mismatch.is_none(), "{:?}", report.mismatch);
    assert_eq!((report.run, report.steps, report.compared), (1, 500, 500));
    assert_eq!(report.state_hash, clock.state_hash);
    assert_eq!(open(&scratch, 1).run(Some(StepIndex(123)), &mut ()).unwrap().steps, 123);

    let job = fork(open(&scratch, 1), &unchanged(222), &mut ()).unwrap();
    assert_eq!((job.end, job.origin.as_ref().unwrap().step), (Some(StepIndex(500)), StepIndex(222)));
    let forked = run::run(job, &mut ()).unwrap();
    assert_eq!((forked.clock.steps, &forked.clock.state_hash), (278, &clock.state_hash));

    // The wheel turns when the fork begins; without commands from there on it ends elsewhere.
    let changed = ForkOptions { commands: ForkCommands::None, duration_s: Some(0.1), ..unchanged(222) };
    let job = fork(open(&scratch, 1), &changed, &mut ()).unwrap();
    assert_eq!(run::run(job, &mut ()).unwrap().clock.step, StepIndex(322));
}

#[test]
fn a_log_that_has_no_step_still_has_the_hash_of_the_last() {
    let scratch = Scratch::new();
    let mut config = logged(&scratch);
    config.log.as_mut().unwrap().every_n_steps = 1000;
    let sequence = scratch.write("short.xml", SHORT);
    let made = run::run(Job::read(config, Some(Path::new(&sequence))).unwrap(), &mut ()).unwrap();
    assert_eq!(made.log.unwrap().unwrap().simulations[0].steps_logged, 0);
    let report = open(&scratch, 1).run(None, &mut ()).unwrap();
    assert!(report.mismatch.is_none(), "{:?}", report.mismatch);
    assert_eq!((report.steps, report.compared), (500, 1));
    let before = open(&scratch, 1).run(Some(StepIndex(499)), &mut ());
    assert!(matches!(before, Err(ReplayError::NoHashes { run: 1 })), "{before:?}");

    execute(&scratch, "UPDATE simulation SET chain_head = chain_head + 1");
    let mismatch = open(&scratch, 1).run(None, &mut ()).unwrap().mismatch.unwrap();
    assert_eq!((mismatch.step, mismatch.deviation), (StepIndex(500), None));
}

#[test]
fn what_cannot_be_run_is_an_error_with_its_place() {
    let config = |text: &str| Config::from_text(&format!("{COMPUTATION}{text}"));
    let problems = config("[physics]\nsubsteps = 0\nsubstep = 1\n").unwrap_err().0;
    let places: Vec<&str> = problems.iter().map(|problem| problem.place.as_str()).collect();
    assert_eq!(places, ["properties:7", "properties:8"]);

    let mut missing = config("").unwrap();
    missing.simulation.world_file = "nowhere.xml".into();
    let Err(RunError::Files(diagnostics)) = Job::read(missing, None) else { panic!("it has no world") };
    assert!(diagnostics.to_string().contains("nowhere.xml"), "{diagnostics}");

    let world = xml::read_world("worlds/flat.xml".as_ref()).unwrap().into();
    let unknown = Job::new(&world, None, config("[lockstep]\nmembers = 'Nobody'\n").unwrap());
    assert!(matches!(unknown, Err(RunError::Setting { key: "lockstep.members", .. })));
}

#[test]
fn what_cannot_be_repeated_is_an_error_that_names_the_step() {
    let scratch = Scratch::new();
    drive(&scratch);
    let Err(error) = open(&scratch, 1).run(Some(StepIndex(501)), &mut ()) else { panic!("there is no such step") };
    let ReplayError::NoSuchStep { run: 1, step: StepIndex(501), last: StepIndex(500), .. } = error else {
        panic!("{error}")
    };
    let refused = |options| fork(open(&scratch, 1), &options, &mut ()).err().unwrap();
    assert!(matches!(refused(unchanged(501)), ReplayError::NoSuchStep { .. }));
    assert!(matches!(refused(ForkOptions { duration_s: Some(0.0), ..unchanged(5) }), ReplayError::Duration(0.0)));
    let engine = [Override { name: "engine", key: "physics.engine", text: "rapier" }];
    let error = refused(ForkOptions { overrides: &engine, ..unchanged(5) });
    assert_eq!(
        error.to_string(),
        "engine: a fork cannot change physics.engine, which belongs to the state that it starts from"
    );
}

/// Stops the run as soon as it has started.
struct Impatient {
    stop: Option<oneshot::Sender<()>>,
    control_port: u16,
}

impl Observer for Impatient {
    fn stop_signals(&mut self) -> StopSignals {
        let (stop, stopped) = oneshot::channel();
        self.stop = Some(stop);
        Box::pin(futures_util::stream::once(async move { stopped.await.unwrap_or_default() }))
    }

    fn started(&mut self, started: &Started<'_>) {
        self.control_port = started.server.unwrap().control_address().port();
        self.stop.take().unwrap().send(()).unwrap();
    }
}

#[test]
fn an_observer_sees_the_open_ports_and_its_signal_ends_the_run() {
    let text =
        "[server]\nfree_ports = true\n[viewer]\nenabled = false\n[log]\nenabled = false\n[realtime]\npriority = 0\n";
    let mut observer = Impatient { stop: None, control_port: 0 };
    let report = run::run(Job::read(Config::from_text(text).unwrap(), None).unwrap(), &mut observer).unwrap();
    assert_eq!(report.clock.outcome, Outcome::Quit);
    assert_ne!(observer.control_port, 0);
}

/// The calls are made in a separate process, a copy of this one, so that all of its output is visible.
#[test]
fn nothing_is_printed() {
    const IN_CHILD: &str = "RUN_PRINTS_NOTHING";
    const NAME: &str = "run::nothing_is_printed";
    if std::env::var_os(IN_CHILD).is_some() {
        let scratch = Scratch::new();
        drive(&scratch);
        open(&scratch, 1).run(None, &mut ()).unwrap();
        run::run(fork(open(&scratch, 1), &unchanged(100), &mut ()).unwrap(), &mut ()).unwrap();
        return;
    }
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", NAME, "--nocapture", "--test-threads", "1"]).env(IN_CHILD, "1");
    let output = child.output().unwrap();
    let (out, error) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{out}{error}");
    // The test harness prints the name and, when the test has ended, the rest of the line.
    assert!(out.contains(&format!("test {NAME} ... ok\n")), "{out}");
    assert_eq!(error, "");
}
