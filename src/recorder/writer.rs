//! The log's thread: takes records from the queue, has them made into portions about ten times a second, and sees that they go
//! out.

use std::{
    sync::{Arc, mpsc::RecvTimeoutError},
    time::{Duration, Instant},
};

use simpartner_wire::signal::{Event, EventKind, StepRecord};

use super::{
    LogSummary, RecorderError, RecorderStatus, RunDescription, RunOutcome, Settings, SimulationSummary, WhenFull,
    calendar, deliver,
    outbox::Outbox,
    portion::Portion,
    scribe::Scribe,
    space::{self, SpaceWatch},
    spill,
};
use crate::realtime::{self, DeadlineNiceness, LogReceiver, Mode};

/// How long records are gathered for a portion, and so what a killed process loses at most besides portions that are so young that
/// they have not been copied into the spill file yet.
const GATHERING: Duration = Duration::from_millis(100);

/// The most that is gathered for a portion, in numbers of the records, and in records.
const GATHERED_NUMBERS: usize = 1 << 20;
const GATHERED_RECORDS: usize = 512;

/// The most that is gathered for a portion in bytes of texts: clients choose how long commands are.
const GATHERED_BYTES: usize = 8_000_000;

/// How long the thread waits for a record before it looks after what is on its way.
const WATCH: Duration = Duration::from_millis(50);

/// How long the thread looks away while a portion has to wait.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// The last step that fits into a simulationRowID.
const LAST_STEP: u64 = u32::MAX as u64;

/// An open log.
pub(super) struct Writer {
    settings: Settings,
    status: Arc<RecorderStatus>,
    scribe: Scribe,
    outbox: Outbox,
    space: SpaceWatch,
    queue: Queue,
    ended_early: Option<String>,
    away_since: Option<Instant>,
}

/// The records that come, and how many of them make a portion.
pub(super) struct Queue {
    records: LogReceiver,
    portion: usize,
}

impl Queue {
    /// `numbers` is how many numbers a record has.
    pub(super) fn new(records: LogReceiver, numbers: usize) -> Self {
        let portion = (GATHERED_NUMBERS / numbers.max(1)).clamp(1, GATHERED_RECORDS);
        Self { records, portion }
    }

    /// The next record by a time, or without one whenever it comes.
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
        queue: Queue,
        status: Arc<RecorderStatus>,
    ) -> Result<Self, RecorderError> {
        if let Some(why) = settings.database.file().and_then(|file| space::limited().or_else(|| space::scarce(file))) {
            return Err(RecorderError::NoRoom { database: settings.database, why });
        }
        if !cfg!(feature = "tls") && !settings.database.is_local() {
            tracing::warn!(
                "what goes to {} is not encrypted: this server was built without the feature tls",
                settings.database
            );
        }
        for file in spill::left_behind(&settings.spill_folder) {
            tracing::warn!(
                "{} holds steps of a run that was cut off: simpartner db import brings them into a database",
                file.display()
            );
        }
        let process_key = calendar::run_key();
        // Until the clock says so itself.
        status.flags().set_deadlines(run.mode == Mode::RealTime);
        let mut scribe = Scribe::new(settings.clone(), run, process_key.clone())?;
        let first = scribe.portions();
        let opened = deliver::open(&settings.database, &first[0], settings.start_without_database)?;
        let is_entered = opened.trouble.is_none();
        let beginning = Arc::new(first[0].clone());
        let outbox = Outbox::start(settings.clone(), &process_key, beginning, opened, Arc::clone(&status))?;
        let space = SpaceWatch::new(&settings.database, outbox.spill_path(), settings.limit_mb);
        let mut writer = Self { settings, status, scribe, outbox, space, queue, ended_early: None, away_since: None };
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

    /// Makes a portion of a record and of those that come within a tenth of a second.
    fn gather(&mut self, first: &StepRecord) {
        let deadline = Instant::now() + GATHERING;
        self.take(first);
        let (mut records, mut bytes) = (1, realtime::text_bytes(first));
        while records < self.queue.portion && bytes < GATHERED_BYTES {
            let Ok(record) = self.queue.next(Some(deadline)) else { break };
            self.take(&record);
            (records, bytes) = (records + 1, bytes + realtime::text_bytes(&record));
        }
        self.send_gathered();
        self.watch_space();
        self.watch_database();
    }

    /// Ends the run, waits until all is delivered, and tells what was written.
    pub(super) fn finish(mut self, outcome: &RunOutcome) -> Result<LogSummary, RecorderError> {
        self.watch_database();
        self.scribe.end(outcome, self.ended_early.is_some());
        self.send_gathered();
        let batches = self.outbox.most_in_memory();
        let delivered = self.outbox.finish().inspect_err(|_| self.status.fail())?;
        self.space.pending(0);
        let summary = |run: super::scribe::RunSoFar| SimulationSummary {
            simulation_id: delivered.runs.get(&run.key).copied().unwrap_or_default(),
            steps_logged: run.steps_logged,
            rows: run.rows,
        };
        Ok(LogSummary {
            database: self.settings.database,
            simulations: self.scribe.runs().into_iter().map(summary).collect(),
            bytes: self.space.growth(),
            batches,
            ended_early: self.ended_early,
        })
    }

    fn take(&mut self, record: &StepRecord) {
        if self.ended_early.is_some() {
            return;
        }
        if record.step.0 > LAST_STEP {
            return self.end_log(&format!("step {LAST_STEP} is the last that a run's rows can be numbered by"));
        }
        self.scribe.take(record);
    }

    /// Sends out what has been gathered.
    fn send_gathered(&mut self) {
        let portions = self.scribe.portions();
        self.send(portions);
    }

    /// Returns when everything is on its way, or on the disk.
    fn send(&mut self, portions: Vec<Portion>) {
        for portion in portions {
            self.space.sent(portion.bytes());
            self.status.sent(portion.bytes());
            let mut waiting = Some(Arc::new(portion));
            while let Some(portion) = waiting.take() {
                waiting = self.outbox.offer(portion, self.queue.records.is_half_full());
                if self.outbox.is_at_end() && !self.status.failed() {
                    self.status.fail();
                }
                if waiting.is_some() {
                    std::thread::sleep(LOOK_AGAIN);
                }
            }
        }
        self.space.pending(self.outbox.pending_bytes());
        self.status.grown(self.space.growth());
    }

    fn watch_space(&mut self) {
        self.space.pending(self.outbox.pending_bytes());
        if let Some(reason) = self.space.exhausted().filter(|_| self.ended_early.is_none()) {
            self.end_log(&reason);
        }
    }

    /// Notes when the database goes away and when it is back.
    fn watch_database(&mut self) {
        let (text, value) = match (self.status.is_away(), self.away_since) {
            (true, None) => {
                self.away_since = Some(Instant::now());
                let (trouble, path) = (self.outbox.progress().trouble(), self.outbox.spill_path().display());
                (format!("{trouble}; steps wait in {path} until it is back"), None)
            }
            (false, Some(since)) => {
                self.away_since = None;
                let seconds = since.elapsed().as_secs_f64();
                (format!("the database is back after {seconds:.1} s"), Some(seconds))
            }
            _ => return,
        };
        self.note(EventKind::LogOutage, text, value);
    }

    /// Ends the log with an event; the records that still come are only drained.
    fn end_log(&mut self, reason: &str) {
        let text = format!("{reason}; the log is complete up to step {}", self.scribe.last_step());
        self.note(EventKind::LogLimit, text.clone(), Some(self.space.growth() as f64));
        self.send_gathered();
        tracing::warn!("the log ends here: {text}");
        self.ended_early = Some(text);
        self.status.fill(self.settings.when_full == WhenFull::EndRun);
    }

    fn note(&mut self, kind: EventKind, text: String, value: Option<f64>) {
        let step = self.scribe.last_step();
        self.scribe.note(&Event { step, kind, subject: "log".into(), text, value });
    }
}
