//! The recorder through its public interface: the file has exactly the recorded data.

#![allow(clippy::unwrap_used, reason = "the functions that tests share are tests too")]

mod backends;
mod changes;
#[cfg(unix)]
mod file;
#[cfg(target_os = "linux")]
mod full;
mod grasp;
mod killed;
mod migrations;
mod misplaced;
mod model;
mod orders;
mod outage;
mod scans;
mod selection;
#[cfg(target_os = "linux")]
mod servers;
pub(super) mod test_database;
mod views;

use std::{path::Path, sync::Arc};

use bevy_math::{DMat3, DQuat, DVec3};
use simpartner::{
    realtime::Mode,
    recorder::{Database, LogSummary, Recorder, RecorderError, RunDescription, RunOutcome, Settings, WhenFull},
};
use simpartner_description::{Actuator, Device, Law, Sensor, SourceFile, World};
use simpartner_dynamics::{EngineIdentity, MassProperties};
use simpartner_model::{
    Axis, Body, BodyId, DeviceId, FreeAxis, Joint, JointId, JointKind, Mechanism, Placed, Pose, Robot, RobotId, Shape,
    StepIndex, Timestep,
};
use simpartner_wire::signal::{
    Action, ActuatorState, AppliedCommand, Attachment, ClientId, Command, DeviceInfo, DeviceKind, Event, EventKind,
    Field, Layout, Port, Reservation, StepRecord,
};
use sqlx::{AssertSqlSafe, Connection, SqliteConnection, sqlite::SqliteConnectOptions};

/// A floor, and a robot of four legs whose `Turner` is driven and whose first calf carries a position sensor.
fn world() -> World {
    let body = |name: &str, robot: Option<RobotId>| Body {
        name: name.into(),
        robot,
        fixed: robot.is_none(),
        mass: 2.0,
        shape: Some(Placed { pose: Pose::IDENTITY, shape: Shape::Sphere { radius: 0.235 } }),
        ..Body::default()
    };
    let robot = Some(RobotId::new(0));
    let names = ["Calf1", "Calf2", "Wheel1", "Wheel2"];
    let device = |name: &str, spec| Device {
        name: name.into(),
        robot: RobotId::new(0),
        port: Port::new(1035).unwrap(),
        spec,
        source: String::new(),
    };
    World {
        name: "test".into(),
        mechanism: Mechanism {
            robots: vec![Robot { name: "r".into(), model: "m".into(), self_collision: false, source: String::new() }],
            bodies: std::iter::once(body("floor", None)).chain(names.map(|name| body(name, robot))).collect(),
            joints: vec![Joint {
                name: "Turner".into(),
                robot,
                kind: JointKind::Hinge,
                parent: BodyId::new(1),
                child: BodyId::new(2),
                anchor: DVec3::Y,
                frame: DQuat::IDENTITY,
                axes: [Axis::Locked, Axis::Locked, Axis::Free(FreeAxis::default())],
                swing: f64::INFINITY,
                source: String::new(),
            }],
            ..Mechanism::default()
        },
        combined_ports: vec![Port::ANY],
        devices: vec![
            device("Turner", Actuator::new(JointId::new(0), Law::Velocity).into()),
            device("Where", Sensor::on(BodyId::new(1), Pose::IDENTITY, DeviceKind::PositionSensor).into()),
        ],
        sources: vec![SourceFile::new("world.xml", "<world/>")],
        ..World::default()
    }
}

const BODIES: i64 = 5;

fn run() -> RunDescription {
    let field = |name: &str| Field { name: name.into(), unit: "m", lowest: -1e9, highest: 1e9 };
    let device = |name: &str, kind, attachment, fields| DeviceInfo {
        name: name.into(),
        kind,
        robot: "r".into(),
        attachment,
        port: Port::new(1035).unwrap(),
        fields,
        interval_steps: 1,
        camera: None,
        source: String::new(),
    };
    let turner = device("Turner", DeviceKind::JointController, Attachment::Joint("Turner".into()), vec![field("v")]);
    let place = vec![field("x"), field("y"), field("z")];
    let place = device("Where", DeviceKind::PositionSensor, Attachment::Body("Calf1".into()), place);
    let mass = MassProperties { mass: 2.0, centre_of_mass: DVec3::ZERO, tensor: DMat3::IDENTITY };
    RunDescription {
        world: Arc::new(world()),
        layout: Arc::new(Layout::new(BODIES as usize, 1, vec![turner, place])),
        masses: vec![mass; BODIES as usize],
        timestep: Timestep::MILLISECOND,
        properties: "[log]\n".into(),
        engine: EngineIdentity { name: "none", version: "0", features: "" },
        target: "test".into(),
        mode: Mode::Fast,
        realtime_grants: String::new(),
        origin: None,
    }
}

/// Body b is at x = step, y = b, with a force of 10 N upwards; the joint's anchor is at x = step.
fn record(layout: &Layout, step: u64) -> StepRecord {
    let mut record = StepRecord::new(layout);
    (record.step, record.is_step) = (StepIndex(step), step > 0);
    for body in 0..layout.bodies() {
        let id = BodyId::new(body);
        record.values[layout.pose(id)].copy_from_slice(&[step as f64, body as f64, 0.0, 0.0, 0.0, 0.0, 1.0]);
        record.values[layout.wrench(id)][1] = 10.0;
    }
    record.values[layout.joint(JointId::new(0))][0] = step as f64;
    record.values[layout.device(DeviceId::new(1))].copy_from_slice(&[1.0, 2.0, 3.0]);
    record.fresh[1] = step.is_multiple_of(2);
    record
}

/// A command of client 7 for the turner, as the so-manieth of its step.
fn command(order: u32, text: &str) -> AppliedCommand {
    let command = Command {
        target: DeviceId::new(0).into(),
        at: None,
        client: ClientId(7),
        sequence: 0,
        text: text.into(),
        action: Action::Hear,
        memory: Reservation::default(),
    };
    AppliedCommand { order, command, before: ActuatorState::NONE }
}

fn settings(file: &Path) -> Settings {
    Settings::new(Database::parse(&format!("sqlite:{}", file.display())).unwrap())
}

fn log(settings: Settings, records: impl IntoIterator<Item = StepRecord>, outcome: RunOutcome) -> LogSummary {
    let recorder = Recorder::start(settings, run()).unwrap();
    let sender = recorder.sender();
    for record in records {
        sender.send(Arc::new(record)).unwrap();
    }
    drop(sender);
    recorder.finish(outcome).unwrap()
}

fn steps(range: std::ops::RangeInclusive<u64>) -> Vec<StepRecord> {
    let layout = run().layout;
    range.map(|step| record(&layout, step)).collect()
}

fn finished(steps: u64) -> RunOutcome {
    RunOutcome { status: "finished".into(), steps, state_hash: "c0ffee".into(), ..RunOutcome::default() }
}

#[tokio::main(flavor = "current_thread")]
async fn execute(file: &Path, sql: &str) {
    let mut connection = SqliteConnection::connect_with(&options(file)).await.unwrap();
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
}

#[tokio::main(flavor = "current_thread")]
async fn rows<T>(file: &Path, sql: &str) -> Vec<T>
where
    T: for<'r> sqlx::FromRow<'r, sqlx::sqlite::SqliteRow> + Send + Unpin,
{
    let mut connection = SqliteConnection::connect_with(&options(file)).await.unwrap();
    sqlx::query_as(AssertSqlSafe(sql)).fetch_all(&mut connection).await.unwrap()
}

fn options(file: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new().filename(file).create_if_missing(true)
}

#[track_caller]
fn check_number(file: &Path, sql: &str, expected: i64) {
    assert_eq!(rows::<(i64,)>(file, sql), [(expected,)], "{sql}");
}

#[test]
fn every_step_of_every_body_is_there_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log.db");
    let summary = log(settings(&file), steps(0..=1000), finished(1000));
    assert_eq!(summary.simulations.len(), 1);
    assert_eq!(summary.simulations[0].steps_logged, 1000);
    let id = summary.simulations[0].simulation_id;
    check_number(&file, "SELECT count(*) FROM simulationRow", 1000);
    check_number(&file, "SELECT count(DISTINCT step) FROM simulationRow WHERE step BETWEEN 1 AND 1000", 1000);
    check_number(
        &file,
        &format!("SELECT count(*) FROM simulationRow WHERE simulationRowID = ({id} << 32) + step"),
        1000,
    );
    for table in ["pose", "velocity", "forceAndTorque"] {
        check_number(&file, &format!("SELECT count(*) FROM {table}"), 1000 * BODIES);
    }
    let sound = "SELECT count(*) FROM (SELECT step, count(DISTINCT bodyID) bodies, min(x) low, max(x) high
        FROM simulationRow JOIN pose USING (simulationRowID) GROUP BY simulationRowID)
        WHERE bodies = 5 AND low = step AND high = step";
    check_number(&file, sound, 1000);
    check_number(&file, "SELECT count(*) FROM sensorReading", 500 * 3);
    check_number(&file, "SELECT rows_written FROM simulation", summary.simulations[0].rows as i64);
    let ends = rows::<(String, String)>(&file, "SELECT status, stateHash FROM simulation");
    assert_eq!(ends, [("finished".to_owned(), "c0ffee".to_owned())]);
}

#[test]
fn the_queries_of_appendix_5_run_as_printed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log.db");
    // An earlier run in the same file must not mix in.
    log(settings(&file), steps(1..=5), finished(5));
    let id = log(settings(&file), steps(1..=10), finished(10)).simulations[0].simulation_id;

    let legs =
        rows::<(f64, i64, f64, f64)>(&file, &include_str!("../appendix5/legs.sql").replace("4045", &id.to_string()));
    assert_eq!(legs.len(), 2 * 10);
    assert!(legs.iter().all(|&(time, _, x, _)| (time - x * 0.001).abs() < 1e-12), "{legs:?}");

    let turner =
        rows::<(f64, f64, f64, f64)>(&file, &include_str!("../appendix5/turner.sql").replace("4282", &id.to_string()));
    assert_eq!(turner.iter().map(|row| row.1).collect::<Vec<_>>(), (1..=10).map(f64::from).collect::<Vec<_>>());

    let wheels = rows::<(f64, f64)>(&file, &include_str!("../appendix5/wheels.sql").replace("4939", &id.to_string()));
    assert_eq!(wheels, (1..=10).map(|step| (f64::from(step) / 1000.0, 20.0)).collect::<Vec<_>>());

    let centre = rows::<(f64, f64, f64)>(&file, include_str!("../appendix5/centre.sql"));
    let expected = (1..=5).chain(1..=10).map(|step| (f64::from(step) / 1000.0, f64::from(step), 2.0));
    assert_eq!(centre, expected.collect::<Vec<_>>());
}

#[test]
fn a_thinned_log_keeps_every_command_and_event() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log.db");
    let mut records = steps(1..=100);
    for record in &mut records {
        record.commands.push(command(0, "1"));
        let (kind, subject) = (EventKind::ClockSlip, String::new());
        record.events.push(Event { step: record.step, kind, subject, text: "late".into(), value: Some(0.2) });
    }
    log(Settings { every_n_steps: 10, ..settings(&file) }, records, finished(100));
    check_number(&file, "SELECT count(*) FROM simulationRow WHERE step % 10 = 0", 10);
    check_number(&file, "SELECT count(*) FROM simulationRow", 10);
    check_number(&file, "SELECT count(*) FROM body_state", 10 * BODIES);
    check_number(&file, "SELECT count(*) FROM sensorReading", 10 * 3);
    check_number(&file, "SELECT count(*) FROM event WHERE kind = 'clockSlip'", 100);
    let driven = "SELECT count(*) FROM command JOIN robotComponent USING (componentID)
        WHERE name = 'Turner' AND type = 'ACTUATOR' AND port = 1035 AND client = 7 AND text = '1' AND reply = '<1>'";
    check_number(&file, driven, 100);
}

#[test]
fn a_reset_begins_another_run() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log.db");
    let mut records = steps(1..=20);
    records.extend(steps(0..=30).into_iter().map(|record| StepRecord { epoch: 1, ..record }));
    let summary = log(settings(&file), records, finished(30));
    assert_eq!(summary.simulations.iter().map(|run| run.steps_logged).collect::<Vec<_>>(), [20, 30]);
    let runs = rows::<(String, i64, i64)>(&file, "SELECT status, steps, resets FROM simulation ORDER BY simulationID");
    assert_eq!(runs, [("reset".to_owned(), 20, 0), ("finished".to_owned(), 30, 1)]);
    check_number(&file, "SELECT count(*) FROM pose", 50 * BODIES);
}

#[test]
fn a_record_of_no_step_brings_events_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log.db");
    let mut records = steps(1..=3);
    let mut again = records[2].clone();
    again.is_step = false;
    let (step, kind, subject) = (again.step, EventKind::Connect, "Turner".into());
    again.events.push(Event { step, kind, subject, text: "a client".into(), value: None });
    records.push(again);
    log(settings(&file), records, finished(3));
    check_number(&file, "SELECT count(*) FROM simulationRow", 3);
    check_number(&file, "SELECT count(*) FROM event", 1);
}

#[test]
fn joint_reactions_and_numbers_that_are_not_finite_are_null() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log.db");
    let mut records = steps(1..=2);
    let layout = run().layout;
    records[0].values[layout.pose(BodyId::new(0))].fill(f64::NAN);
    // The values of an engine without reactions.
    records[0].values[layout.joint(JointId::new(0))][12..].fill(f64::NAN);
    records[1].values[layout.joint(JointId::new(0))][12..].copy_from_slice(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    log(settings(&file), records, finished(2));
    let reactions = "SELECT count(*) FROM jointPose WHERE coalesce(F_x, F_y, F_z, T_x, T_y, T_z) IS NULL";
    check_number(&file, reactions, 1);
    let known =
        "SELECT count(*) FROM jointPose WHERE F_x = 1 AND F_y = 2 AND F_z = 3 AND T_x = 4 AND T_y = 5 AND T_z = 6";
    check_number(&file, known, 1);
    check_number(&file, "SELECT count(*) FROM pose WHERE coalesce(x, y, z, axis_x, angle) IS NULL", 1);
}

#[test]
fn a_log_ends_at_its_limit_with_an_event_and_is_complete_up_to_there() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log.db");
    let limited = Settings { limit_mb: 1, when_full: WhenFull::EndRun, ..settings(&file) };
    let recorder = Recorder::start(limited, run()).unwrap();
    let (sender, status) = (recorder.sender(), recorder.status());
    for record in steps(1..=20_000) {
        sender.send(Arc::new(record)).unwrap();
    }
    drop(sender);
    let summary = recorder.finish(finished(20_000)).unwrap();
    let last = summary.simulations[0].steps_logged as i64;
    assert!((1..20_000).contains(&last), "{last}");
    assert!(summary.ended_early.unwrap().starts_with("the log has grown to its limit of 1 MB"));
    assert!(status.log_full() && !status.failed());
    assert!(status.flags().run_is_to_end());
    check_number(&file, "SELECT step FROM event WHERE kind = 'logLimit'", last);
    check_number(&file, "SELECT max(step) FROM simulationRow", last);
    check_number(&file, "SELECT count(*) FROM body_state", last * BODIES);
}

#[test]
fn a_failed_writer_asks_the_run_to_end_and_lets_nobody_wait() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log.db");
    let settings = Settings { spill_folder: folder.path().to_owned(), ..settings(&file) };
    let recorder = Recorder::start(settings, run()).unwrap();
    execute(&file, "DROP TABLE body_state");
    let (sender, status) = (recorder.sender(), recorder.status());
    // Twice the capacity of the queue.
    for record in steps(1..=20_000) {
        sender.send(Arc::new(record)).unwrap();
    }
    drop(sender);
    let error = recorder.finish(finished(20_000)).unwrap_err();
    let RecorderError::Undelivered { source: Some(cause), .. } = error else { panic!("{error}") };
    assert!(matches!(*cause, RecorderError::NotALog { .. } | RecorderError::Database { .. }), "{cause}");
    assert!(status.failed() && status.flags().run_is_to_end());
    check_number(&file, "SELECT count(*) FROM simulationRow", 0);
    assert_eq!(rows::<(String,)>(&file, "SELECT status FROM simulation"), [("running".to_owned(),)]);
}

#[track_caller]
fn check_refused(file: &Path, expected: &str) {
    let error = Recorder::start(settings(file), run()).expect_err("the log cannot be opened");
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_log_that_cannot_be_opened_says_why_and_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);

    let file = path("nowhere/log.db");
    let text = format!("the folder of the database {} does not exist; create it, or name another file", file.display());
    check_refused(&file, &text);

    let file = path("notes.txt");
    std::fs::write(&file, "These are notes, and a good many of them, not a database. ".repeat(40)).unwrap();
    let text = format!("{} is not an SQLite database, or is a damaged one; name another file", file.display());
    check_refused(&file, &text);

    let file = path("newer.db");
    log(settings(&file), [], finished(0));
    let later = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
        VALUES (9999, 'later', 1, x'00', 0)";
    execute(&file, later);
    let text = format!(
        "the database {} has schema version 9999, which this program does not know: a newer version wrote it; use that \
         version, or name another file",
        file.display()
    );
    check_refused(&file, &text);
}

#[test]
fn a_read_only_file_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log.db");
    execute(&file, "CREATE TABLE t (x)");
    // Permissions do not apply to the superuser, but SQLite treats a file with an unknown write version as read-only.
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[18] = 9;
    std::fs::write(&file, bytes).unwrap();
    let text = format!(
        "the database {} is read-only; allow writing to the file and its folder, or name another file",
        file.display()
    );
    check_refused(&file, &text);
}

#[test]
fn a_file_locked_by_another_program_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log.db");
    log(settings(&file), [], finished(0));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let mut other = runtime.block_on(SqliteConnection::connect_with(&options(&file))).unwrap();
    runtime.block_on(sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut other)).unwrap();
    let error = Recorder::start(settings(&file), run()).expect_err("the file is locked");
    assert!(matches!(error, RecorderError::Locked { seconds: 5, .. }), "{error}");
    let start = format!("the database {} is locked by another process, for longer than 5 s; close", file.display());
    assert!(error.to_string().starts_with(&start), "{error}");
}
