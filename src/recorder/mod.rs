//! The log: every step of every run in SQL.
//!
//! A thread of its own takes the records from a bounded queue, turns them into rows and commits them about ten times a
//! second, each batch whole or not at all: half a step is never seen. A process killed with no chance to close the log loses
//! at most the batch in flight and what waited in the queue, about the last 0.2 s in real time; what was committed reads
//! back whole, and the run's row says `running` for ever.
//!
//! Nothing is lost silently. A full queue makes the sender wait (`fast`) or find out (`realtime`); a writer that fails
//! raises [`RecorderStatus::stop_flag`] and goes on draining, so that nobody waits for it in vain; a log that comes to its
//! bound ends with an event.
//!
//! This room knows nothing of engines, XML and sockets. Start at [`Recorder`], then `rows` (which row a record becomes), then
//! `writer`; [`Reader`] reads logs back; `migrations/sqlite` describes the tables.

mod axis_angle;
mod calendar;
mod cell;
mod database;
mod description;
mod error;
pub mod inquiry;
mod model;
mod portion;
mod prune;
mod read;
mod reader;
mod rows;
mod setting;
mod settings;
mod space;
mod status;
mod store;
mod table;
mod transfer;
mod writer;

use std::{
    sync::{
        Arc,
        mpsc::{self, Receiver, SyncSender},
    },
    thread::JoinHandle,
};

pub use database::{ADDRESSES, Database, without_password};
pub use description::{LogSummary, Origin, RunDescription, RunOutcome, SimulationSummary};
pub use error::RecorderError;
pub use inquiry::Inquiry;
pub use prune::{Prune, days_ago};
pub use reader::{Reader, RecordedEvent, RecordedRun};
pub use settings::{Settings, WhenFull};
pub use status::RecorderStatus;
pub use transfer::{Merge, Merged};

use crate::signal::{Layout, StepRecord, Timestep};
use writer::Writer;

/// Simulated time that the queue holds, in seconds, as far as memory allows.
const QUEUE_S: f64 = 10.0;

/// Memory that the queue may take, in bytes.
const QUEUE_BYTES: usize = 256 * 1024 * 1024;

/// A log being written.
#[derive(Debug)]
pub struct Recorder {
    records: SyncSender<Arc<StepRecord>>,
    outcome: mpsc::Sender<RunOutcome>,
    status: Arc<RecorderStatus>,
    writer: JoinHandle<Result<LogSummary, RecorderError>>,
}

impl Recorder {
    /// Opens or creates the database, brings its tables up to date, enters the run and starts the writer.
    ///
    /// # Errors
    /// When any of this fails: then there is no log, and nothing has been written but perhaps empty tables.
    pub fn start(settings: Settings, run: RunDescription) -> Result<Self, RecorderError> {
        let (records, queue) = mpsc::sync_channel(capacity(&run.layout, run.timestep));
        let (outcome, outcomes) = mpsc::channel();
        let (opened, answer) = mpsc::sync_channel(1);
        let status = Arc::new(RecorderStatus::default());
        let shared = Arc::clone(&status);
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(RecorderError::Start)?;
        let body = move || {
            runtime.block_on(async {
                match Writer::open(settings, run, Arc::clone(&shared)).await {
                    Ok(writer) => {
                        let _ = opened.send(Ok(()));
                        write(writer, &queue, &outcomes, &shared).await
                    }
                    Err(error) => {
                        let _ = opened.send(Err(error));
                        Err(RecorderError::WriterLost)
                    }
                }
            })
        };
        let writer = std::thread::Builder::new().name("log".into()).spawn(body).map_err(RecorderError::Start)?;
        let answer = answer.recv().map_err(|_| RecorderError::WriterLost)?;
        answer.map(|()| Self { records, outcome, status, writer })
    }

    /// The way into the queue. It must be dropped before [`Recorder::finish`] can return.
    pub fn sender(&self) -> SyncSender<Arc<StepRecord>> {
        self.records.clone()
    }

    /// How the writer is doing.
    pub fn status(&self) -> Arc<RecorderStatus> {
        Arc::clone(&self.status)
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

async fn write(
    mut writer: Writer,
    queue: &Receiver<Arc<StepRecord>>,
    outcomes: &Receiver<RunOutcome>,
    status: &RecorderStatus,
) -> Result<LogSummary, RecorderError> {
    if let Err(error) = writer.write_all(queue).await {
        tracing::error!("the log has failed and ends the run: {error}");
        status.fail();
        queue.iter().for_each(drop);
        return Err(error);
    }
    let abandoned = || RunOutcome { status: "abandoned".into(), ..RunOutcome::default() };
    let closed = writer.close(&outcomes.try_recv().unwrap_or_else(|_| abandoned())).await;
    closed.inspect_err(|_| status.fail())
}

/// How many records the queue holds.
fn capacity(layout: &Layout, timestep: Timestep) -> usize {
    let record = size_of::<StepRecord>() + layout.len() * size_of::<f64>() + layout.devices().len() * 9;
    let wanted = timestep.steps_in(QUEUE_S) as usize;
    wanted.clamp(1, (QUEUE_BYTES / record).max(1))
}
