//! The log's thread: it takes records from the queue, makes batches of them about ten times a second, and hands these to the outbox.

use std::{
    sync::{Arc, mpsc::RecvTimeoutError},
    time::{Duration, Instant},
};

use simpartner_wire::signal::{Event, EventKind, StepRecord};

use super::{
    announced::AnnouncedWorlds,
    batch::Batch,
    batch_builder::BatchBuilder,
    current_run::RunProgress,
    delivery,
    description::{LogSummary, RunDescription, RunOutcome, SimulationSummary},
    disk_space::{self, SpaceWatch},
    outbox::Outbox,
    run_key,
    settings::{Settings, WhenFull},
    spill,
    status::RecorderStatus,
};
use crate::{database::error::RecorderError, format::ids::LAST_STEP};
use simpartner_realtime::{DeadlineNiceness, LogReceiver, Mode};

/// How long records are gathered for a batch. A killed process loses at most these records and the batches that are too young to have
/// been copied into the spill file. Ten commits a second are few enough for a disk that takes 10 ms to synchronise.
const GATHERING: Duration = Duration::from_millis(100);

/// Most numbers of the records of a batch: 8 MB.
const GATHERED_NUMBERS: usize = 1 << 20;

/// Most records of a batch, for small worlds as fast as they run.
const GATHERED_RECORDS: usize = 512;

/// Most bytes of texts of a batch: clients choose how long commands are.
const GATHERED_BYTES: usize = 8_000_000;

/// How long the thread waits for a record before it looks after batches in progress: half of the time after which they are copied.
const WATCH: Duration = Duration::from_millis(50);

/// Pause before a batch that has to wait is offered again: two steps at 1 kHz.
const RETRY: Duration = Duration::from_millis(2);

/// An open log.
pub(super) struct Writer {
    settings: Settings,
    status: Arc<RecorderStatus>,
    builder: BatchBuilder,
    outbox: Outbox,
    space: SpaceWatch,
    queue: Queue,
    ended_early: Option<String>,
    away_since: Option<Instant>,
}

/// The incoming records, and how many of them make a batch at most.
pub(super) struct Queue {
    records: LogReceiver,
    records_per_batch: usize,
}

impl Queue {
    /// `numbers` is how many numbers a record has.
    pub(super) fn new(records: LogReceiver, numbers: usize) -> Self {
        let records_per_batch = (GATHERED_NUMBERS / numbers.max(1)).clamp(1, GATHERED_RECORDS);
        Self { records, records_per_batch }
    }

    /// The next record until a deadline; without one it waits as long as it takes.
    fn next(&mut self, deadline: Option<Instant>) -> Result<Arc<StepRecord>, RecvTimeoutError> {
        match deadline {
            None => self.records.recv().ok_or(RecvTimeoutError::Disconnected),
            Some(deadline) => self.records.recv_timeout(deadline.saturating_duration_since(Instant::now())),
        }
    }
}

impl Writer {
    /// Opens the database and enters the run.
    pub(super) fn open(
        settings: Settings,
        run: RunDescription,
        worlds: AnnouncedWorlds,
        queue: Queue,
        status: Arc<RecorderStatus>,
    ) -> Result<Self, RecorderError> {
        if let Some(why) = settings.database.file().and_then(disk_space::scarcity) {
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
        let process_key = run_key::random();
        // Until the clock sets it.
        status.flags().set_deadlines(run.mode == Mode::RealTime);
        let mut builder = BatchBuilder::new(settings.clone(), run, worlds, process_key.clone())?;
        let first = builder.take_batches();
        let opened = delivery::open(&settings.database, &first[0], settings.start_without_database)?;
        let is_entered = opened.error.is_none();
        let beginning = Arc::new(first[0].clone());
        let outbox = Outbox::start(settings.clone(), &process_key, beginning, opened, Arc::clone(&status))?;
        let space = SpaceWatch::new(&settings.database, outbox.spill_path(), settings.limit_mb);
        let mut writer = Self { settings, status, builder, outbox, space, queue, ended_early: None, away_since: None };
        if !is_entered {
            writer.send(first);
        }
        Ok(writer)
    }

    /// Writes until every sender is gone.
    pub(super) fn write_all(&mut self) {
        let niceness = DeadlineNiceness::new();
        loop {
            niceness.set(self.status.flags().has_deadlines());
            let until = (!self.outbox.is_idle()).then(|| Instant::now() + WATCH);
            match self.queue.next(until) {
                Ok(first) => self.gather(&first),
                Err(RecvTimeoutError::Timeout) => self.outbox.watch(),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Makes a batch of a record and of those that come within a tenth of a second.
    fn gather(&mut self, first: &StepRecord) {
        let deadline = Instant::now() + GATHERING;
        self.add(first);
        let (mut records, mut bytes) = (1, simpartner_realtime::text_bytes(first));
        while records < self.queue.records_per_batch && bytes < GATHERED_BYTES {
            let Ok(record) = self.queue.next(Some(deadline)) else { break };
            self.add(&record);
            (records, bytes) = (records + 1, bytes + simpartner_realtime::text_bytes(&record));
        }
        self.send_gathered();
        self.watch_space();
        self.watch_database();
    }

    /// Ends the run, waits until all is delivered, and returns what was written.
    pub(super) fn finish(mut self, outcome: &RunOutcome) -> Result<LogSummary, RecorderError> {
        self.watch_database();
        self.builder.end(outcome, self.ended_early.is_some());
        self.send_gathered();
        let batches = self.outbox.most_in_memory();
        let delivered = self.outbox.finish().inspect_err(|_| self.status.fail())?;
        self.space.set_pending(0);
        let summary = |run: RunProgress| SimulationSummary {
            simulation_id: delivered.runs.get(&run.key).copied().unwrap_or_default(),
            steps_logged: run.steps_logged,
            rows: run.rows,
        };
        Ok(LogSummary {
            database: self.settings.database,
            simulations: self.builder.runs().into_iter().map(summary).collect(),
            bytes: self.space.growth(),
            batches,
            ended_early: self.ended_early,
        })
    }

    fn add(&mut self, record: &StepRecord) {
        if self.ended_early.is_some() {
            return;
        }
        if record.step.0 > LAST_STEP {
            return self.end_log(&format!("step {LAST_STEP} is the last one whose row can be numbered"));
        }
        self.builder.add(record);
    }

    /// Sends what has been gathered.
    fn send_gathered(&mut self) {
        let batches = self.builder.take_batches();
        self.send(batches);
    }

    /// Returns when the outbox has taken every batch.
    fn send(&mut self, batches: Vec<Batch>) {
        for batch in batches {
            self.space.add_sent(batch.bytes());
            self.status.sent(batch.bytes());
            let mut waiting = Some(Arc::new(batch));
            while let Some(batch) = waiting.take() {
                waiting = self.outbox.offer(batch, self.queue.records.is_half_full());
                if self.outbox.has_ended() && !self.status.failed() {
                    self.status.fail();
                }
                if waiting.is_some() {
                    std::thread::sleep(RETRY);
                }
            }
        }
        self.space.set_pending(self.outbox.pending_bytes());
        self.status.grown(self.space.growth());
    }

    fn watch_space(&mut self) {
        self.space.set_pending(self.outbox.pending_bytes());
        if let Some(reason) = self.space.exhausted().filter(|_| self.ended_early.is_none()) {
            self.end_log(&reason);
        }
    }

    /// Logs when the database goes away and when it is back.
    fn watch_database(&mut self) {
        let (text, value) = match (self.status.is_away(), self.away_since) {
            (true, None) => {
                self.away_since = Some(Instant::now());
                let (error, path) = (self.outbox.progress().last_error(), self.outbox.spill_path().display());
                (format!("{error}; batches wait in {path} until it is back"), None)
            }
            (false, Some(since)) => {
                self.away_since = None;
                let seconds = since.elapsed().as_secs_f64();
                (format!("the database is back after {seconds:.1} s"), Some(seconds))
            }
            _ => return,
        };
        self.add_event(EventKind::LogOutage, text, value);
    }

    /// Ends the log with an event; further records are discarded.
    fn end_log(&mut self, reason: &str) {
        let text = format!("{reason}; the log is complete up to step {}", self.builder.last_step());
        self.add_event(EventKind::LogLimit, text.clone(), Some(self.space.growth() as f64));
        self.send_gathered();
        tracing::warn!("the log ends here: {text}");
        self.ended_early = Some(text);
        self.status.fill(self.settings.when_full == WhenFull::EndRun);
    }

    fn add_event(&mut self, kind: EventKind, text: String, value: Option<f64>) {
        let step = self.builder.last_step();
        self.builder.add_event(&Event { step, kind, subject: "log".into(), text, value });
    }
}
