//! `.rwtask.xml` written.

use std::fmt::Write;

use bevy_math::DMat3;
use simpartner_model::Pose;

use super::{POSE_NAMES, RwResult, RwSubtask, RwTarget, RwTask};

/// RobWork's numbers of a successful and of a failed lift.
const HELD_STATUS: i64 = 1;
const DROPPED_STATUS: i64 = 4;
const SLIPPED_STATUS: i64 = 5;

/// The text of a file, its elements in the order in which RobWork writes them.
pub fn write(task: &RwTask) -> String {
    let mut out = Text(String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"), 0);
    out.open("CartesianTask");
    out.line("<Targets/>");
    out.open("Entities");
    task.subtasks.iter().for_each(|subtask| out.subtask(subtask));
    out.close("Entities");
    out.entity("", |out| {
        out.property("Gripper", "String", &escaped(&task.gripper));
        out.property("TCP", "String", &escaped(&task.tcp));
        out.property("GraspController", "String", &escaped(&task.controller));
    });
    out.close("CartesianTask");
    out.0
}

/// The text so far, and its nesting depth.
struct Text(String, usize);

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn numbers(values: impl IntoIterator<Item = f64>) -> String {
    // Sums take the sign off zeros.
    let values: Vec<String> = values.into_iter().map(|value| (value + 0.0).to_string()).collect();
    values.join(" ")
}

impl Text {
    fn line(&mut self, line: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "{:1$}{line}", "", 2 * self.1);
    }

    fn open(&mut self, tag: &str) {
        self.line(&format!("<{tag}>"));
        self.1 += 1;
    }

    fn close(&mut self, tag: &str) {
        self.1 -= 1;
        self.line(&format!("</{tag}>"));
    }

    /// Name, place and properties of a task or target.
    fn entity(&mut self, id: &str, properties: impl FnOnce(&mut Self)) {
        self.line(&format!("<Id>{}</Id>", escaped(id)));
        self.line("<Index>-1</Index>");
        self.open("PropertyMap");
        properties(self);
        self.close("PropertyMap");
    }

    fn property(&mut self, name: &str, kind: &str, value: &str) {
        self.line(&format!("<Property><Name>{name}</Name><Value><{kind}>{value}</{kind}></Value></Property>"));
    }

    fn pose(&mut self, name: &str, pose: &Pose) {
        self.property(name, "Transform3D", &transform(pose));
    }

    /// A list, unless it is empty.
    fn list(&mut self, name: &str, kind: &str, values: Vec<f64>) {
        if !values.is_empty() {
            self.property(name, kind, &numbers(values));
        }
    }

    fn subtask(&mut self, subtask: &RwSubtask) {
        self.open("CartesianTask");
        self.open("Targets");
        for (number, target) in subtask.targets.iter().enumerate() {
            self.target(number, target);
        }
        self.close("Targets");
        self.line("<Entities/>");
        self.entity(&subtask.id, |out| {
            out.property("refframe", "String", &escaped(&subtask.reference));
            out.pose("Offset", &subtask.offset);
            out.pose("Approach", &subtask.approach);
            out.pose("Retract", &subtask.retract);
            out.property("OpenQ", "Q", &numbers(subtask.open.clone()));
            out.property("CloseQ", "Q", &numbers(subtask.closed.clone()));
            out.property("TauMax", "Q", &numbers(subtask.max_effort.clone()));
            out.property("ObjectID", "String", &escaped(&subtask.object));
        });
        self.close("CartesianTask");
    }

    fn target(&mut self, number: usize, target: &RwTarget) {
        self.line(&format!("<CartesianTarget id=\"{number}\">"));
        self.1 += 1;
        self.line(&format!("<Transform3D>{}</Transform3D>", transform(&target.pose)));
        self.entity("", |out| {
            if let Some(result) = &target.result {
                out.result(result);
            }
        });
        self.close("CartesianTarget");
    }

    fn result(&mut self, result: &RwResult) {
        self.property("TestStatus", "Integer", &result.status.to_string());
        self.list("GripperConfiguration", "Q", result.configuration.clone());
        self.list("GripperConfigurationPost", "Q", result.configuration_after.clone());
        self.list("QualityBeforeLifting", "Q", result.quality.clone());
        self.list("QualityAfterLifting", "Q", result.quality_after.clone());
        for (name, pose) in POSE_NAMES.iter().zip(&result.poses) {
            if let Some(pose) = pose {
                self.pose(name, pose);
            }
        }
        if let Some(lift) = result.lift_result {
            self.property("LiftResult", "Double", &numbers([lift]));
        }
        self.list("ContactsGrasp", "DoubleList", result.contacts.concat());
        self.list("ContactsLift", "DoubleList", result.contacts_after.concat());
        let lift = if [HELD_STATUS, SLIPPED_STATUS].contains(&result.status) { HELD_STATUS } else { DROPPED_STATUS };
        self.property("LiftStatus", "Integer", &lift.to_string());
    }
}

fn transform(pose: &Pose) -> String {
    let rows = DMat3::from_quat(pose.rotation).transpose().to_cols_array();
    format!("<Pos>{}</Pos><Rotation3D>{}</Rotation3D>", numbers(pose.translation.to_array()), numbers(rows))
}
