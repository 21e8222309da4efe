//! `db verify` names the changes of a log, and finds nothing without changes.

use std::sync::atomic::{AtomicBool, Ordering};

use simpartner::recorder::{Completeness, Reader};

use super::{
    test_database::{TestDatabase, wait},
    *,
};

/// Forty steps with everything that a log can hold, including numbers that are hard to store.
fn records() -> Vec<StepRecord> {
    let layout = run().layout;
    let mut records = steps(1..=40);
    let odd = [-0.0, 5e-324, f64::MAX, f64::MIN_POSITIVE, f64::NAN, f64::INFINITY, 0.1 + 0.2, -1e300];
    for (index, value) in odd.into_iter().enumerate() {
        records[20].values[layout.wrench(BodyId::new(2)).start + index % 6] = value;
        records[20 + index].values[layout.joint(JointId::new(0)).start + 6] = value;
        records[21].values[layout.device(DeviceId::new(1)).start + index % 3] = value;
    }
    let event = |step, text: &str| {
        let (kind, subject, text) = (EventKind::Connect, "é☃".into(), text.into());
        Event { step: StepIndex(step), kind, subject, text, value: Some(0.5) }
    };
    records[4].events.extend([event(5, "one"), event(5, "two")]);
    records[30].events.push(event(31, ""));
    for step in [3, 9] {
        let command = Command {
            target: DeviceId::new(0).into(),
            at: None,
            client: ClientId(7),
            sequence: 0,
            text: "0,0,1".into(),
            action: Action::Drive(vec![1.0]),
            memory: Reservation::default(),
        };
        records[step - 1].commands.push(AppliedCommand { command, order: 0, before: ActuatorState::new(&[0.0]) });
    }
    records[29].snapshot = Some(Arc::from(*b"\0\xffstate"));
    records
}

fn verify(target: &TestDatabase) -> Completeness {
    wait(Reader::new(&target.database).verify(None)).unwrap().remove(0)
}

/// A log in each database there is.
fn logs() -> Vec<TestDatabase> {
    let logged = TestDatabase::all().into_iter().inspect(|target| {
        log(Settings::new(target.database.clone()), records(), finished(40));
    });
    logged.collect()
}

/// A change, its reversal, and its finding. `@row` is the number of step 7, `@body` that of the first body.
const CHANGES: [(&str, &str, &str); 16] = [
    (
        "UPDATE body_state SET F_y = F_y + 1 WHERE simulationRowID = @row AND bodyID = @body + 1",
        "UPDATE body_state SET F_y = F_y - 1 WHERE simulationRowID = @row AND bodyID = @body + 1",
        "step 7: F_y of body r/Calf1 in body_state is 11.0, and 10.0 was logged",
    ),
    (
        "UPDATE body_state SET F_x = NULL WHERE simulationRowID = @row AND bodyID = @body + 2",
        "UPDATE body_state SET F_x = 0 WHERE simulationRowID = @row AND bodyID = @body + 2",
        "step 7: F_x of body r/Calf2 in body_state is nothing, and 0.0 was logged",
    ),
    (
        "UPDATE body_state SET T_z = T_z + 1 WHERE simulationRowID = @row",
        "UPDATE body_state SET T_z = T_z - 1 WHERE simulationRowID = @row",
        "step 7: T_z of body floor, body r/Calf1, body r/Calf2, body r/Wheel1 and 1 more in body_state is not what was logged",
    ),
    (
        "UPDATE body_state SET F_y = F_y + 1 WHERE bodyID = @body AND simulationRowID > @row AND simulationRowID < @row + 4",
        "UPDATE body_state SET F_y = F_y - 1 WHERE bodyID = @body AND simulationRowID > @row AND simulationRowID < @row + 4",
        "steps 8 to 10, 3 of them: F_y of body floor in body_state is not what was logged",
    ),
    (
        "UPDATE jointPose SET position_3 = position_3 + 1 WHERE simulationRowID = @row",
        "UPDATE jointPose SET position_3 = position_3 - 1 WHERE simulationRowID = @row",
        "step 7: position_3 of joint r/Turner in jointPose is 1.0, and 0.0 was logged",
    ),
    (
        "UPDATE sensorReading SET value = value + 1 WHERE field = 'y' AND simulationRowID = @row + 1",
        "UPDATE sensorReading SET value = value - 1 WHERE field = 'y' AND simulationRowID = @row + 1",
        "step 8: value of device r/Where in sensorReading",
    ),
    (
        "UPDATE simulationRow SET state_hash = state_hash + 1 WHERE step = 7",
        "UPDATE simulationRow SET state_hash = state_hash - 1 WHERE step = 7",
        "step 7: state_hash in simulationRow is ",
    ),
    (
        "UPDATE simulationRow SET wall_ns = wall_ns + 1 WHERE step = 7",
        "UPDATE simulationRow SET wall_ns = wall_ns - 1 WHERE step = 7",
        "step 7: wall_ns in simulationRow is 1, and 0 was logged",
    ),
    (
        "UPDATE simulationRow SET checksum = checksum + 1 WHERE step = 7",
        "UPDATE simulationRow SET checksum = checksum - 1 WHERE step = 7",
        "step 7: its checksum in simulationRow is not what was logged",
    ),
    (
        "UPDATE simulationFile SET text = '<world />' WHERE ordinal = 0",
        "UPDATE simulationFile SET text = '<world/>' WHERE ordinal = 0",
        "text of file 0 in simulationFile is not what was logged",
    ),
    (
        "UPDATE body SET mass = mass + 1 WHERE bodyID = @body + 1",
        "UPDATE body SET mass = mass - 1 WHERE bodyID = @body + 1",
        "mass of body r/Calf1 in body is not what was logged",
    ),
    (
        "UPDATE command SET text = '0,0,2' WHERE step = 9",
        "UPDATE command SET text = '0,0,1' WHERE step = 9",
        "text of step 9 in command is not what was logged",
    ),
    (
        "UPDATE event SET text = 'three' WHERE text = 'two'",
        "UPDATE event SET text = 'two' WHERE text = 'three'",
        "text of step 5 in event is not what was logged",
    ),
    (
        "UPDATE snapshot SET chain_head = chain_head + 1",
        "UPDATE snapshot SET chain_head = chain_head - 1",
        "chain_head of step 30 in snapshot is not what was logged",
    ),
    (
        "UPDATE simulation SET slips = slips + 1",
        "UPDATE simulation SET slips = slips - 1",
        "the run's row in simulation: one of status, ended, steps,",
    ),
    (
        "UPDATE batch SET checksum = checksum + 1 WHERE number = 1",
        "UPDATE batch SET checksum = checksum - 1 WHERE number = 1",
        "the checksums in batch 1 are not what was logged",
    ),
];

#[test]
fn what_was_changed_is_named_with_table_step_body_and_column_on_every_database() {
    for target in logs() {
        let whole = verify(&target);
        assert_eq!((whole.findings, whole.has_checksums, whole.steps), (Vec::new(), true, 40), "{}", target.name());
        let run = target.number("SELECT max(simulationID) FROM simulation");
        let (row, body) = (format!("({run} * 4294967296 + 7)"), format!("({run} * 1048576)"));
        let sql = |sql: &str| sql.replace("@row", &row).replace("@body", &body);
        for (change, back, expected) in CHANGES {
            target.execute(&sql(change));
            let found = verify(&target).findings;
            // Steps may be in two batches, with one finding each.
            let fits = |finding: &String| match expected.strip_prefix("steps 8 to 10, 3 of them: ") {
                Some(end) => finding.ends_with(end),
                None => found.len() == 1 && finding.starts_with(expected),
            };
            assert!(!found.is_empty() && found.iter().all(fits), "{}: {change}: {found:?}", target.name());
            target.execute(&sql(back));
        }
        assert_eq!(verify(&target).findings, Vec::<String>::new(), "{}", target.name());
    }
}

#[test]
fn a_row_that_is_gone_or_moved_is_named() {
    let target = TestDatabase::file();
    log(Settings::new(target.database.clone()), records(), finished(40));
    for (change, expected) in [
        (
            "DELETE FROM body_state WHERE simulationRowID = 4294967303 AND bodyID = 1048577",
            "step 7 has 4 rows in body_state",
        ),
        ("UPDATE jointPose SET jointID = jointID + 1 WHERE simulationRowID = 4294967304", "rows of joint r/Turner, "),
        ("DELETE FROM command WHERE step = 3", "rows of step 3 in command are not what was logged"),
        ("DELETE FROM batch WHERE number = 1", "batch 1 is missing"),
        ("UPDATE batch SET sums = x'ff'", "the checksums of batch 2 are damaged"),
        ("UPDATE simulation SET checksums = NULL", "the run's row says nothing of checksums"),
    ] {
        target.execute(change);
        let found = verify(&target).findings;
        assert!(found.iter().any(|finding| finding.contains(expected)), "{change}: {found:#?}");
    }
}

#[test]
fn a_log_without_checksums_says_so_and_is_counted() {
    let target = TestDatabase::file();
    log(Settings::new(target.database.clone()), records(), finished(40));
    target.execute("DROP TABLE batch");
    target.execute("UPDATE simulation SET checksums = NULL, end_checksum = NULL");
    target.execute("ALTER TABLE simulationRow DROP COLUMN checksum");
    let found = verify(&target);
    assert_eq!((found.findings, found.has_checksums, found.steps), (Vec::new(), false, 40));
}

#[test]
fn verifying_beside_a_run_finds_nothing_missing() {
    for target in TestDatabase::all() {
        let recorder = Recorder::start(Settings::new(target.database.clone()), run()).unwrap();
        let (sender, is_over) = (recorder.sender(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let layout = run().layout;
                for step in 1..=4000 {
                    if is_over.load(Ordering::Relaxed) || sender.send(Arc::new(record(&layout, step))).is_err() {
                        break;
                    }
                }
                drop(sender);
            });
            for _ in 0..5 {
                let found = verify(&target);
                let open = "the run was not closed (its status is running): it is still running, or was killed";
                assert_eq!(found.findings, [open], "{}", target.name());
            }
            is_over.store(true, Ordering::Relaxed);
        });
        recorder.finish(finished(0)).unwrap();
    }
}

/// Flipped bits in numbers and texts of every table, one at a time: each is found.
#[test]
fn no_flipped_bit_of_a_value_goes_unseen() {
    let target = TestDatabase::file();
    log(Settings::new(target.database.clone()), records(), finished(40));
    let mut missed = Vec::new();
    let mut tried = 0;
    let tables =
        ["body_state", "jointPose", "sensorReading", "simulationRow", "command", "body", "joint", "deviceField"];
    for (index, table) in tables.iter().cycle().take(120).enumerate() {
        let columns = target.rows(&format!("SELECT name, type FROM pragma_table_info('{table}')"));
        let column = &columns[(index * 7 + index / 8) % columns.len()];
        let [test_database::Value::Text(name), test_database::Value::Text(kind)] = &column[..] else {
            panic!("{column:?}")
        };
        // The number of a row names the run and the step: a row that is moved belongs to another.
        if ["simulationRowID", "simulationID"].contains(&name.as_str()) {
            continue;
        }
        let new = match kind.as_str() {
            "TEXT" => format!("{name} || 'x'"),
            "REAL" => format!("coalesce({name}, 0) * (1 + 2.220446049250313e-16) + 5e-324"),
            _ => format!("{name} + (1 << {})", index % 20),
        };
        let file = target.database.file().unwrap();
        let copy = file.with_file_name(format!("copy{index}.db"));
        std::fs::copy(file, &copy).unwrap();
        let copied = Database::parse(&format!("sqlite:{}", copy.display())).unwrap();
        let key = columns[0][0].clone();
        let test_database::Value::Text(key) = key else { panic!("{key:?}") };
        let chosen = format!("{key} = (SELECT {key} FROM {table} ORDER BY {key} LIMIT 1 OFFSET {})", index / 60);
        let sql = format!(
            "PRAGMA ignore_check_constraints = 1; PRAGMA foreign_keys = 0; UPDATE OR IGNORE {table} SET {name} = {new} WHERE {chosen}"
        );
        execute(&copy, &sql);
        tried += 1;
        let found = wait(Reader::new(&copied).verify(None)).unwrap().remove(0);
        if found.findings.is_empty() && !same(file, &copy, table) {
            missed.push(format!("{sql}: nothing was found"));
        }
    }
    assert!(missed.is_empty(), "{} of {tried} changes went unseen:\n{}", missed.len(), missed.join("\n"));
    assert!(tried > 90, "{tried}");
}

/// True if a table is equal in both files.
fn same(one: &Path, two: &Path, table: &str) -> bool {
    let quoted = format!("ATTACH '{}' AS other", two.display());
    wait(async {
        let mut connection = SqliteConnection::connect_with(&options(one)).await.unwrap();
        sqlx::raw_sql(AssertSqlSafe(quoted)).execute(&mut connection).await.unwrap();
        let sql = format!("SELECT count(*) FROM (SELECT * FROM main.{table} EXCEPT SELECT * FROM other.{table})");
        let (count,): (i64,) = sqlx::query_as(AssertSqlSafe(sql)).fetch_one(&mut connection).await.unwrap();
        count == 0
    })
}
