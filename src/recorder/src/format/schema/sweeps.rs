//! The tables of sweeps. Their rows belong to no run, so queries of every run see all of them.

use super::{
    columns::{Columns, Written, integer, real, text},
    table::{Key, Table, TableKind},
};

/// The tables of sweeps.
pub(super) const SWEEP_TABLES: [Table; 5] = [SWEEP_TABLE, SWEEP_CASE, SWEEP_PARAMETER, SWEEP_RESULT, SWEEP_EVENT];

/// Common values of these tables.
const OF_NO_RUN: Table =
    Table { name: "", doc: "", kind: TableKind::OfNoRun, key: Key::None, key_columns: 2, order: "", columns: &[] };

const SWEEP_ID: Columns = integer("sweepID", "number of the sweep");
const CASE_NUMBER: Columns = integer("caseNumber", "number of the case in its sweep, from 0");

const SWEEP_TABLE: Table = Table {
    name: "sweep",
    doc: "A sweep of `simpartner sweep`: many runs of one model with different parameters. The rows belong to no run.",
    key_columns: 1,
    order: "sweepID",
    columns: &[
        integer("sweepID", "number of the sweep").written(Written::ByDatabase),
        text("name", "name of the sweep"),
        text("hash", "BLAKE3 hash of the plan, the settings and all files that the cases are made from, hexadecimal"),
        text("planned", "time of the planning, UTC, ISO 8601"),
        text("program_version", "version of the program that planned it"),
        integer("cases", "number of cases"),
        text("plan", "text of the sweep file"),
    ],
    ..OF_NO_RUN
};

const SWEEP_CASE: Table = Table {
    name: "sweepCase",
    doc: "A case of a sweep that has been simulated.",
    order: "sweepID, caseNumber",
    columns: &[
        SWEEP_ID,
        CASE_NUMBER,
        text("status", "completed, stopped (its stop condition held), diverged or failed"),
        text("cause", "cause of the status, if the status does not state it; else empty"),
        integer("steps", "number of steps made"),
        text("stateHash", "hash of the final state, hexadecimal; empty for a case that failed"),
        integer("simulationID", "number of the case's run in this database; NULL if its log was not kept"),
        text("ended", "time of the case's end, UTC, ISO 8601"),
    ],
    ..OF_NO_RUN
};

const SWEEP_PARAMETER: Table = Table {
    name: "sweepParameter",
    doc: "A value that a case of a sweep varies.",
    key_columns: 3,
    order: "sweepID, path, caseNumber",
    columns: &[
        SWEEP_ID,
        text("path", "path of the value in the model, such as surface.friction, or a setting, such as simulation.seed"),
        CASE_NUMBER,
        text("text", "the value as given; with a star in front a factor on the number in the file"),
        real("value", "", "the number, or the factor; NULL for a word"),
    ],
    ..OF_NO_RUN
};

const SWEEP_RESULT: Table = Table {
    name: "sweepResult",
    doc: "A measure of a case of a sweep.",
    key_columns: 3,
    order: "sweepID, measure, caseNumber",
    columns: &[
        SWEEP_ID,
        text("measure", "name of the measure"),
        CASE_NUMBER,
        real("value", "", "value of the measure, in the unit of its field; NULL if it has none"),
    ],
    ..OF_NO_RUN
};

const SWEEP_EVENT: Table = Table {
    name: "sweepEvent",
    doc: "A case of a sweep that was simulated again with another result, which means that one of the two machines, or \
          the files of one of them, is not what it should be.",
    key_columns: 1,
    order: "eventID",
    columns: &[
        integer("eventID", "number of the event").written(Written::ByDatabase),
        SWEEP_ID,
        CASE_NUMBER,
        text("noticed", "time of the event, UTC, ISO 8601"),
        text("text", "the values that differ, stored and new"),
    ],
    ..OF_NO_RUN
};
