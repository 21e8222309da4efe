//! Queries of logged steps.

use sqlx::AssertSqlSafe;

use simpartner_model::{BodyId, DeviceId, JointId, StepIndex};
use simpartner_wire::signal::{Layout, LongReading, StepRecord, StepTiming};

use super::{
    known_columns,
    runs::{first_component, query_runs},
};
use crate::{
    database::{connection::Connection, error::RecorderError},
    format::{
        axis_angle::AxisAngle,
        ids::{LAST_STEP, RunIds},
        number_list::parse_numbers,
        schema::TableId,
        value::{Parameter, Row},
    },
};

/// A sequence of steps of a run: `from`, `from + every` and so on.
#[derive(Debug, Clone, Copy)]
pub(super) struct StepSequence {
    pub(super) run: i64,
    pub(super) from: u64,
    pub(super) every: u64,
    /// Number of steps in the sequence.
    pub(super) count: u64,
}

/// Reads a sequence of steps. Steps before the first logged one are left out, and the sequence ends before the next
/// step that is not logged.
pub(super) async fn query_steps(
    connection: &mut Connection,
    layout: &Layout,
    wanted: StepSequence,
) -> Result<Vec<StepRecord>, RecorderError> {
    let columns = ["resets", "bodies_logged", "joints_logged"];
    let columns = known_columns::table_expressions(connection, "simulation", &columns).await?;
    let sql = AssertSqlSafe(format!("SELECT {columns} FROM simulation WHERE simulationID = ?"));
    let row = connection.row(sql, &[Parameter::Integer(wanted.run)]).await?;
    let number = |column: usize| row.as_ref().map_or(0, |row| row.count(column));
    let (epoch, all) = (number(0) as u32, [number(1), number(2)]);
    let Some(run) = query_runs(connection, Some(wanted.run)).await?.into_iter().next() else { return Ok(Vec::new()) };
    let (cadence, reach) = (run.cadence, run.reach());
    let columns = ["wall_ns", "late_ns", "compute_ns", "bodies", "joints"];
    let columns = known_columns::table_expressions(connection, "simulationRow", &columns).await?;
    let ids = RunIds { simulation: wanted.run, first_component: first_component(connection, wanted.run).await? };
    let mut query = StepQuery { connection, layout, ids, columns, all, reach };
    let (mut records, mut last): (Vec<StepRecord>, Option<StepRecord>) = (Vec::new(), None);
    for index in 0..wanted.count {
        let step = wanted.every.saturating_mul(index).saturating_add(wanted.from);
        // The simulationRowID of a later step would belong to the next run.
        if step > LAST_STEP {
            break;
        }
        // Where the log is thinned out, the last logged step stands for the steps that the log leaves out.
        let logged = StepIndex(if cadence.spacing(step) > cadence.every() { cadence.last(step) } else { step });
        if last.as_ref().is_none_or(|last| last.step != logged) {
            last = query.read_step(logged, last).await?;
        }
        match &last {
            Some(record) => records.push(StepRecord { epoch, ..record.clone() }),
            None if records.is_empty() => {}
            None => break,
        }
    }
    Ok(records)
}

/// Reads single steps of a run.
struct StepQuery<'a> {
    connection: &'a mut Connection,
    layout: &'a Layout,
    ids: RunIds,
    /// Expressions for the columns of `simulationRow`.
    columns: String,
    /// Numbers of logged bodies and joints, which have rows in a step from which no row is left out.
    all: [u64; 2],
    /// Largest number of steps to look back for a row that was left out.
    reach: u64,
}

impl StepQuery<'_> {
    /// Reads a step; `None` if it was not logged. `earlier` is a step before it that has already been read. Its state
    /// saves most of the search for rows that were left out.
    async fn read_step(
        &mut self,
        step: StepIndex,
        earlier: Option<StepRecord>,
    ) -> Result<Option<StepRecord>, RecorderError> {
        // The statement consists of constants of this program.
        let sql = AssertSqlSafe(format!("SELECT {} FROM simulationRow WHERE simulationRowID = ?", self.columns));
        let row = self.connection.row(sql, &[Parameter::Integer(self.ids.row(step))]).await?;
        let Some(row) = row else { return Ok(None) };
        let (layout, reach) = (self.layout, self.reach);
        let timing =
            StepTiming { wall_ns: row.count(0), late_ns: row.count(1), compute_ns: row.count(2), played_ns: 0 };
        let mut record = StepRecord { step, timing, ..StepRecord::new(layout) };
        record.values.fill(f64::NAN);
        let mut since = step.0.saturating_sub(reach);
        if let Some(earlier) = earlier.filter(|earlier| since <= earlier.step.0 && earlier.step < step) {
            // The values of bodies and joints, which precede those of devices.
            let state = ..layout.joint(JointId::new(layout.joints())).start;
            record.values[state].copy_from_slice(&earlier.values[state]);
            since = earlier.step.0 + 1;
        }
        let ids = self.ids;
        let from = |column: usize, all: u64| ids.row(if row.count(column) < all { StepIndex(since) } else { step });
        self.read_bodies(from(3, self.all[0]), &mut record).await?;
        self.read_joints(from(4, self.all[1]), &mut record).await?;
        self.read_sensor_readings(&mut record).await?;
        self.read_scans(&mut record).await?;
        Ok(Some(record))
    }

    /// The rows of a table from the simulationRowID `since` up to the record's step, without the simulationRowID. The
    /// newest come last.
    async fn read_rows(&mut self, table: TableId, since: i64, record: &StepRecord) -> Result<Vec<Row>, RecorderError> {
        let columns = table.column_names()[1..].join(", ");
        let sql = format!(
            "SELECT {columns} FROM {} WHERE simulationRowID BETWEEN ? AND ? ORDER BY simulationRowID",
            table.name()
        );
        let range = [Parameter::Integer(since), Parameter::Integer(self.ids.row(record.step))];
        // The statement consists of constants of this program.
        self.connection.rows(AssertSqlSafe(sql), &range).await
    }

    async fn read_bodies(&mut self, since: i64, record: &mut StepRecord) -> Result<(), RecorderError> {
        let layout = self.layout;
        // Columns: bodyID, position, axis and angle, twist, wrench. The newest row of a body comes last and overwrites
        // older ones.
        for row in self.read_rows(TableId::BodyState, since, record).await? {
            let Some(body) = component_index(&row, self.ids.first_component, layout.bodies()).map(BodyId::new) else {
                continue;
            };
            let pose = layout.pose(body).start;
            for offset in 0..3 {
                record.values[pose + offset] = real_or_nan(&row, 1 + offset);
            }
            let axis = [real_or_nan(&row, 4), real_or_nan(&row, 5), real_or_nan(&row, 6)];
            let quaternion = AxisAngle { axis, angle: real_or_nan(&row, 7) }.to_quaternion();
            record.values[pose + 3..pose + 7].copy_from_slice(&quaternion);
            let (twist, wrench) = (layout.twist(body).start, layout.wrench(body).start);
            for offset in 0..6 {
                record.values[twist + offset] = real_or_nan(&row, 8 + offset);
                record.values[wrench + offset] = real_or_nan(&row, 14 + offset);
            }
        }
        Ok(())
    }

    async fn read_joints(&mut self, since: i64, record: &mut StepRecord) -> Result<(), RecorderError> {
        let layout = self.layout;
        let first = self.ids.first_component.wrapping_add(layout.bodies() as i64);
        // Columns: jointID, and the values in the order of the record.
        for row in self.read_rows(TableId::JointPose, since, record).await? {
            let Some(joint) = component_index(&row, first, layout.joints()).map(JointId::new) else { continue };
            for (offset, value) in record.values[layout.joint(joint)].iter_mut().enumerate() {
                *value = real_or_nan(&row, 1 + offset);
            }
        }
        Ok(())
    }

    async fn read_scans(&mut self, record: &mut StepRecord) -> Result<(), RecorderError> {
        let layout = self.layout;
        if layout.long_readings() == 0 {
            return Ok(());
        }
        let first = self.ids.first_component.wrapping_add((layout.bodies() + layout.joints()) as i64);
        // Columns: componentID, distances.
        for row in self.read_rows(TableId::Scan, self.ids.row(record.step), record).await? {
            let Some(device) = component_index(&row, first, layout.devices().len()).map(DeviceId::new) else {
                continue;
            };
            let numbers = parse_numbers(row.text(1));
            if let Some(place) = layout.long_reading(device)
                && numbers.len() == layout.device_info(device).fields.len()
            {
                record.long_readings[place] = LongReading::new(&numbers);
                record.fresh[device.index()] = true;
            }
        }
        Ok(())
    }

    async fn read_sensor_readings(&mut self, record: &mut StepRecord) -> Result<(), RecorderError> {
        let layout = self.layout;
        let first = self.ids.first_component.wrapping_add((layout.bodies() + layout.joints()) as i64);
        // Columns: componentID, field, value.
        for row in self.read_rows(TableId::SensorReading, self.ids.row(record.step), record).await? {
            let Some(device) = component_index(&row, first, layout.devices().len()).map(DeviceId::new) else {
                continue;
            };
            let fields = &layout.device_info(device).fields;
            let place = layout.device(device);
            if let Some(field) = fields.iter().position(|field| field.name == row.text(1)).filter(|_| !place.is_empty())
            {
                record.values[place.start + field] = real_or_nan(&row, 2);
                record.fresh[device.index()] = true;
            }
        }
        Ok(())
    }
}

/// A number of a row; NaN for NULL, because numbers that are not finite are stored as NULL.
fn real_or_nan(row: &Row, column: usize) -> f64 {
    row.real(column).unwrap_or(f64::NAN)
}

/// Index of a row's component in a list of `count` components, the first of which has the number `first`; `None` if it
/// is not in that list.
fn component_index(row: &Row, first: i64, count: usize) -> Option<usize> {
    usize::try_from(row.integer(0)?.checked_sub(first)?).ok().filter(|&index| index < count)
}
