//! Gathers records into batches. Each record belongs to the run that it names. The first record of another run ends the
//! present run.

use std::sync::Arc;

use simpartner_model::StepIndex;
use simpartner_wire::signal::{Event, StepRecord};

use super::{
    batch::Batch,
    current_run::{CurrentRun, RunPlace, RunProgress},
    description::{Origin, RunDescription, RunOutcome},
    logged_components::LoggedComponents,
    settings::Settings,
    world_registry::WorldRegistry,
};
use crate::database::error::RecorderError;

/// Status of a run that ended by a reset.
const STATUS_RESET: &str = "reset";
/// Status of a run that the next one continues, because a robot or an object was added or removed.
const STATUS_CONTINUED: &str = "continued";

/// The runs of this process that are over.
#[derive(Default)]
struct EndedRuns {
    runs: Vec<RunProgress>,
    /// Their total number of steps.
    steps: u64,
    /// Time that the clock had run when the last of them ended, in ns.
    played_ns: u64,
}

/// Gathers the records of a process into batches, run after run.
pub(super) struct BatchBuilder {
    settings: Settings,
    worlds: WorldRegistry,
    logged: Arc<LoggedComponents>,
    process_key: String,
    ended: EndedRuns,
    run: CurrentRun,
    /// Time that the clock has run, without pauses, in ns.
    played_ns: u64,
    /// Complete batches, not yet taken.
    complete: Vec<Batch>,
}

impl BatchBuilder {
    /// Begins the first run. The first batch enters it into the log.
    pub(super) fn new(
        settings: Settings,
        description: RunDescription,
        worlds: WorldRegistry,
        process_key: String,
    ) -> Result<Self, RecorderError> {
        let logged = Arc::new(LoggedComponents::new(&settings, &description)?);
        let ended = EndedRuns::default();
        let place = next_run_place(&process_key, &ended, 0);
        let (run, first) = CurrentRun::begin(&settings, description, &logged, place);
        Ok(Self { settings, worlds, logged, process_key, ended, run, played_ns: 0, complete: vec![first] })
    }

    /// Last step of the present run so far.
    pub(super) fn last_step(&self) -> StepIndex {
        self.run.last_step()
    }

    /// Adds a record.
    pub(super) fn add_record(&mut self, record: &StepRecord) {
        if !self.run.owns(record) {
            self.begin_run(record);
        }
        if record.is_step {
            self.played_ns = record.timing.played_ns + record.timing.compute_ns;
        }
        self.run.add_record(record);
    }

    /// Adds an event of the log itself, such as an outage of the database.
    pub(super) fn add_event(&mut self, event: &Event) {
        self.run.add_event(event);
    }

    /// Takes the batches so far. The last one has the rows gathered until now.
    pub(super) fn take_batches(&mut self) -> Vec<Batch> {
        self.complete.extend(self.run.take_batch());
        std::mem::take(&mut self.complete)
    }

    /// Ends the run with its last batch. `is_cut` is true if the log lacks steps at the end.
    pub(super) fn end_run(&mut self, outcome: &RunOutcome, is_cut: bool) {
        for event in &outcome.events {
            self.add_event(event);
        }
        self.complete.extend(self.run.take_batch());
        // The outcome describes the whole process. If the process had several runs, each run's factor follows from its
        // own steps.
        let outcome = RunOutcome { real_time_factor: self.real_time_factor(outcome), ..outcome.clone() };
        self.complete.push(self.run.end_batch(&outcome, is_cut));
    }

    fn real_time_factor(&self, outcome: &RunOutcome) -> f64 {
        let is_whole =
            self.ended.runs.is_empty() && ![STATUS_RESET, STATUS_CONTINUED].contains(&outcome.status.as_str());
        let played_ns = self.played_ns.saturating_sub(self.ended.played_ns);
        match (is_whole, played_ns) {
            (true, _) => outcome.real_time_factor,
            (false, 0) => 0.0,
            (false, _) => {
                self.run.description().timestep.nanoseconds_at(self.run.step_count()) as f64 / played_ns as f64
            }
        }
    }

    /// The runs of the process: one, plus one for each reset and each world edit.
    pub(super) fn into_runs(self) -> Vec<RunProgress> {
        let mut runs = self.ended.runs;
        runs.push(self.run.progress().clone());
        runs
    }

    /// Ends the present run and begins the run whose first record this is.
    fn begin_run(&mut self, record: &StepRecord) {
        let is_reset = record.epoch != self.run.epoch();
        let status = if is_reset { STATUS_RESET } else { STATUS_CONTINUED };
        let outcome = RunOutcome { status: status.into(), steps: self.last_step().0, ..RunOutcome::default() };
        self.end_run(&outcome, false);
        let mut description = self.run.description().clone();
        if let Some(next) = self.worlds.take_world(record.world) {
            self.logged = Arc::new(LoggedComponents::after_edit(&self.settings, &next));
            description = next;
        }
        description.origin = record.begins_with.as_ref().map(|state| Origin {
            parent: None,
            step: StepIndex(record.acts_in().0 - 1),
            // A reset starts the state chain anew, as it does the number of steps.
            chain_head: if is_reset { 0 } else { self.run.chain_head() },
            state: Arc::clone(state),
        });
        self.ended.steps += self.run.step_count().0;
        self.ended.played_ns = self.played_ns;
        self.ended.runs.push(self.run.progress().clone());
        let place = next_run_place(&self.process_key, &self.ended, record.epoch);
        let (next, first) = CurrentRun::begin(&self.settings, description, &self.logged, place);
        self.run = next;
        self.complete.push(first);
    }
}

/// Position of the run that follows the ended ones.
fn next_run_place(process_key: &str, ended: &EndedRuns, epoch: u32) -> RunPlace {
    let number = ended.runs.len() as u32;
    RunPlace { key: format!("{process_key}-{number}"), number, epoch, steps_before: ended.steps }
}
