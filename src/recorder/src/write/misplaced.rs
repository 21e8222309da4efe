//! Commands in a step that they did not act in.
//!
//! An earlier version added a command that came between a reset and a new world, with no step in between, to the first step of the run
//! before the reset. Where that step had commands already, the database refused the batch, and the batch stayed in the spill file. Such
//! commands belong behind the last step of that run: no step followed them.

use std::fmt;

use super::batch::{Batch, Content, committed_run};
use crate::{
    database::{connection::Connection, error::RecorderError},
    format::{cell::Cell, checksum::ChecksumBuilder, schema::TableId, value::Parameter},
};

/// Commands that an import has put behind the last step of their run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovedCommands {
    /// The run.
    pub run: i64,
    /// How many.
    pub commands: u64,
    /// The step that the file has them in.
    pub from: u64,
    /// The step that they are in now: the one that would have been the run's next.
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

/// Moves the commands of a batch that the database refused, if it has any in a step that was over. `last_step` is the last of the run
/// as far as others know.
pub(super) async fn correct(
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
    // They are the last commands of their run.
    let misplaced = &mut rows.cells_mut(TableId::Command)[first * width..];
    let before = misplaced.to_vec();
    for (ordinal, row) in (0_u64..).zip(misplaced.chunks_exact_mut(width)) {
        row[STEP] = to.into();
        row[ORDINAL] = ordinal.into();
    }
    let after = misplaced.to_vec();
    ChecksumBuilder::reseal(rows, TableId::Command, &before, &after);
    let from = key(&before).map_or(0, |(step, _)| step);
    Ok(Some(MovedCommands { run, commands: (before.len() / width) as u64, from, to }))
}

/// Places of the columns that order the commands of a run, behind the run itself.
const STEP: usize = 1;
const ORDINAL: usize = 2;

/// Step and ordinal of a row.
fn key(row: &[Cell]) -> Option<(u64, u64)> {
    match (row.get(STEP)?, row.get(ORDINAL)?) {
        (Cell::Integer(step), Cell::Integer(ordinal)) => Some((*step as u64, *ordinal as u64)),
        _ => None,
    }
}

/// The place of the first command that comes out of order, or that has the place of one that the database has.
async fn first_misplaced(
    cells: &[Cell],
    connection: &mut Connection,
    run: i64,
) -> Result<Option<usize>, RecorderError> {
    let mut before = None;
    for (index, row) in cells.chunks_exact(TableId::Command.width()).enumerate() {
        let Some((step, ordinal)) = key(row) else { return Ok(None) };
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
