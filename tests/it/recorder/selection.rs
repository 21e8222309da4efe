//! Rows that are logged, and rows that the settings omit.

use simpartner::recorder::{Cadence, Patterns, Reader, Thinning};
use simpartner_wire::signal::Contact;

use super::{
    test_database::{TestDatabase, Value, wait},
    *,
};

fn patterns(patterns: &[&str]) -> Patterns {
    Patterns::new(patterns.iter().map(|&pattern| pattern.to_owned()))
}

#[track_caller]
fn check_complete(target: &TestDatabase) {
    let found = wait(Reader::new(&target.database).verify(None)).unwrap();
    assert!(found.iter().all(|run| run.findings.is_empty()), "{}: {found:?}", target.name());
}

#[test]
fn bodies_joints_and_devices_are_picked_by_name() {
    for target in TestDatabase::all() {
        let settings = Settings {
            bodies: patterns(&["r/Wheel*", "floor"]),
            joints: patterns(&[]),
            devices: patterns(&["r/Turn*"]),
            ..Settings::new(target.database.clone())
        };
        log(settings, steps(1..=100), finished(100));
        let names = "SELECT DISTINCT name FROM body, body_state b WHERE b.bodyID = body.bodyID ORDER BY name";
        let expected = ["Wheel1", "Wheel2", "floor"].map(|name| vec![Value::Text(name.into())]);
        assert_eq!(target.rows(names), expected, "{}", target.name());
        for (table, rows) in [("body_state", 300), ("jointPose", 0), ("sensorReading", 0), ("simulationRow", 100)] {
            assert_eq!(target.number(&format!("SELECT count(*) FROM {table}")), rows, "{}: {table}", target.name());
        }
        check_complete(&target);
    }
    let target = TestDatabase::file();
    let settings = Settings { bodies: patterns(&["r/Weel*"]), ..Settings::new(target.database.clone()) };
    let error = Recorder::start(settings, run()).expect_err("nothing is called that");
    assert_eq!(error.to_string(), "log.bodies: no body of this world fits `r/Weel*`; names are such as `floor`");
}

#[test]
fn on_change_only_what_moves_is_written_and_all_is_read_back() {
    let moving = |step: u64| {
        let layout = run().layout;
        let mut record = record(&layout, step);
        for body in 0..layout.bodies() {
            // Body 3 moves all the time, the others every 700 steps.
            let x = if body == 3 { step } else { step / 700 };
            record.values[layout.pose(BodyId::new(body))][0] = x as f64;
        }
        record.values[layout.joint(JointId::new(0))][0] = 0.0;
        record
    };
    for target in TestDatabase::all() {
        let settings = Settings { on_change: true, ..Settings::new(target.database.clone()) };
        let id = log(settings, (1..=2500).map(moving), finished(2500)).simulations[0].simulation_id;
        // All at 1, 1000 and 2000; the four that rest also at 700, 1400 and 2100.
        let rows = 2500 + 4 * (3 + 3);
        assert_eq!(target.number("SELECT count(*) FROM body_state"), rows, "{}", target.name());
        assert_eq!(target.number("SELECT count(*) FROM jointPose"), 3, "{}", target.name());
        check_complete(&target);
        let layout = run().layout;
        for step in [1, 699, 700, 999, 1000, 1001, 2400] {
            let read = wait(Reader::new(&target.database).steps(id, &layout, step, 1, 1)).unwrap();
            let written = moving(step);
            let range = 0..layout.joint(JointId::new(0)).end;
            assert_eq!(read[0].values[range.clone()], written.values[range], "{} {step}", target.name());
        }
    }
    // Less than the tolerance is no change.
    let target = TestDatabase::file();
    let settings = Settings { on_change: true, change_tolerance: 1e4, ..Settings::new(target.database.clone()) };
    log(settings, (1..=500).map(moving), finished(500));
    assert_eq!(target.number("SELECT count(*) FROM body_state"), BODIES);
}

#[test]
fn between_logged_steps_forces_are_kept_as_mean_and_maximum() {
    let layout = run().layout;
    let pushed = steps(1..=100).into_iter().map(|mut record| {
        let step = record.step.0 as f64;
        let wrench = layout.wrench(BodyId::new(1));
        record.values[wrench].copy_from_slice(&[step, -step, 0.0, 0.0, 0.0, if step == 13.0 { -7.0 } else { 0.0 }]);
        record
    });
    let pushed: Vec<_> = pushed.collect();
    for target in TestDatabase::all() {
        let settings = Settings { every_n_steps: 10, ..Settings::new(target.database.clone()) };
        log(settings, pushed.clone(), finished(100));
        assert_eq!(target.number("SELECT count(*) FROM forceAndTorqueInterval WHERE steps = 10"), 10 * BODIES);
        let numbers = "SELECT mean_F_x, mean_F_y, mean_T_z, max_F_x, max_F_y, max_T_z, max_F, max_T
            FROM forceAndTorqueInterval i, simulationRow r, body b
            WHERE i.simulationRowID = r.simulationRowID AND i.bodyID = b.bodyID AND name = 'Calf1' AND step = 20";
        let length = (400.0_f64 + 400.0).sqrt();
        let expected = [15.5, -15.5, -0.7, 20.0, -20.0, -7.0, length, 7.0].map(Value::Number);
        assert_eq!(target.rows(numbers), [expected], "{}", target.name());
        check_complete(&target);
    }
    let target = TestDatabase::file();
    log(Settings::new(target.database.clone()), steps(1..=10), finished(10));
    assert_eq!(target.number("SELECT count(*) FROM forceAndTorqueInterval"), 0, "every step says it itself");
}

#[test]
fn contact_points_are_rows_where_they_are_wanted() {
    let touching = steps(1..=50).into_iter().map(|mut record| {
        let at = |other: Option<usize>, force: f32| Contact {
            body: BodyId::new(1),
            other: other.map(BodyId::new),
            point: [0.5, 0.0, -0.25],
            normal: [0.0, 1.0, 0.0],
            force: [0.0, force, 0.0],
            gap: -0.125,
        };
        // One with the ground in every step, a second one with the floor in every other.
        let second = record.step.0.is_multiple_of(2).then(|| at(Some(0), 2.0));
        record.contacts.refill([at(None, 8.0)].into_iter().chain(second));
        record
    });
    let touching: Vec<_> = touching.collect();
    for target in TestDatabase::all() {
        let settings = Settings { contacts: true, ..Settings::new(target.database.clone()) };
        log(settings, touching.clone(), finished(50));
        assert_eq!(target.number("SELECT count(*) FROM contactPoint"), 50 + 25, "{}", target.name());
        let row = "SELECT F_y, x, z, normal_y, gap FROM contactPointLog
            WHERE step = 7 AND ordinal = 0 AND body = 'Calf1' AND other_body IS NULL";
        assert_eq!(target.rows(row), [[8.0, 0.5, -0.25, 1.0, -0.125].map(Value::Number)], "{}", target.name());
        let others = "SELECT count(*) FROM contactPointLog WHERE other_body = 'floor' AND F_y = 2";
        assert_eq!(target.number(others), 25, "{}", target.name());
        check_complete(&target);
    }
    let target = TestDatabase::file();
    log(Settings::new(target.database.clone()), touching, finished(50));
    assert_eq!(target.number("SELECT count(*) FROM contactPoint"), 0, "they are left out by default");
}

/// The first 200 steps in full and then every tenth, without rows of bodies at rest.
fn economical(target: &TestDatabase) -> Settings {
    let thinning = Some(Thinning { after_s: 0.2, every_n_steps: 10 });
    Settings { thinning, skip_resting: true, ..Settings::new(target.database.clone()) }
}

#[test]
fn an_economical_log_leaves_out_what_rests_and_most_steps_of_a_long_run() {
    let layout = run().layout;
    // The floor is fixed, and the robot is at rest from step 101 to 150. One of its bodies never moves by itself.
    let moving = |step: u64| {
        let mut record = record(&layout, if (101..=150).contains(&step) { 100 } else { step });
        record.step = StepIndex(step);
        for resting in [0, 4] {
            record.values[layout.pose(BodyId::new(resting))][0] = 0.0;
        }
        record
    };
    let cadence = Cadence::new(1, Some((200, 10)));
    for target in TestDatabase::all() {
        let id = log(economical(&target), (1..=400).map(moving), finished(400)).simulations[0].simulation_id;
        // Of 220 logged steps the robot has rows of 170, all four of its bodies together; the floor has 1, 100, 200,
        // 300 and 400.
        for (table, rows) in [("simulationRow", 220), ("body_state", 4 * 170 + 5), ("jointPose", 170)] {
            assert_eq!(target.number(&format!("SELECT count(*) FROM {table}")), rows, "{}: {table}", target.name());
        }
        let halves = "SELECT count(*) FROM (SELECT simulationRowID FROM body_state, body
            WHERE body.bodyID = body_state.bodyID AND robotID IS NOT NULL GROUP BY simulationRowID HAVING count(*) <> 4) h";
        assert_eq!(target.number(halves), 0, "{}: a sum over the robot would be wrong", target.name());
        let intervals = "SELECT count(*) FROM forceAndTorqueInterval WHERE steps = 10";
        assert_eq!(target.number(intervals), 20 * 4 + 2, "{}", target.name());
        check_complete(&target);
        let reader = Reader::new(&target.database);
        for (from, every, count) in [(1, 1, 400), (7, 31, 12), (125, 1, 1), (151, 50, 2), (205, 1, 30), (399, 1, 1)] {
            let read = wait(reader.steps(id, &layout, from, every, count)).unwrap();
            assert_eq!(read.len() as u64, count, "{} {from}", target.name());
            for (index, read) in read.iter().enumerate() {
                let logged = cadence.last(from + every * index as u64);
                let written = moving(logged);
                let state = 0..layout.joint(JointId::new(0)).end;
                assert_eq!(read.step, StepIndex(logged), "{}", target.name());
                assert_eq!(read.values[state.clone()], written.values[state], "{} {logged}", target.name());
            }
        }
        // A missing step is distinguished from an omitted one.
        target.execute("DELETE FROM simulationRow WHERE step = 310");
        let found = wait(reader.verify(None)).unwrap();
        assert!(found[0].findings.contains(&"step 310 is missing".to_owned()), "{}: {found:?}", target.name());
    }
}

#[test]
fn a_reset_neither_begins_the_full_log_anew_nor_spoils_the_real_time_factor() {
    let layout = run().layout;
    let target = TestDatabase::file();
    // Half of real time is enough for the first run, and the second takes twice of it.
    let record = |epoch: u32, step: u64| {
        let mut record = record(&layout, step);
        record.epoch = epoch;
        record.timing.played_ns = if epoch == 0 { 500_000 * step } else { 75_000_000 + 2_000_000 * step };
        record
    };
    let records = (1..=150).map(|step| record(0, step)).chain((1..=150).map(|step| record(1, step)));
    log(economical(&target), records, RunOutcome { real_time_factor: 0.8, ..finished(150) });
    let rows = target.rows("SELECT full_steps, steps_logged FROM simulation ORDER BY simulationID");
    let whole = |numbers: [f64; 2]| numbers.map(Value::Number).to_vec();
    assert_eq!(rows, [whole([200.0, 150.0]), whole([50.0, 50.0 + 10.0])]);
    let factors = target.rows("SELECT real_time_factor FROM simulation ORDER BY simulationID");
    assert_eq!(factors, [[Value::Number(2.0)], [Value::Number(0.5)]]);
    let sizes = "SELECT count(*) FROM simulation WHERE log_bytes > 150 * 60";
    assert_eq!(target.number(sizes), 2);
    check_complete(&target);
}
