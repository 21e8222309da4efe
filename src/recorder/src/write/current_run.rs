//! The run that receives the records at present, from its first batch to its last.

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

/// Counts of a run so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RunProgress {
    pub(super) key: String,
    /// Number of rows in the batches so far, in all tables.
    pub(super) rows: u64,
    /// Number of steps with rows of state.
    pub(super) steps_logged: u64,
    /// Number of places where a step does not follow the one before it.
    gaps: u64,
}

/// Position of a run among the runs of its process.
pub(super) struct RunPlace {
    pub(super) key: String,
    /// Number of runs before it.
    pub(super) number: u32,
    /// Number of resets of the world before it.
    pub(super) epoch: u32,
    /// Total number of steps of the runs before it.
    pub(super) steps_before: u64,
}

/// A run in progress, with the rows of its next batch.
pub(super) struct CurrentRun {
    description: RunDescription,
    encoder: RowEncoder,
    progress: RunProgress,
    /// Number of runs of the process before this one.
    number: u32,
    /// Number of resets of the world before this run.
    epoch: u32,
    /// Number of the latest batch.
    batch: u64,
    checksums: ChecksumBuilder,
    chain: StateChain,
    /// Step of the snapshot that the run starts from; 0 for a run that starts from the model.
    origin: StepIndex,
    last_step: StepIndex,
    /// Rows for the next batch.
    rows: TableRows,
    /// First step of the next batch.
    first_step: u64,
    /// Number of steps of the next batch.
    steps_in_rows: u64,
}

impl CurrentRun {
    /// Begins a run. The returned batch is the first of the run and enters it into the log.
    pub(super) fn begin(
        settings: &Settings,
        description: RunDescription,
        logged: &Arc<LoggedComponents>,
        place: RunPlace,
    ) -> (Self, Batch) {
        let RunPlace { key, number, epoch, steps_before } = place;
        let (origin, chain_head) =
            description.origin.as_ref().map_or((StepIndex(0), 0), |origin| (origin.step, origin.chain_head));
        // Thinning starts after a simulated time of the process, not of each of its runs.
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
        let mut rows = run_rows::encode_run_start(&run.description, &start);
        run.checksums.seal(&mut rows, 1);
        let batch = run.next_batch(Content::Begin(rows));
        (run, batch)
    }

    /// True if a record belongs to this run.
    pub(super) fn owns(&self, record: &StepRecord) -> bool {
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

    /// Head of the state chain after the last step.
    pub(super) fn chain_head(&self) -> u64 {
        self.chain.head()
    }

    /// Number of steps so far.
    pub(super) fn step_count(&self) -> StepIndex {
        StepIndex(self.last_step.0 - self.origin.0)
    }

    /// Adds the rows of a record of this run.
    pub(super) fn add_record(&mut self, record: &StepRecord) {
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

    /// Adds an event of the log itself, such as an outage of the database.
    pub(super) fn add_event(&mut self, event: &Event) {
        row_encoder::push_event(&mut self.rows, event, None);
    }

    /// Takes the rows since the previous batch as a batch; `None` if there are none.
    pub(super) fn take_batch(&mut self) -> Option<Batch> {
        let mut rows = std::mem::take(&mut self.rows);
        let count = rows.row_count();
        (count > 0).then(|| {
            self.progress.rows += count;
            self.checksums.seal(&mut rows, self.batch + 1);
            self.next_batch(Content::Rows(rows))
        })
    }

    /// Makes the last batch, which follows the batch of the last rows. `is_cut` is true if the log lacks steps at the
    /// end.
    pub(super) fn end_batch(&mut self, outcome: &RunOutcome, is_cut: bool) -> Batch {
        let RunProgress { rows, steps_logged, gaps, .. } = self.progress;
        let totals =
            RunTotals { rows, steps: steps_logged, gaps: gaps + u64::from(is_cut), chain_head: self.chain.head() };
        self.next_batch(Content::End(run_rows::encode_run_end(outcome, totals, &timestamp::now())))
    }

    pub(super) fn progress(&self) -> &RunProgress {
        &self.progress
    }

    /// Makes the next batch, with the steps counted since the previous one.
    fn next_batch(&mut self, content: Content) -> Batch {
        self.batch += 1;
        Batch {
            run_key: self.progress.key.clone(),
            run_index: self.number,
            number: self.batch,
            first_step: self.first_step,
            steps: std::mem::take(&mut self.steps_in_rows),
            content,
        }
    }
}
