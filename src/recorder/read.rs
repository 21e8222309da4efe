//! Queries of the reader. Each opens a link of its own that cannot write, and keeps it no longer than its answer takes, so that
//! SQLite's write-ahead log can be folded in between.

use std::collections::BTreeMap;

use simpartner_description::SourceFile;
use simpartner_model::{BodyId, DeviceId, JointId, StepIndex, Timestep};
use simpartner_wire::signal::{Layout, StepRecord, StepTiming};

use super::{
    Cadence, Database, RecordedCommands, RecordedEvent, RecordedRun, RecorderError, Rows,
    axis_angle::AxisAngle,
    cell::{Keys, Row, Value},
    store::{Access, Store},
};

/// Which steps of which run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    pub(super) simulation: i64,
    pub(super) from: u64,
    pub(super) every: u64,
    pub(super) count: u64,
}

/// A command as the log has it.
#[derive(Debug)]
pub(super) struct LoggedCommand {
    pub(super) step: StepIndex,
    pub(super) device: DeviceId,
    pub(super) text: String,
    pub(super) reply: String,
}

/// All runs, the newest first, or the one of a number.
pub(super) async fn runs(database: &Database, only: Option<i64>) -> Result<Vec<RecordedRun>, RecorderError> {
    // The rows of a run are numbered from simulationID * 2^32 on, so the first and the last are found without a scan.
    let statement = "SELECT simulationID, world, started, status, timestep_ns, real_time_factor,
        (SELECT min(simulationRowID) FROM simulationRow WHERE simulationRowID >= s.simulationID * 4294967296
            AND simulationRowID < (s.simulationID + 1) * 4294967296),
        (SELECT max(simulationRowID) FROM simulationRow WHERE simulationRowID >= s.simulationID * 4294967296
            AND simulationRowID < (s.simulationID + 1) * 4294967296)
        FROM simulation s WHERE simulationID BETWEEN ? AND ? ORDER BY simulationID DESC";
    let mut store = Store::open(database, Access::Read).await?;
    let (lowest, highest) = only.map_or((i64::MIN, i64::MAX), |only| (only, only));
    let rows = store.rows(statement, &[Value::Integer(lowest), Value::Integer(highest)]).await?;
    let extents = extents(&mut store, (lowest, highest)).await?;
    for row in rows.iter().filter(|row| timestep(row).is_none()) {
        let (number, length) = (row.integer(0).unwrap_or(0), row.count(4));
        tracing::warn!(
            "run {number} in {database} is left out: its row in simulation says that a step has {length} ns"
        );
    }
    Ok(rows.iter().filter_map(|row| run(row, extents.get(&row.integer(0)?)?)).collect())
}

/// What of a run its log has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    pub(super) cadence: Cadence,
    /// Which rows are left out since they are like the ones before.
    pub(super) rows: Rows,
    /// The step it goes on from, if it is a fork.
    origin: Option<u64>,
    /// How large it is, about, bytes.
    bytes: Option<u64>,
}

/// What the logs of these runs have, also those of versions that did not say.
pub(super) async fn extents(
    store: &mut Store,
    (lowest, highest): (i64, i64),
) -> Result<BTreeMap<i64, Extent>, RecorderError> {
    let bounds = [Value::Integer(lowest), Value::Integer(highest)];
    let mut rows = Err(RecorderError::WriterLost);
    // The newest log first; each version has added to the columns.
    for statement in [
        "SELECT simulationID, every_n_steps, on_change, parent_step, full_steps, thinned_every_n_steps, log_bytes
            FROM simulation WHERE simulationID BETWEEN ? AND ?",
        "SELECT simulationID, every_n_steps, on_change, parent_step FROM simulation WHERE simulationID BETWEEN ? AND ?",
        "SELECT simulationID, every_n_steps, on_change FROM simulation WHERE simulationID BETWEEN ? AND ?",
        "SELECT simulationID, every_n_steps FROM simulation WHERE simulationID BETWEEN ? AND ?",
    ] {
        rows = store.rows(statement, &bounds).await;
        if rows.is_ok() {
            break;
        }
    }
    let whole = |row: &Row, column: usize| row.integer(column).map(|integer| integer.max(0) as u64);
    let extent = |row: &Row| {
        let thinned = whole(row, 4).zip(whole(row, 5));
        let cadence = Cadence::new(row.count(1), thinned);
        let (rows, origin, bytes) = (Rows::numbered(row.count(2)), whole(row, 3), whole(row, 6));
        Some((row.integer(0)?, Extent { cadence, rows, origin, bytes }))
    };
    Ok(rows?.iter().filter_map(extent).collect())
}

fn timestep(row: &Row) -> Option<Timestep> {
    Timestep::from_seconds(row.count(4) as f64 * 1e-9).ok()
}

/// A run of a row; `None` if its step has no length, which no version of this program has ever written, so it was damaged.
fn run(row: &Row, extent: &Extent) -> Option<RecordedRun> {
    let simulation_id = row.integer(0)?;
    let keys = Keys { simulation: simulation_id, first_part: 0 };
    let step = |number: i64| number.wrapping_sub(keys.rows().0) as u64;
    Some(RecordedRun {
        simulation_id,
        world: row.text(1).to_owned(),
        started: row.text(2).to_owned(),
        status: row.text(3).to_owned(),
        timestep: timestep(row)?,
        every_n_steps: extent.cadence.every(),
        cadence: extent.cadence,
        rows: extent.rows,
        origin: extent.origin,
        bytes: extent.bytes,
        steps: row.integer(6).zip(row.integer(7)).map(|(first, last)| (step(first), step(last))),
        real_time_factor: row.real(5),
    })
}

/// The model files of a run, in the order they were read.
pub(super) async fn sources(database: &Database, simulation: i64) -> Result<Vec<SourceFile>, RecorderError> {
    let statement = "SELECT path, text FROM simulationFile WHERE simulationID = ? AND role = 'model' ORDER BY ordinal";
    let mut store = Store::open(database, Access::Read).await?;
    let rows = store.rows(statement, &[Value::Integer(simulation)]).await?;
    Ok(rows.iter().map(|row| SourceFile { path: row.text(0).to_owned(), text: row.text(1).to_owned() }).collect())
}

/// The first events of a run, and the first connections.
pub(super) async fn events(
    database: &Database,
    simulation: i64,
    most: u64,
) -> Result<Vec<RecordedEvent>, RecorderError> {
    let mut store = Store::open(database, Access::Read).await?;
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let mut rows = Vec::new();
    // Clients that come and go often would leave no room for anything else.
    let statement = "SELECT e.step, s.resets, e.kind, e.subject, e.text, e.value, e.eventID FROM event e, simulation s
        WHERE e.simulationID = s.simulationID AND s.simulationID = ?
        AND CASE WHEN e.kind IN ('connect', 'disconnect') THEN 1 ELSE 0 END = ? ORDER BY e.eventID LIMIT ?";
    for is_connection in [0, 1].map(Value::Integer) {
        rows.extend(store.rows(statement, &[Value::Integer(simulation), is_connection, Value::Integer(most)]).await?);
    }
    rows.sort_by_key(|row| row.integer(6));
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

/// The commands of a run up to the second of these steps, in their order. Of those before the first there are all faults, and
/// the last other command of each device.
pub(super) async fn commands(
    database: &Database,
    layout: &Layout,
    simulation: i64,
    (begin, end): (StepIndex, StepIndex),
) -> Result<Vec<LoggedCommand>, RecorderError> {
    let mut store = Store::open(database, Access::Read).await?;
    let statement = "SELECT c.step, c.componentID, c.text, c.reply FROM command c LEFT JOIN
        (SELECT componentID, max(step * 1048576 + ordinal) AS newest FROM command
            WHERE simulationID = ? AND step < ? AND text NOT LIKE 'FAULT%' GROUP BY componentID) l
        ON l.componentID = c.componentID AND l.newest = c.step * 1048576 + c.ordinal
        WHERE c.simulationID = ? AND c.step <= ? AND (c.step >= ? OR c.text LIKE 'FAULT%' OR l.newest IS NOT NULL)
        ORDER BY c.step, c.ordinal";
    let (begin, end) = (Value::Integer(begin.0 as i64), Value::Integer(end.0 as i64));
    let run = Value::Integer(simulation);
    let rows = store.rows(statement, &[run, begin, run, end, begin]).await?;
    let first = first_part(&mut store, simulation).await?.wrapping_add((layout.bodies() + layout.joints()) as i64);
    let command = |row: &Row| {
        let device = usize::try_from(row.integer(1)?.checked_sub(first)?)
            .ok()
            .filter(|&index| index < layout.devices().len())?;
        let (text, reply) = (row.text(2).to_owned(), row.text(3).to_owned());
        Some(LoggedCommand { step: StepIndex(row.count(0)), device: DeviceId::new(device), text, reply })
    };
    Ok(rows.iter().filter_map(command).collect())
}

/// All commands of a run in at most about `most` parts.
pub(super) async fn command_counts(
    database: &Database,
    layout: &Layout,
    simulation: i64,
    most: u64,
) -> Result<Vec<RecordedCommands>, RecorderError> {
    let mut store = Store::open(database, Access::Read).await?;
    let run = Value::Integer(simulation);
    let statement = "SELECT count(*), max(step), count(DISTINCT componentID) FROM command WHERE simulationID = ?";
    let Some(all) = store.row(statement, &[run]).await? else { return Ok(Vec::new()) };
    // In steps times 2^20 plus the place within the step.
    let stretch = match all.count(0) > most {
        true => (all.count(1) * all.count(2) / most.max(1)).max(1) << 20,
        false => 1,
    };
    let statement = "SELECT c.step, s.resets, c.componentID, c.client, c.text, g.commands FROM command c
        JOIN (SELECT max(step * 1048576 + ordinal) AS newest, count(*) AS commands FROM command
            WHERE simulationID = ? 
            GROUP BY componentID, client, step * 1048576 + ordinal - (step * 1048576 + ordinal) % ?) g
        ON c.step * 1048576 + c.ordinal = g.newest JOIN simulation s ON s.simulationID = c.simulationID
        WHERE c.simulationID = ? ORDER BY c.step, c.ordinal";
    let rows = store.rows(statement, &[run, Value::Integer(stretch as i64), run]).await?;
    let first = first_part(&mut store, simulation).await? + (layout.bodies() + layout.joints()) as i64;
    let device = |number: i64| usize::try_from(number - first).ok().filter(|&index| index < layout.devices().len());
    let commands = |row: &Row| {
        Some(RecordedCommands {
            step: row.count(0),
            resets: row.count(1),
            device: DeviceId::new(device(row.integer(2)?)?),
            client: row.count(3),
            text: row.text(4).to_owned(),
            count: row.count(5),
        })
    };
    Ok(rows.iter().filter_map(commands).collect())
}

/// The number of the first body of a run; a world without bodies has nothing that refers to a part.
async fn first_part(store: &mut Store, simulation: i64) -> Result<i64, RecorderError> {
    let statement = "SELECT min(bodyID) FROM body WHERE simulationID = ?";
    let row = store.row(statement, &[Value::Integer(simulation)]).await?;
    Ok(row.and_then(|row| row.integer(0)).unwrap_or(0))
}

/// Logged steps, as far as there are such.
pub(super) async fn steps(
    database: &Database,
    layout: &Layout,
    wanted: Wanted,
) -> Result<Vec<StepRecord>, RecorderError> {
    let mut store = Store::open(database, Access::Read).await?;
    let run = wanted.simulation;
    let statement = "SELECT resets, bodies_logged, joints_logged FROM simulation WHERE simulationID = ?";
    let row = store.row(statement, &[Value::Integer(run)]).await?;
    let number = |column: usize| row.as_ref().map_or(0, |row| row.count(column));
    let (epoch, all) = (number(0) as u32, [number(1), number(2)]);
    let Some(&extent) = extents(&mut store, (run, run)).await?.get(&run) else { return Ok(Vec::new()) };
    let cadence = extent.cadence;
    // Where only changes are logged, what a step has is as far back as the last in which all was.
    let reach = extent.rows.reach(cadence);
    let first_part = first_part(&mut store, wanted.simulation).await?;
    let keys = Keys { simulation: wanted.simulation, first_part };
    let (mut records, mut last): (Vec<StepRecord>, Option<StepRecord>) = (Vec::new(), None);
    for index in 0..wanted.count {
        let step = wanted.every.saturating_mul(index).saturating_add(wanted.from);
        // A step beyond this would be a row of the next run.
        if step > u64::from(u32::MAX) {
            break;
        }
        // Where the log is thinned out, a step that it leaves out is as the one before that it has.
        let logged = StepIndex(if cadence.spacing(step) > cadence.every() { cadence.last(step) } else { step });
        if last.as_ref().is_none_or(|last| last.step != logged) {
            last = step_of(&mut store, layout, keys, logged, Missing { all, reach, earlier: last }).await?;
        }
        match &last {
            Some(record) => records.push(StepRecord { epoch, ..record.clone() }),
            None if records.is_empty() => {}
            None => break,
        }
    }
    Ok(records)
}

/// What a step has no rows of.
struct Missing {
    /// How many bodies and joints it has rows of where none is missing.
    all: [u64; 2],
    /// How many steps back they are at most.
    reach: u64,
    /// A step before it that is known.
    earlier: Option<StepRecord>,
}

/// One step, if it was logged.
async fn step_of(
    store: &mut Store,
    layout: &Layout,
    keys: Keys,
    step: StepIndex,
    missing: Missing,
) -> Result<Option<StepRecord>, RecorderError> {
    let statement = "SELECT wall_ns, late_ns, compute_ns, bodies, joints FROM simulationRow
        WHERE simulationRowID = ?";
    let Some(row) = store.row(statement, &[Value::Integer(keys.row(step))]).await? else { return Ok(None) };
    let timing = StepTiming { wall_ns: row.count(0), late_ns: row.count(1), compute_ns: row.count(2), played_ns: 0 };
    let mut record = StepRecord { step, timing, ..StepRecord::new(layout) };
    record.values.fill(f64::NAN);
    let mut since = step.0.saturating_sub(missing.reach);
    if let Some(earlier) = missing.earlier.filter(|earlier| since <= earlier.step.0 && earlier.step < step) {
        // Bodies and joints: what comes behind them are devices.
        let state = ..layout.joint(JointId::new(layout.joints())).start;
        record.values[state].copy_from_slice(&earlier.values[state]);
        since = earlier.step.0 + 1;
    }
    let from = |column: usize, all: u64| keys.row(if row.count(column) < all { StepIndex(since) } else { step });
    bodies(store, layout, keys, from(3, missing.all[0]), &mut record).await?;
    joints(store, layout, keys, from(4, missing.all[1]), &mut record).await?;
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
    let first = keys.first_part.wrapping_add(layout.bodies() as i64);
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
    let first = keys.first_part.wrapping_add((layout.bodies() + layout.joints()) as i64);
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
    usize::try_from(row.integer(0)?.checked_sub(first)?).ok().filter(|&index| index < count)
}
