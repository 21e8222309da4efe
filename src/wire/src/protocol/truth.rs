//! The answer to `TRUTH`: the state of all bodies and joints after a step.

use std::fmt::Write;

use simpartner_model::{BodyId, JointId, Timestep};

use super::number::write_numbers;
use crate::signal::{Layout, POSE_WIDTH, StepRecord, TWIST_WIDTH};

/// Numbers of a body: its pose and its twist.
pub const TRUTH_OF_BODY: usize = POSE_WIDTH + TWIST_WIDTH;

/// Numbers of a joint: position, rate and motor effort of its three coordinates.
pub const TRUTH_OF_JOINT: usize = 9;

/// In a record the numbers of a joint begin with its anchor.
const ANCHOR_WIDTH: usize = 3;

/// Writes the line, its end included.
pub fn write_truth(layout: &Layout, record: &StepRecord, timestep: Timestep, out: &mut String) {
    let time = timestep.seconds_at(record.step);
    // Writing to a string cannot fail.
    let _ = write!(out, "OK step={} time={time} epoch={} world={} bodies=", record.step, record.epoch, record.world);
    for body in (0..layout.bodies()).map(BodyId::new) {
        let start = layout.pose(body).start;
        append(&record.values[start..start + TRUTH_OF_BODY], body.index() > 0, out);
    }
    out.push_str(" joints=");
    for joint in (0..layout.joints()).map(JointId::new) {
        let start = layout.joint(joint).start + ANCHOR_WIDTH;
        append(&record.values[start..start + TRUTH_OF_JOINT], joint.index() > 0, out);
    }
    out.push('\n');
}

fn append(values: &[f64], follows: bool, out: &mut String) {
    if follows {
        out.push(',');
    }
    write_numbers(values, out);
}
