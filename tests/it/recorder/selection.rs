//! What is logged, and what a user does not pay for.

use simpartner::recorder::{Patterns, Reader};

use super::{
    place::{Place, Value, wait},
    *,
};

fn patterns(patterns: &[&str]) -> Patterns {
    Patterns::new(patterns.iter().map(|&pattern| pattern.to_owned()))
}

#[track_caller]
fn check_complete(place: &Place) {
    let found = wait(Reader::new(&place.database).verify(None)).unwrap();
    assert!(found.iter().all(|run| run.findings.is_empty()), "{}: {found:?}", place.name());
}

#[test]
fn bodies_joints_and_devices_are_picked_by_name() {
    for place in Place::all() {
        let settings = Settings {
            bodies: patterns(&["r/Wheel*", "floor"]),
            joints: patterns(&[]),
            devices: patterns(&["r/Turn*"]),
            ..Settings::new(place.database.clone())
        };
        log(settings, steps(1..=100), finished(100));
        let names = "SELECT DISTINCT name FROM body, body_state b WHERE b.bodyID = body.bodyID ORDER BY name";
        let expected = ["Wheel1", "Wheel2", "floor"].map(|name| vec![Value::Text(name.into())]);
        assert_eq!(place.rows(names), expected, "{}", place.name());
        for (table, rows) in [("body_state", 300), ("jointPose", 0), ("sensorReading", 0), ("simulationRow", 100)] {
            assert_eq!(place.number(&format!("SELECT count(*) FROM {table}")), rows, "{}: {table}", place.name());
        }
        check_complete(&place);
    }
    let place = Place::file();
    let settings = Settings { bodies: patterns(&["r/Weel*"]), ..Settings::new(place.database.clone()) };
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
    for place in Place::all() {
        let settings = Settings { on_change: true, ..Settings::new(place.database.clone()) };
        let id = log(settings, (1..=2500).map(moving), finished(2500)).simulations[0].simulation_id;
        // All at 1, 1000 and 2000; the four that rest also at 700, 1400 and 2100.
        let rows = 2500 + 4 * (3 + 3);
        assert_eq!(place.number("SELECT count(*) FROM body_state"), rows, "{}", place.name());
        assert_eq!(place.number("SELECT count(*) FROM jointPose"), 3, "{}", place.name());
        check_complete(&place);
        let layout = run().layout;
        for step in [1, 699, 700, 999, 1000, 1001, 2400] {
            let read = wait(Reader::new(&place.database).steps(id, &layout, step, 1, 1)).unwrap();
            let written = moving(step);
            let range = 0..layout.joint(JointId::new(0)).end;
            assert_eq!(read[0].values[range.clone()], written.values[range], "{} {step}", place.name());
        }
    }
    // Less than the tolerance is no change.
    let place = Place::file();
    let settings = Settings { on_change: true, change_tolerance: 1e4, ..Settings::new(place.database.clone()) };
    log(settings, (1..=500).map(moving), finished(500));
    assert_eq!(place.number("SELECT count(*) FROM body_state"), BODIES);
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
    for place in Place::all() {
        let settings = Settings { every_n_steps: 10, ..Settings::new(place.database.clone()) };
        log(settings, pushed.clone(), finished(100));
        assert_eq!(place.number("SELECT count(*) FROM forceAndTorqueInterval WHERE steps = 10"), 10 * BODIES);
        let numbers = "SELECT mean_F_x, mean_F_y, mean_T_z, max_F_x, max_F_y, max_T_z, max_F, max_T
            FROM forceAndTorqueInterval i, simulationRow r, body b
            WHERE i.simulationRowID = r.simulationRowID AND i.bodyID = b.bodyID AND name = 'Calf1' AND step = 20";
        let length = (400.0_f64 + 400.0).sqrt();
        let expected = [15.5, -15.5, -0.7, 20.0, -20.0, -7.0, length, 7.0].map(Value::Number);
        assert_eq!(place.rows(numbers), [expected], "{}", place.name());
        check_complete(&place);
    }
    let place = Place::file();
    log(Settings::new(place.database.clone()), steps(1..=10), finished(10));
    assert_eq!(place.number("SELECT count(*) FROM forceAndTorqueInterval"), 0, "every step says it itself");
}
