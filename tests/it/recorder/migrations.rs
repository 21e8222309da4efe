//! A log of every earlier version is readable, and is migrated by the next run: also one that has a later migration
//! without an earlier one, as after a merge of branches.

use std::path::Path;

use simpartner::recorder::{
    Inquiry, Merge, Reader,
    inquiry::{Selection, TABLES},
};
use sqlx::{MySqlConnection, PgConnection, migrate::Migrator};

use super::{
    test_database::{TestDatabase, Value, wait},
    *,
};

/// The migrations that a log has.
const VERSIONS: [&[i64]; 11] = [
    &[1],
    &[1, 2],
    &[1, 2, 3],
    &[1, 2, 3, 4],
    &[1, 2, 3, 4, 5],
    &[1, 2, 3, 4, 6],
    &[1, 2, 3, 4, 5, 6],
    &[1, 2, 3, 4, 5, 6, 7],
    &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
    &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
    &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14],
];

/// A run of two steps as the first version wrote it, with a row in every table.
const OLD_RUN: [&str; 14] = [
    "INSERT INTO simulation (status, started, ended, world, resets, timestep_ns, every_n_steps, clock_mode, program_version,
        engine, engine_version, engine_features, target, realtime_grants, steps, rows_written, slips, real_time_factor, stateHash)
        VALUES ('finished', '2024-01-01T00:00:00.000Z', '2024-01-01T00:00:01.000Z', 'old', 0, 1000000, 1, 'fast', '0', 'e', '1',
        '', 't', '', 2, 8, 0, 2.5, 'c0ffee')",
    "INSERT INTO simulationFile (simulationID, ordinal, role, path, text) VALUES (1, 0, 'model', 'world.xml', '<world/>')",
    "INSERT INTO robot VALUES (1048576, 1, 'r', 'm')",
    "INSERT INTO body (bodyID, simulationID, robotID, name, fixed, shape, size_x, size_y, size_z, radius, length, mass, com_x, com_y, com_z,
        I_xx, I_yy, I_zz, I_xy, I_xz, I_yz, friction, restitution, rolling_friction)
        VALUES (1048576, 1, NULL, 'floor', 1, 'box', 1, 1, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
        NULL, NULL, NULL, 1, 0, 0)",
    "INSERT INTO body (bodyID, simulationID, robotID, name, fixed, shape, size_x, size_y, size_z, radius, length, mass, com_x, com_y, com_z,
        I_xx, I_yy, I_zz, I_xy, I_xz, I_yz, friction, restitution, rolling_friction)
        VALUES (1048577, 1, 1048576, 'Calf1', 0, 'sphere', NULL, NULL, NULL, 0.5, NULL, 2, 0, 0, 0, 1, 1, 1, 0, 0, 0,
        1, 0, 0)",
    "INSERT INTO robotComponent VALUES (1048577, 1048576, 'BODY', 'Calf1', 1048577)",
    "INSERT INTO robotComponent VALUES (1048582, 1048576, 'SENSOR', 'Where', 1048582)",
    "INSERT INTO device VALUES (1048582, 'PositionSensor', 1035, 1048577, 1)",
    "INSERT INTO deviceField VALUES (1048582, 0, 'x', 'm')",
    "INSERT INTO simulationRow (simulationRowID, simulationID, step, simulationTime, wall_ns, late_ns, compute_ns)
        VALUES (4294967297, 1, 1, 0.001, 10, 1, 5), (4294967298, 1, 2, 0.002, 20, 2, 6)",
    "INSERT INTO body_state VALUES (4294967297, 1048577, 0.125, 0, 0, 1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12),
        (4294967298, 1048577, 0.25, 0, 0, 1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)",
    "INSERT INTO sensorReading VALUES (4294967298, 1048582, 'x', 0.25)",
    "INSERT INTO command VALUES (1, 2, 0, 1035, 1048582, 7, 'GET', 'OK')",
    "INSERT INTO event (simulationID, step, kind, subject, text, value, wall_ns) VALUES (1, 1, 'play', '', 'on', NULL, 10)",
];

/// Columns of the old run's rows that every version has.
const OLD_ROWS: [&str; 4] = [
    "SELECT status, started, ended, world, steps, rows_written, real_time_factor, stateHash FROM simulation
        WHERE simulationID = 1",
    "SELECT simulationRowID, simulationID, step, simulationTime, wall_ns, late_ns, compute_ns FROM simulationRow
        WHERE simulationID = 1 ORDER BY step",
    "SELECT * FROM body_state WHERE simulationRowID < 2 * 4294967296 ORDER BY simulationRowID",
    "SELECT simulationID, step, kind, text FROM event WHERE simulationID = 1",
];

/// Creates the tables of a version.
fn migrate(target: &TestDatabase, versions: &[i64]) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations").join(target.name());
    let folder = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(source).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        if versions.contains(&name.split('_').next().unwrap().parse().unwrap()) {
            std::fs::copy(entry.path(), folder.path().join(name)).unwrap();
        }
    }
    wait(async {
        let migrator = Migrator::new(folder.path()).await.unwrap();
        match target.name() {
            "postgres" => migrator.run(&mut PgConnection::connect(&target.url).await.unwrap()).await,
            // MariaDB does not take the driver's lock, which waits without end.
            "mysql" => {
                let mut migrator = migrator;
                migrator.set_locking(false).run(&mut MySqlConnection::connect(&target.url).await.unwrap()).await
            }
            _ => {
                let file = target.database.file().unwrap();
                migrator.run(&mut SqliteConnection::connect_with(&options(file)).await.unwrap()).await
            }
        }
        .unwrap();
    });
}

/// The readers' results for the old run, for any version of the log.
fn check_old_run(target: &TestDatabase, about: &str) {
    let reader = Reader::new(&target.database);
    let run = wait(reader.run(1)).unwrap().unwrap();
    assert_eq!((run.world.as_str(), run.steps, run.every_n_steps), ("old", Some((1, 2)), 1), "{about}");
    let layout = super::run().layout;
    let steps = wait(reader.steps(1, &layout, 1, 1, 10)).unwrap();
    let x: Vec<f64> = steps.iter().map(|record| record.values[layout.pose(BodyId::new(1)).start]).collect();
    assert_eq!(x, [0.125, 0.25], "{about}");
    assert_eq!(wait(reader.events(1, 10)).unwrap().len(), 1, "{about}");
    let found = wait(reader.verify(Some(1))).unwrap().remove(0);
    let no_chain = "it was logged by a version without a chain of hashes, so it cannot be proved complete";
    assert_eq!(found.findings, [no_chain], "{about}");
    let mut inquiry = Inquiry::open(&target.database).unwrap();
    for table in &TABLES {
        let columns: Vec<&str> = table.columns().map(|(name, _)| name).collect();
        let asked = inquiry.rows::<RecorderError>(&Selection::all(table, 1), &columns, |row| {
            assert_eq!(row.len(), columns.len());
            Ok(())
        });
        asked.unwrap_or_else(|error| panic!("{about}: {}: {error}", table.name));
    }
}

/// A copy in a file is the same run.
fn check_copy(target: &TestDatabase, about: &str) {
    let copy = TestDatabase::file();
    let mut merge = Merge::new(&target.database, &copy.database).unwrap();
    // A run, its file, a robot, two bodies, two components, a device, its field, two steps with a body each, a reading,
    // a command, an event.
    assert_eq!(merge.copy(1, &mut |_| ()).unwrap().rows, Some(16), "{about}");
    merge.close().unwrap();
    for sql in OLD_ROWS {
        assert_eq!(copy.rows(sql), target.rows(sql), "{about}: {sql}");
    }
}

#[test]
fn a_sqlite_log_of_every_earlier_version_is_read_and_brought_up_to_date() {
    bring_up_to_date("sqlite");
}

#[test]
fn a_postgres_log_of_every_earlier_version_is_read_and_brought_up_to_date() {
    bring_up_to_date("postgres");
}

#[test]
fn a_mysql_log_of_every_earlier_version_is_read_and_brought_up_to_date() {
    bring_up_to_date("mysql");
}

fn bring_up_to_date(scheme: &str) {
    for versions in VERSIONS {
        let target = if scheme == "sqlite" { Some(TestDatabase::file()) } else { TestDatabase::on(scheme) };
        let Some(target) = target else { continue };
        let about = format!("{scheme} {versions:?}");
        migrate(&target, versions);
        OLD_RUN.iter().for_each(|sql| target.execute(sql));
        let before = OLD_ROWS.map(|sql| target.rows(sql));
        check_old_run(&target, &about);
        check_copy(&target, &about);
        // The next run brings the tables up to date.
        let new = log(Settings::new(target.database.clone()), steps(1..=20), finished(20)).simulations[0];
        assert_eq!(new.simulation_id, 2, "{about}");
        let applied = target.rows("SELECT version FROM _sqlx_migrations WHERE success ORDER BY version");
        assert_eq!(applied, (1..=15).map(|version| vec![Value::Number(version.into())]).collect::<Vec<_>>(), "{about}");
        assert_eq!(OLD_ROWS.map(|sql| target.rows(sql)), before, "{about}");
        let found = wait(Reader::new(&target.database).verify(Some(2))).unwrap().remove(0);
        assert_eq!((found.steps, found.has_checksums, found.findings), (20, true, Vec::new()), "{about}");
        check_old_run(&target, &about);
        let mut inquiry = Inquiry::open(&target.database).unwrap();
        for table in &TABLES {
            let mut there: Vec<String> =
                inquiry.columns(table).unwrap().into_iter().map(|column| column.name).collect();
            let mut known: Vec<&str> = table.columns().map(|(name, _)| name).collect();
            there.sort_unstable();
            known.sort_unstable();
            assert_eq!(there, known, "{about}: {}", table.name);
        }
    }
}
