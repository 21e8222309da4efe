//! The writer's thread: takes records from the queue and commits them in batches.

use std::{
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError},
    },
    time::{Duration, Instant},
};

use super::{
    LogSummary, RecorderError, RecorderStatus, RunDescription, RunOutcome, Settings, SimulationSummary, WhenFull,
    calendar,
    model::{self, Beginning, Written},
    portion::{Content, Portion},
    rows::{self, Format},
    space::SpaceWatch,
    store::{Access, Store},
    table::Batch,
};
use crate::signal::{Event, EventKind, StateChain, StepIndex, StepRecord};

/// How long records are gathered for a batch, and so what a killed process loses at most besides the batch being committed.
const BATCH_TIME: Duration = Duration::from_millis(100);

/// The most that is gathered for a batch, in numbers of the records.
const BATCH_NUMBERS: usize = 1 << 20;

/// The last step that fits into a simulationRowID.
const LAST_STEP: u64 = u32::MAX as u64;

/// An open log and the run it is writing.
pub(super) struct Writer {
    settings: Settings,
    run: RunDescription,
    status: Arc<RecorderStatus>,
    store: Store,
    space: SpaceWatch,
    format: Format,
    process_key: String,
    run_key: String,
    position: u64,
    batch: Batch,
    steps_in_batch: u64,
    chain: StateChain,
    epoch: u32,
    last_step: StepIndex,
    simulations: Vec<SimulationSummary>,
    ended_early: Option<String>,
}

impl Writer {
    pub(super) async fn open(
        settings: Settings,
        run: RunDescription,
        status: Arc<RecorderStatus>,
    ) -> Result<Self, RecorderError> {
        let store = Store::open(&settings.database, Access::Write).await?;
        let space = SpaceWatch::new(&settings.database, settings.limit_mb);
        let format = Format::new(Arc::clone(&run.layout), run.timestep, settings.every_n_steps);
        let mut writer = Self {
            settings,
            run,
            status,
            store,
            space,
            format,
            process_key: calendar::run_key(),
            run_key: String::new(),
            position: 0,
            batch: Batch::default(),
            steps_in_batch: 0,
            chain: StateChain::default(),
            epoch: 0,
            last_step: StepIndex(0),
            simulations: Vec::new(),
            ended_early: None,
        };
        writer.begin(0).await?;
        Ok(writer)
    }

    /// Writes until every sender is gone.
    pub(super) async fn write_all(&mut self, records: &Receiver<Arc<StepRecord>>) -> Result<(), RecorderError> {
        let most = (BATCH_NUMBERS / self.run.layout.len().max(1)).clamp(1, 512);
        while let Ok(first) = records.recv() {
            let deadline = Instant::now() + BATCH_TIME;
            self.take(&first).await?;
            for _ in 1..most {
                match records.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                    Ok(record) => self.take(&record).await?,
                    Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
                }
            }
            self.commit().await?;
        }
        Ok(())
    }

    /// Closes the run and the database.
    pub(super) async fn close(mut self, outcome: &RunOutcome) -> Result<LogSummary, RecorderError> {
        for event in &outcome.events {
            rows::push_event(&mut self.batch, event, None);
        }
        self.end(outcome).await?;
        self.store.close().await?;
        Ok(LogSummary {
            database: self.settings.database,
            simulations: self.simulations,
            bytes: self.space.growth(),
            ended_early: self.ended_early,
        })
    }

    async fn take(&mut self, record: &StepRecord) -> Result<(), RecorderError> {
        if self.ended_early.is_some() {
            return Ok(());
        }
        if record.epoch != self.epoch {
            self.begin_epoch(record.epoch).await?;
        }
        if record.step.0 > LAST_STEP {
            return self.end_log(format!("step {LAST_STEP} is the last that a run's rows can be numbered by")).await;
        }
        for command in &record.commands {
            self.format.push_command(&mut self.batch, record.step, command);
        }
        for event in &record.events {
            rows::push_event(&mut self.batch, event, Some(record.timing.wall_ns));
        }
        // While the clock stands still a record may come again with new events. Step 0 is the model itself, not a step.
        if record.step > self.last_step {
            self.last_step = record.step;
            let chain = self.chain.advance(record);
            self.steps_in_batch += u64::from(self.format.push_step(&mut self.batch, record, chain));
            if let Some(state) = &record.snapshot {
                model::push_snapshot(&mut self.batch, record.step, chain, state);
            }
        }
        Ok(())
    }

    /// A reset ends the run's row, and another begins.
    async fn begin_epoch(&mut self, epoch: u32) -> Result<(), RecorderError> {
        let outcome = RunOutcome { status: "reset".into(), steps: self.last_step.0, ..RunOutcome::default() };
        self.end(&outcome).await?;
        self.begin(epoch).await
    }

    async fn begin(&mut self, epoch: u32) -> Result<(), RecorderError> {
        let origin = self.run.origin.as_ref().filter(|_| epoch == 0);
        self.last_step = origin.map_or(StepIndex(0), |origin| origin.step);
        self.chain = StateChain::from_head(origin.map_or(0, |origin| origin.chain_head));
        (self.epoch, self.position) = (epoch, 0);
        self.run_key = format!("{}-{epoch}", self.process_key);
        let beginning = Beginning {
            run_key: self.run_key.clone(),
            started: calendar::now(),
            resets: epoch.into(),
            every_n_steps: self.settings.every_n_steps,
            on_change: false,
            bodies_logged: self.run.layout.bodies() as u64,
            joints_logged: self.run.layout.joints() as u64,
        };
        let simulation_id = self.put(Content::Begin(model::begin(&self.run, &beginning))).await?;
        self.simulations.push(SimulationSummary { simulation_id, steps_logged: 0, rows: 0 });
        Ok(())
    }

    async fn end(&mut self, outcome: &RunOutcome) -> Result<(), RecorderError> {
        self.flush().await?;
        let SimulationSummary { rows, steps_logged: steps, .. } = *self.current();
        let written = Written { rows, steps, gaps: 0, chain_head: self.chain.head() };
        self.put(Content::End(model::end(outcome, written, &calendar::now()))).await.map(drop)
    }

    async fn commit(&mut self) -> Result<(), RecorderError> {
        self.flush().await?;
        match self.space.exhausted() {
            Some(reason) if self.ended_early.is_none() => self.end_log(reason).await,
            _ => Ok(()),
        }
    }

    async fn flush(&mut self) -> Result<(), RecorderError> {
        let (batch, steps) = (std::mem::take(&mut self.batch), std::mem::take(&mut self.steps_in_batch));
        let rows = batch.rows();
        if rows == 0 {
            return Ok(());
        }
        self.space.sent(batch.bytes());
        self.put(Content::Rows(batch)).await?;
        let current = self.current();
        current.rows += rows;
        current.steps_logged += steps;
        self.status.committed(rows, self.space.growth());
        Ok(())
    }

    /// Commits the run's next portion, and tells the run's number.
    async fn put(&mut self, content: Content) -> Result<i64, RecorderError> {
        self.position += 1;
        let portion = Portion { run_key: self.run_key.clone(), number: self.position, content };
        Ok(portion.commit(&mut self.store).await?.simulation)
    }

    /// Ends the log with an event; the records that still come are only drained.
    async fn end_log(&mut self, reason: String) -> Result<(), RecorderError> {
        let text = format!("{reason}; the log is complete up to step {}", self.last_step);
        let event = Event {
            step: self.last_step,
            kind: EventKind::LogLimit,
            subject: "log".into(),
            text: text.clone(),
            value: Some(self.space.growth() as f64),
        };
        rows::push_event(&mut self.batch, &event, None);
        self.flush().await?;
        tracing::warn!("the log ends here: {text}");
        self.ended_early = Some(text);
        self.status.fill(self.settings.when_full == WhenFull::EndRun);
        Ok(())
    }

    fn current(&mut self) -> &mut SimulationSummary {
        self.simulations.last_mut().expect("a run is entered when the log is opened")
    }
}
