//! What the clock promises: every step once, in order, each handed over; requests answered between steps.

use std::sync::{Arc, atomic::AtomicBool, mpsc};

use bevy_math::DVec3;
use simpartner::{
    realtime::{
        Control, ControlError, Grants, Handle, Mode, Outcome, Outputs, PhysicsThread, RunReport, RunState, Settings,
        channel,
    },
    signal::{EventKind, StepIndex, StepRecord, Timestep},
    sim::Simulation,
};

use crate::scene::{self, body, cube};

struct Clock {
    handle: Handle,
    thread: PhysicsThread,
    log: mpsc::Receiver<Arc<StepRecord>>,
    grants: Grants,
}

fn settings(mode: Mode) -> Settings {
    Settings { mode, start_paused: true, ..Settings::default() }
}

/// A clock with a falling cube, its log queue large enough for the whole test.
fn clock(settings: Settings) -> Clock {
    let mut world = scene::world();
    world.bodies.push(body("cube", 1.0, cube(0.1), DVec3::ZERO));
    let simulation = Simulation::new(Arc::new(world), Timestep::MILLISECOND, scene::settings()).unwrap();
    let (handle, inbox) = channel(Arc::clone(simulation.layout()), simulation.timestep(), simulation.observe());
    let (mut thread, grants) = PhysicsThread::prepare(simulation, inbox, settings).unwrap();
    let (log, received) = mpsc::sync_channel(100_000);
    thread.start(Outputs { log: Some(log), log_ended: Arc::new(AtomicBool::new(false)) }).unwrap();
    Clock { handle, thread, log: received, grants }
}

impl Clock {
    fn ask(&self, control: Control) -> Result<simpartner::realtime::Status, ControlError> {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(self.handle.control(control))
    }

    fn end(self) -> (RunReport, Vec<Arc<StepRecord>>) {
        let report = self.thread.join().unwrap().expect("it was started");
        (report, self.log.iter().collect())
    }
}

fn assert_every_step_once(records: &[Arc<StepRecord>]) {
    for (index, record) in records.iter().enumerate() {
        assert_eq!(record.step, StepIndex(index as u64 + 1));
    }
}

#[test]
fn a_fast_run_ends_at_its_step_with_every_record_handed_over() {
    let clock = clock(Settings { end: Some(StepIndex(5000)), start_paused: false, ..settings(Mode::Fast) });
    let (report, records) = clock.end();
    assert_eq!(report.outcome, Outcome::Completed);
    assert_eq!((report.step, report.steps, records.len()), (StepIndex(5000), 5000, 5000));
    assert_eq!(report.lateness, None);
    assert_every_step_once(&records);
}

#[test]
fn real_time_makes_every_step_and_accounts_for_all_time() {
    let clock = clock(Settings { end: Some(StepIndex(300)), start_paused: false, ..settings(Mode::RealTime) });
    assert!(!clock.grants.0.is_empty());
    let (report, records) = clock.end();
    assert_every_step_once(&records);
    assert_eq!(records.len(), 300);
    // Each step begins at its place on the grid, plus what the log says it was late, plus what slips gave up.
    let slips = |upto: usize| -> f64 {
        records[..=upto]
            .iter()
            .flat_map(|record| &record.events)
            .filter(|event| event.kind == EventKind::ClockSlip)
            .filter_map(|event| event.value)
            .sum()
    };
    let first = &records[0].timing;
    for (index, record) in records.iter().enumerate() {
        let expected = index as f64 * 1e-3 + slips(index) - slips(0);
        let begun = (record.timing.wall_ns - record.timing.late_ns) as f64 * 1e-9;
        let base = (first.wall_ns - first.late_ns) as f64 * 1e-9;
        assert!((begun - base - expected).abs() < 1e-8, "step {}", record.step);
    }
    assert!(report.lateness.is_some());
}

#[test]
fn a_paused_clock_steps_and_runs_to_a_step_and_answers_when_it_is_there() {
    let clock = clock(settings(Mode::Fast));
    assert_eq!(clock.ask(Control::State).unwrap().state, RunState::Paused);
    assert_eq!(clock.ask(Control::Step { count: 7 }).unwrap().step, StepIndex(7));
    let status = clock.ask(Control::RunTo { step: StepIndex(1000) }).unwrap();
    assert_eq!((status.step, status.state, status.time_s), (StepIndex(1000), RunState::Paused, 1.0));
    assert!(matches!(clock.ask(Control::RunTo { step: StepIndex(999) }), Err(ControlError::WrongState(_))));
    assert_eq!(clock.ask(Control::Play { rate: None }).unwrap().state, RunState::Playing);
    assert!(matches!(clock.ask(Control::Step { count: 1 }), Err(ControlError::WrongState(_))));
    assert_eq!(clock.ask(Control::Pause).unwrap().state, RunState::Paused);
    assert_eq!(clock.ask(Control::Quit).unwrap().state, RunState::Quitting);
    let (report, records) = clock.end();
    assert_eq!(report.outcome, Outcome::Quit);
    assert_every_step_once(&records);
    assert_eq!(records.len() as u64, report.steps);
}

#[test]
fn a_reset_starts_at_step_zero_in_a_new_epoch() {
    let clock = clock(settings(Mode::Fast));
    clock.ask(Control::Step { count: 100 }).unwrap();
    let status = clock.ask(Control::Reset).unwrap();
    assert_eq!((status.step, status.epoch, status.state), (StepIndex(0), 1, RunState::Paused));
    // What clients see is the rebuilt world, before any step.
    let shown = clock.handle.latest().borrow().clone();
    assert_eq!((shown.step, shown.epoch), (StepIndex(0), 1));
    clock.ask(Control::Step { count: 3 }).unwrap();
    clock.ask(Control::Quit).unwrap();
    let (_, records) = clock.end();
    assert_eq!(records.len(), 103);
    assert_eq!((records[102].step, records[102].epoch), (StepIndex(3), 1));
}

#[test]
fn a_failed_log_ends_the_run() {
    let mut world = scene::world();
    world.bodies.push(body("cube", 1.0, cube(0.1), DVec3::ZERO));
    let simulation = Simulation::new(Arc::new(world), Timestep::MILLISECOND, scene::settings()).unwrap();
    let (_handle, inbox) = channel(Arc::clone(simulation.layout()), simulation.timestep(), simulation.observe());
    let (mut thread, _) = PhysicsThread::prepare(simulation, inbox, settings(Mode::Fast)).unwrap();
    thread.start(Outputs { log: None, log_ended: Arc::new(AtomicBool::new(true)) }).unwrap();
    assert_eq!(thread.join().unwrap().unwrap().outcome, Outcome::LogEnded);
}
