//! The tables of the laboratory of grasps. Their rows belong to no run: queries of every run see all of them.

use super::{
    columns::{Written, integer, real, text},
    table::{Key, Table, TableKind},
};

/// The tables whose rows belong to no run.
pub(super) const GRASPS: [Table; 2] = [GRASP, GRASP_TASK];

/// What such tables have in common.
const OF_NO_RUN: Table =
    Table { name: "", doc: "", kind: TableKind::OfNoRun, key: Key::None, key_columns: 1, order: "", columns: &[] };

const GRASP: Table = Table {
    name: "grasp",
    doc: "What `simpartner grasp --database` found of a grasp. It belongs to no run: queries of every run see all rows. What a verb does not \
          tell is NULL.",
    order: "graspID",
    columns: &[
        integer("graspID", "number").written(Written::ByDatabase),
        text("asked", "when, UTC, ISO 8601"),
        text("verb", "check, chart, quality or slip"),
        text("file", "as it was opened; of a grasp of 1994 both, with a blank between them"),
        text("blake3", "the BLAKE3 hash of its text, in hexadecimal; of both texts one after the other"),
        text("name", "of the grasp"),
        text("verdict", "of check: holds, impossible, undecided; of slip: holds, rests, fails, undecided; else empty"),
        real(
            "margin, squeeze",
            "N",
            "of check: normal force that each contact can have to spare, least sum of normal forces",
        ),
        real("solid_angle", "1", "of chart: part of the cone of directions that holds"),
        real("safe_tilt", "rad", "of chart: largest tilt that holds whatever its direction"),
        real("epsilon_lower, epsilon_upper", "1", "of quality: bounds of epsilon; newtons with --scaling limits"),
        real("volume_lower, volume_upper", "1", "of quality: bounds of the volume of the wrench space"),
        real("slip_time", "s", "of slip: until it rested, or failed"),
        real("slip_path", "m", "of slip: way of the centre of mass"),
        text("answer", "all of the answer, as `--json` prints it"),
    ],
    ..OF_NO_RUN
};

const GRASP_TASK: Table = Table {
    name: "graspTask",
    doc: "A task of a batch of `simpartner grasp run --database`, and what came of it. It belongs to no run: queries of every run see all rows. What a \
          task did not come to is NULL.",
    key_columns: 2,
    order: "batch, task",
    columns: &[
        text("batch", "the batch: a hash of all that its rows depend on, in hexadecimal"),
        integer("task", "number in the batch, from 0"),
        text("file", "as it was opened"),
        text("name", "of the tasks"),
        text("seed", "of the targets that are drawn, decimal"),
        text("program_version", "version of the program that made it"),
        text("status", "how it ended, by RobWork's name"),
        integer("number", "the status by RobWork's number"),
        text("cause", "why, where the status does not say it; else empty"),
        real("x, y, z", "m", "where the tool was to go, in the object's frame"),
        real("qx, qy, qz, qw", "1", "likewise, a unit quaternion"),
        real("approached, grasped", "s", "simulated time at the end of the approach, of the grasp"),
        real("ended", "s", "simulated time at its end"),
        integer("steps", "steps made"),
        real("slip", "m", "how far the mean of the contacts moved in the hand while it was lifted"),
        real("lift_result", "1", "1 for no slip, 0 for 2 cm and more"),
        integer("contacts, contacts_after", "how many before the lift, after it"),
        real(
            "quality_epsilon, quality_epsilon_after",
            "1",
            "largest wrench in every direction, before the lift and after it",
        ),
        real("quality_force, quality_force_after", "1", "largest force in every direction"),
        real("quality_force_under_torque, quality_force_under_torque_after", "1", "the same under the worst torque"),
        real("quality_torque, quality_torque_after", "1", "largest torque about every axis"),
        real("quality_volume, quality_volume_after", "1", "volume of the wrench space"),
        real("quality_centroid, quality_centroid_after", "1", "how central the contacts are"),
        real("quality_squeeze, quality_squeeze_after", "N", "sum of the normal forces"),
        text(
            "outcome",
            "all of the row as the file of rows has it, in JSON: contacts, poses, how often the engine's guards spoke",
        ),
    ],
    ..OF_NO_RUN
};
