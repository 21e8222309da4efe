//! Reads rows of a log back as the cells that they were written from. Cells count components and steps within the run,
//! so they are the same in every database.

use super::{inquiry::Inquiry, selection::Selection};
use crate::{
    database::error::RecorderError,
    format::{
        cell::Cell,
        ids::rows_of,
        schema::{Columns, Reference, TableId},
        value::{ColumnType, Value},
    },
};

/// Numbers of a run's robots and components in this log.
#[derive(Debug)]
pub(super) struct StoredIds {
    run: i64,
    /// Numbers of the robots, in their order.
    robots: Vec<i64>,
    /// Number of the first body, joint or device.
    first_component: i64,
}

impl StoredIds {
    pub(super) fn read(inquiry: &mut Inquiry, run: i64) -> Result<Self, RecorderError> {
        let mut robots = Vec::new();
        inquiry.rows(&Selection::all(TableId::Robot.table(), run), &["robotID"], |row| {
            robots.extend(row[0].integer());
            Ok::<_, RecorderError>(())
        })?;
        let first = inquiry.components(run)?.iter().map(|component| component.number).min().unwrap_or(0);
        Ok(Self { run, robots, first_component: first })
    }

    /// The cell of a value in one of these columns.
    fn to_cell(&self, columns: &Columns, value: &Value) -> Cell {
        if columns.column_type() == ColumnType::Bytes && *value != Value::Null {
            // Not every database distinguishes bytes from a text.
            return Cell::Bytes(value.bytes().into());
        }
        let Some(number) = value.integer() else { return value.into() };
        let index = |number: Option<i64>| number.and_then(|number| u32::try_from(number).ok()).unwrap_or(u32::MAX);
        match columns.reference() {
            Reference::Run => Cell::Run,
            Reference::Step => Cell::Step(number.wrapping_sub(rows_of(self.run).0) as u64),
            Reference::Robot => {
                let place = self.robots.iter().position(|robot| *robot == number);
                place.map_or(Cell::Null, |place| Cell::Robot(index(i64::try_from(place).ok())))
            }
            Reference::Component => Cell::Component(index(number.checked_sub(self.first_component))),
            Reference::None => value.into(),
        }
    }
}

/// Calls `take` with the cells of the rows of a table. `steps` is the first and the last step, and `most` the largest
/// number of rows; with `None` there is no limit.
pub(super) fn for_each_row<E: From<RecorderError>>(
    inquiry: &mut Inquiry,
    ids: &StoredIds,
    table: TableId,
    (steps, most): (Option<(u64, u64)>, Option<u64>),
    mut take: impl FnMut(&[Cell]) -> Result<(), E>,
) -> Result<(), E> {
    let selection = Selection { steps, most, ..Selection::all(table.table(), ids.run) };
    let names = table.inserted().iter().map(|&(name, _)| match name {
        // The column `step` itself, not the step computed from the simulationRowID.
        "step" if table == TableId::SimulationRow => "simulationRow.step",
        name => name,
    });
    let names: Vec<&str> = names.collect();
    let mut cells = Vec::new();
    inquiry.rows(&selection, &names, |row| {
        cells.clear();
        cells.extend(row.iter().zip(table.inserted()).map(|(value, (_, columns))| ids.to_cell(columns, value)));
        take(&cells)
    })
}
