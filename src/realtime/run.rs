//! The physics loop: makes the simulation's steps on time and answers requests between them.

mod members;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    time::Duration,
};

use tokio::sync::oneshot;

use super::{
    hand_over::Outlet,
    handle::{Control, ControlError, Mode, Request, RunState, Status},
    lockstep::{Barrier, Roll},
    os,
    pace::{Lateness, Pace},
    report::{Outcome, RunReport, Times},
    speed::Speed,
    thread::{OnOverrun, Settings},
};
use crate::{
    signal::{Event, EventKind, StepIndex, StepRecord},
    sim::Simulation,
};

/// How long the clock sleeps at most without looking whether the log has ended.
const LOOK_AT_LOG: Duration = Duration::from_millis(100);

/// What a step takes in of the requests that wait, in short commands, besides two for each device.
const COMMANDS_PER_STEP: usize = 64;

/// What it takes in of them after its deadline; one more for each device if it is late already.
const LATE_COMMANDS: usize = 8;

/// How long before a deadline the clock wakes up to take requests in, and until how long before it it does so, nanoseconds. A
/// command takes about a microsecond.
const EARLY_NS: u64 = 150_000;
const MARGIN_NS: u64 = 20_000;

/// The last part of a wait, in which the clock sleeps so that it wakes up on time.
const SLEEP: Duration = Duration::from_millis(2);

/// What the clock is doing.
enum Activity {
    Paused,
    /// Making steps; until a given step if there is one.
    Playing {
        goal: Option<Goal>,
        /// False for `STEP`, which makes its steps at once whatever the mode.
        paced: bool,
    },
}

struct Goal {
    step: StepIndex,
    answer: oneshot::Sender<Result<Status, ControlError>>,
}

/// A simulation with its clock.
pub(super) struct Loop {
    simulation: Simulation,
    requests: mpsc::Receiver<Request>,
    roll: Arc<Roll>,
    barrier: Option<Barrier>,
    settings: Settings,
    outlet: Outlet,
    log_ended: Arc<AtomicBool>,
    activity: Activity,
    pace: Pace,
    start_ns: u64,
    speed: Speed,
    lateness: Times,
    compute: Times,
    slips: u64,
    slipped_ns: u64,
    outcome: Option<Outcome>,
}

/// What comes in: requests, and in lockstep those who answer.
pub(super) struct Inlet {
    pub(super) requests: mpsc::Receiver<Request>,
    pub(super) roll: Arc<Roll>,
    pub(super) barrier: Option<Barrier>,
}

impl Loop {
    /// Ready to run; the clock starts at once unless it is to start paused.
    pub(super) fn new(
        simulation: Simulation,
        inlet: Inlet,
        settings: Settings,
        outlet: Outlet,
        log_ended: Arc<AtomicBool>,
    ) -> Self {
        let now = os::now_ns();
        let pace =
            Pace::new(simulation.timestep(), settings.rate, settings.max_catchup_steps, simulation.step_index(), now);
        let Inlet { requests, roll, barrier } = inlet;
        let mut this = Self {
            simulation,
            requests,
            roll,
            barrier,
            outlet,
            log_ended,
            activity: Activity::Paused,
            pace,
            start_ns: now,
            speed: Speed::default(),
            lateness: Times::new(),
            compute: Times::new(),
            slips: 0,
            slipped_ns: 0,
            outcome: None,
            settings,
        };
        if this.is_at_end() {
            this.outcome = Some(Outcome::Completed);
        } else if !this.settings.start_paused {
            this.play(None, true);
        }
        this
    }

    /// Runs to the end.
    pub(super) fn run(mut self) -> RunReport {
        while self.outcome.is_none() {
            if self.log_ended.load(Ordering::Relaxed) {
                self.outcome = Some(Outcome::LogEnded);
            } else if matches!(self.activity, Activity::Paused) {
                self.wait_for_request(LOOK_AT_LOG);
            } else if self.holds() {
                self.wait_for_members();
            } else {
                self.advance();
            }
        }
        self.finish()
    }

    fn wait_for_request(&mut self, limit: Duration) {
        if let Ok(request) = self.requests.recv_timeout(limit) {
            self.answer(request);
        }
    }

    /// Waits for the next step's deadline, takes in what has come, and makes the step.
    fn advance(&mut self) {
        let next = self.simulation.step_index().after(1);
        let has_deadline = self.has_deadline();
        self.take_requests_before(next);
        // A request may have paused, ended or reset the run, or changed its pace; then this step is not due any more.
        let due = self.is_next(next) && self.has_deadline() == has_deadline;
        if matches!(self.activity, Activity::Paused) || self.outcome.is_some() || !due || self.holds() {
            return;
        }
        let begin_ns = os::now_ns();
        let late_ns = if has_deadline { self.note_lateness(next, begin_ns) } else { 0 };
        let Some(mut record) = self.take_record() else { return };
        record.timing.wall_ns = begin_ns - self.start_ns;
        record.timing.late_ns = late_ns;
        self.simulation.step(&mut record);
        if next.0.checked_rem(self.settings.snapshot_interval_steps) == Some(0) {
            record.snapshot = Some(self.simulation.snapshot().into());
        }
        record.timing.compute_ns = os::now_ns() - begin_ns;
        self.compute.record(record.timing.compute_ns);
        self.speed.step(begin_ns, self.simulation.timestep());
        self.ask_members();
        self.outlet.send(record);
        self.after_step();
    }

    /// Waits for a step's deadline, if it has one, and takes in what has come for it. What comes faster than a bounded number of
    /// commands a step stays in the queue, in its order. So that no flood of them makes steps late, the clock wakes up before the
    /// deadline to take them in, and takes few after it: more only where it has no time before, because it is late already.
    fn take_requests_before(&mut self, next: StepIndex) {
        let devices = self.simulation.layout().devices().len();
        let most = COMMANDS_PER_STEP + 2 * devices;
        if !self.has_deadline() {
            self.take_requests(most, u64::MAX);
            return;
        }
        self.wait_for_deadline(next, EARLY_NS);
        let end_ns = self.pace.deadline_ns(next).saturating_sub(MARGIN_NS);
        let is_late = os::now_ns() >= end_ns;
        let taken = self.take_requests(most, end_ns);
        self.wait_for_deadline(next, 0);
        let late = if is_late { LATE_COMMANDS + devices } else { LATE_COMMANDS };
        self.take_requests(late.min(most.saturating_sub(taken)), u64::MAX);
    }

    /// Takes in requests, in their order, until they have cost so much, the time is over or none is left. Returns the cost.
    fn take_requests(&mut self, most: usize, until_ns: u64) -> usize {
        let mut cost = 0;
        while cost < most
            && os::now_ns() < until_ns
            && let Ok(request) = self.requests.try_recv()
        {
            cost += request.cost();
            self.answer(request);
        }
        cost
    }

    /// Sleeps until so long before a step's deadline. Of a long wait, as at a slow rate, all but the end is spent answering
    /// requests, which may also end it.
    fn wait_for_deadline(&mut self, next: StepIndex, early_ns: u64) {
        while self.has_deadline() && self.is_next(next) && !self.is_over() {
            let until_ns = self.pace.deadline_ns(next).saturating_sub(early_ns);
            let left = Duration::from_nanos(until_ns.saturating_sub(os::now_ns()));
            match left.checked_sub(SLEEP) {
                Some(spare) => self.wait_for_request(spare.min(LOOK_AT_LOG)),
                None => return os::sleep_until(until_ns),
            }
        }
    }

    fn is_next(&self, step: StepIndex) -> bool {
        self.simulation.step_index().after(1) == step
    }

    fn is_over(&self) -> bool {
        self.outcome.is_some() || self.log_ended.load(Ordering::Relaxed)
    }

    /// Steps have deadlines in real time, and in lockstep until all have joined.
    fn has_deadline(&self) -> bool {
        let paced = match self.settings.mode {
            Mode::RealTime => true,
            Mode::Fast => false,
            Mode::Lockstep => !self.barrier.as_ref().is_some_and(Barrier::is_assembled),
        };
        paced && matches!(self.activity, Activity::Playing { paced: true, .. })
    }

    /// An empty record. Without one the log is a second and its whole queue behind: in real time that ends the run, else
    /// the physics waits.
    fn take_record(&mut self) -> Option<Box<StepRecord>> {
        let waits = self.settings.mode != Mode::RealTime || !self.has_deadline();
        let record = if !waits { self.outlet.take_empty() } else { self.outlet.wait_for_empty() };
        if record.is_none() {
            self.outcome = Some(Outcome::LogTooSlow);
        }
        record
    }

    fn note_lateness(&mut self, step: StepIndex, now_ns: u64) -> u64 {
        let late_ns = match self.pace.lateness(step, now_ns) {
            Lateness::Behind(late_ns) => late_ns,
            // Who runs freely until somebody joins has nothing to keep up with.
            Lateness::Slipped { late_ns, .. } if self.settings.mode != Mode::RealTime => late_ns,
            Lateness::Slipped { lost_ns, late_ns } => {
                self.slips += 1;
                self.slipped_ns += lost_ns;
                let lost_s = lost_ns as f64 * 1e-9;
                self.note(EventKind::ClockSlip, format!("the clock gave up {lost_s:.6} s"), Some(lost_s));
                if self.settings.on_overrun == OnOverrun::Stop {
                    self.outcome = Some(Outcome::Overrun);
                }
                late_ns
            }
        };
        self.lateness.record(late_ns);
        late_ns
    }

    fn after_step(&mut self) {
        let step = self.simulation.step_index();
        if self.simulation.has_diverged() {
            let why = self.divergence();
            if self.settings.unattended {
                self.outcome = Some(Outcome::Diverged(why));
            } else {
                self.pause(Err(ControlError::WrongState(why)));
            }
            return;
        }
        if matches!(&self.activity, Activity::Playing { goal: Some(goal), .. } if step >= goal.step) {
            self.pause(Ok(()));
        }
        if self.is_at_end() {
            self.outcome = Some(Outcome::Completed);
        }
    }

    fn is_at_end(&self) -> bool {
        self.settings.end.is_some_and(|end| self.simulation.step_index() >= end)
    }

    fn divergence(&self) -> String {
        format!("the world diverged in step {}; see the event table, then RESET", self.simulation.step_index())
    }

    fn answer(&mut self, request: Request) {
        match request {
            Request::Commands(commands, _) => commands.into_iter().for_each(|command| self.submit(command)),
            Request::Join(place, client) => self.join(place, client),
            Request::Answer(client, step, epoch, _) => self.take_answer(client, step, epoch),
            Request::Leave(place, client) => self.leave(place, client),
            Request::Note(event) => {
                self.simulation.note(Event { step: self.simulation.step_index(), ..event });
            }
            Request::Control(control, answer) => self.control(control, answer),
        }
    }

    fn control(&mut self, control: Control, answer: oneshot::Sender<Result<Status, ControlError>>) {
        let result = match control {
            Control::State | Control::Sync => Ok(()),
            Control::Play { rate } => self.request_play(rate),
            Control::Pause => {
                self.pause(Err(ControlError::WrongState("the clock was paused before that step".into())));
                Ok(())
            }
            Control::Step { count } => {
                let step = self.simulation.step_index().after(count);
                return self.pursue(Goal { step, answer }, false);
            }
            Control::RunTo { step } => return self.pursue(Goal { step, answer }, true),
            Control::Reset => self.reset(),
            Control::Mode(mode) => self.request_mode(mode, self.settings.lockstep.members.clone()),
            Control::Lockstep(members) => self.request_mode(Mode::Lockstep, members),
            Control::Quit => {
                self.outcome = Some(Outcome::Quit);
                Ok(())
            }
        };
        // A client that has gone away wants no answer.
        let _ = answer.send(result.map(|()| self.status()));
    }

    fn request_play(&mut self, rate: Option<f64>) -> Result<(), ControlError> {
        if self.simulation.has_diverged() {
            return Err(ControlError::WrongState(self.divergence()));
        }
        if matches!(self.activity, Activity::Playing { goal: Some(_), .. }) {
            return Err(ControlError::WrongState("the clock runs to a step; PAUSE first".into()));
        }
        if let Some(rate) = rate {
            self.settings.rate = rate;
        }
        if matches!(self.activity, Activity::Paused) {
            self.play(None, true);
        } else {
            self.re_anchor();
        }
        Ok(())
    }

    /// Starts making steps up to a goal, or says why not.
    fn pursue(&mut self, goal: Goal, paced: bool) {
        let step = self.simulation.step_index();
        let refusal = if matches!(self.activity, Activity::Playing { .. }) {
            Some("the clock is playing; PAUSE first".to_owned())
        } else if self.simulation.has_diverged() {
            Some(self.divergence())
        } else if goal.step < step {
            Some(format!("step {} has been made already; the present one is {step}", goal.step))
        } else {
            None
        };
        // The asker may have gone away; the goal stands all the same.
        let _ = match refusal {
            Some(why) => goal.answer.send(Err(ControlError::WrongState(why))),
            None if goal.step == step => goal.answer.send(Ok(self.status())),
            None => {
                self.play(Some(goal), paced);
                return;
            }
        };
    }

    fn reset(&mut self) -> Result<(), ControlError> {
        if let Activity::Playing { goal: Some(_), .. } = self.activity {
            return Err(ControlError::WrongState("the clock runs to a step; PAUSE first".into()));
        }
        self.simulation.reset().map_err(|error| ControlError::WrongState(error.to_string()))?;
        self.note(EventKind::Reset, "the world was rebuilt from the model".into(), None);
        self.ask_members();
        let state = self.simulation.observe();
        self.outlet.show(state);
        self.re_anchor();
        Ok(())
    }

    fn play(&mut self, goal: Option<Goal>, paced: bool) {
        self.activity = Activity::Playing { goal, paced };
        self.note(EventKind::Play, String::new(), None);
        self.speed.start(os::now_ns());
        if let Some(barrier) = &mut self.barrier {
            barrier.wait_from(os::now_ns());
        }
        self.re_anchor();
    }

    /// Stops making steps and answers whoever waited for a goal: with the status if it was reached.
    fn pause(&mut self, reached: Result<(), ControlError>) {
        if let Activity::Playing { goal, .. } = std::mem::replace(&mut self.activity, Activity::Paused) {
            self.note(EventKind::Pause, String::new(), None);
            self.speed.stop(os::now_ns());
            if let Some(goal) = goal {
                // Whoever hears that the step is made may look at it at once.
                self.outlet.settle();
                // The asker may have gone away.
                let _ = goal.answer.send(reached.map(|()| self.status()));
            }
        }
    }

    fn re_anchor(&mut self) {
        let step = self.simulation.step_index();
        let settings = &self.settings;
        let now = os::now_ns();
        self.pace = Pace::new(self.simulation.timestep(), settings.rate, settings.max_catchup_steps, step, now);
    }

    fn note(&mut self, kind: EventKind, text: String, value: Option<f64>) {
        self.note_of(kind, "", text, value);
    }

    fn note_of(&mut self, kind: EventKind, subject: &str, text: String, value: Option<f64>) {
        let step = self.simulation.step_index();
        self.simulation.note(Event { step, kind, subject: subject.to_owned(), text, value });
    }

    fn status(&self) -> Status {
        let step = self.simulation.step_index();
        Status {
            state: match (&self.outcome, &self.activity) {
                (Some(_), _) => RunState::Quitting,
                (None, Activity::Paused) => RunState::Paused,
                (None, Activity::Playing { .. }) => RunState::Playing,
            },
            step,
            time_s: self.simulation.timestep().seconds_at(step),
            mode: self.settings.mode,
            rate: self.settings.rate,
            real_time_factor: self.speed.real_time_factor(),
            slips: self.slips,
            epoch: self.simulation.epoch(),
            lockstep: self.barrier.as_ref().map(Barrier::state),
        }
    }

    fn finish(mut self) -> RunReport {
        self.pause(Err(ControlError::Over));
        let steps = self.speed.steps();
        RunReport {
            outcome: self.outcome.unwrap_or(Outcome::Quit),
            step: self.simulation.step_index(),
            steps,
            simulated_s: self.simulation.timestep().seconds_at(StepIndex(steps)),
            wall_s: self.speed.played_s(),
            processor_s: os::processor_seconds(),
            lateness: self.lateness.percentiles(),
            compute: self.compute.percentiles(),
            slips: self.slips,
            slipped_s: self.slipped_ns as f64 * 1e-9,
            state_hash: self.simulation.state_hash(),
            events: self.simulation.take_events(),
        }
    }
}
