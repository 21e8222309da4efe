//! The computed views: attitude, velocity in a body's axes, slip of wheels, power and work of joints, the time of a
//! row. One text runs on every database, and closed forms give the expected results.

use simpartner::recorder::Thinning;
use simpartner_model::random::Stream;

use super::{
    test_database::{TestDatabase, Value},
    *,
};

/// Radius of the wheel, m.
const RADIUS: f64 = 0.235;

/// The run of the other tests with `Turner` as the axle of a wheel, its child, which begins with another orientation
/// than the world's.
fn rolling() -> RunDescription {
    let mut run = run();
    let mut world = world();
    world.mechanism.joints[0].anchor = DVec3::ZERO;
    world.mechanism.bodies[2].pose.rotation = initial();
    run.world = Arc::new(world);
    run
}

/// As a link of another format has it: z up, and turned to the left by half a radian.
fn initial() -> DQuat {
    DQuat::from_rotation_y(0.5) * DQuat::from_rotation_x(-std::f64::consts::FRAC_PI_2)
}

fn logged(settings: Settings, records: impl IntoIterator<Item = StepRecord>) {
    let recorder = Recorder::start(settings, rolling()).unwrap();
    let sender = recorder.sender();
    let mut steps = 0;
    for record in records {
        steps = record.step.0;
        sender.send(Arc::new(record)).unwrap();
    }
    drop(sender);
    recorder.finish(finished(steps)).unwrap();
}

fn numbers(row: &[Value]) -> Vec<f64> {
    let number = |value: &Value| match value {
        Value::Number(number) => *number,
        Value::Null => f64::NAN,
        Value::Text(text) => panic!("{text}"),
    };
    row.iter().map(number).collect()
}

fn check(about: &str, found: &[f64], expected: &[f64]) {
    let is_close = |(found, expected): (&f64, &f64)| {
        (found - expected).abs() <= 1e-9 * expected.abs().max(1.0) || (found.is_nan() && expected.is_nan())
    };
    assert!(
        found.len() == expected.len() && found.iter().zip(expected).all(is_close),
        "{about}\n{found:?}\n{expected:?}"
    );
}

/// Records in which the wheel has any orientation, velocities and force.
fn tumbling(count: u64) -> Vec<StepRecord> {
    let mut random = Stream::from_number(7);
    let layout = run().layout;
    let mut any = || 2.0 * random.uniform() - 1.0;
    let wheel = BodyId::new(2);
    let make = |step| {
        let mut record = record(&layout, step);
        let rotation = DQuat::from_xyzw(any(), any(), any(), any()).normalize();
        record.values[layout.pose(wheel)][3..].copy_from_slice(&rotation.to_array());
        record.values[layout.twist(wheel)].fill_with(&mut any);
        // Every fourth step it is in the air.
        let force = if step % 4 == 0 { 0.0 } else { any() };
        record.values[layout.wrench(wheel)].copy_from_slice(&[force, force, 0.0, 0.0, 0.0, 0.0]);
        record
    };
    (1..=count).map(make).collect()
}

fn motion(record: &StepRecord, layout: &Layout) -> Vec<f64> {
    let values = |range: std::ops::Range<usize>| &record.values[range];
    let (pose, twist) = (values(layout.pose(BodyId::new(2))), values(layout.twist(BodyId::new(2))));
    let rotation = DQuat::from_slice(&pose[3..7]);
    let rotation = if rotation.w < 0.0 { -rotation } else { rotation };
    let (v, omega) = (DVec3::from_slice(twist), DVec3::from_slice(&twist[3..]));
    let into = initial().inverse();
    let level = (initial() * DVec3::X).with_y(0.0).normalize();
    let (up, forward) = (rotation * (into * DVec3::Y), rotation * (into * level));
    let right = forward.cross(up);
    let mut all = rotation.to_array().to_vec();
    all.extend([forward.z.atan2(forward.x), forward.y.asin(), (-right.y).atan2(up.y), up.y.acos(), v.length()]);
    all.extend([forward, up, right].map(|axis| v.dot(axis)));
    all.extend([forward, up, right].map(|axis| omega.dot(axis)));
    all
}

fn wheel(record: &StepRecord, layout: &Layout) -> Vec<f64> {
    let (pose, twist) = (&record.values[layout.pose(BodyId::new(2))], &record.values[layout.twist(BodyId::new(2))]);
    let force = record.values[layout.wrench(BodyId::new(2))][0];
    let axle = DQuat::from_slice(&pose[3..7]) * (initial().inverse() * DVec3::Z);
    let (v, omega) = (DVec3::from_slice(twist), DVec3::from_slice(&twist[3..]));
    let (rolling, lateral) = (RADIUS * omega.dot(axle), v.dot(axle));
    let length = (v - lateral * axle).length();
    let along = length * axle.cross(DVec3::Y).dot(v).signum();
    let slip = rolling.signum() * (rolling - along) / rolling.abs().max(along.abs());
    let (slip, angle) = if force == 0.0 { (f64::NAN, f64::NAN) } else { (slip, lateral.atan2(length)) };
    vec![force.hypot(force), rolling, along, lateral, slip, angle]
}

#[test]
fn attitude_velocity_and_slip_are_those_of_the_geometry() {
    let is_long = std::env::var_os("SIMPARTNER_LONG_TESTS").is_some();
    let records = tumbling(if is_long { 2000 } else { 200 });
    let layout = run().layout;
    for target in TestDatabase::all() {
        logged(Settings::new(target.database.clone()), records.clone());
        let motions = target.rows(
            "SELECT qx, qy, qz, qw, heading, pitch, roll, tilt, speed, v_forward, v_up, v_right, omega_forward, omega_up, omega_right
             FROM motionLog WHERE body = 'Calf2' ORDER BY step",
        );
        let wheels =
            target.rows("SELECT contact_force, rolling, along, across, slip, slip_angle FROM wheelLog ORDER BY step");
        assert_eq!((motions.len(), wheels.len()), (records.len(), records.len()), "only Calf2 is a wheel");
        for ((record, found), rolled) in records.iter().zip(&motions).zip(&wheels) {
            let about = format!("{} step {}", target.name(), record.step);
            check(&about, &numbers(found), &motion(record, &layout));
            check(&about, &numbers(rolled), &wheel(record, &layout));
        }
    }
}

/// A motor of 2 N m accelerates a joint at 3 rad/s²: after T its work is 2 * 3 T²/2. The work is the same in a thinned
/// log, because the rate grows linearly. The robot then rests, without rows, and repeats this.
#[test]
fn the_work_of_a_joint_does_not_depend_on_what_is_logged() {
    let layout = run().layout;
    let (effort, gain, count) = (2.0, 3.0, 200);
    let joint = |record: &mut StepRecord, rate: f64, effort: f64| {
        let place = layout.joint(JointId::new(0));
        record.values[place.clone()][8] = rate;
        record.values[place][11] = effort;
    };
    let moving = |step: u64| {
        let mut record = record(&layout, step);
        joint(&mut record, gain * step as f64 * 1e-3, effort);
        record
    };
    let resting = |step: u64| {
        let mut record = record(&layout, count);
        record.step = StepIndex(step);
        joint(&mut record, 0.0, effort);
        record
    };
    let again = |step: u64| {
        let mut record = record(&layout, step);
        joint(&mut record, gain * (step - 600) as f64 * 1e-3, effort);
        record
    };
    let records: Vec<StepRecord> =
        (1..=count).map(moving).chain((count + 1..=600).map(resting)).chain((601..=600 + count).map(again)).collect();
    let work = effort * gain * (count as f64 * 1e-3).powi(2) / 2.0;
    for target in TestDatabase::all() {
        let settings = || Settings::new(target.database.clone());
        let all = [
            settings(),
            Settings { skip_resting: true, ..settings() },
            Settings { every_n_steps: 10, skip_resting: true, ..settings() },
            Settings { thinning: Some(Thinning { after_s: 0.055, every_n_steps: 20 }), ..settings() },
            Settings {
                thinning: Some(Thinning { after_s: 0.1, every_n_steps: 10 }),
                skip_resting: true,
                every_n_steps: 5,
                ..settings()
            },
        ];
        for (settings, run) in all.into_iter().zip(1..) {
            logged(settings, records.clone());
            let about = format!("{} run {run}", target.name());
            let sum = |range: &str| {
                let sql = format!(
                    "SELECT sum(energy), sum(dt) FROM jointLog WHERE simulationID = {run} AND joint = 'Turner' AND step {range}"
                );
                numbers(&target.rows(&sql)[0])
            };
            check(&about, &sum("<= 200"), &[work, 0.2]);
            check(&about, &sum("> 600"), &[work, 0.2]);
            let steps = format!(
                "SELECT sum(dt) FROM (SELECT DISTINCT step, dt FROM bodyLog WHERE simulationID = {run}) s WHERE step <= 200"
            );
            check(&about, &numbers(&target.rows(&steps)[0]), &[0.2]);
        }
    }
}
