//! Makes batches of records: each record goes to the run that it names, and the first record of another run ends the one before it.

use std::sync::Arc;

use simpartner_model::StepIndex;
use simpartner_wire::signal::{Event, StepRecord};

use super::{
    announced::AnnouncedWorlds,
    batch::Batch,
    current_run::{CurrentRun, RunPlace, RunProgress},
    description::{Origin, RunDescription, RunOutcome},
    logged_components::LoggedComponents,
    settings::Settings,
};
use crate::database::error::RecorderError;

/// Status of a run that a reset ended.
const RESET: &str = "reset";
/// Status of a run that goes on in the next one, because a robot or an object has come or gone.
const CONTINUED: &str = "continued";

/// What runs that are over leave to those behind them.
#[derive(Default)]
struct EndedRuns {
    runs: Vec<RunProgress>,
    /// Their steps, and how long the clock had run at their end.
    steps: u64,
    played_ns: u64,
}

/// Makes batches of records.
pub(super) struct BatchBuilder {
    settings: Settings,
    worlds: AnnouncedWorlds,
    logged: Arc<LoggedComponents>,
    process_key: String,
    ended: EndedRuns,
    run: CurrentRun,
    /// How long the clock has run.
    played_ns: u64,
    /// Batches that are complete.
    complete: Vec<Batch>,
}

impl BatchBuilder {
    /// Its first batch enters the run.
    pub(super) fn new(
        settings: Settings,
        description: RunDescription,
        worlds: AnnouncedWorlds,
        process_key: String,
    ) -> Result<Self, RecorderError> {
        let logged = Arc::new(LoggedComponents::new(&settings, &description)?);
        let ended = EndedRuns::default();
        let place = place(&process_key, &ended, 0);
        let (run, first) = CurrentRun::begin(&settings, description, &logged, place);
        Ok(Self { settings, worlds, logged, process_key, ended, run, played_ns: 0, complete: vec![first] })
    }

    /// The last step it has seen of the present run.
    pub(super) fn last_step(&self) -> StepIndex {
        self.run.last_step()
    }

    /// Adds a record.
    pub(super) fn add(&mut self, record: &StepRecord) {
        if !self.run.is_of(record) {
            self.begin_run(record);
        }
        if record.is_step {
            self.played_ns = record.timing.played_ns + record.timing.compute_ns;
        }
        self.run.add(record);
    }

    /// Adds an event of the log's own.
    pub(super) fn add_event(&mut self, event: &Event) {
        self.run.add_event(event);
    }

    /// The batches so far; the last one has what has been gathered until now.
    pub(super) fn take_batches(&mut self) -> Vec<Batch> {
        self.complete.extend(self.run.take_batch());
        std::mem::take(&mut self.complete)
    }

    /// Adds the run's last batch. `is_cut` says whether steps at the end are not in the log.
    pub(super) fn end(&mut self, outcome: &RunOutcome, is_cut: bool) {
        for event in &outcome.events {
            self.add_event(event);
        }
        self.complete.extend(self.run.take_batch());
        // The outcome is that of the whole process; the factor of one run among several follows from its steps.
        let outcome = RunOutcome { real_time_factor: self.real_time_factor(outcome), ..outcome.clone() };
        self.complete.push(self.run.end(&outcome, is_cut));
    }

    fn real_time_factor(&self, outcome: &RunOutcome) -> f64 {
        let is_whole = self.ended.runs.is_empty() && ![RESET, CONTINUED].contains(&outcome.status.as_str());
        let played_ns = self.played_ns.saturating_sub(self.ended.played_ns);
        match (is_whole, played_ns) {
            (true, _) => outcome.real_time_factor,
            (false, 0) => 0.0,
            (false, _) => self.run.description().timestep.nanoseconds_at(self.run.steps()) as f64 / played_ns as f64,
        }
    }

    /// The runs: one, and one more for each reset and each world that follows another one.
    pub(super) fn runs(self) -> Vec<RunProgress> {
        let mut runs = self.ended.runs;
        runs.push(self.run.progress().clone());
        runs
    }

    /// Ends the present run, and begins the one of this record, its first.
    fn begin_run(&mut self, record: &StepRecord) {
        let is_reset = record.epoch != self.run.epoch();
        let status = if is_reset { RESET } else { CONTINUED };
        let outcome = RunOutcome { status: status.into(), steps: self.last_step().0, ..RunOutcome::default() };
        self.end(&outcome, false);
        let mut description = self.run.description().clone();
        if let Some(next) = self.worlds.take(record.world) {
            self.logged = Arc::new(LoggedComponents::of_next(&self.settings, &next));
            description = next;
        }
        description.origin = record.begins_with.as_ref().map(|state| Origin {
            parent: None,
            step: StepIndex(record.acts_in().0 - 1),
            // The chain goes back to the last reset, as the number of steps does.
            chain_head: if is_reset { 0 } else { self.run.chain_head() },
            state: Arc::clone(state),
        });
        self.ended.steps += self.run.steps().0;
        self.ended.played_ns = self.played_ns;
        self.ended.runs.push(self.run.progress().clone());
        let place = place(&self.process_key, &self.ended, record.epoch);
        let (next, first) = CurrentRun::begin(&self.settings, description, &self.logged, place);
        self.run = next;
        self.complete.push(first);
    }
}

/// The place of the run behind those that are over.
fn place(process_key: &str, ended: &EndedRuns, epoch: u32) -> RunPlace {
    let number = ended.runs.len() as u32;
    RunPlace { key: format!("{process_key}-{number}"), number, epoch, steps_before: ended.steps }
}
