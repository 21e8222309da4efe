//! Grasp tasks in the log of a run, so that the run can be replayed.
//!
//! The log first has the files of the model, in which the gripper is at the start of the task. Then come a text with
//! seed and number of the task, the files of the tasks, and the world that these files name.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use simpartner_description::{GraspTaskFile, SourceFile, xml};
use simpartner_dynamics::Engine;
use simpartner_grasp::task::TaskEngine;

use super::{BatchError, Tasks, rwtask};

/// Path of the text with seed and number of the task. It ends with a slash, as no path of a file does.
const TASK_ENTRY_PATH: &str = "grasp task/";

/// Seed and number of a task.
#[derive(Serialize, Deserialize)]
struct TaskEntry {
    seed: u64,
    task: u64,
}

/// The sources that the log of a task's run has after the files of its model.
///
/// # Errors
/// None in practice: numbers can always be written.
pub fn sources(file: &GraspTaskFile, seed: u64, task: u64) -> Result<Vec<SourceFile>, BatchError> {
    let entry =
        serde_json::to_string(&TaskEntry { seed, task }).map_err(|error| BatchError::Logged(error.to_string()))?;
    let own = file.sources.iter().chain(file.world.sources.first()).cloned();
    Ok([SourceFile::new(TASK_ENTRY_PATH, entry)].into_iter().chain(own).collect())
}

/// The engine of the task that is named in a run's sources, at its start; `None` for a run without a task.
///
/// # Errors
/// The sources name a task, but are incomplete or invalid.
pub fn engine(sources: &[SourceFile]) -> Result<Option<Box<dyn Engine>>, BatchError> {
    let Some(place) = sources.iter().position(|file| file.path == TASK_ENTRY_PATH) else { return Ok(None) };
    let unfit = |what: &str| BatchError::Logged(format!("the log names a grasp task, and {what}"));
    let entry: TaskEntry =
        serde_json::from_str(sources[place].text()).map_err(|error| unfit(&format!("not which one: {error}")))?;
    let [own, targets @ .., world] = &sources[place + 1..] else { return Err(unfit("lacks its files")) };
    // The model's first file is the world with the gripper moved. The files that it includes belong to the task as
    // well.
    let included = sources[..place].get(1..).unwrap_or_default();
    let kept: Vec<SourceFile> = [own, world].into_iter().chain(included).cloned().collect();
    let mut file = xml::read_kept_grasp_task(&kept)?;
    for source in targets {
        rwtask::take(&mut file, &source.path, source.text()).map_err(BatchError::Logged)?;
    }
    let tasks = Tasks::new(&file, entry.seed, None)?;
    let target = tasks.target(entry.task)?;
    Ok(Some(Box::new(TaskEngine::new(Arc::clone(tasks.scene()), &target)?)))
}
