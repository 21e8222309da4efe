//! Guarantees of the clock: every step once, in order, each published; requests are answered between steps.

use std::sync::{Arc, mpsc};

use bevy_math::DVec3;
use simpartner::{
    realtime::{
        ClockReport, ClockSettings, Control, ControlError, Grants, Handle, LogFlags, LogReceiver, Mode, Outcome,
        Outputs, PhysicsThread, RunState, Scheduling, Status, channel, log_queue,
    },
    sim::Simulation,
};
use simpartner_description::World;
use simpartner_dynamics::{
    BodyState, ContactPoint, Engine, EngineIdentity, JointState, Motor, RayScene, Snapshot, SnapshotError, StepEvent,
    Wrench,
};
use simpartner_model::{BodyId, JointId, StepIndex, Timestep};
use simpartner_wire::signal::{EventKind, StepRecord};

use crate::{
    needs::{Need, met},
    scene::{self, body, cube},
    server::steps_alone,
};

struct Clock {
    handle: Handle,
    thread: PhysicsThread,
    log: LogReceiver,
    grants: Grants,
}

fn settings(mode: Mode) -> ClockSettings {
    ClockSettings { mode, start_paused: true, ..ClockSettings::default() }
}

/// A falling cube.
fn falling() -> Arc<World> {
    let mut world = scene::world();
    world.mechanism.bodies.push(body("cube", 1.0, cube(0.1), DVec3::ZERO));
    Arc::new(world)
}

/// A clock with a falling cube, its log queue large enough for the whole test.
fn clock(settings: ClockSettings) -> Clock {
    with_queue(settings, 100_000)
}

/// The same with a queue of that capacity.
fn with_queue(settings: ClockSettings, capacity: usize) -> Clock {
    let simulation = Simulation::new(falling(), Timestep::MILLISECOND, scene::settings()).unwrap();
    start(simulation, settings, capacity)
}

fn start(simulation: Simulation, settings: ClockSettings, capacity: usize) -> Clock {
    let (handle, inbox) = channel(Arc::clone(simulation.layout()), simulation.timestep(), simulation.observe());
    let (mut thread, grants) = PhysicsThread::prepare(simulation, inbox, settings).unwrap();
    let (log, received) = log_queue(capacity);
    thread.start(Outputs { log: Some(log), log_flags: Arc::default() }).unwrap();
    Clock { handle, thread, log: received, grants }
}

impl Clock {
    fn ask(&self, control: Control) -> Result<Status, ControlError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(self.handle.control(control))
    }

    /// Waits until everybody can see this step.
    fn reach(&self, step: u64) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut latest = self.handle.latest();
        runtime.block_on(latest.wait_for(|record| record.step >= StepIndex(step))).unwrap();
    }

    fn end(self) -> (ClockReport, Vec<Arc<StepRecord>>) {
        let report = self.thread.join().unwrap().expect("it was started");
        steps_alone(report, self.log.iter().collect())
    }
}

fn assert_every_step_once(records: &[Arc<StepRecord>]) {
    for (index, record) in records.iter().enumerate() {
        assert_eq!(record.step, StepIndex(index as u64 + 1));
    }
}

#[test]
fn a_fast_run_ends_at_its_step_with_every_record_handed_over() {
    let clock = clock(ClockSettings { end: Some(StepIndex(5000)), start_paused: false, ..settings(Mode::Fast) });
    let (report, records) = clock.end();
    assert_eq!(report.outcome, Outcome::Completed);
    assert_eq!((report.step, report.steps, records.len()), (StepIndex(5000), 5000, 5000));
    assert_eq!(report.lateness, None);
    assert_every_step_once(&records);
}

#[test]
fn real_time_makes_every_step_and_accounts_for_all_time() {
    let clock = clock(ClockSettings { end: Some(StepIndex(300)), start_paused: false, ..settings(Mode::RealTime) });
    assert!(!clock.grants.0.is_empty());
    let (report, records) = clock.end();
    assert_every_step_once(&records);
    assert_eq!(records.len(), 300);
    // Each step begins at its place on the grid, plus the logged lateness, plus the time of slips.
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
    // Clients see the rebuilt world, before any step.
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
    let simulation = Simulation::new(falling(), Timestep::MILLISECOND, scene::settings()).unwrap();
    let (_handle, inbox) = channel(Arc::clone(simulation.layout()), simulation.timestep(), simulation.observe());
    let (mut thread, _) = PhysicsThread::prepare(simulation, inbox, settings(Mode::Fast)).unwrap();
    let log_flags = Arc::new(LogFlags::default());
    log_flags.end_run();
    thread.start(Outputs { log: None, log_flags }).unwrap();
    assert_eq!(thread.join().unwrap().unwrap().outcome, Outcome::LogEnded);
}

/// The number of records that circulate between the physics and the log.
const RECORDS: u64 = 1024;

/// A log that accepts nothing for a while, in each mode and at changes of mode: the clock waits, answers, gives up the
/// time as a slip with the reason, and loses no step.
#[test]
fn a_log_that_takes_nothing_costs_time_and_neither_a_step_nor_the_run() {
    for mode in [Mode::RealTime, Mode::Fast] {
        // Beyond any machine's reach, so that every wait is a slip.
        let clock = with_queue(ClockSettings { rate: 1000.0, start_paused: false, ..settings(mode) }, 10);
        clock.reach(RECORDS + 10);
        let status = clock.ask(Control::Mode(Mode::RealTime)).unwrap();
        assert_eq!(
            (status.state, status.step, status.mode),
            (RunState::Playing, StepIndex(RECORDS + 10), Mode::RealTime)
        );
        assert_eq!(clock.ask(Control::State).unwrap().step, StepIndex(RECORDS + 10));
        assert_eq!(clock.ask(Control::Pause).unwrap().state, RunState::Paused);
        assert_eq!(clock.ask(Control::Play { rate: None }).unwrap().state, RunState::Playing);
        // PLAY anchors the clock again; from here on it waits.
        std::thread::sleep(std::time::Duration::from_millis(5));
        let Clock { handle, thread, log, .. } = clock;
        let records = std::thread::spawn(move || log.iter().collect::<Vec<_>>());
        let ask = |control| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
            runtime.block_on(handle.control(control))
        };
        while ask(Control::State).unwrap().step < StepIndex(RECORDS + 100) {}
        ask(Control::Quit).unwrap();
        let (report, records) = steps_alone(thread.join().unwrap().unwrap(), records.join().unwrap());
        assert_eq!((&report.outcome, records.len() as u64), (&Outcome::Quit, report.steps), "{mode:?}");
        assert_every_step_once(&records);
        assert!(report.waits > 0 && report.queues[1].longest == 10, "{:?}", report.queues);
        let slips = records.iter().flat_map(|record| &record.events).filter(|event| event.kind == EventKind::ClockSlip);
        let texts: Vec<&str> = slips.map(|event| event.text.as_str()).collect();
        assert!(texts.iter().any(|text| text.contains(": the log's queue of 10 records was full")), "{texts:?}");
    }
}

#[test]
fn a_rate_beyond_reach_is_slips_and_every_step() {
    let clock = clock(ClockSettings {
        rate: 1000.0,
        end: Some(StepIndex(20_000)),
        start_paused: false,
        ..settings(Mode::RealTime)
    });
    let (report, records) = clock.end();
    assert_eq!((report.outcome, records.len()), (Outcome::Completed, 20_000));
    assert_every_step_once(&records);
}

/// An engine whose fifth step takes as long as the test wants.
struct Slow {
    engine: Box<dyn Engine>,
    steps: u64,
    release: mpsc::Receiver<()>,
}

impl Engine for Slow {
    fn step(&mut self) {
        self.steps += 1;
        if self.steps == 5 {
            // The test releases it by dropping the other end.
            let _ = self.release.recv();
        }
        self.engine.step();
    }

    fn identity(&self) -> EngineIdentity {
        self.engine.identity()
    }

    fn body(&self, body: BodyId) -> BodyState {
        self.engine.body(body)
    }

    fn joint(&self, joint: JointId) -> JointState {
        self.engine.joint(joint)
    }

    fn set_motor(&mut self, joint: JointId, axis: usize, motor: Motor) {
        self.engine.set_motor(joint, axis, motor);
    }

    fn apply_wrench(&mut self, body: BodyId, point: DVec3, wrench: Wrench) {
        self.engine.apply_wrench(body, point, wrench);
    }

    fn ray_scene(&self) -> Arc<RayScene> {
        self.engine.ray_scene()
    }

    fn contacts(&self) -> &[ContactPoint] {
        self.engine.contacts()
    }

    fn step_events(&self) -> &[StepEvent] {
        self.engine.step_events()
    }

    fn snapshot(&self) -> Snapshot {
        self.engine.snapshot()
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), SnapshotError> {
        self.engine.restore(snapshot)
    }
}

#[test]
fn while_a_step_is_long_the_clock_answers_and_a_run_ends_without_it() {
    for mode in [Mode::RealTime, Mode::Fast] {
        let (world, timestep) = (falling(), Timestep::MILLISECOND);
        let (release, released) = mpsc::channel();
        let engine = simpartner_dynamics::build(&world.mechanism, timestep, &scene::settings()).unwrap();
        let engine = Box::new(Slow { engine, steps: 0, release: released });
        let simulation = Simulation::with_engine(world, timestep, scene::settings(), 0, engine).unwrap();
        let clock = start(simulation, ClockSettings { start_paused: false, ..settings(mode) }, 100);
        clock.reach(4);
        // The fifth step may not have begun.
        let states = std::iter::repeat_with(|| clock.ask(Control::State).unwrap());
        let status = states.take(1000).find(|status| status.making.is_some()).expect("the fifth step is in the making");
        assert_eq!((status.state, status.step, status.is_pending), (RunState::Playing, StepIndex(4), false));
        let making = status.making.unwrap();
        let later = clock.ask(Control::Pause).unwrap();
        assert!(later.is_pending && later.making.unwrap() > making, "{later:?}");
        let status = clock.ask(Control::Quit).unwrap();
        assert_eq!((status.state, status.is_pending), (RunState::Quitting, true));
        let (report, records) = clock.end();
        assert_eq!((&report.outcome, report.step, report.steps), (&Outcome::Quit, StepIndex(4), 4));
        // A busy machine may have had slips before.
        assert!(records.len() == 4 && (report.slips > 0) == (mode == Mode::RealTime), "{report:?}");
        assert_every_step_once(&records);
        let [event] = &report.events[..] else { panic!("{:?}", report.events) };
        assert!(event.text.starts_with("the run ended without step 5"), "{event:?}");
        let kind = if mode == Mode::RealTime { EventKind::ClockSlip } else { EventKind::PhysicsLimit };
        assert!(event.kind == kind && event.value > Some(making.as_secs_f64()), "{event:?}");
        drop(release);
    }
}

#[test]
fn real_time_priority_is_had_only_while_steps_have_deadlines() {
    let scheduling = Scheduling { priority: 1, fast_niceness: 0, lock_memory: false };
    let clock = clock(ClockSettings { scheduling, ..settings(Mode::RealTime) });
    let has = clock.grants.0.iter().any(|grant| grant.starts_with("SCHED_FIFO priority 1 "));
    let has = has.then_some(()).ok_or_else(|| format!("there is no real-time priority here ({})", clock.grants));
    let Some(()) = met(Need::RealTime, has) else { return };
    let priority = |control| clock.ask(control).unwrap().priority;
    assert_eq!(priority(Control::State), 0, "paused");
    assert_eq!(priority(Control::Play { rate: None }), 1);
    assert_eq!(priority(Control::Mode(Mode::Fast)), 0);
    assert_eq!(priority(Control::Mode(Mode::RealTime)), 1);
    assert_eq!(priority(Control::Pause), 0);
    assert_eq!(priority(Control::Step { count: 10 }), 0);
    assert_eq!(priority(Control::Quit), 0);
    clock.end();
}
