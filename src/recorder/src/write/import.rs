//! Imports the batches of a spill file into a database.

use std::{
    collections::BTreeMap,
    fmt, io,
    path::Path,
    time::{Duration, Instant},
};

use super::{
    batch::{Batch, Committed, Gaps, committed_run},
    misplaced::{self, MovedCommands},
    spill::{Frame, Section, SpillReader},
};
use crate::{
    database::{address::Database, connection::Connection, driver::Access, error::RecorderError},
    format::value::Parameter,
};

/// Total time that an import waits for locks of other connections. After a run is killed, the database server still has
/// one of its transactions open, until it notices. A busy server was seen to take 20 s for that.
const LOCK_WAIT: Duration = Duration::from_secs(60);

/// Result of an import: the batches imported, and those that could not be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Imported {
    /// Numbers of the runs in the file.
    pub runs: Vec<i64>,
    /// Number of intact batches in the file, including those that the database already had.
    pub batches: u64,
    /// Number of batches that the database did not have before.
    pub new_batches: u64,
    /// Number of steps in the intact batches.
    pub steps: u64,
    /// Sections of the file that could not be imported and whose content is not known to be in the database.
    pub damaged: Vec<Damage>,
    /// Incomplete batch at the end of the file: it was being written when the process ended.
    pub cut: Option<Damage>,
    /// Ranges of batches that are neither in the file nor in the database.
    pub missing: Vec<Missing>,
    /// Commands that the file had under a step in which they did not act, and that were moved behind the last step.
    pub moved: Vec<MovedCommands>,
}

/// A section of a spill file that cannot be imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Start of the section, in bytes from the start of the file.
    pub offset: u64,
    /// Length of the section, in bytes.
    pub length: u64,
    /// Number of the batch, its first step and its number of steps; `None` if unknown.
    pub batch: Option<(u64, u64, u64)>,
    /// Reason, as a text.
    pub why: String,
}

/// Batches of a run that the database lacks, although it has later ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// Number of the run.
    pub run: i64,
    /// First and last missing batch.
    pub batches: (u64, u64),
    /// First and last step between the batches before and after the gap; `None` if there are none, or if unknown.
    pub steps: Option<(u64, u64)>,
}

impl Imported {
    /// True if the database has everything that was ever in the file.
    pub fn is_complete(&self) -> bool {
        self.damaged.is_empty() && self.missing.is_empty() && self.cut.is_none()
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} bytes at byte {}", self.length, self.offset)?;
        match self.batch {
            Some((number, _, 0)) => write!(formatter, ", batch {number}")?,
            Some((number, first, steps)) => {
                write!(formatter, ", batch {number}, steps {first} to {}", first.saturating_add(steps - 1))?;
            }
            None => {}
        }
        write!(formatter, ": {}", self.why)
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, last) = self.batches;
        write!(formatter, "batches {first} to {last} of run {}", self.run)?;
        match self.steps {
            Some((first, last)) => write!(formatter, ", steps {first} to {last}"),
            None => Ok(()),
        }
    }
}

/// Commits the batches of a spill file that the database does not have. Importing a file again changes nothing. A
/// damaged batch does not prevent the import of intact ones.
///
/// # Errors
/// When the file cannot be read, is no spill file or was written for other tables, or when the database is away.
/// Batches committed before the error stay in the database.
pub fn import(file: &Path, database: &Database) -> Result<Imported, RecorderError> {
    let unreadable = |source: io::Error| match source.kind() {
        io::ErrorKind::ResourceBusy => RecorderError::SpillInUse { path: file.to_owned() },
        _ => RecorderError::Spill { path: file.to_owned(), source },
    };
    let reader = SpillReader::open(file).map_err(unreadable)?;
    let sections = reader.read_sections().map_err(unreadable)?;
    let has_frame = sections.iter().any(|section| !matches!(section, Section::Damaged { frame: None, .. }));
    if !has_frame && !sections.is_empty() && !reader.is_spill_file().map_err(unreadable)? {
        return Err(RecorderError::NotASpillFile { path: file.to_owned() });
    }
    let intact = |section: &Section| if let Section::Whole(frame) = section { Some(*frame) } else { None };
    let mut frames: Vec<Frame> = sections.iter().filter_map(intact).collect();
    if frames.iter().any(|frame| !frame.is_of_these_tables()) {
        return Err(RecorderError::OtherTables { path: file.to_owned() });
    }
    frames.sort_by_key(|frame| (frame.run_index, frame.number));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(RecorderError::Start)?;
    runtime.block_on(async {
        let waits_until = Instant::now() + LOCK_WAIT;
        let connection = connect_with_retries(database, waits_until).await?;
        let mut last_steps = BTreeMap::new();
        for frame in frames.iter().filter(|frame| frame.steps > 0) {
            let last: &mut u64 = last_steps.entry(frame.run_index).or_default();
            *last = (*last).max(frame.first_step.saturating_add(frame.steps - 1));
        }
        let (imported, keys) = (Imported::default(), BTreeMap::new());
        let mut job = Import { reader, connection, waits_until, imported, keys, last_steps };
        for frame in frames {
            job.import_frame(frame).await?;
        }
        job.report_damage(&sections).await?;
        job.find_missing(&sections).await?;
        job.connection.close().await?;
        Ok(job.imported)
    })
}

/// Opens a connection. While other connections hold a lock, it retries until the time `until`.
async fn connect_with_retries(database: &Database, until: Instant) -> Result<Connection, RecorderError> {
    loop {
        match Connection::open(database, Access::Write).await {
            Err(RecorderError::Locked { .. }) if Instant::now() < until => {}
            opened => return opened,
        }
    }
}

/// An import in progress.
struct Import {
    reader: SpillReader,
    connection: Connection,
    waits_until: Instant,
    imported: Imported,
    /// Key and number of each run, by its index in the process.
    keys: BTreeMap<u32, (String, i64)>,
    /// Last step of each run in the file, by the index of the run in the process.
    last_steps: BTreeMap<u32, u64>,
}

impl Import {
    /// Commits the batch of a frame, or adds the reason why that is not possible to the result.
    async fn import_frame(&mut self, frame: Frame) -> Result<(), RecorderError> {
        let batch = match self.reader.read_batch(frame) {
            Ok(batch) if batch.fits_the_tables() => batch,
            _ => {
                self.add_damage(frame, "its rows do not fit the tables".into());
                return Ok(());
            }
        };
        let mut batch = batch;
        let mut result = self.commit_with_retries(&batch).await?;
        if matches!(result, Err(RecorderError::Database { .. })) {
            self.reconnect().await?;
            let last_step = self.last_steps.get(&frame.run_index).copied().unwrap_or(0);
            if let Some(moved) = misplaced::move_commands(&mut batch, &mut self.connection, last_step).await? {
                result = self.commit_with_retries(&batch).await?;
                self.imported.moved.extend(result.is_ok().then_some(moved));
            }
        }
        match result {
            Ok(committed) => {
                let run = committed.ids.simulation;
                if !self.imported.runs.contains(&run) {
                    self.imported.runs.push(run);
                }
                self.keys.insert(frame.run_index, (batch.run_key, run));
                self.imported.batches += 1;
                self.imported.new_batches += u64::from(committed.is_new);
                self.imported.steps += frame.steps;
                Ok(())
            }
            Err(error @ (RecorderError::Database { .. } | RecorderError::RunUnknown { .. })) => {
                let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
                self.add_damage(frame, format!("{error}{cause}"));
                self.reconnect().await
            }
            // Another batch would fail for the same reason.
            Err(error) => Err(error),
        }
    }

    /// Commits a batch. While other connections hold a lock, it retries. Gaps are allowed: the batches that a killed
    /// process had only in memory are lost, and the others are imported all the same.
    async fn commit_with_retries(&mut self, batch: &Batch) -> Result<Result<Committed, RecorderError>, RecorderError> {
        let mut result = batch.commit(&mut self.connection, Gaps::Allowed).await;
        while matches!(result, Err(RecorderError::Locked { .. })) && Instant::now() < self.waits_until {
            self.reconnect().await?;
            result = batch.commit(&mut self.connection, Gaps::Allowed).await;
        }
        Ok(result)
    }

    /// Replaces the connection by a new one, whose state is known. The transaction of the old one is rolled back, so
    /// that it holds no locks.
    async fn reconnect(&mut self) -> Result<(), RecorderError> {
        let _ = self.connection.execute("ROLLBACK", &[]).await;
        self.connection = connect_with_retries(self.connection.database(), self.waits_until).await?;
        Ok(())
    }

    fn add_damage(&mut self, frame: Frame, why: String) {
        let batch = Some((frame.number, frame.first_step, frame.steps));
        self.imported.damaged.push(Damage { offset: frame.offset, length: frame.length, batch, why });
    }

    /// Adds the damaged sections to the result, except for those whose batch is in the database all the same.
    async fn report_damage(&mut self, sections: &[Section]) -> Result<(), RecorderError> {
        for section in sections {
            let (&(Section::Damaged { offset, length, frame } | Section::Cut { offset, length, frame }), is_cut) =
                (section, matches!(section, Section::Cut { .. }))
            else {
                continue;
            };
            if let Some(frame) = frame
                && let Some((run_key, _)) = self.keys.get(&frame.run_index)
                && committed_run(&mut self.connection, run_key).await?.is_some_and(|run| run.has_batch(frame.number))
            {
                continue;
            }
            let batch = frame.map(|frame| (frame.number, frame.first_step, frame.steps));
            match is_cut {
                true => self.imported.cut = Some(Damage { offset, length, batch, why: "cut off".into() }),
                false => {
                    let why = if batch.is_some() { "damaged" } else { "damaged, or no part of a log" }.into();
                    self.imported.damaged.push(Damage { offset, length, batch, why });
                }
            }
        }
        self.imported.damaged.sort_by_key(|damage| damage.offset);
        Ok(())
    }

    /// Finds the batches that the database lacks of the runs in this file.
    async fn find_missing(&mut self, sections: &[Section]) -> Result<(), RecorderError> {
        for (run_index, (run_key, run)) in &self.keys {
            let Some(row) = committed_run(&mut self.connection, run_key).await? else { continue };
            for (first, last) in row.missing.iter() {
                let frames = sections.iter().filter_map(|section| match section {
                    Section::Whole(frame) if frame.run_index == *run_index && frame.steps > 0 => Some(frame),
                    _ => None,
                });
                // The missing steps lie between the last step in the database before the gap and the first batch with
                // steps behind it.
                let next = frames.filter(|frame| frame.number > last).min_by_key(|frame| frame.number);
                let mut steps = None;
                if let Some(next) = next {
                    let last_step = next.first_step.saturating_sub(1);
                    let before = "SELECT max(step) FROM simulationRow WHERE simulationID = ? AND step <= ?";
                    let parameters = [Parameter::Integer(*run), Parameter::Integer(last_step as i64)];
                    let before = self.connection.row(before, &parameters).await?.map_or(0, |row| row.count(0));
                    steps = (before < last_step).then_some((before + 1, last_step));
                }
                self.imported.missing.push(Missing { run: *run, batches: (first, last), steps });
            }
        }
        Ok(())
    }
}
