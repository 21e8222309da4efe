//! A log being written: its thread, and the queue to it.

use std::{
    sync::{Arc, mpsc},
    thread::JoinHandle,
};

use simpartner_model::Timestep;
use simpartner_wire::signal::{Layout, StepRecord};

use super::{
    announced::AnnouncedWorlds,
    description::{LogSummary, RunDescription, RunOutcome},
    expected_growth::ExpectedGrowth,
    logged_components::LoggedComponents,
    settings::Settings,
    status::RecorderStatus,
    writer::{Queue, Writer},
};
use crate::database::error::RecorderError;
use simpartner_realtime::LogSender;

/// Simulated time that the queue holds, in seconds, as far as memory allows: longer than a server takes to restart.
const QUEUE_S: f64 = 10.0;

/// Memory that the queue may take, in bytes: a small part of what a machine has that runs such a world.
const QUEUE_BYTES: usize = 256 * 1024 * 1024;

/// A log being written.
#[derive(Debug)]
pub struct Recorder {
    records: LogSender,
    outcome: mpsc::Sender<RunOutcome>,
    status: Arc<RecorderStatus>,
    expected: ExpectedGrowth,
    worlds: AnnouncedWorlds,
    writer: JoinHandle<Result<LogSummary, RecorderError>>,
}

impl Recorder {
    /// Opens or creates the database, brings its tables up to date, inserts the run and starts the writer.
    ///
    /// # Errors
    /// When any of this fails: then there is no log, and at most empty tables have been created. Settings can allow that the
    /// database is away.
    pub fn start(settings: Settings, run: RunDescription) -> Result<Self, RecorderError> {
        let expected = ExpectedGrowth::of(&settings, &run, &LoggedComponents::new(&settings, &run)?);
        let (records, queue) = simpartner_realtime::log_queue(capacity(&run.layout, run.timestep));
        let (outcome, outcomes) = mpsc::channel::<RunOutcome>();
        let (opened, answer) = mpsc::sync_channel(1);
        let status = Arc::new(RecorderStatus::default());
        let (shared, worlds) = (Arc::clone(&status), AnnouncedWorlds::default());
        let announced = worlds.clone();
        let queue = Queue::new(queue, run.layout.numbers_per_step());
        let body = move || {
            let mut writer = match Writer::open(settings, run, announced, queue, shared) {
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

    /// Where worlds are announced before the clock goes on in them.
    pub fn worlds(&self) -> AnnouncedWorlds {
        self.worlds.clone()
    }

    /// How much the log is going to grow while everything moves.
    pub fn expected(&self) -> ExpectedGrowth {
        self.expected
    }

    /// Waits until all senders are dropped and everything queued is committed, then closes the run. It blocks, so it has no
    /// place in an async task.
    ///
    /// # Errors
    /// The first failure of the writer.
    pub fn finish(self, outcome: RunOutcome) -> Result<LogSummary, RecorderError> {
        // A writer that has failed does not wait for it.
        let _ = self.outcome.send(outcome);
        drop(self.records);
        self.writer.join().unwrap_or(Err(RecorderError::WriterLost))
    }
}

/// How many records the queue holds.
fn capacity(layout: &Layout, timestep: Timestep) -> usize {
    let record = size_of::<StepRecord>() + layout.numbers_per_step() * size_of::<f64>() + layout.devices().len() * 9;
    let wanted = timestep.steps_in(QUEUE_S) as usize;
    wanted.clamp(1, (QUEUE_BYTES / record).max(1))
}
