//! The log's thread: takes records from the queue, closes a batch about ten times a second, and hands it to the
//! delivery queue.

use std::{
    sync::{Arc, mpsc::RecvTimeoutError},
    time::{Duration, Instant},
};

use simpartner_wire::signal::{Event, EventKind, StepRecord};

use super::{
    batch::Batch,
    batch_builder::BatchBuilder,
    current_run::RunProgress,
    delivery,
    delivery_queue::DeliveryQueue,
    description::{LogSummary, RunDescription, RunOutcome, SimulationSummary},
    disk_space::{self, SpaceWatch},
    run_key,
    settings::{Settings, WhenFull},
    spill,
    status::RecorderStatus,
    world_registry::WorldRegistry,
};
use crate::{database::error::RecorderError, format::ids::LAST_STEP};
use simpartner_realtime::{DeadlineNiceness, LogReceiver, Mode};

/// Time for which the records of a batch are gathered. A killed process loses at most these records and the batches
/// that are too young to have been copied into the spill file. Ten commits a second are few enough for a disk that
/// takes 10 ms to synchronise.
const BATCH_DURATION: Duration = Duration::from_millis(100);

/// Largest total of numbers in the records of a batch: 8 MB.
const MAX_BATCH_NUMBERS: usize = 1 << 20;

/// Largest number of records in a batch. It takes effect for small worlds that run as fast as they can.
const MAX_BATCH_RECORDS: usize = 512;

/// Size of texts at which a batch is closed, in bytes, because clients choose the length of commands.
const MAX_BATCH_TEXT_BYTES: usize = 8_000_000;

/// Interval at which uncommitted batches are checked while no record arrives: half of the time after which they are
/// copied.
const DELIVERY_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Pause before a batch that has to wait is offered again: two steps at 1 kHz.
const OFFER_RETRY_PAUSE: Duration = Duration::from_millis(2);

/// An open log.
pub(super) struct Writer {
    settings: Settings,
    status: Arc<RecorderStatus>,
    builder: BatchBuilder,
    delivery_queue: DeliveryQueue,
    space: SpaceWatch,
    queue: RecordQueue,
    ended_early: Option<String>,
    away_since: Option<Instant>,
}

/// The incoming records.
pub(super) struct RecordQueue {
    records: LogReceiver,
    /// Largest number of records in a batch.
    records_per_batch: usize,
}

impl RecordQueue {
    /// `numbers` is the number of numbers in a record.
    pub(super) fn new(records: LogReceiver, numbers: usize) -> Self {
        let records_per_batch = (MAX_BATCH_NUMBERS / numbers.max(1)).clamp(1, MAX_BATCH_RECORDS);
        Self { records, records_per_batch }
    }

    /// Receives the next record. It waits until the deadline, or without limit if there is none.
    fn next_record(&mut self, deadline: Option<Instant>) -> Result<Arc<StepRecord>, RecvTimeoutError> {
        match deadline {
            None => self.records.recv().ok_or(RecvTimeoutError::Disconnected),
            Some(deadline) => self.records.recv_timeout(deadline.saturating_duration_since(Instant::now())),
        }
    }
}

impl Writer {
    /// Opens the database and enters the run into it.
    pub(super) fn open(
        settings: Settings,
        run: RunDescription,
        worlds: WorldRegistry,
        queue: RecordQueue,
        status: Arc<RecorderStatus>,
    ) -> Result<Self, RecorderError> {
        if let Some(why) = settings.database.file().and_then(disk_space::space_problem) {
            return Err(RecorderError::NoRoom { database: settings.database, why });
        }
        if !cfg!(feature = "tls") && !settings.database.is_local() {
            tracing::warn!(
                "the connection to {} is not encrypted: this server was built without the feature tls",
                settings.database
            );
        }
        if settings.database.has_unknown_parameters() {
            tracing::warn!("a parameter of the address {} is not known, and is ignored", settings.database);
        }
        for file in spill::left_behind(&settings.spill_folder) {
            tracing::warn!(
                "{} has steps of a run that was killed: simpartner db import imports them into a database",
                file.display()
            );
        }
        let process_key = run_key::random_key();
        // The clock keeps this flag up to date once it runs.
        status.flags().set_deadlines(run.mode == Mode::RealTime);
        let mut builder = BatchBuilder::new(settings.clone(), run, worlds, process_key.clone())?;
        let first = builder.take_batches();
        let opened = delivery::open_database(&settings.database, &first[0], settings.start_without_database)?;
        let is_entered = opened.error.is_none();
        let beginning = Arc::new(first[0].clone());
        let delivery_queue =
            DeliveryQueue::start(settings.clone(), &process_key, beginning, opened, Arc::clone(&status))?;
        let space = SpaceWatch::new(&settings.database, delivery_queue.spill_path(), settings.limit_mb);
        let mut writer =
            Self { settings, status, builder, delivery_queue, space, queue, ended_early: None, away_since: None };
        if !is_entered {
            writer.send_batches(first);
        }
        Ok(writer)
    }

    /// Writes until every sender is dropped.
    pub(super) fn write_all(&mut self) {
        let niceness = DeadlineNiceness::new();
        loop {
            niceness.set(self.status.flags().has_deadlines());
            let until = (!self.delivery_queue.is_idle()).then(|| Instant::now() + DELIVERY_POLL_INTERVAL);
            match self.queue.next_record(until) {
                Ok(first) => self.gather_batch(&first),
                Err(RecvTimeoutError::Timeout) => self.delivery_queue.update(),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Gathers a batch from this record and those that arrive within [`BATCH_DURATION`], and sends it.
    fn gather_batch(&mut self, first: &StepRecord) {
        let deadline = Instant::now() + BATCH_DURATION;
        self.add_record(first);
        let (mut records, mut bytes) = (1, simpartner_realtime::text_bytes(first));
        while records < self.queue.records_per_batch && bytes < MAX_BATCH_TEXT_BYTES {
            let Ok(record) = self.queue.next_record(Some(deadline)) else { break };
            self.add_record(&record);
            (records, bytes) = (records + 1, bytes + simpartner_realtime::text_bytes(&record));
        }
        self.send_gathered();
        self.check_space();
        self.log_outages();
    }

    /// Ends the run, waits until everything is delivered, and returns a summary of the log.
    pub(super) fn finish(mut self, outcome: &RunOutcome) -> Result<LogSummary, RecorderError> {
        self.log_outages();
        self.builder.end_run(outcome, self.ended_early.is_some());
        self.send_gathered();
        let batches = self.delivery_queue.most_in_memory();
        let delivered = self.delivery_queue.finish().inspect_err(|_| self.status.set_failed())?;
        self.space.set_pending(0);
        let summary = |run: RunProgress| SimulationSummary {
            simulation_id: delivered.runs.get(&run.key).copied().unwrap_or_default(),
            steps_logged: run.steps_logged,
            rows: run.rows,
        };
        Ok(LogSummary {
            database: self.settings.database,
            simulations: self.builder.into_runs().into_iter().map(summary).collect(),
            bytes: self.space.growth(),
            batches,
            ended_early: self.ended_early,
        })
    }

    /// Adds a record, unless the log has ended.
    fn add_record(&mut self, record: &StepRecord) {
        if self.ended_early.is_some() {
            return;
        }
        if record.step.0 > LAST_STEP {
            return self.end_log(&format!("step {LAST_STEP} is the last one whose row can be numbered"));
        }
        self.builder.add_record(record);
    }

    /// Sends the batches gathered so far.
    fn send_gathered(&mut self) {
        let batches = self.builder.take_batches();
        self.send_batches(batches);
    }

    /// Sends batches, and returns when the delivery queue has taken every one.
    fn send_batches(&mut self, batches: Vec<Batch>) {
        for batch in batches {
            self.space.add_sent(batch.size_bytes());
            self.status.add_sent(batch.size_bytes());
            let mut waiting = Some(Arc::new(batch));
            while let Some(batch) = waiting.take() {
                waiting = self.delivery_queue.offer_batch(batch, self.queue.records.is_half_full());
                if self.delivery_queue.has_ended() && !self.status.failed() {
                    self.status.set_failed();
                }
                if waiting.is_some() {
                    std::thread::sleep(OFFER_RETRY_PAUSE);
                }
            }
        }
        self.space.set_pending(self.delivery_queue.pending_bytes());
        self.status.set_growth(self.space.growth());
    }

    /// Ends the log if there is no space for more.
    fn check_space(&mut self) {
        self.space.set_pending(self.delivery_queue.pending_bytes());
        if let Some(reason) = self.space.end_reason().filter(|_| self.ended_early.is_none()) {
            self.end_log(&reason);
        }
    }

    /// Adds an event when the database goes away and when it is back.
    fn log_outages(&mut self) {
        let (text, value) = match (self.status.is_away(), self.away_since) {
            (true, None) => {
                self.away_since = Some(Instant::now());
                let (error, path) =
                    (self.delivery_queue.progress().last_error(), self.delivery_queue.spill_path().display());
                (format!("{error}; batches are stored in {path} until it is available again"), None)
            }
            (false, Some(since)) => {
                self.away_since = None;
                let seconds = since.elapsed().as_secs_f64();
                (format!("the database is available again after {seconds:.1} s"), Some(seconds))
            }
            _ => return,
        };
        self.add_event(EventKind::LogOutage, text, value);
    }

    /// Ends the log with an event. Further records are discarded.
    fn end_log(&mut self, reason: &str) {
        let text = format!("{reason}; the log is complete up to step {}", self.builder.last_step());
        self.add_event(EventKind::LogLimit, text.clone(), Some(self.space.growth() as f64));
        self.send_gathered();
        tracing::warn!("the log ends here: {text}");
        self.ended_early = Some(text);
        self.status.set_log_full(self.settings.when_full == WhenFull::EndRun);
    }

    fn add_event(&mut self, kind: EventKind, text: String, value: Option<f64>) {
        let step = self.builder.last_step();
        self.builder.add_event(&Event { step, kind, subject: "log".into(), text, value });
    }
}
