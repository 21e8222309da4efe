//! Grasp task files of RobWork: targets are read from such files, and the rows of a batch are written as such a file.

use bevy_math::{DQuat, DVec3};
use simpartner_description::{
    GraspTaskFile, SourceFile,
    rwtask::{self, RwResult, RwSubtask, RwTarget, RwTask},
};
use simpartner_grasp::task::{Outcome, Status, TaskContact};
use simpartner_model::{Axis, Pose};

use super::Row;

/// Largest rotation of an approach that counts as none, rad.
const ROTATION_TOLERANCE: f64 = 1e-9;

/// Takes targets, approach, retraction, and the gripper's coordinates and efforts from a file of RobWork, in place of
/// those of the tasks. The targets' reference frame is assumed to be the object's.
///
/// # Errors
/// The file does not fit the task; the error is a sentence.
pub fn take(file: &mut GraspTaskFile, path: &str, text: &str) -> Result<(), String> {
    let read = rwtask::read_text(path, text).map_err(|problem| problem.to_string())?;
    let [subtask] = &read.subtasks[..] else {
        return Err(format!("{path}: {} subtasks, and one is taken: split the file", read.subtasks.len()));
    };
    if subtask.targets.is_empty() {
        return Err(format!("{path}: the subtask has no target"));
    }
    if subtask.approach.rotation.angle_between(DQuat::IDENTITY) > ROTATION_TOLERANCE {
        return Err(format!(
            "{path}: its approach turns the gripper, and slides carry it straight on: leave its rotation out"
        ));
    }
    let task = &mut file.task;
    let lists = [("OpenQ", &subtask.open), ("CloseQ", &subtask.closed), ("TauMax", &subtask.max_effort)];
    for (name, list) in lists {
        if !list.is_empty() && list.len() != task.fingers.len() {
            let (count, fingers) = (list.len(), task.fingers.len());
            return Err(format!("{path}: {name} has {count} numbers, and the task has {fingers} fingers"));
        }
    }
    for (index, finger) in task.fingers.iter_mut().enumerate() {
        let given = |list: &[f64], else_it_is: f64| list.get(index).copied().unwrap_or(else_it_is);
        finger.open = given(&subtask.open, finger.open);
        finger.closed = given(&subtask.closed, finger.closed);
        finger.max_effort = given(&subtask.max_effort, finger.max_effort);
        let joint = file.world.mechanism.joint(finger.axis.joint);
        let Axis::Free(free) = joint.axes[finger.axis.axis] else { continue };
        if !(free.lower..=free.upper).contains(&finger.closed) || finger.max_effort <= 0.0 {
            let (closed, effort) = (finger.closed, finger.max_effort);
            return Err(format!(
                "{path}: joint '{}' cannot close at {closed} with {effort}: its stops are {} and {}, and an effort is above 0",
                joint.name, free.lower, free.upper
            ));
        }
    }
    task.approach = subtask.approach.translation;
    task.retract = subtask.retract.translation;
    task.targets = subtask.targets.iter().map(|target| subtask.offset.then(&target.pose)).collect();
    file.sources.push(SourceFile::new(path, text));
    Ok(())
}

/// The rows of a batch as a task file of RobWork.
pub fn of_rows(file: &GraspTaskFile, rows: &[Row]) -> RwTask {
    let (task, mechanism) = (&file.task, &file.world.mechanism);
    let translation = |translation: DVec3| Pose { translation, ..Pose::IDENTITY };
    let fingers = |get: fn(&simpartner_model::Finger) -> f64| task.fingers.iter().map(get).collect();
    let object = mechanism.body(task.object).name.clone();
    RwTask {
        gripper: mechanism.robot(task.gripper).name.clone(),
        tcp: mechanism.qualified_name(mechanism.body(task.tool)),
        controller: "GraspController".into(),
        subtasks: vec![RwSubtask {
            id: task.name.clone(),
            reference: object.clone(),
            offset: Pose::IDENTITY,
            approach: translation(task.approach),
            retract: translation(task.retract),
            open: fingers(|finger| finger.open),
            closed: fingers(|finger| finger.closed),
            max_effort: fingers(|finger| finger.max_effort),
            object,
            targets: rows.iter().filter(|row| row.outcome.status != Status::Filtered).map(target).collect(),
        }],
    }
}

fn pose_of([x, y, z, i, j, k, w]: [f64; 7]) -> Pose {
    Pose { translation: DVec3::new(x, y, z), rotation: DQuat::from_xyzw(i, j, k, w) }
}

fn target(row: &Row) -> RwTarget {
    let Outcome { target, approach, grasp, lift, quality, quality_after, .. } = &row.outcome;
    // Rows hold the object's pose in the tool's frame; RobWork's files hold the inverse.
    let tool = |pose: &Option<[f64; 7]>| pose.map(|pose| pose_of(pose).inverse());
    let contact = |contact: &TaskContact| {
        let mut numbers = [0.0; 9];
        let all = [contact.position, contact.normal, contact.force].concat();
        numbers.copy_from_slice(&all);
        numbers
    };
    RwTarget {
        pose: pose_of(*target),
        result: Some(RwResult {
            status: i64::from(row.outcome.status.number()),
            lift_result: row.outcome.lift_result,
            configuration: row.outcome.fingers.clone(),
            configuration_after: row.outcome.fingers_after.clone(),
            quality: quality.map(|quality| quality.values().to_vec()).unwrap_or_default(),
            quality_after: quality_after.map(|quality| quality.values().to_vec()).unwrap_or_default(),
            poses: [Some(pose_of(*target)), tool(approach), tool(grasp), tool(lift)],
            contacts: row.outcome.contacts.iter().map(contact).collect(),
            contacts_after: row.outcome.contacts_after.iter().map(contact).collect(),
        }),
    }
}
