//! The run that records are added to, from its first batch to its last.

use std::sync::Arc;

use simpartner_model::StepIndex;
use simpartner_wire::signal::{Event, StateChain, StepRecord};

use super::{
    batch::{Batch, Content},
    description::{RunDescription, RunOutcome},
    logged_components::LoggedComponents,
    row_encoder::{self, RowEncoder},
    run_rows::{self, RunStart, RunTotals},
    settings::Settings,
};
use crate::format::{cadence::Cadence, checksum::ChecksumBuilder, table_rows::TableRows, timestamp};

/// What the batches have of a run so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RunProgress {
    pub(super) key: String,
    pub(super) rows: u64,
    pub(super) steps_logged: u64,
    gaps: u64,
}

/// Which run of its process a run is.
pub(super) struct RunPlace {
    pub(super) key: String,
    /// How many runs there were before it.
    pub(super) number: u32,
    /// How often the world had been reset before it.
    pub(super) epoch: u32,
    /// Steps of the runs before it.
    pub(super) steps_before: u64,
}

/// A run and what has been logged of it.
pub(super) struct CurrentRun {
    description: RunDescription,
    encoder: RowEncoder,
    progress: RunProgress,
    number: u32,
    epoch: u32,
    /// The number of its latest batch.
    batch: u64,
    checksums: ChecksumBuilder,
    chain: StateChain,
    /// The step that it goes on from.
    origin: StepIndex,
    last_step: StepIndex,
    /// Rows for the next batch, and the first step that is in them and how many.
    rows: TableRows,
    first_step: u64,
    steps_in_rows: u64,
}

impl CurrentRun {
    /// Begins a run; the batch enters it into the log.
    pub(super) fn begin(
        settings: &Settings,
        description: RunDescription,
        logged: &Arc<LoggedComponents>,
        place: RunPlace,
    ) -> (Self, Batch) {
        let RunPlace { key, number, epoch, steps_before } = place;
        let (origin, chain_head) =
            description.origin.as_ref().map_or((StepIndex(0), 0), |origin| (origin.step, origin.chain_head));
        // How long every step is logged is a setting of the process, not of each of its runs.
        let thinned = settings.thinning.map(|thinning| {
            let after = description.timestep.steps_in(thinning.after_s);
            (origin.0 + after.saturating_sub(steps_before), thinning.every_n_steps)
        });
        let cadence = Cadence::new(settings.every_n_steps, thinned);
        let layout = Arc::clone(&description.layout);
        let start = RunStart {
            run_key: key.clone(),
            started: timestamp::now(),
            resets: epoch.into(),
            cadence,
            row_policy: settings.row_policy(),
            bodies_logged: logged.bodies.len() as u64,
            joints_logged: logged.joints.len() as u64,
        };
        let mut run = Self {
            encoder: RowEncoder::new(settings, cadence, Arc::clone(logged), layout, description.timestep),
            progress: RunProgress { key, rows: 0, steps_logged: 0, gaps: 0 },
            number,
            epoch,
            batch: 0,
            checksums: ChecksumBuilder::default(),
            chain: StateChain::from_head(chain_head),
            origin,
            last_step: origin,
            rows: TableRows::default(),
            first_step: 0,
            steps_in_rows: 0,
            description,
        };
        let mut rows = run_rows::begin(&run.description, &start);
        run.checksums.seal(&mut rows, 1);
        let batch = run.batch(Content::Begin(rows));
        (run, batch)
    }

    /// Whether a record belongs to this run.
    pub(super) fn is_of(&self, record: &StepRecord) -> bool {
        (self.epoch, self.description.layout.world()) == (record.epoch, record.world)
    }

    pub(super) fn epoch(&self) -> u32 {
        self.epoch
    }

    pub(super) fn description(&self) -> &RunDescription {
        &self.description
    }

    pub(super) fn last_step(&self) -> StepIndex {
        self.last_step
    }

    /// The head of its chain after its last step.
    pub(super) fn chain_head(&self) -> u64 {
        self.chain.head()
    }

    /// Its steps so far.
    pub(super) fn steps(&self) -> StepIndex {
        StepIndex(self.last_step.0 - self.origin.0)
    }

    /// Adds the rows of a record of this run.
    pub(super) fn add(&mut self, record: &StepRecord) {
        for command in &record.commands {
            self.encoder.push_command(&mut self.rows, record.acts_in(), command);
        }
        for event in &record.events {
            row_encoder::push_event(&mut self.rows, event, Some(record.timing.wall_ns));
        }
        if record.is_step {
            self.add_step(record);
        }
    }

    fn add_step(&mut self, record: &StepRecord) {
        let is_next = record.step == self.last_step.after(1);
        self.last_step = record.step;
        let chain = self.chain.advance(record);
        let is_logged = self.encoder.push_step(&mut self.rows, record, chain);
        if let Some(state) = &record.snapshot {
            run_rows::push_snapshot(&mut self.rows, record.step, chain, state);
        }
        self.progress.gaps += u64::from(!is_next);
        self.progress.steps_logged += u64::from(is_logged);
        if self.steps_in_rows == 0 {
            self.first_step = record.step.0;
        }
        self.steps_in_rows += 1;
    }

    /// Adds an event of the log's own.
    pub(super) fn add_event(&mut self, event: &Event) {
        row_encoder::push_event(&mut self.rows, event, None);
    }

    /// The batch of the rows since the last one; `None` if there are none.
    pub(super) fn take_batch(&mut self) -> Option<Batch> {
        let mut rows = std::mem::take(&mut self.rows);
        let count = rows.count();
        (count > 0).then(|| {
            self.progress.rows += count;
            self.checksums.seal(&mut rows, self.batch + 1);
            self.batch(Content::Rows(rows))
        })
    }

    /// The last batch, behind that of the last rows. `is_cut` says whether steps at the end are not in the log.
    pub(super) fn end(&mut self, outcome: &RunOutcome, is_cut: bool) -> Batch {
        let RunProgress { rows, steps_logged, gaps, .. } = self.progress;
        let totals =
            RunTotals { rows, steps: steps_logged, gaps: gaps + u64::from(is_cut), chain_head: self.chain.head() };
        self.batch(Content::End(run_rows::end(outcome, totals, &timestamp::now())))
    }

    pub(super) fn progress(&self) -> &RunProgress {
        &self.progress
    }

    /// The next batch.
    fn batch(&mut self, content: Content) -> Batch {
        self.batch += 1;
        Batch {
            run_key: self.progress.key.clone(),
            epoch: self.number,
            number: self.batch,
            first_step: self.first_step,
            steps: std::mem::take(&mut self.steps_in_rows),
            content,
        }
    }
}
