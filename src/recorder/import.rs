//! Bringing home what a run has left in a spill file.

use std::{collections::BTreeMap, fmt, io, path::Path};

use super::{
    Database, RecorderError,
    portion::{Gaps, Portion, run_row},
    spill::{Frame, Place, SpillReader},
    store::{Access, Store},
    table::Table,
};

/// What was brought home, and what could not be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Imported {
    /// The runs it belongs to.
    pub runs: Vec<i64>,
    /// Whole batches in the file, whether or not the database had them already.
    pub batches: u64,
    /// Those that it had not.
    pub new_batches: u64,
    /// The steps that the whole batches tell of.
    pub steps: u64,
    /// Places of the file that could not be brought in, and whose content is not in the database as far as can be told.
    pub damaged: Vec<Damage>,
    /// The end of a batch that is cut off at the end of the file, as it was being written when the process ended.
    pub cut: Option<Damage>,
    /// Stretches of runs that are neither in the file nor in the database.
    pub missing: Vec<Missing>,
}

/// A place in a spill file that is of no use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Where it begins, bytes from the beginning of the file.
    pub offset: u64,
    /// How long it is, bytes.
    pub length: u64,
    /// The number of the batch, and its first step and how many steps; `None` where nothing tells.
    pub batch: Option<(u64, u64, u64)>,
    /// What is wrong.
    pub why: String,
}

/// Batches of a run that the database has not, though it has later ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// The run.
    pub run: i64,
    /// The first batch and the last.
    pub batches: (u64, u64),
    /// The steps between what there is before and behind: the first and the last. `None` where there are none, or nothing tells.
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

/// Commits what is in a spill file and not yet in the database; as often as wanted, to the same end. What is damaged keeps nothing
/// back that is whole.
///
/// # Errors
/// When the file cannot be read or is none, or the database is away or knows nothing of the run; what was committed before stays.
pub fn import(file: &Path, database: &Database) -> Result<Imported, RecorderError> {
    let unreadable = |source: io::Error| match source.kind() {
        io::ErrorKind::ResourceBusy => RecorderError::SpillInUse { path: file.to_owned() },
        _ => RecorderError::Spill { path: file.to_owned(), source },
    };
    let reader = SpillReader::open(file).map_err(unreadable)?;
    let places = reader.places().map_err(unreadable)?;
    let holds_frame = places.iter().any(|place| !matches!(place, Place::Damaged { frame: None, .. }));
    if !holds_frame && !places.is_empty() && !reader.is_spill_file().map_err(unreadable)? {
        return Err(RecorderError::NotASpillFile { path: file.to_owned() });
    }
    let whole = |place: &Place| if let Place::Whole(frame) = place { Some(*frame) } else { None };
    let mut frames: Vec<Frame> = places.iter().filter_map(whole).collect();
    if frames.iter().any(|frame| !frame.is_of_these_tables()) {
        return Err(RecorderError::OtherTables { path: file.to_owned() });
    }
    frames.sort_by_key(|frame| (frame.epoch, frame.number));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(RecorderError::Start)?;
    runtime.block_on(async {
        let store = Store::open(database, Access::Write).await?;
        let mut job = Import { reader, store, imported: Imported::default(), keys: BTreeMap::new() };
        for frame in frames {
            job.bring(frame).await?;
        }
        job.account(&places).await?;
        job.find_missing(&places).await?;
        job.store.close().await?;
        Ok(job.imported)
    })
}

/// An import under way.
struct Import {
    reader: SpillReader,
    store: Store,
    imported: Imported,
    /// The run's key of each epoch, and its number.
    keys: BTreeMap<u32, (String, i64)>,
}

impl Import {
    /// Commits the batch of a frame, or says why that cannot be.
    async fn bring(&mut self, frame: Frame) -> Result<(), RecorderError> {
        let portion = match self.reader.portion(frame) {
            Ok(portion) if fits(&portion) => portion,
            _ => {
                self.refuse(frame, "its rows cannot be understood".into());
                return Ok(());
            }
        };
        // What a killed process had in memory is gone; that is no reason to leave the rest behind.
        match portion.commit(&mut self.store, Gaps::Allowed).await {
            Ok(committed) => {
                let run = committed.keys.simulation;
                if !self.imported.runs.contains(&run) {
                    self.imported.runs.push(run);
                }
                self.keys.insert(frame.epoch, (portion.run_key, run));
                self.imported.batches += 1;
                self.imported.new_batches += u64::from(committed.is_new);
                self.imported.steps += frame.steps;
                Ok(())
            }
            Err(error @ (RecorderError::Database { .. } | RecorderError::RunUnknown { .. })) => {
                let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
                self.refuse(frame, format!("{error}{cause}"));
                // Whatever state the connection is in, that of a new one is known; but the old one must not hold its lock.
                let _ = self.store.execute("ROLLBACK", &[]).await;
                self.store = Store::open(self.store.database(), Access::Write).await?;
                Ok(())
            }
            // Another batch would fail for the same reason.
            Err(error) => Err(error),
        }
    }

    fn refuse(&mut self, frame: Frame, why: String) {
        let batch = Some((frame.number, frame.first_step, frame.steps));
        self.imported.damaged.push(Damage { offset: frame.offset, length: frame.length, batch, why });
    }

    /// Enters the damaged places, but for those whose batch the database has nevertheless.
    async fn account(&mut self, places: &[Place]) -> Result<(), RecorderError> {
        for place in places {
            let (&(Place::Damaged { offset, length, frame } | Place::Cut { offset, length, frame }), is_cut) =
                (place, matches!(place, Place::Cut { .. }))
            else {
                continue;
            };
            if let Some(frame) = frame
                && let Some((run_key, _)) = self.keys.get(&frame.epoch)
                && run_row(&mut self.store, run_key).await?.is_some_and(|run| run.has(frame.number))
            {
                continue;
            }
            let batch = frame.map(|frame| (frame.number, frame.first_step, frame.steps));
            match is_cut {
                true => self.imported.cut = Some(Damage { offset, length, batch, why: "cut off".into() }),
                false => {
                    let why = if batch.is_some() { "damaged" } else { "damaged, or of no log" }.into();
                    self.imported.damaged.push(Damage { offset, length, batch, why });
                }
            }
        }
        self.imported.damaged.sort_by_key(|damage| damage.offset);
        Ok(())
    }

    /// Finds what the database lacks of the runs of this file.
    async fn find_missing(&mut self, places: &[Place]) -> Result<(), RecorderError> {
        for (epoch, (run_key, run)) in &self.keys {
            let Some(row) = run_row(&mut self.store, run_key).await? else { continue };
            for (first, last) in row.missing.iter() {
                let frames = places.iter().filter_map(|place| match place {
                    Place::Whole(frame) if frame.epoch == *epoch && frame.steps > 0 => Some(frame),
                    _ => None,
                });
                // The next batch with steps that is there, and the last step that is there before it.
                let next = frames.filter(|frame| frame.number > last).min_by_key(|frame| frame.number);
                let mut steps = None;
                if let Some(next) = next {
                    let last_step = next.first_step.saturating_sub(1);
                    let before = "SELECT max(step) FROM simulationRow WHERE simulationID = ? AND step <= ?";
                    let values = [super::cell::Value::Integer(*run), super::cell::Value::Integer(last_step as i64)];
                    let before = self.store.row(before, &values).await?.map_or(0, |row| row.count(0));
                    steps = (before < last_step).then_some((before + 1, last_step));
                }
                self.imported.missing.push(Missing { run: *run, batches: (first, last), steps });
            }
        }
        Ok(())
    }
}

/// Whether all rows have as many values as their tables have columns.
fn fits(portion: &Portion) -> bool {
    portion
        .batch()
        .is_none_or(|batch| Table::ALL.iter().all(|&table| batch.cells(table).len().is_multiple_of(table.width())))
}
