//! Repairs spill files in which commands are filed under a step that they did not act in.
//!
//! An earlier version filed a command that arrived between a reset and a new world, with no step in between, under the
//! first step of the run before the reset. If that step already had commands, the database refused the batch, and the
//! batch stayed in the spill file. These commands belong after the last step of that run, because no step followed
//! them.

use std::fmt;

use super::batch::{Batch, Content, committed_run};
use crate::{
    database::{connection::Connection, error::RecorderError},
    format::{cell::Cell, checksum::ChecksumBuilder, schema::TableId, value::Parameter},
};

/// Commands that an import has moved behind the last step of their run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovedCommands {
    /// Number of the run in the database.
    pub run: i64,
    /// Number of commands.
    pub commands: u64,
    /// Step of the commands in the file.
    pub from: u64,
    /// Step of the commands in the database: the one that would have been the run's next.
    pub to: u64,
}

impl fmt::Display for MovedCommands {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { run, commands, from, to } = self;
        write!(
            formatter,
            "{commands} commands of run {run} from step {from} to step {to}, behind its last one: they came after a reset, and no \
             step followed them"
        )
    }
}

/// Moves the misplaced commands of a batch, which the database has refused, behind the last step of their run. It
/// returns a summary, or `None` if no command is misplaced. `last_step` is the last step of the run in the spill file;
/// the database may have a later one.
pub(super) async fn move_commands(
    batch: &mut Batch,
    connection: &mut Connection,
    last_step: u64,
) -> Result<Option<MovedCommands>, RecorderError> {
    let Content::Rows(rows) = &mut batch.content else { return Ok(None) };
    let Some(run) = committed_run(connection, &batch.run_key).await? else { return Ok(None) };
    let run = run.ids.simulation;
    let width = TableId::Command.width();
    let Some(first) = first_misplaced(rows.cells(TableId::Command), connection, run).await? else { return Ok(None) };
    let last = "SELECT max(step) FROM simulationRow WHERE simulationID = ?";
    let logged = connection.row(last, &[Parameter::Integer(run)]).await?.map_or(0, |row| row.count(0));
    let to = logged.max(last_step) + 1;
    // From the first misplaced one on, all commands are misplaced: they are the last of their run.
    let misplaced = &mut rows.cells_mut(TableId::Command)[first * width..];
    let before = misplaced.to_vec();
    for (ordinal, row) in (0_u64..).zip(misplaced.chunks_exact_mut(width)) {
        row[STEP_COLUMN] = to.into();
        row[ORDINAL_COLUMN] = ordinal.into();
    }
    let after = misplaced.to_vec();
    ChecksumBuilder::reseal(rows, TableId::Command, &before, &after);
    let from = step_and_ordinal(&before).map_or(0, |(step, _)| step);
    Ok(Some(MovedCommands { run, commands: (before.len() / width) as u64, from, to }))
}

/// Index of the column `step` of a command; column 0 is the run.
const STEP_COLUMN: usize = 1;
/// Index of the column `ordinal` of a command: its order within the step.
const ORDINAL_COLUMN: usize = 2;

/// Step and ordinal of a command's row.
fn step_and_ordinal(row: &[Cell]) -> Option<(u64, u64)> {
    match (row.get(STEP_COLUMN)?, row.get(ORDINAL_COLUMN)?) {
        (Cell::Integer(step), Cell::Integer(ordinal)) => Some((*step as u64, *ordinal as u64)),
        _ => None,
    }
}

/// Index of the first command that is out of order, or whose step and ordinal belong to a command in the database.
async fn first_misplaced(
    cells: &[Cell],
    connection: &mut Connection,
    run: i64,
) -> Result<Option<usize>, RecorderError> {
    let mut before = None;
    for (index, row) in cells.chunks_exact(TableId::Command.width()).enumerate() {
        let Some((step, ordinal)) = step_and_ordinal(row) else { return Ok(None) };
        let taken = "SELECT count(*) FROM command WHERE simulationID = ? AND step = ? AND ordinal = ?";
        let place = [run, step as i64, ordinal as i64].map(Parameter::Integer);
        let is_taken = connection.row(taken, &place).await?.is_some_and(|row| row.count(0) > 0);
        if is_taken || before.is_some_and(|before| before >= (step, ordinal)) {
            return Ok(Some(index));
        }
        before = Some((step, ordinal));
    }
    Ok(None)
}
