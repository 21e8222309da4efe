//! Queries for logged steps.

use sqlx::AssertSqlSafe;

use simpartner_model::{BodyId, DeviceId, JointId, StepIndex};
use simpartner_wire::signal::{Layout, LongReading, StepRecord, StepTiming};

use super::{
    known_columns,
    runs::{first_component, runs},
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

/// Which steps of which run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    pub(super) run: i64,
    pub(super) from: u64,
    pub(super) every: u64,
    pub(super) count: u64,
}

/// Logged steps, as far as there are any.
pub(super) async fn steps(
    connection: &mut Connection,
    layout: &Layout,
    wanted: Wanted,
) -> Result<Vec<StepRecord>, RecorderError> {
    let columns = ["resets", "bodies_logged", "joints_logged"];
    let columns = known_columns::of_table(connection, "simulation", &columns).await?;
    let sql = AssertSqlSafe(format!("SELECT {columns} FROM simulation WHERE simulationID = ?"));
    let row = connection.row(sql, &[Parameter::Integer(wanted.run)]).await?;
    let number = |column: usize| row.as_ref().map_or(0, |row| row.count(column));
    let (epoch, all) = (number(0) as u32, [number(1), number(2)]);
    let Some(run) = runs(connection, Some(wanted.run)).await?.into_iter().next() else { return Ok(Vec::new()) };
    let (cadence, reach) = (run.cadence, run.reach());
    let columns = ["wall_ns", "late_ns", "compute_ns", "bodies", "joints"];
    let columns = known_columns::of_table(connection, "simulationRow", &columns).await?;
    let ids = RunIds { simulation: wanted.run, first_component: first_component(connection, wanted.run).await? };
    let mut query = StepQuery { connection, layout, ids, columns, all, reach };
    let (mut records, mut last): (Vec<StepRecord>, Option<StepRecord>) = (Vec::new(), None);
    for index in 0..wanted.count {
        let step = wanted.every.saturating_mul(index).saturating_add(wanted.from);
        // The number of a later step would be that of a row of the next run.
        if step > LAST_STEP {
            break;
        }
        // Where the log is thinned out, the last logged step stands for those that it leaves out.
        let logged = StepIndex(if cadence.spacing(step) > cadence.every() { cadence.last(step) } else { step });
        if last.as_ref().is_none_or(|last| last.step != logged) {
            last = query.step(logged, last).await?;
        }
        match &last {
            Some(record) => records.push(StepRecord { epoch, ..record.clone() }),
            None if records.is_empty() => {}
            None => break,
        }
    }
    Ok(records)
}

/// Queries for single steps of a run.
struct StepQuery<'a> {
    connection: &'a mut Connection,
    layout: &'a Layout,
    ids: RunIds,
    /// Expressions for the columns of `simulationRow`.
    columns: String,
    /// How many bodies and joints have rows in a step where none is left out.
    all: [u64; 2],
    /// How many steps back the rows are that were left out, at most.
    reach: u64,
}

impl StepQuery<'_> {
    /// A step, if it was logged; `earlier` is a known step before it.
    async fn step(
        &mut self,
        step: StepIndex,
        earlier: Option<StepRecord>,
    ) -> Result<Option<StepRecord>, RecorderError> {
        // Made of constants of this program.
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
            // Bodies and joints: the devices are behind them.
            let state = ..layout.joint(JointId::new(layout.joints())).start;
            record.values[state].copy_from_slice(&earlier.values[state]);
            since = earlier.step.0 + 1;
        }
        let ids = self.ids;
        let from = |column: usize, all: u64| ids.row(if row.count(column) < all { StepIndex(since) } else { step });
        self.bodies(from(3, self.all[0]), &mut record).await?;
        self.joints(from(4, self.all[1]), &mut record).await?;
        self.readings(&mut record).await?;
        self.scans(&mut record).await?;
        Ok(Some(record))
    }

    /// The rows of a table from a row of a step on up to the record's, without the simulationRowID; the newest come last.
    async fn rows(&mut self, table: TableId, since: i64, record: &StepRecord) -> Result<Vec<Row>, RecorderError> {
        let columns = table.column_names()[1..].join(", ");
        let sql = format!(
            "SELECT {columns} FROM {} WHERE simulationRowID BETWEEN ? AND ? ORDER BY simulationRowID",
            table.name()
        );
        let range = [Parameter::Integer(since), Parameter::Integer(self.ids.row(record.step))];
        // Made of constants of this program.
        self.connection.rows(AssertSqlSafe(sql), &range).await
    }

    async fn bodies(&mut self, since: i64, record: &mut StepRecord) -> Result<(), RecorderError> {
        let layout = self.layout;
        // Columns: bodyID, position, axis and angle, twist, wrench. The newest row of a body comes last, and stays.
        for row in self.rows(TableId::BodyState, since, record).await? {
            let Some(body) = place(&row, self.ids.first_component, layout.bodies()).map(BodyId::new) else { continue };
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

    async fn joints(&mut self, since: i64, record: &mut StepRecord) -> Result<(), RecorderError> {
        let layout = self.layout;
        let first = self.ids.first_component.wrapping_add(layout.bodies() as i64);
        // Columns: jointID, and the values in the order of the record.
        for row in self.rows(TableId::JointPose, since, record).await? {
            let Some(joint) = place(&row, first, layout.joints()).map(JointId::new) else { continue };
            for (offset, value) in record.values[layout.joint(joint)].iter_mut().enumerate() {
                *value = real(&row, 1 + offset);
            }
        }
        Ok(())
    }

    async fn scans(&mut self, record: &mut StepRecord) -> Result<(), RecorderError> {
        let layout = self.layout;
        if layout.long_readings() == 0 {
            return Ok(());
        }
        let first = self.ids.first_component.wrapping_add((layout.bodies() + layout.joints()) as i64);
        // Columns: componentID, distances.
        for row in self.rows(TableId::Scan, self.ids.row(record.step), record).await? {
            let Some(device) = place(&row, first, layout.devices().len()).map(DeviceId::new) else { continue };
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

    async fn readings(&mut self, record: &mut StepRecord) -> Result<(), RecorderError> {
        let layout = self.layout;
        let first = self.ids.first_component.wrapping_add((layout.bodies() + layout.joints()) as i64);
        // Columns: componentID, field, value.
        for row in self.rows(TableId::SensorReading, self.ids.row(record.step), record).await? {
            let Some(device) = place(&row, first, layout.devices().len()).map(DeviceId::new) else { continue };
            let fields = &layout.device_info(device).fields;
            let place = layout.device(device);
            if let Some(field) = fields.iter().position(|field| field.name == row.text(1)).filter(|_| !place.is_empty())
            {
                record.values[place.start + field] = real(&row, 2);
                record.fresh[device.index()] = true;
            }
        }
        Ok(())
    }
}

/// A number that is not finite was stored as NULL.
fn real(row: &Row, column: usize) -> f64 {
    row.real(column).unwrap_or(f64::NAN)
}

/// The place of a row's component in its list of so many, if it is of that list.
fn place(row: &Row, first: i64, count: usize) -> Option<usize> {
    usize::try_from(row.integer(0)?.checked_sub(first)?).ok().filter(|&index| index < count)
}
