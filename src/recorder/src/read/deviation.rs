//! Finds the first difference between a replayed step and its log.

use std::{collections::BTreeMap, fmt, sync::Arc};

use simpartner_model::Timestep;
use simpartner_wire::signal::{Layout, StepRecord};

use super::{components::Component, inquiry::Inquiry, selection::Selection};
use crate::{
    database::error::RecorderError,
    format::{
        cadence::Cadence,
        cell::Cell,
        ids::RunIds,
        number_list::{first_difference, parse_numbers},
        schema::TableId,
        table_rows::TableRows,
        value::Value,
    },
    write::{logged_components::LoggedComponents, row_encoder::RowEncoder, settings::Settings},
};

/// A number that differs between a log and its replay.
#[derive(Debug, Clone, PartialEq)]
pub struct Deviation {
    /// Name of the body, joint or device.
    pub component: String,
    /// Name of the number: a column of the table, or a field of the device.
    pub field: String,
    /// Value in the log; `None` if the log has no such row.
    pub logged: Option<Value>,
    /// Value in the replay; `None` if the replay has no such row.
    pub replayed: Option<Value>,
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
        let (logged, replayed) = (shown(&self.logged), shown(&self.replayed));
        write!(formatter, "{} {}: the log has {logged}, the replay {replayed}", self.component, self.field)
    }
}

/// Key of a row among the rows of a step in one table: the number of the component, and the field of a reading.
type RowKey = (i64, String);

impl Inquiry {
    /// The first number of a logged step that differs in the record of the replayed step, in the order of bodies,
    /// joints and devices.
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
        let first_component = components.iter().map(|component| component.number).min().unwrap_or(0);
        let ids = RunIds { simulation: run, first_component };
        let mut rows = TableRows::default();
        let all = Arc::new(LoggedComponents::all_of_layout(layout));
        let settings = Settings::new(self.database().clone());
        RowEncoder::new(&settings, Cadence::new(1, None), all, Arc::clone(layout), timestep)
            .push_step(&mut rows, record, 0);
        for table in [TableId::BodyState, TableId::JointPose, TableId::SensorReading, TableId::Scan] {
            let columns = &table.column_names()[1..];
            let is_reading = table == TableId::SensorReading;
            let replayed = replayed_rows(&rows, table, ids);
            let logged = self.logged_rows(run, record.step.0, table)?;
            let first = logged.iter().find_map(|(key, logged)| {
                let replayed = replayed.get(key);
                let differs = |(index, logged): (usize, &Value)| {
                    replayed.is_none_or(|replayed| !logged.is_same(&replayed[index]))
                };
                let index = logged.iter().enumerate().position(differs)?;
                Some((key, index, logged[index].clone(), replayed.map(|replayed| replayed[index].clone())))
            });
            if let Some(((number, field), index, logged, replayed)) = first {
                let component = components.iter().find(|component| component.number == *number);
                if table == TableId::Scan {
                    return Ok(component.map(|component| scan_deviation(component, &logged, replayed.as_ref())));
                }
                let field = if is_reading { field.clone() } else { columns[1 + index].to_owned() };
                let component = component.map_or_else(|| format!("component {number}"), |found| found.name.clone());
                return Ok(Some(Deviation { component, field, logged: Some(logged), replayed }));
            }
        }
        Ok(None)
    }

    /// The rows of a step in the log.
    fn logged_rows(&mut self, run: i64, step: u64, table: TableId) -> Result<Vec<(RowKey, Vec<Value>)>, RecorderError> {
        let selection = Selection { steps: Some((step, step)), ..Selection::all(table.table(), run) };
        let mut rows = Vec::new();
        self.rows(&selection, &table.column_names()[1..], |row| {
            rows.push(split_key(table, row));
            Ok::<_, RecorderError>(())
        })?;
        Ok(rows)
    }
}

/// The first number that differs in a long reading.
fn scan_deviation(component: &Component, logged: &Value, replayed: Option<&Value>) -> Deviation {
    let numbers = parse_numbers(logged.text());
    let again = replayed.map_or_else(Vec::new, |replayed| parse_numbers(replayed.text()));
    let index = first_difference(&numbers, &again).unwrap_or(0);
    let value = |numbers: &[f64]| numbers.get(index).copied().map(Value::Real);
    let field = component.fields.get(index).map_or_else(String::new, |(field, _)| field.clone());
    Deviation { component: component.name.clone(), field, logged: value(&numbers), replayed: value(&again) }
}

/// The rows of the replayed step, as they would be in the log.
fn replayed_rows(rows: &TableRows, table: TableId, ids: RunIds) -> BTreeMap<RowKey, Vec<Value>> {
    let row = |row: &[Cell]| {
        let values: Vec<Value> = row[1..].iter().map(|cell| cell.parameter(ids).into()).collect();
        split_key(table, &values)
    };
    rows.cells(table).chunks_exact(table.width()).map(row).collect()
}

/// Splits a row, given without its simulationRowID, into its key and its values.
fn split_key(table: TableId, row: &[Value]) -> (RowKey, Vec<Value>) {
    let number = row[0].integer().unwrap_or(0);
    match table {
        TableId::SensorReading => ((number, row[1].text().to_owned()), row[2..].to_vec()),
        _ => ((number, String::new()), row[1..].to_vec()),
    }
}
