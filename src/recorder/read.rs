//! Queries of the reader. Each opens a link of its own that cannot write, and keeps it no longer than its answer takes, so that
//! SQLite's write-ahead log can be folded in between.

use super::{
    Database, RecordedEvent, RecordedRun, RecorderError,
    axis_angle::AxisAngle,
    cell::{Keys, Row, Value},
    change::STEPS_OF_ALL,
    store::{Access, Store},
};
use crate::{
    model::SourceFile,
    signal::{BodyId, DeviceId, JointId, Layout, StepIndex, StepRecord, StepTiming, Timestep},
};

/// Which steps of which run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    pub(super) simulation: i64,
    pub(super) from: u64,
    pub(super) every: u64,
    pub(super) count: u64,
}

/// All runs, the newest first, or the one of a number.
pub(super) async fn runs(database: &Database, only: Option<i64>) -> Result<Vec<RecordedRun>, RecorderError> {
    // The rows of a run are numbered from simulationID * 2^32 on, so the first and the last are found without a scan.
    let statement = "SELECT simulationID, world, started, status, timestep_ns, every_n_steps, real_time_factor,
        (SELECT min(simulationRowID) FROM simulationRow WHERE simulationRowID >= s.simulationID * 4294967296
            AND simulationRowID < (s.simulationID + 1) * 4294967296),
        (SELECT max(simulationRowID) FROM simulationRow WHERE simulationRowID >= s.simulationID * 4294967296
            AND simulationRowID < (s.simulationID + 1) * 4294967296)
        FROM simulation s WHERE simulationID BETWEEN ? AND ? ORDER BY simulationID DESC";
    let mut store = Store::open(database, Access::Read).await?;
    let (lowest, highest) = only.map_or((i64::MIN, i64::MAX), |only| (only, only));
    let rows = store.rows(statement, &[Value::Integer(lowest), Value::Integer(highest)]).await?;
    Ok(rows.iter().filter_map(run).collect())
}

/// A run of a row; `None` if its step has no length, which no version of this program has ever written.
fn run(row: &Row) -> Option<RecordedRun> {
    let simulation_id = row.integer(0)?;
    let keys = Keys { simulation: simulation_id, first_part: 0 };
    let step = |number: i64| (number - keys.rows().0) as u64;
    Some(RecordedRun {
        simulation_id,
        world: row.text(1).to_owned(),
        started: row.text(2).to_owned(),
        status: row.text(3).to_owned(),
        timestep: Timestep::from_seconds(row.count(4) as f64 * 1e-9).ok()?,
        every_n_steps: row.count(5).max(1),
        steps: row.integer(7).zip(row.integer(8)).map(|(first, last)| (step(first), step(last))),
        real_time_factor: row.real(6),
    })
}

/// The model files of a run, in the order they were read.
pub(super) async fn sources(database: &Database, simulation: i64) -> Result<Vec<SourceFile>, RecorderError> {
    let statement = "SELECT path, text FROM simulationFile WHERE simulationID = ? AND role = 'model' ORDER BY ordinal";
    let mut store = Store::open(database, Access::Read).await?;
    let rows = store.rows(statement, &[Value::Integer(simulation)]).await?;
    Ok(rows.iter().map(|row| SourceFile { path: row.text(0).to_owned(), text: row.text(1).to_owned() }).collect())
}

/// The first events of a run.
pub(super) async fn events(
    database: &Database,
    simulation: i64,
    most: u64,
) -> Result<Vec<RecordedEvent>, RecorderError> {
    let statement = "SELECT e.step, s.resets, e.kind, e.subject, e.text, e.value FROM event e, simulation s
        WHERE e.simulationID = s.simulationID AND s.simulationID = ? ORDER BY e.eventID LIMIT ?";
    let mut store = Store::open(database, Access::Read).await?;
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let rows = store.rows(statement, &[Value::Integer(simulation), Value::Integer(most)]).await?;
    let event = |row: &Row| RecordedEvent {
        step: row.count(0),
        resets: row.count(1),
        kind: row.text(2).to_owned(),
        subject: row.text(3).to_owned(),
        text: row.text(4).to_owned(),
        value: row.real(5),
    };
    Ok(rows.iter().map(event).collect())
}

/// Logged steps, as far as there are such.
pub(super) async fn steps(
    database: &Database,
    layout: &Layout,
    wanted: Wanted,
) -> Result<Vec<StepRecord>, RecorderError> {
    let mut store = Store::open(database, Access::Read).await?;
    let statement = "SELECT resets, (SELECT min(bodyID) FROM body WHERE simulationID = s.simulationID),
        on_change, every_n_steps FROM simulation s WHERE simulationID = ?";
    let row = store.row(statement, &[Value::Integer(wanted.simulation)]).await?;
    let epoch = row.as_ref().map_or(0, |row| row.count(0) as u32);
    // Where only changes are logged, what a step has is as far back as the last in which all was.
    let reach = row.as_ref().map_or(0, |row| row.count(2) * (STEPS_OF_ALL * row.count(3).max(1) - 1));
    // A world without bodies has nothing that refers to a part.
    let first_part = row.and_then(|row| row.integer(1)).unwrap_or(0);
    let keys = Keys { simulation: wanted.simulation, first_part };
    let mut records = Vec::new();
    for index in 0..wanted.count {
        let step = wanted.every.saturating_mul(index).saturating_add(wanted.from);
        // A step beyond this would be a row of the next run.
        if step > u64::from(u32::MAX) {
            break;
        }
        match step_of(&mut store, layout, keys, StepIndex(step), reach).await? {
            Some(record) => records.push(StepRecord { epoch, ..record }),
            None if records.is_empty() => {}
            None => break,
        }
    }
    Ok(records)
}

/// One step, if it was logged.
async fn step_of(
    store: &mut Store,
    layout: &Layout,
    keys: Keys,
    step: StepIndex,
    reach: u64,
) -> Result<Option<StepRecord>, RecorderError> {
    let statement = "SELECT wall_ns, late_ns, compute_ns FROM simulationRow WHERE simulationRowID = ?";
    let Some(row) = store.row(statement, &[Value::Integer(keys.row(step))]).await? else { return Ok(None) };
    let timing = StepTiming { wall_ns: row.count(0), late_ns: row.count(1), compute_ns: row.count(2) };
    let mut record = StepRecord { step, timing, ..StepRecord::new(layout) };
    record.values.fill(f64::NAN);
    let since = keys.row(StepIndex(step.0.saturating_sub(reach)));
    bodies(store, layout, keys, since, &mut record).await?;
    joints(store, layout, keys, since, &mut record).await?;
    readings(store, layout, keys, &mut record).await?;
    Ok(Some(record))
}

/// A number that is not finite was stored as NULL.
fn real(row: &Row, column: usize) -> f64 {
    row.real(column).unwrap_or(f64::NAN)
}

async fn bodies(
    store: &mut Store,
    layout: &Layout,
    keys: Keys,
    since: i64,
    record: &mut StepRecord,
) -> Result<(), RecorderError> {
    let statement = "SELECT bodyID, x, y, z, axis_x, axis_y, axis_z, angle, v_x, v_y, v_z, omega_x, omega_y, omega_z,
        F_x, F_y, F_z, T_x, T_y, T_z FROM body_state WHERE simulationRowID BETWEEN ? AND ? ORDER BY simulationRowID";
    // The newest row of a body comes last, and stays.
    for row in store.rows(statement, &[Value::Integer(since), Value::Integer(keys.row(record.step))]).await? {
        let Some(body) = place(&row, keys.first_part, layout.bodies()).map(BodyId::new) else { continue };
        let pose = layout.pose(body).start;
        for offset in 0..3 {
            record.values[pose + offset] = real(&row, 1 + offset);
        }
        let axis = [real(&row, 4), real(&row, 5), real(&row, 6)];
        let quaternion = AxisAngle { axis, angle: real(&row, 7) }.to_quaternion();
        record.values[pose + 3..pose + 7].copy_from_slice(&quaternion);
        let (twist, wrench) = (layout.twist(body).start, layout.wrench(body).start);
        for offset in 0..6 {
            record.values[twist + offset] = real(&row, 8 + offset);
            record.values[wrench + offset] = real(&row, 14 + offset);
        }
    }
    Ok(())
}

async fn joints(
    store: &mut Store,
    layout: &Layout,
    keys: Keys,
    since: i64,
    record: &mut StepRecord,
) -> Result<(), RecorderError> {
    let statement = "SELECT jointID, anchorx, anchory, anchorz, position_1, position_2, position_3, rate_1, rate_2,
        rate_3, effort_1, effort_2, effort_3, F_x, F_y, F_z, T_x, T_y, T_z FROM jointPose
        WHERE simulationRowID BETWEEN ? AND ? ORDER BY simulationRowID";
    let first = keys.first_part + layout.bodies() as i64;
    for row in store.rows(statement, &[Value::Integer(since), Value::Integer(keys.row(record.step))]).await? {
        let Some(joint) = place(&row, first, layout.joints()).map(JointId::new) else { continue };
        for (offset, value) in record.values[layout.joint(joint)].iter_mut().enumerate() {
            *value = real(&row, 1 + offset);
        }
    }
    Ok(())
}

async fn readings(
    store: &mut Store,
    layout: &Layout,
    keys: Keys,
    record: &mut StepRecord,
) -> Result<(), RecorderError> {
    let statement = "SELECT componentID, field, value FROM sensorReading WHERE simulationRowID = ?";
    let first = keys.first_part + (layout.bodies() + layout.joints()) as i64;
    for row in store.rows(statement, &[Value::Integer(keys.row(record.step))]).await? {
        let Some(device) = place(&row, first, layout.devices().len()).map(DeviceId::new) else { continue };
        if let Some(field) = layout.device_info(device).fields.iter().position(|field| field.name == row.text(1)) {
            record.values[layout.device(device).start + field] = real(&row, 2);
            record.fresh[device.index()] = true;
        }
    }
    Ok(())
}

/// The place of a row's part in its list of so many, if it is of that list.
fn place(row: &Row, first: i64, count: usize) -> Option<usize> {
    usize::try_from(row.integer(0)? - first).ok().filter(|&index| index < count)
}
