//! Makes batches of records: what of a record is logged, and how a run begins and ends.

use std::sync::Arc;

use simpartner_model::StepIndex;
use simpartner_wire::signal::{Beginning, Event, StateChain, StepRecord};

use super::{
    announced::AnnouncedWorlds,
    batch::{Batch, Content},
    description::{Origin, RunDescription, RunOutcome},
    logged_components::LoggedComponents,
    row_encoder::{self, RowEncoder},
    run_rows::{self, RunStart, RunTotals},
    settings::Settings,
};
use crate::recorder::{
    database::error::RecorderError,
    format::{cadence::Cadence, checksum::ChecksumBuilder, table_rows::TableRows, timestamp},
};

/// Status of a run that a reset ended.
const RESET: &str = "reset";
/// Status of a run that goes on in the next one, because a robot or an object has come or gone.
const CONTINUED: &str = "continued";

/// What the batches have of a run so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RunProgress {
    pub(super) key: String,
    pub(super) rows: u64,
    pub(super) steps_logged: u64,
    gaps: u64,
}

/// Makes batches of records.
pub(super) struct BatchBuilder {
    settings: Settings,
    run: RunDescription,
    worlds: AnnouncedWorlds,
    logged: Arc<LoggedComponents>,
    encoder: RowEncoder,
    process_key: String,
    epoch: u32,
    number: u64,
    rows: TableRows,
    checksums: ChecksumBuilder,
    first_step: u64,
    steps: u64,
    chain: StateChain,
    last_step: StepIndex,
    /// The step that the run goes on from.
    origin: StepIndex,
    /// Steps of the runs before this one, and how long the clock had run at their end.
    steps_before: u64,
    played_before_ns: u64,
    /// How long the clock has run.
    played_ns: u64,
    runs: Vec<RunProgress>,
    /// Batches that are complete.
    complete: Vec<Batch>,
}

impl BatchBuilder {
    /// Its first batch enters the run.
    pub(super) fn new(
        settings: Settings,
        run: RunDescription,
        worlds: AnnouncedWorlds,
        process_key: String,
    ) -> Result<Self, RecorderError> {
        let logged = Arc::new(LoggedComponents::new(&settings, &run)?);
        let cadence = Cadence::new(settings.every_n_steps, None);
        let encoder = RowEncoder::new(&settings, cadence, Arc::clone(&logged), Arc::clone(&run.layout), run.timestep);
        let mut builder = Self {
            encoder,
            settings,
            run,
            worlds,
            logged,
            process_key,
            epoch: 0,
            number: 0,
            rows: TableRows::default(),
            checksums: ChecksumBuilder::default(),
            first_step: 0,
            steps: 0,
            chain: StateChain::default(),
            last_step: StepIndex(0),
            origin: StepIndex(0),
            steps_before: 0,
            played_before_ns: 0,
            played_ns: 0,
            runs: Vec::new(),
            complete: Vec::new(),
        };
        builder.begin(0);
        Ok(builder)
    }

    /// The last step it has seen.
    pub(super) fn last_step(&self) -> StepIndex {
        self.last_step
    }

    /// Adds a record.
    pub(super) fn add(&mut self, record: &StepRecord) {
        if let Some(beginning) = &record.beginning {
            self.go_on(record, beginning);
        } else if record.epoch != self.epoch {
            self.end_run(RESET);
            self.take_world(record.world);
            // It goes back to the model, wherever the run came from.
            self.run.origin = None;
            self.begin(record.epoch);
        }
        for command in &record.commands {
            self.encoder.push_command(&mut self.rows, record.step, command);
        }
        for event in &record.events {
            row_encoder::push_event(&mut self.rows, event, Some(record.timing.wall_ns));
        }
        // While the clock is paused a record may come again with new events. Step 0 is the model itself, not a step.
        if record.step <= self.last_step {
            return;
        }
        let is_next = record.step == self.last_step.after(1);
        self.last_step = record.step;
        self.played_ns = record.timing.played_ns + record.timing.compute_ns;
        let chain = self.chain.advance(record);
        let is_logged = self.encoder.push_step(&mut self.rows, record, chain);
        if let Some(state) = &record.snapshot {
            run_rows::push_snapshot(&mut self.rows, record.step, chain, state);
        }
        let current = self.current();
        current.gaps += u64::from(!is_next);
        current.steps_logged += u64::from(is_logged);
        if self.steps == 0 {
            self.first_step = record.step.0;
        }
        self.steps += 1;
    }

    /// Adds an event of the log's own.
    pub(super) fn add_event(&mut self, event: &Event) {
        row_encoder::push_event(&mut self.rows, event, None);
    }

    /// The batches so far; the last one has what has been gathered until now.
    pub(super) fn take_batches(&mut self) -> Vec<Batch> {
        self.flush();
        std::mem::take(&mut self.complete)
    }

    /// Adds the run's last batch. `is_cut` says whether steps at the end are not in the log.
    pub(super) fn end(&mut self, outcome: &RunOutcome, is_cut: bool) {
        for event in &outcome.events {
            self.add_event(event);
        }
        self.flush();
        let chain_head = self.chain.head();
        let current = self.current();
        let totals = RunTotals {
            rows: current.rows,
            steps: current.steps_logged,
            gaps: current.gaps + u64::from(is_cut),
            chain_head,
        };
        // The outcome is that of the whole process; the factor of a run between resets follows from its steps.
        let outcome = RunOutcome { real_time_factor: self.real_time_factor(outcome), ..outcome.clone() };
        self.put(Content::End(run_rows::end(&outcome, totals, &timestamp::now())));
    }

    fn real_time_factor(&self, outcome: &RunOutcome) -> f64 {
        let is_whole = self.runs.len() == 1 && ![RESET, CONTINUED].contains(&outcome.status.as_str());
        let played_ns = self.played_ns.saturating_sub(self.played_before_ns);
        match (is_whole, played_ns) {
            (true, _) => outcome.real_time_factor,
            (false, 0) => 0.0,
            (false, _) => {
                let steps = StepIndex(self.last_step.0 - self.origin.0);
                self.run.timestep.nanoseconds_at(steps) as f64 / played_ns as f64
            }
        }
    }

    /// The runs: one, and one more for each reset and each world that follows another one.
    pub(super) fn runs(self) -> Vec<RunProgress> {
        self.runs
    }

    /// The record is the first of a world that goes on from the present one. What the present one was told after its last step is logged there: it
    /// was to act in a step that it never made, and is in the state that the next one begins with.
    fn go_on(&mut self, record: &StepRecord, beginning: &Beginning) {
        let step = StepIndex(record.step.0 - 1);
        for command in &beginning.commands {
            self.encoder.push_command(&mut self.rows, record.step, command);
        }
        let (chain_head, state) = (self.chain.head(), Arc::clone(&beginning.state));
        self.end_run(CONTINUED);
        self.take_world(record.world);
        self.run.origin = Some(Origin { parent: None, step, chain_head, state });
        self.begin(record.epoch);
    }

    /// The records that follow are of the world of this number.
    fn take_world(&mut self, world: u32) {
        if let Some(run) = self.worlds.take(world) {
            self.logged = Arc::new(LoggedComponents::of_next(&self.settings, &run));
            self.run = run;
        }
    }

    /// The run ends, and another is about to begin.
    fn end_run(&mut self, why: &str) {
        let outcome = RunOutcome { status: why.into(), steps: self.last_step.0, ..RunOutcome::default() };
        self.end(&outcome, false);
        self.steps_before += self.last_step.0 - self.origin.0;
        self.played_before_ns = self.played_ns;
    }

    /// The cadence of a run that begins now: how long every step is logged is a setting of the process, not of each of its runs.
    fn cadence(&self) -> Cadence {
        let thinned = self.settings.thinning.map(|thinning| {
            let after = self.run.timestep.steps_in(thinning.after_s);
            (self.last_step.0 + after.saturating_sub(self.steps_before), thinning.every_n_steps)
        });
        Cadence::new(self.settings.every_n_steps, thinned)
    }

    fn begin(&mut self, epoch: u32) {
        let origin = self.run.origin.as_ref();
        self.origin = origin.map_or(StepIndex(0), |origin| origin.step);
        self.last_step = self.origin;
        self.chain = StateChain::from_head(origin.map_or(0, |origin| origin.chain_head));
        (self.epoch, self.number) = (epoch, 0);
        let (logged, layout) = (Arc::clone(&self.logged), Arc::clone(&self.run.layout));
        let cadence = self.cadence();
        self.encoder = RowEncoder::new(&self.settings, cadence, logged, layout, self.run.timestep);
        let key = format!("{}-{}", self.process_key, self.runs.len());
        let start = RunStart {
            run_key: key.clone(),
            started: timestamp::now(),
            resets: epoch.into(),
            cadence,
            row_policy: self.settings.row_policy(),
            bodies_logged: self.logged.bodies.len() as u64,
            joints_logged: self.logged.joints.len() as u64,
        };
        self.runs.push(RunProgress { key, rows: 0, steps_logged: 0, gaps: 0 });
        let mut rows = run_rows::begin(&self.run, &start);
        self.checksums = ChecksumBuilder::default();
        self.checksums.seal(&mut rows, self.number + 1);
        self.put(Content::Begin(rows));
    }

    fn flush(&mut self) {
        let mut rows = std::mem::take(&mut self.rows);
        let count = rows.count();
        if count > 0 {
            self.current().rows += count;
            self.checksums.seal(&mut rows, self.number + 1);
            self.put(Content::Rows(rows));
        }
    }

    fn put(&mut self, content: Content) {
        self.number += 1;
        let run_key = self.current().key.clone();
        self.complete.push(Batch {
            run_key,
            // The place of the run among those of the process.
            epoch: (self.runs.len() - 1) as u32,
            number: self.number,
            first_step: self.first_step,
            steps: std::mem::take(&mut self.steps),
            content,
        });
    }

    fn current(&mut self) -> &mut RunProgress {
        self.runs.last_mut().expect("a run is entered first of all")
    }
}
