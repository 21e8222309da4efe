//! The physics loop: makes the simulation's steps on time and answers requests between them.
//!
//! `intake` and `members` hold further parts of [`PhysicsLoop`]'s `impl`: each uses the loop's fields, and the loop calls their
//! methods. They are one state machine in three files.

mod exchange;
mod intake;
mod members;

use std::{sync::Arc, time::Duration};

use simpartner_model::StepIndex;
use simpartner_wire::signal::{Event, EventKind, StepRecord, StepTiming};
use tokio::sync::oneshot;

use super::{
    control::{Control, ControlError, RunState, Status},
    lockstep::{Barrier, MembershipTable},
    log_queue::LogFlags,
    os,
    pace::{Lateness, Pace},
    priority::{Niceness, Priority},
    publisher::RecordSender,
    report::{ClockReport, Figures, Outcome},
    request::{ChangedRuts, Request},
    request_queue::RequestReceiver,
    settings::{ClockSettings, Mode, OnOverrun},
    shared::Shared,
};
use simpartner_simulation::sim::Simulation;

/// How long the clock sleeps at most before it checks whether the log has ended: a person hardly notices a tenth of a second.
const LOG_CHECK: Duration = Duration::from_millis(100);

/// How long it waits at a time for an empty record: a few steps, so that it goes on soon and answers requests meanwhile.
const RING_CHECK: Duration = Duration::from_millis(1);

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

/// A simulation and its clock.
pub(super) struct PhysicsLoop {
    simulation: Simulation,
    requests: RequestReceiver,
    members: Arc<MembershipTable>,
    barrier: Option<Barrier>,
    settings: ClockSettings,
    records: RecordSender,
    log: Arc<LogFlags>,
    shared: Arc<Shared>,
    activity: Activity,
    pace: Pace,
    start_ns: u64,
    priority: Priority,
    niceness: Niceness,
    /// An empty record, taken for a step that then was not made.
    spare: Option<Box<StepRecord>>,
    /// Since when there has been no empty record, and whether the log's queue was full meanwhile.
    behind: Option<(u64, bool)>,
    /// How long the last step took.
    compute_ns: u64,
    outcome: Option<Outcome>,
}

/// The ends of the channels that the thread uses.
pub(super) struct LoopInputs {
    pub(super) requests: RequestReceiver,
    pub(super) members: Arc<MembershipTable>,
    pub(super) barrier: Option<Barrier>,
    pub(super) shared: Arc<Shared>,
    pub(super) niceness: Niceness,
}

impl PhysicsLoop {
    /// Ready to run; the clock starts at once unless it is to start paused.
    pub(super) fn new(
        simulation: Simulation,
        inputs: LoopInputs,
        settings: ClockSettings,
        records: RecordSender,
        log: Arc<LogFlags>,
    ) -> Self {
        let now = os::now_ns();
        let pace =
            Pace::new(simulation.timestep(), settings.rate, settings.max_catchup_steps, simulation.step_index(), now);
        let LoopInputs { requests, members, barrier, shared, niceness } = inputs;
        let mut this = Self {
            simulation,
            requests,
            members,
            barrier,
            records,
            log,
            shared,
            activity: Activity::Paused,
            pace,
            start_ns: now,
            priority: Priority::new(settings.scheduling.priority, now),
            niceness,
            spare: None,
            behind: None,
            compute_ns: 0,
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
    pub(super) fn run(mut self) -> ClockReport {
        while self.outcome.is_none() {
            self.update_scheduling();
            if self.log.run_is_to_end() {
                self.outcome = Some(Outcome::LogEnded);
            } else if matches!(self.activity, Activity::Paused) {
                self.wait_for_request(LOG_CHECK);
            } else if self.waits_for_members() {
                self.wait_for_members();
            } else {
                self.advance();
            }
        }
        self.finish()
    }

    /// Passes on whether steps have deadlines: to the operating system, the publisher and the log.
    fn update_scheduling(&mut self) {
        let has_deadline = self.has_deadline();
        self.shared.set_paced(has_deadline);
        self.log.set_deadlines(self.mode_has_deadlines());
        self.niceness.set(self.settings.mode == Mode::Fast);
        self.priority.update(has_deadline, os::now_ns(), &self.shared.priority);
    }

    /// Waits for the next step's deadline, takes in what has come, and makes the step.
    fn advance(&mut self) {
        let next = self.simulation.step_index().after(1);
        let has_deadline = self.has_deadline();
        self.take_requests_before(next);
        // A request may have paused, ended or reset the run, or changed its pace; then this step is no longer due.
        let due = self.is_next(next) && self.has_deadline() == has_deadline;
        if matches!(self.activity, Activity::Paused) || self.outcome.is_some() || !due || self.waits_for_members() {
            return;
        }
        let Some(mut record) = self.take_record() else { return };
        let begin_ns = os::now_ns();
        let why = self.end_wait(begin_ns);
        let late_ns = has_deadline.then(|| self.note_lateness(next, begin_ns, why.as_deref()));
        if self.outcome.is_some() {
            self.spare = Some(record);
            return;
        }
        record.timing = StepTiming {
            wall_ns: begin_ns - self.start_ns,
            late_ns: late_ns.unwrap_or(0),
            compute_ns: 0,
            played_ns: self.shared.lock().figures.speed.played_ns(begin_ns),
        };
        self.publish();
        self.shared.begin_step(begin_ns);
        self.simulation.step(&mut record);
        if next.0.checked_rem(self.settings.snapshot_interval_steps) == Some(0) {
            record.snapshot = Some(self.simulation.snapshot().into());
        }
        self.compute_ns = os::now_ns() - begin_ns;
        record.timing.compute_ns = self.compute_ns;
        if self.count_step(begin_ns, late_ns) {
            self.ask_members();
            self.records.send(record);
            self.after_step();
        } else {
            self.outcome = Some(Outcome::Quit);
        }
    }

    /// Counts a step that is made. False if the run has ended without it meanwhile.
    fn count_step(&self, begin_ns: u64, late_ns: Option<u64>) -> bool {
        let mut board = self.shared.lock();
        let counts = self.shared.end_step(&mut board);
        if counts {
            let figures = &mut board.figures;
            figures.compute.record(self.compute_ns);
            late_ns.into_iter().for_each(|late_ns| figures.lateness.record(late_ns));
            figures.speed.step(begin_ns, self.simulation.timestep());
            board.status = self.status(&board.figures);
        }
        counts
    }

    /// Publishes the status for threads that may not wait for an answer.
    fn publish(&self) {
        let mut board = self.shared.lock();
        board.status = self.status(&board.figures);
    }

    fn is_next(&self, step: StepIndex) -> bool {
        self.simulation.step_index().after(1) == step
    }

    fn is_over(&self) -> bool {
        self.outcome.is_some() || self.log.run_is_to_end()
    }

    /// Whether steps have deadlines in the present mode: in real time, and in lockstep until all members have joined.
    fn mode_has_deadlines(&self) -> bool {
        match self.settings.mode {
            Mode::RealTime => true,
            Mode::Fast => false,
            Mode::Lockstep => !self.barrier.as_ref().is_some_and(Barrier::is_assembled),
        }
    }

    /// Whether the next step has a deadline.
    fn has_deadline(&self) -> bool {
        self.mode_has_deadlines() && matches!(self.activity, Activity::Playing { paced: true, .. })
    }

    /// An empty record; or none, after a short wait in which requests are answered. In real time the wait becomes a slip.
    fn take_record(&mut self) -> Option<Box<StepRecord>> {
        let mut record = self.spare.take().or_else(|| self.records.take_empty());
        let layout = self.simulation.layout();
        if let Some(old) = record.as_mut().filter(|record| record.world != layout.world()) {
            // Made for another world. Each is made anew when its turn comes, so no step makes more than one.
            **old = StepRecord::new(layout);
        }
        if record.is_none() {
            let (since_ns, log_was_full) = self.behind.unwrap_or_else(|| (os::now_ns(), false));
            self.behind = Some((since_ns, log_was_full || self.records.log_is_full()));
            self.wait_for_request(RING_CHECK);
        }
        record
    }

    /// There is an empty record. Counts the wait for it, if there was one, and returns its cause.
    fn end_wait(&mut self, now_ns: u64) -> Option<String> {
        let (since_ns, log_was_full) = self.behind.take()?;
        let mut board = self.shared.lock();
        board.figures.waits += 1;
        board.figures.waited_ns += now_ns - since_ns;
        Some(self.records.what_was_full(log_was_full))
    }

    fn note_lateness(&mut self, step: StepIndex, now_ns: u64, why: Option<&str>) -> u64 {
        match self.pace.lateness(step, now_ns) {
            Lateness::Behind(late_ns) => late_ns,
            // A lockstep clock that runs freely until all members have joined has no pace to keep.
            Lateness::Slipped { late_ns, .. } if self.settings.mode != Mode::RealTime => late_ns,
            Lateness::Slipped { lost_ns, late_ns } => {
                {
                    let mut board = self.shared.lock();
                    board.figures.slips += 1;
                    board.figures.slipped_ns += lost_ns;
                }
                let lost_s = lost_ns as f64 * 1e-9;
                let why = match why {
                    Some(why) => format!(": {why}"),
                    None if self.compute_ns >= lost_ns / 2 => {
                        format!(": step {} took {:.6} s", self.simulation.step_index(), self.compute_ns as f64 * 1e-9)
                    }
                    None => String::new(),
                };
                self.note(EventKind::ClockSlip, format!("the clock gave up {lost_s:.6} s{why}"), Some(lost_s));
                if self.settings.on_overrun == OnOverrun::Stop {
                    self.outcome = Some(Outcome::Overrun);
                }
                late_ns
            }
        }
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
        } else if let Some(end) = self.simulation.sequence_end().filter(|_| self.settings.ends_with_sequence) {
            self.outcome = Some(end.into());
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
            Request::Command(command, _) => self.submit(command),
            Request::Commands(commands, _) => commands.into_iter().for_each(|command| self.submit(command)),
            Request::Join(place, client) => self.join(place, client),
            Request::Answer(answer) => self.take_answer(answer),
            Request::Leave(place, client) => self.leave(place, client),
            Request::Note(event) => {
                self.simulation.note(Event { step: self.simulation.step_index(), ..event });
            }
            Request::Control(control, answer) => self.control(control, answer),
            Request::Exchange(exchange, answer) => {
                // Who asked may have gone away; the world is another one all the same.
                let _ = answer.send(self.exchange(*exchange));
            }
            Request::Ruts(mut tiles, answer) => {
                let changes = self.simulation.take_changed_ruts(&mut tiles);
                // The server may have closed meanwhile.
                let _ = answer.send(ChangedRuts { tiles, changes });
            }
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
        self.update_scheduling();
        // A client that has gone away needs no answer.
        let _ = answer.send(result.map(|()| self.present()));
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

    /// Starts making steps up to a goal, or answers why not.
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
            None if goal.step == step => goal.answer.send(Ok(self.present())),
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
        let remainder = self.simulation.reset().map_err(|error| ControlError::WrongState(error.to_string()))?;
        self.send_remainder(remainder);
        self.note(EventKind::Reset, "the world was rebuilt from the model".into(), None);
        self.ask_members();
        let state = self.simulation.observe();
        self.records.publish_state(state);
        self.re_anchor();
        Ok(())
    }

    fn play(&mut self, goal: Option<Goal>, paced: bool) {
        self.activity = Activity::Playing { goal, paced };
        self.note(EventKind::Play, String::new(), None);
        self.shared.lock().figures.speed.start(os::now_ns());
        if let Some(barrier) = &mut self.barrier {
            barrier.wait_from(os::now_ns());
        }
        self.re_anchor();
    }

    /// Stops making steps and answers the request that set the goal, with the status if it was reached.
    fn pause(&mut self, reached: Result<(), ControlError>) {
        if let Activity::Playing { goal, .. } = std::mem::replace(&mut self.activity, Activity::Paused) {
            self.note(EventKind::Pause, String::new(), None);
            self.shared.lock().figures.speed.stop(os::now_ns());
            if let Some(goal) = goal {
                // The asker may read the step as soon as it has the answer.
                self.records.flush();
                // The asker may have gone away.
                let _ = goal.answer.send(reached.map(|()| self.present()));
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

    fn present(&self) -> Status {
        self.status(&self.shared.lock().figures)
    }

    fn status(&self, figures: &Figures) -> Status {
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
            real_time_factor: figures.speed.real_time_factor(),
            slips: figures.slips,
            epoch: self.simulation.epoch(),
            lockstep: self.barrier.as_ref().map(Barrier::state),
            priority: self.shared.priority.present(),
            making: None,
            is_pending: false,
        }
    }

    fn finish(mut self) -> ClockReport {
        self.pause(Err(ControlError::Over));
        self.publish();
        let outcome = self.outcome.clone().unwrap_or(Outcome::Quit);
        let state_hash = self.simulation.state_hash();
        // A run that has ended without the present step has its report already.
        if !self.shared.is_abandoned() {
            let remainder = self.simulation.take_remainder();
            self.send_remainder(remainder);
        }
        ClockReport { state_hash, ..self.shared.report(outcome, self.simulation.timestep()) }
    }
}
