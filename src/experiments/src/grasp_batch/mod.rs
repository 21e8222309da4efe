//! Batches of grasp tasks: many targets, on several threads, with a row of a file for each.
//!
//! A row depends only on the files and the task's number, and the complete file is sorted. Its bytes are therefore the
//! same for any number of threads, and after any number of interruptions. Rows are JSON, one per line, after a line
//! that identifies the batch. [`correlate`] relates the measures of quality to the success of the lift. The module
//! knows no clock. Start at [`run`].

mod correlation;
mod csv;
mod error;
mod figures;
pub mod logged;
mod rows;
pub mod rwtask;

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc,
    },
};

use serde::{Deserialize, Serialize};
use simpartner_description::GraspTaskFile;
use simpartner_grasp::{
    sample::Sampler,
    task::{Outcome, Scene, Status},
};
use simpartner_model::Pose;

pub use correlation::{Correlation, MeasureCorrelation, correlate};
pub use csv::csv;
pub use error::BatchError;
pub use figures::{Figure, figures};
pub use rows::{Row, read};

/// The grasp tasks of a batch.
pub struct Tasks {
    scene: Arc<Scene>,
    /// Source of random targets; `None` if the file gives targets.
    sampler: Option<Sampler>,
    targets: Vec<Pose>,
    seed: u64,
    count: u64,
    /// Identification of the batch: everything that the rows depend on.
    header: rows::Header,
}

impl Tasks {
    /// Prepares `count` tasks of a file. By default these are all targets of the file, or one random target if the file
    /// has none.
    ///
    /// # Errors
    /// The gripper cannot move as the tasks require, or the object has no surface to draw targets from.
    pub fn new(file: &GraspTaskFile, seed: u64, count: Option<u64>) -> Result<Self, BatchError> {
        let scene = Arc::new(Scene::new(file.world.mechanism.clone(), file.task.clone())?);
        let targets = file.task.targets.clone();
        let sampler = match targets.is_empty() {
            true => Some(Sampler::new(scene.object(), &file.task.sampling)?),
            false => None,
        };
        let given = targets.len() as u64;
        let count = match targets.is_empty() {
            true => count.unwrap_or(1),
            false => count.unwrap_or(given).min(given),
        };
        let header = rows::Header::from_file(file, seed);
        Ok(Self { scene, sampler, targets, seed, count, header })
    }

    /// Number of tasks.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Key of the batch: a hash of everything that its rows depend on, in hexadecimal.
    pub fn key(&self) -> String {
        self.header.key()
    }

    /// Seed of random targets.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The scene in which the tasks run.
    pub fn scene(&self) -> &Arc<Scene> {
        &self.scene
    }

    /// Target of a task, `object_from_tcp`.
    ///
    /// # Errors
    /// There is no task with this number, or no pose passes the filters.
    pub fn target(&self, number: u64) -> Result<Pose, BatchError> {
        match &self.sampler {
            Some(sampler) => Ok(sampler.pose(self.seed, number)?),
            None => {
                let target = usize::try_from(number).ok().and_then(|index| self.targets.get(index));
                target.copied().ok_or(BatchError::NoTask { count: self.targets.len() as u64, number })
            }
        }
    }

    /// Runs one task. A failure of the task is reported in the row's status.
    ///
    /// # Errors
    /// There is no task with this number, or the engine cannot represent the scene.
    pub fn run(&self, number: u64) -> Result<Row, BatchError> {
        let target = match self.target(number) {
            Err(BatchError::Sample(error)) => {
                let outcome =
                    Outcome { cause: Some(error.to_string()), ..Outcome::of(Status::Filtered, &Pose::IDENTITY) };
                return Ok(Row { task: number, outcome });
            }
            target => target?,
        };
        // A panic of the engine in one task must not lose the others.
        let made = catch_unwind(AssertUnwindSafe(|| self.scene.run(&target)));
        let failed = |cause: String| Outcome { cause: Some(cause), ..Outcome::of(Status::SimulationFailure, &target) };
        let outcome = match made {
            Ok(outcome) => outcome?,
            Err(panic) => {
                let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
                failed(format!("the engine gave up: {}", text.unwrap_or("without a message")))
            }
        };
        Ok(Row { task: number, outcome })
    }
}

/// Number of tasks with each status.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts(pub BTreeMap<Status, u64>);

impl Counts {
    /// Counts a task with this status.
    pub fn add(&mut self, status: Status) {
        *self.0.entry(status).or_default() += 1;
    }

    /// Number of all tasks.
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }
}

/// Runs all tasks that are not in the file yet, on `jobs` threads, and sorts the file at the end.
///
/// `follow` is called with each row and the counts up to it: first with the rows that the file already has, in the
/// order of their numbers, then with each new row as soon as it is in the file.
///
/// # Errors
/// The file belongs to another batch, or cannot be read or written. Errors of `follow` also end the batch. Rows that
/// are in the file stay there.
pub fn run<E: From<BatchError>>(
    tasks: &Tasks,
    jobs: usize,
    output: &Path,
    follow: &mut dyn FnMut(&Row, &Counts) -> Result<(), E>,
) -> Result<Counts, E> {
    let mut file = rows::File::open(output, &tasks.header)?;
    let mut counts = Counts::default();
    for row in file.rows(tasks.count) {
        let row = row?;
        counts.add(row.outcome.status);
        follow(&row, &counts)?;
    }
    let missing: Vec<u64> = (0..tasks.count).filter(|task| !file.has(*task)).collect();
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (sender, receiver) = mpsc::channel();
    let made = std::thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, missing.len().max(1)) {
            let (sender, next, stop, missing) = (sender.clone(), &next, &stop, &missing);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let Some(task) = missing.get(next.fetch_add(1, Ordering::Relaxed)) else { return };
                    // The receiver is dropped only if writing has failed.
                    if sender.send(tasks.run(*task)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let mut write = || {
            for row in &receiver {
                let row = row?;
                file.append(&row)?;
                counts.add(row.outcome.status);
                follow(&row, &counts)?;
            }
            Ok(())
        };
        let made: Result<(), E> = write();
        stop.store(true, Ordering::Relaxed);
        made
    });
    made?;
    file.sort_rows()?;
    Ok(counts)
}
