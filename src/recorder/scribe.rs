//! From records to portions: what of a record is logged, and how a run begins and ends.

use std::sync::Arc;

use simpartner_model::StepIndex;
use simpartner_wire::signal::{Event, StateChain, StepRecord};

use super::{
    Cadence, RecorderError, RunDescription, RunOutcome, Settings, calendar,
    change::Rows,
    checksum::Summer,
    model::{self, Beginning, Written},
    portion::{Content, Portion},
    rows::{self, Format},
    selection::Selection,
    table::Batch,
};

/// Status of a run that a reset ended.
const RESET: &str = "reset";

/// A run, as far as it has come into portions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RunSoFar {
    pub(super) key: String,
    pub(super) rows: u64,
    pub(super) steps_logged: u64,
    gaps: u64,
}

/// Turns records into portions.
pub(super) struct Scribe {
    settings: Settings,
    run: RunDescription,
    selection: Arc<Selection>,
    format: Format,
    process_key: String,
    epoch: u32,
    number: u64,
    batch: Batch,
    summer: Summer,
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
    runs: Vec<RunSoFar>,
    /// Portions that are complete, to be taken away.
    portions: Vec<Portion>,
}

impl Scribe {
    /// Its first portion enters the run.
    pub(super) fn new(settings: Settings, run: RunDescription, process_key: String) -> Result<Self, RecorderError> {
        let selection = Arc::new(Selection::new(&settings, &run)?);
        let cadence = Cadence::new(settings.every_n_steps, None);
        let format = Format::new(&settings, cadence, Arc::clone(&selection), Arc::clone(&run.layout), run.timestep);
        let mut scribe = Self {
            format,
            settings,
            run,
            selection,
            process_key,
            epoch: 0,
            number: 0,
            batch: Batch::default(),
            summer: Summer::default(),
            first_step: 0,
            steps: 0,
            chain: StateChain::default(),
            last_step: StepIndex(0),
            origin: StepIndex(0),
            steps_before: 0,
            played_before_ns: 0,
            played_ns: 0,
            runs: Vec::new(),
            portions: Vec::new(),
        };
        scribe.begin(0);
        Ok(scribe)
    }

    /// The last step it has seen.
    pub(super) fn last_step(&self) -> StepIndex {
        self.last_step
    }

    /// Takes a record in.
    pub(super) fn take(&mut self, record: &StepRecord) {
        if record.epoch != self.epoch {
            self.begin_epoch(record.epoch);
        }
        for command in &record.commands {
            self.format.push_command(&mut self.batch, record.step, command);
        }
        for event in &record.events {
            rows::push_event(&mut self.batch, event, Some(record.timing.wall_ns));
        }
        // While the clock stands still a record may come again with new events. Step 0 is the model itself, not a step.
        if record.step <= self.last_step {
            return;
        }
        let is_next = record.step == self.last_step.after(1);
        self.last_step = record.step;
        self.played_ns = record.timing.played_ns + record.timing.compute_ns;
        let chain = self.chain.advance(record);
        let is_logged = self.format.push_step(&mut self.batch, record, chain);
        if let Some(state) = &record.snapshot {
            model::push_snapshot(&mut self.batch, record.step, chain, state);
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
    pub(super) fn note(&mut self, event: &Event) {
        rows::push_event(&mut self.batch, event, None);
    }

    /// What is complete, together with what has been gathered so far.
    pub(super) fn portions(&mut self) -> Vec<Portion> {
        self.flush();
        std::mem::take(&mut self.portions)
    }

    /// The run's last portion. `missing` says whether steps at the end are not in the log.
    pub(super) fn end(&mut self, outcome: &RunOutcome, missing: bool) {
        for event in &outcome.events {
            self.note(event);
        }
        self.flush();
        let chain_head = self.chain.head();
        let current = self.current();
        let written = Written {
            rows: current.rows,
            steps: current.steps_logged,
            gaps: current.gaps + u64::from(missing),
            chain_head,
        };
        // The outcome tells of the whole process; of runs between resets the steps do.
        let outcome = RunOutcome { real_time_factor: self.real_time_factor(outcome), ..outcome.clone() };
        self.put(Content::End(model::end(&outcome, written, &calendar::now())));
    }

    fn real_time_factor(&self, outcome: &RunOutcome) -> f64 {
        let is_whole = self.epoch == 0 && outcome.status != RESET;
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

    /// The runs: one, and one more for each reset.
    pub(super) fn runs(self) -> Vec<RunSoFar> {
        self.runs
    }

    /// A reset ends the run's row, and another begins.
    fn begin_epoch(&mut self, epoch: u32) {
        let outcome = RunOutcome { status: RESET.into(), steps: self.last_step.0, ..RunOutcome::default() };
        self.end(&outcome, false);
        self.steps_before += self.last_step.0 - self.origin.0;
        self.played_before_ns = self.played_ns;
        self.begin(epoch);
    }

    /// The cadence of a run that begins now: what is logged in full is bounded for the process, not for each of its runs.
    fn cadence(&self) -> Cadence {
        let thinned = self.settings.thinning.map(|thinning| {
            let after = self.run.timestep.steps_in(thinning.after_s);
            (self.last_step.0 + after.saturating_sub(self.steps_before), thinning.every_n_steps)
        });
        Cadence::new(self.settings.every_n_steps, thinned)
    }

    fn begin(&mut self, epoch: u32) {
        let origin = self.run.origin.as_ref().filter(|_| epoch == 0);
        self.origin = origin.map_or(StepIndex(0), |origin| origin.step);
        self.last_step = self.origin;
        self.chain = StateChain::from_head(origin.map_or(0, |origin| origin.chain_head));
        (self.epoch, self.number) = (epoch, 0);
        let (selection, layout) = (Arc::clone(&self.selection), Arc::clone(&self.run.layout));
        let cadence = self.cadence();
        self.format = Format::new(&self.settings, cadence, selection, layout, self.run.timestep);
        let key = format!("{}-{epoch}", self.process_key);
        let beginning = Beginning {
            run_key: key.clone(),
            started: calendar::now(),
            resets: epoch.into(),
            cadence,
            rows: Rows::of(&self.settings),
            bodies_logged: self.selection.bodies.len() as u64,
            joints_logged: self.selection.joints.len() as u64,
        };
        self.runs.push(RunSoFar { key, rows: 0, steps_logged: 0, gaps: 0 });
        let mut batch = model::begin(&self.run, &beginning);
        self.summer = Summer::default();
        self.summer.seal(&mut batch, self.number + 1);
        self.put(Content::Begin(batch));
    }

    fn flush(&mut self) {
        let mut batch = std::mem::take(&mut self.batch);
        let rows = batch.rows();
        if rows > 0 {
            self.current().rows += rows;
            self.summer.seal(&mut batch, self.number + 1);
            self.put(Content::Rows(batch));
        }
    }

    fn put(&mut self, content: Content) {
        self.number += 1;
        let run_key = self.current().key.clone();
        self.portions.push(Portion {
            run_key,
            epoch: self.epoch,
            number: self.number,
            first_step: self.first_step,
            steps: std::mem::take(&mut self.steps),
            content,
        });
    }

    fn current(&mut self) -> &mut RunSoFar {
        self.runs.last_mut().expect("a run is entered first of all")
    }
}
