//! Queries of the reader. Each opens a connection of its own, read-only, and keeps it no longer than its answer takes, so that
//! the write-ahead log can be folded in between.

use std::path::Path;

use sqlx::{ConnectOptions, Row, SqliteConnection, sqlite::SqliteConnectOptions, sqlite::SqliteRow};

use super::{BUSY_TIMEOUT, failure};
use crate::{
    model::SourceFile,
    recorder::{RecordedEvent, RecordedRun, RecorderError, axis_angle::AxisAngle, rows::Keys},
    signal::{BodyId, DeviceId, JointId, Layout, StepIndex, StepRecord, StepTiming, Timestep},
};

/// Which steps of which run.
#[derive(Debug, Clone, Copy)]
pub(in crate::recorder) struct Wanted {
    pub(in crate::recorder) simulation: i64,
    pub(in crate::recorder) from: u64,
    pub(in crate::recorder) every: u64,
    pub(in crate::recorder) count: u64,
}

/// A command as the log has it.
#[derive(Debug)]
pub(in crate::recorder) struct LoggedCommand {
    pub(in crate::recorder) step: StepIndex,
    pub(in crate::recorder) device: DeviceId,
    pub(in crate::recorder) text: String,
    pub(in crate::recorder) reply: String,
}

async fn open(path: &Path) -> Result<SqliteConnection, sqlx::Error> {
    let options = SqliteConnectOptions::new().filename(path).read_only(true).busy_timeout(BUSY_TIMEOUT);
    options.disable_statement_logging().connect().await
}

/// All runs, the newest first, or the one of a number.
pub(in crate::recorder) async fn runs(path: &Path, only: Option<i64>) -> Result<Vec<RecordedRun>, RecorderError> {
    let read = async {
        // The rows of a run are numbered from simulationID * 2^32 on, so the first and the last are found without a scan.
        let statement = "SELECT simulationID, world, started, status, timestep_ns, every_n_steps, real_time_factor,
            (SELECT min(simulationRowID) FROM simulationRow WHERE simulationRowID >= s.simulationID << 32
                AND simulationRowID < (s.simulationID + 1) << 32) AS first,
            (SELECT max(simulationRowID) FROM simulationRow WHERE simulationRowID >= s.simulationID << 32
                AND simulationRowID < (s.simulationID + 1) << 32) AS last
            FROM simulation s WHERE ?1 IS NULL OR simulationID = ?1 ORDER BY simulationID DESC";
        let mut connection = open(path).await?;
        let rows = sqlx::query(statement).bind(only).fetch_all(&mut connection).await?;
        rows.iter().map(run).collect::<Result<Vec<_>, sqlx::Error>>()
    };
    read.await.map_err(|error| failure::of_database(path, error))
}

fn run(row: &SqliteRow) -> Result<RecordedRun, sqlx::Error> {
    let simulation_id: i64 = row.try_get("simulationID")?;
    let nanoseconds: i64 = row.try_get("timestep_ns")?;
    let timestep =
        Timestep::from_seconds(nanoseconds as f64 * 1e-9).map_err(|error| sqlx::Error::Decode(error.into()))?;
    let step = |number: i64| (number - (simulation_id << 32)) as u64;
    let bounds = (row.try_get::<Option<i64>, _>("first")?, row.try_get::<Option<i64>, _>("last")?);
    Ok(RecordedRun {
        simulation_id,
        world: row.try_get("world")?,
        started: row.try_get("started")?,
        status: row.try_get("status")?,
        timestep,
        every_n_steps: row.try_get::<i64, _>("every_n_steps")?.max(1) as u64,
        steps: bounds.0.zip(bounds.1).map(|(first, last)| (step(first), step(last))),
        real_time_factor: row.try_get("real_time_factor")?,
    })
}

/// The model files of a run, in the order they were read.
pub(in crate::recorder) async fn sources(path: &Path, simulation: i64) -> Result<Vec<SourceFile>, RecorderError> {
    let read = async {
        let statement =
            "SELECT path, text FROM simulationFile WHERE simulationID = ? AND role = 'model' ORDER BY ordinal";
        let mut connection = open(path).await?;
        let rows = sqlx::query(statement).bind(simulation).fetch_all(&mut connection).await?;
        let file = |row: &SqliteRow| Ok(SourceFile { path: row.try_get("path")?, text: row.try_get("text")? });
        rows.iter().map(file).collect::<Result<Vec<_>, sqlx::Error>>()
    };
    read.await.map_err(|error| failure::of_database(path, error))
}

/// The first events of a run.
pub(in crate::recorder) async fn events(
    path: &Path,
    simulation: i64,
    most: u64,
) -> Result<Vec<RecordedEvent>, RecorderError> {
    let read = async {
        let statement = "SELECT e.step, s.resets, e.kind, e.subject, e.text, e.value FROM event e
            JOIN simulation s USING (simulationID) WHERE simulationID = ? ORDER BY eventID LIMIT ?";
        let mut connection = open(path).await?;
        let query = sqlx::query(statement).bind(simulation).bind(i64::try_from(most).unwrap_or(i64::MAX));
        let rows = query.fetch_all(&mut connection).await?;
        let event = |row: &SqliteRow| {
            Ok(RecordedEvent {
                step: row.try_get::<i64, _>("step")? as u64,
                resets: row.try_get::<i64, _>("resets")? as u64,
                kind: row.try_get("kind")?,
                subject: row.try_get("subject")?,
                text: row.try_get("text")?,
                value: row.try_get("value")?,
            })
        };
        rows.iter().map(event).collect::<Result<Vec<_>, sqlx::Error>>()
    };
    read.await.map_err(|error| failure::of_database(path, error))
}

/// The commands of a run up to `end`, in their order. Of those before `begin` there are all faults, and the last other command
/// of each device.
pub(in crate::recorder) async fn commands(
    path: &Path,
    layout: &Layout,
    simulation: i64,
    begin: StepIndex,
    end: StepIndex,
) -> Result<Vec<LoggedCommand>, RecorderError> {
    let read = async {
        let mut connection = open(path).await?;
        let first = first_component(&mut connection, simulation).await? + (layout.bodies() + layout.joints()) as i64;
        // Beside max(), SQLite takes the other columns from the row that has the maximum.
        let statement = "SELECT step, ordinal, componentID, text, reply, 0 FROM command
                WHERE simulationID = ?1 AND step <= ?3 AND (step >= ?2 OR text LIKE 'FAULT%')
            UNION ALL SELECT step, ordinal, componentID, text, reply, max(step * 1048576 + ordinal) FROM command
                WHERE simulationID = ?1 AND step < ?2 AND text NOT LIKE 'FAULT%' GROUP BY componentID
            ORDER BY 1, 2";
        let query = sqlx::query(statement).bind(simulation).bind(begin.0 as i64).bind(end.0 as i64);
        let mut commands = Vec::new();
        for row in query.fetch_all(&mut connection).await? {
            let index = row.try_get::<i64, _>("componentID")? - first;
            let Some(device) = place(index, layout.devices().len()).map(DeviceId::new) else { continue };
            let step = StepIndex(row.try_get::<i64, _>("step")? as u64);
            commands.push(LoggedCommand { step, device, text: row.try_get("text")?, reply: row.try_get("reply")? });
        }
        Ok(commands)
    };
    read.await.map_err(|error| failure::of_database(path, error))
}

/// The component that the first body of a run is; a world without bodies has nothing that refers to one.
async fn first_component(connection: &mut SqliteConnection, simulation: i64) -> Result<i64, sqlx::Error> {
    let statement = "SELECT min(bodyID) FROM body WHERE simulationID = ?";
    let row = sqlx::query(statement).bind(simulation).fetch_one(connection).await?;
    Ok(row.try_get::<Option<i64>, _>(0)?.unwrap_or(0))
}

/// Logged steps, as far as there are such.
pub(in crate::recorder) async fn steps(
    path: &Path,
    layout: &Layout,
    wanted: Wanted,
) -> Result<Vec<StepRecord>, RecorderError> {
    let read = async {
        let mut connection = open(path).await?;
        let first_component = first_component(&mut connection, wanted.simulation).await?;
        let statement = "SELECT resets FROM simulation WHERE simulationID = ?";
        let row = sqlx::query(statement).bind(wanted.simulation).fetch_optional(&mut connection).await?;
        let epoch = row.map_or(Ok(0), |row| row.try_get::<i64, _>(0))? as u32;
        let keys = Keys { simulation: wanted.simulation, first_component };
        let mut records = Vec::new();
        for index in 0..wanted.count {
            let step = wanted.every.saturating_mul(index).saturating_add(wanted.from);
            // A step beyond this would be a row of the next run.
            if step > u64::from(u32::MAX) {
                break;
            }
            match step_of(&mut connection, layout, keys, StepIndex(step)).await? {
                Some(record) => records.push(StepRecord { epoch, ..record }),
                None if records.is_empty() => {}
                None => break,
            }
        }
        Ok(records)
    };
    read.await.map_err(|error| failure::of_database(path, error))
}

/// One step, if it was logged.
async fn step_of(
    connection: &mut SqliteConnection,
    layout: &Layout,
    keys: Keys,
    step: StepIndex,
) -> Result<Option<StepRecord>, sqlx::Error> {
    let number = keys.row(step);
    let statement = "SELECT wall_ns, late_ns, compute_ns FROM simulationRow WHERE simulationRowID = ?";
    let Some(row) = sqlx::query(statement).bind(number).fetch_optional(&mut *connection).await? else {
        return Ok(None);
    };
    let count = |index: usize| row.try_get::<i64, _>(index).map(|count| count as u64);
    let timing = StepTiming { wall_ns: count(0)?, late_ns: count(1)?, compute_ns: count(2)? };
    let mut record = StepRecord { step, timing, ..StepRecord::new(layout) };
    record.values.fill(f64::NAN);
    bodies(connection, layout, keys, &mut record).await?;
    joints(connection, layout, keys, &mut record).await?;
    readings(connection, layout, keys, &mut record).await?;
    Ok(Some(record))
}

/// A number that is not finite was stored as NULL.
fn real(row: &SqliteRow, index: usize) -> Result<f64, sqlx::Error> {
    Ok(row.try_get::<Option<f64>, _>(index)?.unwrap_or(f64::NAN))
}

async fn bodies(
    connection: &mut SqliteConnection,
    layout: &Layout,
    keys: Keys,
    record: &mut StepRecord,
) -> Result<(), sqlx::Error> {
    let statement = "SELECT bodyID, x, y, z, axis_x, axis_y, axis_z, angle, v_x, v_y, v_z, omega_x, omega_y, omega_z,
        F_x, F_y, F_z, T_x, T_y, T_z FROM body_state WHERE simulationRowID = ?";
    for row in sqlx::query(statement).bind(keys.row(record.step)).fetch_all(connection).await? {
        let index = row.try_get::<i64, _>(0)? - keys.first_component;
        let Some(body) = place(index, layout.bodies()).map(BodyId::new) else { continue };
        let pose = layout.pose(body).start;
        for offset in 0..3 {
            record.values[pose + offset] = real(&row, 1 + offset)?;
        }
        let axis = [real(&row, 4)?, real(&row, 5)?, real(&row, 6)?];
        let quaternion = AxisAngle { axis, angle: real(&row, 7)? }.to_quaternion();
        record.values[pose + 3..pose + 7].copy_from_slice(&quaternion);
        let (twist, wrench) = (layout.twist(body).start, layout.wrench(body).start);
        for offset in 0..6 {
            record.values[twist + offset] = real(&row, 8 + offset)?;
            record.values[wrench + offset] = real(&row, 14 + offset)?;
        }
    }
    Ok(())
}

async fn joints(
    connection: &mut SqliteConnection,
    layout: &Layout,
    keys: Keys,
    record: &mut StepRecord,
) -> Result<(), sqlx::Error> {
    let statement = "SELECT jointID, anchorx, anchory, anchorz, position_1, position_2, position_3, rate_1, rate_2,
        rate_3, effort_1, effort_2, effort_3, F_x, F_y, F_z, T_x, T_y, T_z FROM jointPose WHERE simulationRowID = ?";
    for row in sqlx::query(statement).bind(keys.row(record.step)).fetch_all(connection).await? {
        let index = row.try_get::<i64, _>(0)? - keys.first_component - layout.bodies() as i64;
        let Some(joint) = place(index, layout.joints()).map(JointId::new) else { continue };
        for (offset, value) in record.values[layout.joint(joint)].iter_mut().enumerate() {
            *value = real(&row, 1 + offset)?;
        }
    }
    Ok(())
}

async fn readings(
    connection: &mut SqliteConnection,
    layout: &Layout,
    keys: Keys,
    record: &mut StepRecord,
) -> Result<(), sqlx::Error> {
    let statement = "SELECT componentID, field, value FROM sensorReading WHERE simulationRowID = ?";
    let first = keys.first_component + (layout.bodies() + layout.joints()) as i64;
    for row in sqlx::query(statement).bind(keys.row(record.step)).fetch_all(connection).await? {
        let index = row.try_get::<i64, _>(0)? - first;
        let Some(device) = place(index, layout.devices().len()).map(DeviceId::new) else { continue };
        let name: &str = row.try_get(1)?;
        if let Some(field) = layout.device_info(device).fields.iter().position(|field| field.name == name) {
            record.values[layout.device(device).start + field] = real(&row, 2)?;
            record.fresh[device.index()] = true;
        }
    }
    Ok(())
}

/// A place in a list of so many, if there is such.
fn place(index: i64, count: usize) -> Option<usize> {
    usize::try_from(index).ok().filter(|&index| index < count)
}
