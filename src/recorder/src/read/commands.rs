//! Queries of commands and events.

use simpartner_model::{DeviceId, StepIndex};
use simpartner_wire::signal::Layout;

use super::{
    recorded::{RecordedCommands, RecordedEvent},
    runs::first_component,
};
use crate::{
    database::{connection::Connection, error::RecorderError},
    format::value::{Parameter, Row},
};

/// A logged command to a device.
#[derive(Debug)]
pub(super) struct LoggedCommand {
    pub(super) step: StepIndex,
    pub(super) device: DeviceId,
    pub(super) text: String,
    pub(super) reply: String,
}

/// The first `most` events of a run other than connections, and the first `most` events of clients that connect and
/// disconnect.
pub(super) async fn query_events(
    connection: &mut Connection,
    simulation: i64,
    most: u64,
) -> Result<Vec<RecordedEvent>, RecorderError> {
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let mut rows = Vec::new();
    // Two limits, because clients that connect and disconnect often would leave no room for other events.
    let statement = "SELECT e.step, s.resets, e.kind, e.subject, e.text, e.value, e.eventID FROM event e, simulation s
        WHERE e.simulationID = s.simulationID AND s.simulationID = ?
        AND CASE WHEN e.kind IN ('connect', 'disconnect') THEN 1 ELSE 0 END = ? ORDER BY e.eventID LIMIT ?";
    for is_connection in [0, 1].map(Parameter::Integer) {
        let parameters = [Parameter::Integer(simulation), is_connection, Parameter::Integer(most)];
        rows.extend(connection.rows(statement, &parameters).await?);
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

/// The commands of a run that determine the settings in the steps from `begin` to `end`, in their order. They are all
/// commands from `begin` to `end`, and before `begin` all fault commands and the last other command of each device.
pub(super) async fn query_commands(
    connection: &mut Connection,
    layout: &Layout,
    simulation: i64,
    (begin, end): (StepIndex, StepIndex),
) -> Result<Vec<LoggedCommand>, RecorderError> {
    let statement = "SELECT c.step, c.componentID, c.text, c.reply FROM command c LEFT JOIN
        (SELECT componentID, max(step * 1048576 + ordinal) AS newest FROM command
            WHERE simulationID = ? AND step < ? AND text NOT LIKE 'FAULT%' GROUP BY componentID) l
        ON l.componentID = c.componentID AND l.newest = c.step * 1048576 + c.ordinal
        WHERE c.simulationID = ? AND c.step <= ? AND (c.step >= ? OR c.text LIKE 'FAULT%' OR l.newest IS NOT NULL)
        ORDER BY c.step, c.ordinal";
    let (begin, end) = (Parameter::Integer(begin.0 as i64), Parameter::Integer(end.0 as i64));
    let run = Parameter::Integer(simulation);
    let rows = connection.rows(statement, &[run, begin, run, end, begin]).await?;
    let first = first_component(connection, simulation).await?.wrapping_add((layout.bodies() + layout.joints()) as i64);
    let command = |row: &Row| {
        let device = usize::try_from(row.integer(1)?.checked_sub(first)?)
            .ok()
            .filter(|&index| index < layout.devices().len())?;
        let (text, reply) = (row.text(2).to_owned(), row.text(3).to_owned());
        Some(LoggedCommand { step: StepIndex(row.count(0)), device: DeviceId::new(device), text, reply })
    };
    Ok(rows.iter().filter_map(command).collect())
}

/// All commands of a run, counted in at most about `most` groups.
pub(super) async fn query_command_groups(
    connection: &mut Connection,
    layout: &Layout,
    simulation: i64,
    most: u64,
) -> Result<Vec<RecordedCommands>, RecorderError> {
    let run = Parameter::Integer(simulation);
    let statement = "SELECT count(*), max(step), count(DISTINCT componentID) FROM command WHERE simulationID = ?";
    let Some(all) = connection.row(statement, &[run]).await? else { return Ok(Vec::new()) };
    // Width of a group, in the key step * 2^20 + ordinal, by which commands are ordered.
    let span = match all.count(0) > most {
        true => (all.count(1) * all.count(2) / most.max(1)).max(1) << 20,
        false => 1,
    };
    let statement = "SELECT c.step, s.resets, c.componentID, c.client, c.text, g.commands FROM command c
        JOIN (SELECT max(step * 1048576 + ordinal) AS newest, count(*) AS commands FROM command
            WHERE simulationID = ? 
            GROUP BY componentID, client, step * 1048576 + ordinal - (step * 1048576 + ordinal) % ?) g
        ON c.step * 1048576 + c.ordinal = g.newest JOIN simulation s ON s.simulationID = c.simulationID
        WHERE c.simulationID = ? ORDER BY c.step, c.ordinal";
    let rows = connection.rows(statement, &[run, Parameter::Integer(span as i64), run]).await?;
    let first = first_component(connection, simulation).await? + (layout.bodies() + layout.joints()) as i64;
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
