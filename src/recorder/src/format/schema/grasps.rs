//! The tables of the grasp laboratory. Their rows belong to no run, so queries of every run see all of them.

use super::{
    columns::{Written, integer, real, text},
    table::{Key, Table, TableKind},
};

/// The tables whose rows belong to no run.
pub(super) const GRASPS: [Table; 2] = [GRASP, GRASP_TASK];

/// Common values of these tables.
const OF_NO_RUN: Table =
    Table { name: "", doc: "", kind: TableKind::OfNoRun, key: Key::None, key_columns: 1, order: "", columns: &[] };

const GRASP: Table = Table {
    name: "grasp",
    doc: "A result of `simpartner grasp --database`. The rows belong to no run, so queries of every run see all of \
          them. Quantities that a verb does not compute are NULL.",
    order: "graspID",
    columns: &[
        integer("graspID", "number of the result").written(Written::ByDatabase),
        text("asked", "time of the call, UTC, ISO 8601"),
        text("verb", "verb of the call: check, chart, quality or slip"),
        text("file", "path by which the file was opened; for a grasp of 1994 both paths, separated by a blank"),
        text("blake3", "BLAKE3 hash of the file's text, hexadecimal; for two files, of both texts one after the other"),
        text("name", "name of the grasp"),
        text(
            "verdict",
            "answer of check: holds, impossible, undecided; of slip: holds, rests, fails, undecided; of other verbs \
             empty",
        ),
        real(
            "margin, squeeze",
            "N",
            "results of check: normal force that every contact can spare, and least sum of normal forces",
        ),
        real("solid_angle", "1", "result of chart: fraction of the cone of directions in which the grasp holds"),
        real("safe_tilt", "rad", "result of chart: largest tilt at which the grasp holds in every direction"),
        real(
            "epsilon_lower, epsilon_upper",
            "1",
            "results of quality: lower and upper bound of epsilon; in N with `--scaling limits`",
        ),
        real(
            "volume_lower, volume_upper",
            "1",
            "results of quality: lower and upper bound of the volume of the wrench space",
        ),
        real("slip_time", "s", "result of slip: time until the object rested or the grasp failed"),
        real("slip_path", "m", "result of slip: path length of the centre of mass"),
        text("answer", "complete answer as JSON, as `--json` prints it"),
    ],
    ..OF_NO_RUN
};

const GRASP_TASK: Table = Table {
    name: "graspTask",
    doc: "A task of a batch of `simpartner grasp run --database`, with its result. The rows belong to no run, so \
          queries of every run see all of them. Quantities of states that a task did not reach are NULL.",
    key_columns: 2,
    order: "batch, task",
    columns: &[
        text("batch", "name of the batch: a hash of everything that its rows depend on, hexadecimal"),
        integer("task", "number of the task in its batch, from 0"),
        text("file", "path by which the file was opened"),
        text("name", "name of the file of tasks"),
        text("seed", "seed of the random targets, decimal"),
        text("program_version", "version of the program that made the row"),
        text("status", "final status, by RobWork's name"),
        integer("number", "final status, by RobWork's number"),
        text("cause", "cause of the status, if the status does not state it; else empty"),
        real("x, y, z", "m", "target position of the tool, object frame"),
        real("qx, qy, qz, qw", "1", "target orientation of the tool, a unit quaternion, object frame"),
        real("approached, grasped", "s", "simulated time at the end of the approach, and at the end of the grasp"),
        real("ended", "s", "simulated time at the end of the task"),
        integer("steps", "number of steps made"),
        real("slip", "m", "displacement of the mean contact point relative to the hand during the lift"),
        real("lift_result", "1", "score of the lift: 1 without slip, 0 at a slip of 2 cm or more"),
        integer("contacts, contacts_after", "number of contacts before the lift, and after it"),
        real(
            "quality_epsilon, quality_epsilon_after",
            "1",
            "largest wrench that is resisted in every direction, before the lift and after it",
        ),
        real(
            "quality_force, quality_force_after",
            "1",
            "largest force that is resisted in every direction, before the lift and after it",
        ),
        real(
            "quality_force_under_torque, quality_force_under_torque_after",
            "1",
            "the same under the worst torque, before the lift and after it",
        ),
        real(
            "quality_torque, quality_torque_after",
            "1",
            "largest torque that is resisted about every axis, before the lift and after it",
        ),
        real("quality_volume, quality_volume_after", "1", "volume of the wrench space, before the lift and after it"),
        real(
            "quality_centroid, quality_centroid_after",
            "1",
            "centre of contacts, before the lift and after it: 1 if their mean is at the centre of mass",
        ),
        real("quality_squeeze, quality_squeeze_after", "N", "sum of the normal forces, before the lift and after it"),
        text(
            "outcome",
            "complete row as JSON, as in the file of rows: also contacts, poses, and counts of the engine's events",
        ),
    ],
    ..OF_NO_RUN
};
