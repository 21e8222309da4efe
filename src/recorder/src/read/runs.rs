//! Queries of runs and their model files.

use sqlx::AssertSqlSafe;

use simpartner_description::SourceFile;
use simpartner_model::Timestep;

use super::{
    known_columns,
    recorded::RecordedRun,
    source::{SOURCE_COLUMNS, source_file},
};
use crate::{
    database::{connection::Connection, error::RecorderError},
    format::{
        cadence::Cadence,
        ids::{ROWS_PER_RUN, rows_of},
        row_policy::RowPolicy,
        value::{Parameter, Row},
    },
};

/// Columns of a run's row that logs of the first version lack.
const LATER_COLUMNS: [&str; 6] =
    ["every_n_steps", "on_change", "parent_step", "full_steps", "thinned_every_n_steps", "log_bytes"];

/// All runs, the newest first, or only the run of the number `only`.
pub(super) async fn query_runs(
    connection: &mut Connection,
    only: Option<i64>,
) -> Result<Vec<RecordedRun>, RecorderError> {
    let added = known_columns::table_expressions(connection, "simulation", &LATER_COLUMNS).await?;
    // The rows of a run are numbered from simulationID * 2^32 on, so the first and the last row are found without a
    // scan.
    let extreme = |which: &str| {
        format!(
            "(SELECT {which}(simulationRowID) FROM simulationRow WHERE simulationRowID >= s.simulationID * {ROWS_PER_RUN}
            AND simulationRowID < (s.simulationID + 1) * {ROWS_PER_RUN})"
        )
    };
    let sql = format!(
        "SELECT simulationID, world, started, status, timestep_ns, real_time_factor, {}, {}, {added}
        FROM simulation s WHERE simulationID BETWEEN ? AND ? ORDER BY simulationID DESC",
        extreme("min"),
        extreme("max")
    );
    let (lowest, highest) = only.map_or((i64::MIN, i64::MAX), |only| (only, only));
    let bounds = [Parameter::Integer(lowest), Parameter::Integer(highest)];
    // The statement consists of constants of this program.
    let rows = connection.rows(AssertSqlSafe(sql), &bounds).await?;
    for row in rows.iter().filter(|row| parse_timestep(row).is_none()) {
        let (number, length) = (row.integer(0).unwrap_or(0), row.count(4));
        let database = connection.database();
        tracing::warn!(
            "run {number} in {database} is left out: its row in simulation says that a step has {length} ns"
        );
    }
    Ok(rows.iter().filter_map(parse_run).collect())
}

fn parse_timestep(row: &Row) -> Option<Timestep> {
    Timestep::from_seconds(row.count(4) as f64 * 1e-9).ok()
}

/// The run of a row; `None` if its timestep is not valid. No version of this program writes such a timestep, so the row
/// was damaged.
fn parse_run(row: &Row) -> Option<RecordedRun> {
    let simulation_id = row.integer(0)?;
    let first = rows_of(simulation_id).0;
    let step = |number: i64| number.wrapping_sub(first) as u64;
    let whole = |column: usize| row.integer(column).map(|integer| integer.max(0) as u64);
    let cadence = Cadence::new(row.count(8), whole(11).zip(whole(12)));
    Some(RecordedRun {
        simulation_id,
        world: row.text(1).to_owned(),
        started: row.text(2).to_owned(),
        status: row.text(3).to_owned(),
        timestep: parse_timestep(row)?,
        every_n_steps: cadence.every(),
        cadence,
        row_policy: RowPolicy::from_number(row.count(9)),
        origin: whole(10),
        bytes: whole(13),
        steps: row.integer(6).zip(row.integer(7)).map(|(first, last)| (step(first), step(last))),
        real_time_factor: row.real(5),
    })
}

/// The model files of a run, in the order in which they were read.
pub(super) async fn query_sources(connection: &mut Connection, run: i64) -> Result<Vec<SourceFile>, RecorderError> {
    let columns = known_columns::table_expressions(connection, "simulationFile", &SOURCE_COLUMNS).await?;
    let sql =
        format!("SELECT {columns} FROM simulationFile WHERE simulationID = ? AND role = 'model' ORDER BY ordinal");
    // The statement consists of constants of this program.
    let rows = connection.rows(AssertSqlSafe(sql), &[Parameter::Integer(run)]).await?;
    rows.iter().map(|row| source_file([0, 1, 2, 3].map(|column| row.value(column)))).collect()
}

/// Number of the first body of a run, the lowest of its component numbers; 0 for a world without bodies, which has no
/// rows that refer to a component.
pub(super) async fn first_component(connection: &mut Connection, run: i64) -> Result<i64, RecorderError> {
    let sql = "SELECT min(bodyID) FROM body WHERE simulationID = ?";
    let row = connection.row(sql, &[Parameter::Integer(run)]).await?;
    Ok(row.and_then(|row| row.integer(0)).unwrap_or(0))
}
