//! A task as the log of its run names it, so that the run can be made again: behind the files of the model, in which the gripper is where the task begins, come
//! a text that says which task it is, the files of the tasks, and the world as these name it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use simpartner_description::{GraspTaskFile, SourceFile, xml};
use simpartner_dynamics::Engine;
use simpartner_grasp::task::TaskEngine;

use super::{BatchError, Tasks, rwtask};

/// The path of the text that says which task it is. No file has a path that ends with a slash.
const WHICH: &str = "grasp task/";

/// Which task of a file it is.
#[derive(Serialize, Deserialize)]
struct Which {
    seed: u64,
    task: u64,
}

/// What the log of a task's run has behind the files of its model.
///
/// # Errors
/// None in practice: numbers can be written.
pub fn sources(file: &GraspTaskFile, seed: u64, task: u64) -> Result<Vec<SourceFile>, BatchError> {
    let which = serde_json::to_string(&Which { seed, task }).map_err(|error| BatchError::Logged(error.to_string()))?;
    let own = file.sources.iter().chain(file.world.sources.first()).cloned();
    Ok([SourceFile::new(WHICH, which)].into_iter().chain(own).collect())
}

/// The engine of the task that the files of a run name, at its start; `None` for the run of a world.
///
/// # Errors
/// When the files that name a task do not make one.
pub fn engine(sources: &[SourceFile]) -> Result<Option<Box<dyn Engine>>, BatchError> {
    let Some(place) = sources.iter().position(|file| file.path == WHICH) else { return Ok(None) };
    let unfit = |what: &str| BatchError::Logged(format!("the log names a grasp task, and {what}"));
    let which: Which =
        serde_json::from_str(sources[place].text()).map_err(|error| unfit(&format!("not which one: {error}")))?;
    let [own, targets @ .., world] = &sources[place + 1..] else { return Err(unfit("lacks its files")) };
    // The model's own file is the world with the gripper moved; those that it includes are the task's as well.
    let included = sources[..place].get(1..).unwrap_or_default();
    let kept: Vec<SourceFile> = [own, world].into_iter().chain(included).cloned().collect();
    let mut file = xml::read_kept_grasp_task(&kept)?;
    for source in targets {
        rwtask::take(&mut file, &source.path, source.text()).map_err(BatchError::Logged)?;
    }
    let tasks = Tasks::new(&file, which.seed, None)?;
    let target = tasks.target(which.task)?;
    Ok(Some(Box::new(TaskEngine::new(Arc::clone(tasks.scene()), &target)?)))
}
