//! The log: every step of every run in SQL.
//!
//! A thread of its own takes the records from a bounded queue, turns them into rows, and about ten times a second makes a
//! portion of them; another commits portion after portion, each whole or not at all: half a step is never seen. A process killed
//! with no chance to close the log loses at most what was not committed, about the last 0.5 s in real time; what was committed
//! reads back whole, and the run's row says `running` for ever.
//!
//! Nothing is lost silently. What the database does not take in time waits in a spill file and is brought home in order; without
//! deadlines the physics waits first. A database that has failed for good, or a spill file that can take no more, raises
//! [`RecorderStatus::flags`], and whatever is left is named at the end; a log that comes to its bound ends with an event.
//!
//! This room knows nothing of engines, XML and sockets. Start at [`Recorder`], then `scribe` and `rows` (what becomes of a record),
//! `portion` and `outbox` (where it goes), `store` (the three databases); [`Reader`] reads logs back and proves them complete;
//! `migrations/sqlite` describes the tables.

mod axis_angle;
mod cadence;
mod calendar;
mod cell;
mod change;
mod checksum;
mod complete;
mod contents;
mod database;
mod database_file;
mod deliver;
mod description;
mod error;
mod expected;
mod identity;
mod import;
pub mod inquiry;
mod interval;
mod model;
mod outbox;
mod portion;
mod prune;
mod ranges;
mod read;
mod reader;
mod rows;
mod scribe;
mod selection;
mod setting;
mod settings;
mod space;
mod spill;
mod status;
mod store;
mod table;
mod transfer;
mod writer;

use std::{
    sync::{Arc, mpsc},
    thread::JoinHandle,
};

use simpartner_model::Timestep;
use simpartner_wire::signal::{Layout, StepRecord};

pub use cadence::Cadence;
pub use change::Rows;
pub use complete::Completeness;
pub use database::{ADDRESSES, Database, without_password};
pub use description::{LogSummary, Origin, RunDescription, RunOutcome, SimulationSummary};
pub use error::RecorderError;
pub use expected::ExpectedGrowth;
pub use import::{Damage, Imported, Missing, import};
pub use inquiry::Inquiry;
pub use prune::{Prune, days_ago};
pub use reader::{Reader, RecordedCommands, RecordedEvent, RecordedRun};
pub use selection::Patterns;
pub use settings::{Settings, Thinning, WhenFull};
pub use status::RecorderStatus;
pub use transfer::{Merge, Merged};

use crate::realtime::{self, LogSender};
use selection::Selection;
use writer::{Queue, Writer};

/// Simulated time that the queue holds, in seconds, as far as memory allows.
const QUEUE_S: f64 = 10.0;

/// Memory that the queue may take, in bytes.
const QUEUE_BYTES: usize = 256 * 1024 * 1024;

/// A log being written.
#[derive(Debug)]
pub struct Recorder {
    records: LogSender,
    outcome: mpsc::Sender<RunOutcome>,
    status: Arc<RecorderStatus>,
    expected: ExpectedGrowth,
    writer: JoinHandle<Result<LogSummary, RecorderError>>,
}

impl Recorder {
    /// Opens or creates the database, brings its tables up to date, enters the run and starts the writer.
    ///
    /// # Errors
    /// When any of this fails: then there is no log, and nothing has been written but perhaps empty tables. A database that is
    /// away is no failure where the settings say so.
    pub fn start(settings: Settings, run: RunDescription) -> Result<Self, RecorderError> {
        let expected = ExpectedGrowth::of(&settings, &run, &Selection::new(&settings, &run)?);
        let (records, queue) = realtime::log_queue(capacity(&run.layout, run.timestep));
        let (outcome, outcomes) = mpsc::channel::<RunOutcome>();
        let (opened, answer) = mpsc::sync_channel(1);
        let status = Arc::new(RecorderStatus::default());
        let shared = Arc::clone(&status);
        let queue = Queue::new(queue, run.layout.len());
        let body = move || {
            let mut writer = match Writer::open(settings, run, queue, shared) {
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
        answer.map(|()| Self { records, outcome, status, expected, writer })
    }

    /// The way into the queue. It must be dropped before [`Recorder::finish`] can return.
    pub fn sender(&self) -> LogSender {
        self.records.clone()
    }

    /// How the writer is doing.
    pub fn status(&self) -> Arc<RecorderStatus> {
        Arc::clone(&self.status)
    }

    /// How much it is going to grow while everything moves.
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
    let record = size_of::<StepRecord>() + layout.len() * size_of::<f64>() + layout.devices().len() * 9;
    let wanted = timestep.steps_in(QUEUE_S) as usize;
    wanted.clamp(1, (QUEUE_BYTES / record).max(1))
}
