//! Where a step that was made again is not what its log says.

use std::{collections::BTreeMap, fmt, sync::Arc};

use simpartner_model::Timestep;
use simpartner_wire::signal::{Layout, StepRecord};

use super::{Inquiry, Value};
use crate::recorder::{
    Cadence, RecorderError, Settings,
    cell::{self, Keys},
    rows::Format,
    selection::Selection,
    table::{Batch, Table},
};

/// The first number that differs.
#[derive(Debug, Clone, PartialEq)]
pub struct Deviation {
    /// The body, joint or device.
    pub component: String,
    /// Which number of it.
    pub field: String,
    /// What the log has; `None` if it has no such row.
    pub logged: Option<Value>,
    /// What came out; `None` if there is nothing of the kind.
    pub made: Option<Value>,
}

impl fmt::Display for Deviation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |value: &Option<Value>| match value {
            None => "nothing".into(),
            Some(Value::Null) => "no number".into(),
            Some(Value::Real(real)) => format!("{real:?}"),
            Some(Value::Integer(integer)) => integer.to_string(),
            Some(Value::Text(text)) => format!("`{text}`"),
            Some(Value::Bytes(_)) => "bytes".into(),
        };
        let (logged, made) = (shown(&self.logged), shown(&self.made));
        write!(formatter, "{} {}: the log has {logged}, and it came out as {made}", self.component, self.field)
    }
}

/// What tells the rows of a step apart: the number of the component, and the field of a reading.
type Key = (i64, String);

impl Inquiry {
    /// The first number of a logged step that the record has otherwise, in the order of bodies, joints and devices.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn deviation(
        &mut self,
        run: i64,
        layout: &Arc<Layout>,
        timestep: Timestep,
        record: &StepRecord,
    ) -> Result<Option<Deviation>, RecorderError> {
        let components = self.components(run)?;
        let first_part = components.iter().map(|component| component.number).min().unwrap_or(0);
        let keys = Keys { simulation: run, first_part };
        let mut batch = Batch::default();
        let all = Arc::new(Selection::all(layout));
        let settings = Settings::new(self.database().clone());
        Format::new(&settings, Cadence::new(1, None), all, Arc::clone(layout), timestep)
            .push_step(&mut batch, record, 0);
        for (table, labelled) in [(Table::BodyState, false), (Table::JointPose, false), (Table::SensorReading, true)] {
            let columns: Vec<&str> = table.columns().split(", ").skip(1).collect();
            let made = made(batch.of(table), table, keys, labelled);
            let logged = self.logged(run, record.step.0, table, &columns, labelled)?;
            let first = logged.iter().find_map(|(key, logged)| {
                let made = made.get(key);
                let index = logged
                    .iter()
                    .enumerate()
                    .position(|(index, logged)| made.is_none_or(|made| !same(logged, &made[index])))?;
                Some((key, index, logged[index].clone(), made.map(|made| made[index].clone())))
            });
            if let Some(((number, label), index, logged, made)) = first {
                let component = components.iter().find(|component| component.number == *number);
                let field = if labelled { label.clone() } else { columns[1 + index].to_owned() };
                let component = component.map_or_else(|| format!("component {number}"), |found| found.name.clone());
                return Ok(Some(Deviation { component, field, logged: Some(logged), made }));
            }
        }
        Ok(None)
    }

    fn logged(
        &mut self,
        run: i64,
        step: u64,
        table: Table,
        columns: &[&str],
        labelled: bool,
    ) -> Result<Vec<(Key, Vec<Value>)>, RecorderError> {
        let table = super::Table::named(table.name()).expect("what is written can be read");
        let selection = super::Selection { steps: Some((step, step)), ..super::Selection::all(table, run) };
        let mut rows = Vec::new();
        self.rows(&selection, columns, |row| {
            let label = if labelled { row[1].text().to_owned() } else { String::new() };
            rows.push(((row[0].integer().unwrap_or(0), label), row[1 + usize::from(labelled)..].to_vec()));
            Ok::<_, RecorderError>(())
        })?;
        Ok(rows)
    }
}

/// The rows that the log would have of a step.
fn made(cells: &[cell::Cell], table: Table, keys: Keys, labelled: bool) -> BTreeMap<Key, Vec<Value>> {
    let value = |cell: &cell::Cell| match keys.value(cell) {
        cell::Value::Null => Value::Null,
        cell::Value::Integer(integer) => Value::Integer(integer),
        cell::Value::Real(real) => Value::Real(real),
        cell::Value::Text(text) => Value::Text(text.to_owned()),
        cell::Value::Bytes(bytes) => Value::Bytes(bytes.to_owned()),
    };
    let row = |row: &[cell::Cell]| {
        let values: Vec<Value> = row.iter().skip(1).map(value).collect();
        let label = if labelled { values[1].text().to_owned() } else { String::new() };
        ((values[0].integer().unwrap_or(0), label), values[1 + usize::from(labelled)..].to_vec())
    };
    cells.chunks_exact(table.width()).map(row).collect()
}

/// Whether two values are the same to the bit, but for the sign of zero, which SQLite does not keep.
fn same(one: &Value, two: &Value) -> bool {
    match (one, two) {
        (Value::Real(one), Value::Real(two)) => one == two || one.to_bits() == two.to_bits(),
        (one, two) => one == two,
    }
}
