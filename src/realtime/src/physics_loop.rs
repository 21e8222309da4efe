//! The physics loop: computes the simulation's steps on time and answers requests between them.
//!
//! `intake`, `members` and `records` hold further parts of [`PhysicsLoop`]'s `impl`: each uses the loop's fields, and
//! the loop calls their methods. They are one state machine in four files.

mod exchange;
mod intake;
mod members;
mod records;

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

/// Interval at which a waiting clock checks whether the log has ended: a person hardly notices a tenth of a second.
const LOG_CHECK: Duration = Duration::from_millis(100);

enum Activity {
    Paused,
    /// Computing steps, up to the goal if there is one.
    Playing {
        goal: Option<Goal>,
        /// False for `STEP`, which computes its steps at once in every mode.
        paced: bool,
    },
}

/// The step that ends `STEP` or `RUNTO`, with the sender for the answer to that request.
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
    /// An empty record that was taken for a step which was then not computed.
    spare: Option<Box<StepRecord>>,
    /// The present wait for an empty record: its start, monotonic ns, and whether the log's queue has been full since.
    record_wait: Option<(u64, bool)>,
    /// Computation time of the last step, nanoseconds.
    compute_ns: u64,
    outcome: Option<Outcome>,
}

/// Channels and shared state of the physics thread, for [`PhysicsLoop::new`].
pub(super) struct LoopInputs {
    pub(super) requests: RequestReceiver,
    pub(super) members: Arc<MembershipTable>,
    pub(super) barrier: Option<Barrier>,
    pub(super) shared: Arc<Shared>,
    pub(super) niceness: Niceness,
}

impl PhysicsLoop {
    /// A loop that is ready to run. The clock starts at once unless the settings start it paused.
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
            record_wait: None,
            compute_ns: 0,
            outcome: None,
            settings,
        };
        if this.is_at_end() {
            this.outcome = Some(Outcome::Completed);
        } else if !this.settings.start_paused {
            this.start_playing(None, true);
        }
        this
    }

    /// Runs until the run has an outcome.
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
                self.wait_and_step();
            }
        }
        self.finish()
    }

    /// Tells the operating system, the publisher and the log whether steps have deadlines.
    fn update_scheduling(&mut self) {
        let has_deadline = self.has_deadline();
        self.shared.set_paced(has_deadline);
        self.log.set_deadlines(self.mode_has_deadlines());
        self.niceness.set(self.settings.mode == Mode::Fast);
        self.priority.update(has_deadline, os::now_ns(), &self.shared.priority);
    }

    /// Takes in requests until the next step's deadline, then computes the step.
    fn wait_and_step(&mut self) {
        let next = self.simulation.step_index().after(1);
        let has_deadline = self.has_deadline();
        self.take_requests_before(next);
        // A request may have paused, ended or reset the run, or changed its pace. Then this step is no longer due.
        let due = self.is_next(next) && self.has_deadline() == has_deadline;
        if matches!(self.activity, Activity::Paused) || self.outcome.is_some() || !due || self.waits_for_members() {
            return;
        }
        let Some(mut record) = self.take_empty_record() else { return };
        let begin_ns = os::now_ns();
        let why = self.end_record_wait(begin_ns);
        let late_ns = has_deadline.then(|| self.check_lateness(next, begin_ns, why.as_deref()));
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
        self.publish_status();
        self.shared.begin_step(begin_ns);
        self.simulation.step(&mut record);
        if next.0.checked_rem(self.settings.snapshot_interval_steps) == Some(0) {
            record.snapshot = Some(self.simulation.snapshot().into());
        }
        self.compute_ns = os::now_ns() - begin_ns;
        record.timing.compute_ns = self.compute_ns;
        if self.count_step(begin_ns, late_ns) {
            self.begin_answer_round();
            self.records.send(record);
            self.check_run_end();
        } else {
            self.outcome = Some(Outcome::Quit);
        }
    }

    /// Adds a computed step to the figures. False if the run has already ended without it.
    fn count_step(&self, begin_ns: u64, late_ns: Option<u64>) -> bool {
        let mut board = self.shared.lock();
        let is_counted = self.shared.end_step(&mut board);
        if is_counted {
            let figures = &mut board.figures;
            figures.compute.record(self.compute_ns);
            late_ns.into_iter().for_each(|late_ns| figures.lateness.record(late_ns));
            figures.speed.count_step(begin_ns, self.simulation.timestep());
            board.status = self.status(&board.figures);
        }
        is_counted
    }

    /// Publishes the status for threads that cannot wait for an answer.
    fn publish_status(&self) {
        let mut board = self.shared.lock();
        board.status = self.status(&board.figures);
    }

    fn is_next(&self, step: StepIndex) -> bool {
        self.simulation.step_index().after(1) == step
    }

    fn is_over(&self) -> bool {
        self.outcome.is_some() || self.log.run_is_to_end()
    }

    /// True if steps have deadlines in the present mode: in real time, and in lockstep until all members have joined.
    fn mode_has_deadlines(&self) -> bool {
        match self.settings.mode {
            Mode::RealTime => true,
            Mode::Fast => false,
            Mode::Lockstep => !self.barrier.as_ref().is_some_and(Barrier::is_assembled),
        }
    }

    /// True if the next step has a deadline.
    fn has_deadline(&self) -> bool {
        self.mode_has_deadlines() && matches!(self.activity, Activity::Playing { paced: true, .. })
    }

    fn check_lateness(&mut self, step: StepIndex, now_ns: u64, why: Option<&str>) -> u64 {
        match self.pace.lateness(step, now_ns) {
            Lateness::Behind(late_ns) => late_ns,
            // A lockstep clock runs freely until all members have joined, so it has no pace to keep.
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
                self.log_event(EventKind::ClockSlip, format!("the clock gave up {lost_s:.6} s{why}"), Some(lost_s));
                if self.settings.on_overrun == OnOverrun::Stop {
                    self.outcome = Some(Outcome::Overrun);
                }
                late_ns
            }
        }
    }

    fn check_run_end(&mut self) {
        let step = self.simulation.step_index();
        if self.simulation.has_diverged() {
            let why = self.divergence_text();
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

    fn divergence_text(&self) -> String {
        format!("the world diverged in step {}; see the event table, then RESET", self.simulation.step_index())
    }

    fn handle_request(&mut self, request: Request) {
        match request {
            Request::Command(command, _) => self.submit_command(command),
            Request::Commands(commands, _) => commands.into_iter().for_each(|command| self.submit_command(command)),
            Request::Join(slot, client) => self.join(slot, client),
            Request::Answer(answer) => self.apply_answer(answer),
            Request::Leave(slot, client) => self.leave(slot, client),
            Request::Note(event) => {
                self.simulation.note(Event { step: self.simulation.step_index(), ..event });
            }
            Request::NoteOfRun { epoch, world, event } => {
                if (epoch, world) == (self.simulation.epoch(), self.simulation.layout().world()) {
                    self.simulation.note(Event { step: self.simulation.step_index(), ..event });
                }
            }
            Request::Control(control, answer) => self.handle_control(control, answer),
            Request::Exchange(exchange, answer) => {
                // The client may be gone; the world is replaced all the same.
                let _ = answer.send(self.switch_world(*exchange));
            }
            Request::Ruts(mut tiles, answer) => {
                let changes = self.simulation.take_changed_ruts(&mut tiles);
                // The server may have closed meanwhile.
                let _ = answer.send(ChangedRuts { tiles, changes });
            }
        }
    }

    fn handle_control(&mut self, control: Control, answer: oneshot::Sender<Result<Status, ControlError>>) {
        let result = match control {
            Control::State | Control::Sync => Ok(()),
            Control::Play { rate } => self.request_play(rate),
            Control::Pause => {
                self.pause(Err(ControlError::WrongState("the clock was paused before that step".into())));
                Ok(())
            }
            Control::Step { count } => {
                let step = self.simulation.step_index().after(count);
                return self.play_to_goal(Goal { step, answer }, false);
            }
            Control::RunTo { step } => return self.play_to_goal(Goal { step, answer }, true),
            Control::Reset => self.reset(),
            Control::Mode(mode) => self.request_mode(mode, self.settings.lockstep.members.clone()),
            Control::Lockstep(members) => self.request_mode(Mode::Lockstep, members),
            Control::Quit => {
                self.outcome = Some(Outcome::Quit);
                Ok(())
            }
        };
        self.update_scheduling();
        // The client may be gone.
        let _ = answer.send(result.map(|()| self.present_status()));
    }

    fn request_play(&mut self, rate: Option<f64>) -> Result<(), ControlError> {
        if self.simulation.has_diverged() {
            return Err(ControlError::WrongState(self.divergence_text()));
        }
        if matches!(self.activity, Activity::Playing { goal: Some(_), .. }) {
            return Err(ControlError::WrongState("the clock runs to a step; PAUSE first".into()));
        }
        if let Some(rate) = rate {
            self.settings.rate = rate;
        }
        if matches!(self.activity, Activity::Paused) {
            self.start_playing(None, true);
        } else {
            self.re_anchor();
        }
        Ok(())
    }

    /// Starts playing up to a goal, or answers with the reason for the refusal.
    fn play_to_goal(&mut self, goal: Goal, paced: bool) {
        let step = self.simulation.step_index();
        let refusal = if matches!(self.activity, Activity::Playing { .. }) {
            Some("the clock is playing; PAUSE first".to_owned())
        } else if self.simulation.has_diverged() {
            Some(self.divergence_text())
        } else if goal.step < step {
            Some(format!("step {} has been made already; the present one is {step}", goal.step))
        } else {
            None
        };
        // The client may be gone; the goal stands all the same.
        let _ = match refusal {
            Some(why) => goal.answer.send(Err(ControlError::WrongState(why))),
            None if goal.step == step => goal.answer.send(Ok(self.present_status())),
            None => {
                self.start_playing(Some(goal), paced);
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
        self.log_event(EventKind::Reset, "the world was rebuilt from the model".into(), None);
        self.begin_answer_round();
        let state = self.simulation.observe();
        self.records.publish_state(state);
        self.re_anchor();
        Ok(())
    }

    fn start_playing(&mut self, goal: Option<Goal>, paced: bool) {
        self.activity = Activity::Playing { goal, paced };
        self.log_event(EventKind::Play, String::new(), None);
        self.shared.lock().figures.speed.start(os::now_ns());
        if let Some(barrier) = &mut self.barrier {
            barrier.restart_timeout(os::now_ns());
        }
        self.re_anchor();
    }

    /// Stops playing. Answers the request that set the goal: with the status if `reached` is `Ok`, else with the error.
    fn pause(&mut self, reached: Result<(), ControlError>) {
        if let Activity::Playing { goal, .. } = std::mem::replace(&mut self.activity, Activity::Paused) {
            self.log_event(EventKind::Pause, String::new(), None);
            self.shared.lock().figures.speed.stop(os::now_ns());
            if let Some(goal) = goal {
                // The client may read the step as soon as it has the answer.
                self.records.flush();
                // The client may be gone.
                let _ = goal.answer.send(reached.map(|()| self.present_status()));
            }
        }
    }

    fn re_anchor(&mut self) {
        let step = self.simulation.step_index();
        let settings = &self.settings;
        let now = os::now_ns();
        self.pace = Pace::new(self.simulation.timestep(), settings.rate, settings.max_catchup_steps, step, now);
    }

    fn log_event(&mut self, kind: EventKind, text: String, value: Option<f64>) {
        self.log_event_of(kind, "", text, value);
    }

    fn log_event_of(&mut self, kind: EventKind, subject: &str, text: String, value: Option<f64>) {
        let step = self.simulation.step_index();
        self.simulation.note(Event { step, kind, subject: subject.to_owned(), text, value });
    }

    fn present_status(&self) -> Status {
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
        self.publish_status();
        let outcome = self.outcome.clone().unwrap_or(Outcome::Quit);
        let state_hash = self.simulation.state_hash();
        // A run that ended without the present step has been reported already.
        if !self.shared.is_abandoned() {
            let remainder = self.simulation.take_remainder();
            self.send_remainder(remainder);
        }
        ClockReport { state_hash, ..self.shared.report(outcome, self.simulation.timestep()) }
    }
}
