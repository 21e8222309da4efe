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
    rows::{Batch, Format, Keys},
    space::SpaceWatch,
    sqlite::Store,
};
use crate::signal::{Event, EventKind, StepIndex, StepRecord};

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
    keys: Keys,
    batch: Batch,
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
        let mut store = Store::open(&settings.database).await?;
        let space = SpaceWatch::new(settings.database.path(), settings.limit_mb);
        let keys = store.register(&run, settings.every_n_steps, 0).await?;
        let format = Format::new(Arc::clone(&run.layout), run.timestep, settings.every_n_steps);
        Ok(Self {
            settings,
            run,
            status,
            store,
            space,
            format,
            keys,
            batch: Batch::default(),
            epoch: 0,
            last_step: StepIndex(0),
            simulations: vec![summary_of(keys)],
            ended_early: None,
        })
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

    /// Closes the run and the file.
    pub(super) async fn close(mut self, outcome: &RunOutcome) -> Result<LogSummary, RecorderError> {
        for event in &outcome.events {
            self.batch.push_event(self.keys, event, None);
        }
        self.flush().await?;
        self.store.close_simulation(self.current(), outcome).await?;
        self.store.close().await?;
        Ok(LogSummary {
            path: self.settings.database.path().to_owned(),
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
            self.batch.push_command(&self.format, self.keys, record.step, command);
        }
        for event in &record.events {
            self.batch.push_event(self.keys, event, Some(record.timing.wall_ns));
        }
        // While the clock stands still a record may come again with new events. Step 0 is the model itself, not a step.
        if record.step > self.last_step {
            self.last_step = record.step;
            self.batch.push_step(&self.format, self.keys, record);
        }
        Ok(())
    }

    /// A reset ends the run's row, and another begins.
    async fn begin_epoch(&mut self, epoch: u32) -> Result<(), RecorderError> {
        self.flush().await?;
        let outcome = RunOutcome { status: "reset".into(), steps: self.last_step.0, ..RunOutcome::default() };
        self.store.close_simulation(self.current(), &outcome).await?;
        self.keys = self.store.register(&self.run, self.settings.every_n_steps, u64::from(epoch)).await?;
        self.epoch = epoch;
        self.last_step = StepIndex(0);
        self.simulations.push(summary_of(self.keys));
        Ok(())
    }

    async fn commit(&mut self) -> Result<(), RecorderError> {
        self.flush().await?;
        match self.space.exhausted() {
            Some(reason) if self.ended_early.is_none() => self.end_log(reason).await,
            _ => Ok(()),
        }
    }

    async fn flush(&mut self) -> Result<(), RecorderError> {
        let rows = self.batch.rows();
        if rows == 0 {
            return Ok(());
        }
        self.store.write(&self.batch).await?;
        let current = self.simulations.last_mut().expect("a run is registered when the log is opened");
        current.rows += rows;
        current.steps_logged += self.batch.steps_logged;
        self.batch.clear();
        self.status.committed(rows, self.space.growth());
        Ok(())
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
        self.batch.push_event(self.keys, &event, None);
        self.flush().await?;
        tracing::warn!("the log ends here: {text}");
        self.ended_early = Some(text);
        self.status.fill(self.settings.when_full == WhenFull::EndRun);
        Ok(())
    }

    fn current(&self) -> SimulationSummary {
        *self.simulations.last().expect("a run is registered when the log is opened")
    }
}

fn summary_of(keys: Keys) -> SimulationSummary {
    SimulationSummary { simulation_id: keys.simulation, steps_logged: 0, rows: 0 }
}
