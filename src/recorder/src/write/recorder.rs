//! Handle of a log being written: starts and ends the log's thread, and gives out senders to its queue.

use std::{
    sync::{Arc, mpsc},
    thread::JoinHandle,
};

use simpartner_model::Timestep;
use simpartner_wire::signal::{Layout, StepRecord};

use super::{
    description::{LogSummary, RunDescription, RunOutcome},
    expected_growth::ExpectedGrowth,
    logged_components::LoggedComponents,
    settings::Settings,
    status::RecorderStatus,
    world_registry::WorldRegistry,
    writer::{RecordQueue, Writer},
};
use crate::database::error::RecorderError;
use simpartner_realtime::LogSender;

/// Simulated time that the queue holds, in seconds, as far as [`QUEUE_BYTES`] allow: longer than a database server
/// takes to restart.
const QUEUE_S: f64 = 10.0;

/// Largest memory of the queue, in bytes: a small part of the memory of a machine that runs a large world.
const QUEUE_BYTES: usize = 256 * 1024 * 1024;

/// A log being written.
#[derive(Debug)]
pub struct Recorder {
    records: LogSender,
    outcome: mpsc::Sender<RunOutcome>,
    status: Arc<RecorderStatus>,
    expected: ExpectedGrowth,
    worlds: WorldRegistry,
    writer: JoinHandle<Result<LogSummary, RecorderError>>,
}

impl Recorder {
    /// Opens or creates the database, brings its tables up to date, inserts the run and starts the writer.
    ///
    /// # Errors
    /// When any of this fails. Then there is no log, and at most empty tables have been created. With
    /// `start_without_database` a database that is away is no error.
    pub fn start(settings: Settings, run: RunDescription) -> Result<Self, RecorderError> {
        let expected = ExpectedGrowth::estimate(&settings, &run, &LoggedComponents::new(&settings, &run)?);
        let (records, queue) = simpartner_realtime::log_queue(queue_capacity(&run.layout, run.timestep));
        let (outcome, outcomes) = mpsc::channel::<RunOutcome>();
        let (opened, answer) = mpsc::sync_channel(1);
        let status = Arc::new(RecorderStatus::default());
        let (shared, worlds) = (Arc::clone(&status), WorldRegistry::default());
        let registry = worlds.clone();
        let queue = RecordQueue::new(queue, run.layout.numbers_per_step());
        let body = move || {
            let mut writer = match Writer::open(settings, run, registry, queue, shared) {
                Ok(writer) => writer,
                Err(error) => {
                    let _ = opened.send(Err(error));
                    return Err(RecorderError::WriterLost);
                }
            };
            let _ = opened.send(Ok(()));
            writer.write_all();
            let abandoned = || RunOutcome { status: "abandoned".into(), ..RunOutcome::default() };
            writer.finish(&outcomes.try_recv().unwrap_or_else(|_| abandoned()))
        };
        let writer = std::thread::Builder::new().name("log".into()).spawn(body).map_err(RecorderError::Start)?;
        let answer = answer.recv().map_err(|_| RecorderError::WriterLost)?;
        answer.map(|()| Self { records, outcome, status, expected, worlds, writer })
    }

    /// A sender for records. Every sender must be dropped before [`Recorder::finish`] can return.
    pub fn sender(&self) -> LogSender {
        self.records.clone()
    }

    /// Figures and flags of the writer.
    pub fn status(&self) -> Arc<RecorderStatus> {
        Arc::clone(&self.status)
    }

    /// The registry of edited worlds. A world is registered before the clock continues in it.
    pub fn worlds(&self) -> WorldRegistry {
        self.worlds.clone()
    }

    /// Expected growth of the log while everything moves.
    pub fn expected(&self) -> ExpectedGrowth {
        self.expected
    }

    /// Waits until all senders are dropped and everything queued is committed, then closes the run. It blocks the
    /// thread, so do not call it from an async task.
    ///
    /// # Errors
    /// The first failure of the writer.
    pub fn finish(self, outcome: RunOutcome) -> Result<LogSummary, RecorderError> {
        // If the writer has failed, nobody receives the outcome.
        let _ = self.outcome.send(outcome);
        drop(self.records);
        self.writer.join().unwrap_or(Err(RecorderError::WriterLost))
    }
}

/// Capacity of the queue, in records.
fn queue_capacity(layout: &Layout, timestep: Timestep) -> usize {
    let record = size_of::<StepRecord>() + layout.numbers_per_step() * size_of::<f64>() + layout.devices().len() * 9;
    let wanted = timestep.steps_in(QUEUE_S) as usize;
    wanted.clamp(1, (QUEUE_BYTES / record).max(1))
}
