//! Imports the batches that a run has left in a spill file.

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

/// How long an import waits in all for locks of others. The server of a killed run still has a transaction of it open, and ends that only
/// when it notices; a busy server was seen to take 20 s.
const LOCK_PATIENCE: Duration = Duration::from_secs(60);

/// What was imported, and what could not be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Imported {
    /// The runs it belongs to.
    pub runs: Vec<i64>,
    /// Whole batches in the file, whether or not the database had them already.
    pub batches: u64,
    /// Those that it did not have.
    pub new_batches: u64,
    /// The steps of the whole batches.
    pub steps: u64,
    /// Sections of the file that could not be imported, and whose content is not in the database as far as is known.
    pub damaged: Vec<Damage>,
    /// The end of a batch that is cut off at the end of the file, as it was being written when the process ended.
    pub cut: Option<Damage>,
    /// Ranges of batches that are neither in the file nor in the database.
    pub missing: Vec<Missing>,
    /// Commands that the file has in a step that they did not act in.
    pub moved: Vec<MovedCommands>,
}

/// A section of a spill file that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Where it begins, bytes from the beginning of the file.
    pub offset: u64,
    /// How long it is, bytes.
    pub length: u64,
    /// The number of the batch, its first step and how many steps; `None` if that is not known.
    pub batch: Option<(u64, u64, u64)>,
    /// What is wrong.
    pub why: String,
}

/// Batches of a run that the database does not have, though it has later ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// The run.
    pub run: i64,
    /// The first batch and the last.
    pub batches: (u64, u64),
    /// The first and the last step between the batches before and behind; `None` where there are none, or that is not known.
    pub steps: Option<(u64, u64)>,
}

impl Imported {
    /// True if all that was ever in the file is in the database.
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

/// Commits the batches of a spill file that the database does not have. Importing a file again changes nothing. A damaged batch does
/// not keep whole ones from being imported.
///
/// # Errors
/// When the file cannot be read or is no spill file, or the database is away or does not have the run; what was committed before stays.
pub fn import(file: &Path, database: &Database) -> Result<Imported, RecorderError> {
    let unreadable = |source: io::Error| match source.kind() {
        io::ErrorKind::ResourceBusy => RecorderError::SpillInUse { path: file.to_owned() },
        _ => RecorderError::Spill { path: file.to_owned(), source },
    };
    let reader = SpillReader::open(file).map_err(unreadable)?;
    let sections = reader.sections().map_err(unreadable)?;
    let has_frame = sections.iter().any(|section| !matches!(section, Section::Damaged { frame: None, .. }));
    if !has_frame && !sections.is_empty() && !reader.is_spill_file().map_err(unreadable)? {
        return Err(RecorderError::NotASpillFile { path: file.to_owned() });
    }
    let whole = |section: &Section| if let Section::Whole(frame) = section { Some(*frame) } else { None };
    let mut frames: Vec<Frame> = sections.iter().filter_map(whole).collect();
    if frames.iter().any(|frame| !frame.is_of_these_tables()) {
        return Err(RecorderError::OtherTables { path: file.to_owned() });
    }
    frames.sort_by_key(|frame| (frame.epoch, frame.number));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(RecorderError::Start)?;
    runtime.block_on(async {
        let waits_until = Instant::now() + LOCK_PATIENCE;
        let connection = connect(database, waits_until).await?;
        let mut last_steps = BTreeMap::new();
        for frame in frames.iter().filter(|frame| frame.steps > 0) {
            let last: &mut u64 = last_steps.entry(frame.epoch).or_default();
            *last = (*last).max(frame.first_step.saturating_add(frame.steps - 1));
        }
        let (imported, keys) = (Imported::default(), BTreeMap::new());
        let mut job = Import { reader, connection, waits_until, imported, keys, last_steps };
        for frame in frames {
            job.import(frame).await?;
        }
        job.report_damage(&sections).await?;
        job.find_missing(&sections).await?;
        job.connection.close().await?;
        Ok(job.imported)
    })
}

/// Opens a connection; where others hold a lock, again and again until then.
async fn connect(database: &Database, until: Instant) -> Result<Connection, RecorderError> {
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
    /// The key and the number of the run of each epoch.
    keys: BTreeMap<u32, (String, i64)>,
    /// The last step of each epoch that the file has.
    last_steps: BTreeMap<u32, u64>,
}

impl Import {
    /// Commits the batch of a frame, or reports why that is not possible.
    async fn import(&mut self, frame: Frame) -> Result<(), RecorderError> {
        let batch = match self.reader.batch(frame) {
            Ok(batch) if batch.fits_the_tables() => batch,
            _ => {
                self.refuse(frame, "its rows do not fit the tables".into());
                return Ok(());
            }
        };
        let mut batch = batch;
        let mut result = self.commit(&batch).await?;
        if matches!(result, Err(RecorderError::Database { .. })) {
            self.reconnect().await?;
            let last_step = self.last_steps.get(&frame.epoch).copied().unwrap_or(0);
            if let Some(moved) = misplaced::correct(&mut batch, &mut self.connection, last_step).await? {
                result = self.commit(&batch).await?;
                self.imported.moved.extend(result.is_ok().then_some(moved));
            }
        }
        match result {
            Ok(committed) => {
                let run = committed.ids.simulation;
                if !self.imported.runs.contains(&run) {
                    self.imported.runs.push(run);
                }
                self.keys.insert(frame.epoch, (batch.run_key, run));
                self.imported.batches += 1;
                self.imported.new_batches += u64::from(committed.is_new);
                self.imported.steps += frame.steps;
                Ok(())
            }
            Err(error @ (RecorderError::Database { .. } | RecorderError::RunUnknown { .. })) => {
                let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
                self.refuse(frame, format!("{error}{cause}"));
                self.reconnect().await
            }
            // Another batch would fail for the same reason.
            Err(error) => Err(error),
        }
    }

    /// Commits a batch; while others hold a lock, again and again. What a killed process had in memory is gone; the rest is imported all
    /// the same.
    async fn commit(&mut self, batch: &Batch) -> Result<Result<Committed, RecorderError>, RecorderError> {
        let mut result = batch.commit(&mut self.connection, Gaps::Allowed).await;
        while matches!(result, Err(RecorderError::Locked { .. })) && Instant::now() < self.waits_until {
            self.reconnect().await?;
            result = batch.commit(&mut self.connection, Gaps::Allowed).await;
        }
        Ok(result)
    }

    /// Goes on with a new connection, whose state is known. The old one must not hold its locks.
    async fn reconnect(&mut self) -> Result<(), RecorderError> {
        let _ = self.connection.execute("ROLLBACK", &[]).await;
        self.connection = connect(self.connection.database(), self.waits_until).await?;
        Ok(())
    }

    fn refuse(&mut self, frame: Frame, why: String) {
        let batch = Some((frame.number, frame.first_step, frame.steps));
        self.imported.damaged.push(Damage { offset: frame.offset, length: frame.length, batch, why });
    }

    /// Reports the damaged sections, except for those whose batch the database has nevertheless.
    async fn report_damage(&mut self, sections: &[Section]) -> Result<(), RecorderError> {
        for section in sections {
            let (&(Section::Damaged { offset, length, frame } | Section::Cut { offset, length, frame }), is_cut) =
                (section, matches!(section, Section::Cut { .. }))
            else {
                continue;
            };
            if let Some(frame) = frame
                && let Some((run_key, _)) = self.keys.get(&frame.epoch)
                && committed_run(&mut self.connection, run_key).await?.is_some_and(|run| run.has(frame.number))
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

    /// Finds the batches that the database lacks of the runs of this file.
    async fn find_missing(&mut self, sections: &[Section]) -> Result<(), RecorderError> {
        for (epoch, (run_key, run)) in &self.keys {
            let Some(row) = committed_run(&mut self.connection, run_key).await? else { continue };
            for (first, last) in row.missing.iter() {
                let frames = sections.iter().filter_map(|section| match section {
                    Section::Whole(frame) if frame.epoch == *epoch && frame.steps > 0 => Some(frame),
                    _ => None,
                });
                // The next batch with steps in the file, and the last step in the database before it.
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
