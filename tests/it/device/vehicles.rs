//! Vehicle controllers and odometry: the shipped vehicles drive as they are told.
//!
//! They have ellipsoids, rollers and belts, which only the engine `dynamics` has, so all runs here use it.

use std::{f64::consts::TAU, path::Path};

use bevy_math::{DQuat, DVec2};
use simpartner_description::xml::{self, Document};
use simpartner_dynamics::Settings;
use simpartner_wire::signal::{EventKind, Fault};

use super::{Run, near};

/// A shipped robot alone on a plane of friction 1.
fn on_plane(robot: &str) -> Run {
    in_world(&format!("<robot file='{robot}' name='Vehicle'/>"))
}

fn in_world(robots: &str) -> Run {
    let text =
        format!("<world name='w'><surface a='0' b='1' c='0' d='0' friction='1'/><gravity y='-9.81'/>{robots}</world>");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("worlds/w.xml");
    match xml::read_text(&path.to_string_lossy(), &text).unwrap_or_else(|problems| panic!("{problems}")) {
        Document::World(world) => Run::with_settings(world, Settings::default(), 0),
        _ => panic!("the text is a world"),
    }
}

/// Commands the vehicle for some steps, often enough for its watchdog.
fn drive_for(run: &mut Run, command: &[f64], steps: u64) {
    for begun in (0..steps).step_by(WATCHDOG_STEPS) {
        run.drive("Drive", command);
        run.steps((steps - begun).min(WATCHDOG_STEPS as u64));
    }
}

/// Steps after which a vehicle is commanded again: less than half a second.
const WATCHDOG_STEPS: usize = 400;

/// True place forward and to the left of the start, and heading to the left.
fn truth(run: &Run) -> (DVec2, f64) {
    let pose = run.read("Pose");
    let rotation = DQuat::from_xyzw(pose[3], pose[4], pose[5], pose[6]);
    let ahead = rotation * bevy_math::DVec3::X;
    (DVec2::new(pose[0], -pose[2]), (-ahead.z).atan2(ahead.x))
}

/// Place and heading by odometry.
fn estimate(run: &Run) -> (DVec2, f64) {
    let reading = run.read("Odometry");
    (DVec2::new(reading[0], reading[1]), reading[2])
}

/// A difference of headings, within half a turn.
fn heading_error(one: f64, other: f64) -> f64 {
    let error = (one - other).rem_euclid(TAU);
    error.min(TAU - error)
}

/// A square of 4 m by velocity commands alone: the robot is back at its start, and its odometry says so.
#[test]
fn a_differential_drive_closes_a_square_of_four_metres() {
    let mut run = on_plane("differential_drive.xml");
    let quarter = TAU / 4.0;
    for side in 0..4 {
        // The ramps of speed and rate take v / a each and lie symmetric about the way.
        drive_for(&mut run, &[0.2, 0.0], 20_000);
        drive_for(&mut run, &[0.0, 0.0], 200);
        let (place, _) = truth(&run);
        let corner = [[4.0, 0.0], [4.0, 4.0], [0.0, 4.0], [0.0, 0.0]][side];
        near(&place.to_array(), &corner, 0.01);
        drive_for(&mut run, &[0.0, 1.0], (quarter * 1000.0).round() as u64);
        drive_for(&mut run, &[0.0, 0.0], 200);
    }
    let ((place, heading), (odometry, turned)) = (truth(&run), estimate(&run));
    assert!(place.length() < 0.01 && heading_error(heading, 0.0) < 0.002, "{place} {heading}");
    assert!((odometry - place).length() < 2e-3, "{odometry} {place}");
    assert!((turned - TAU).abs() < 0.002 && heading_error(turned, heading) < 1e-3, "{turned} {heading}");
}

/// The middle of the rear axle of a car moves on a circle whose radius is speed over turn rate, also at the tightest
/// turn.
#[test]
fn a_car_turns_on_the_circle_of_its_command() {
    for (speed, omega, radius) in [(4.0, 0.4, 10.0), (3.0, -0.2, 15.0), (-2.0, 0.25, 8.0)] {
        let mut run = on_plane("car.xml");
        drive_for(&mut run, &[speed, omega], 3000);
        let places: Vec<DVec2> = places(&mut run, &[speed, omega], 1500);
        let found = radius_through(places[0], places[1], places[2]);
        assert!((found / radius - 1.0).abs() < 1e-3, "{found} for {radius}");
        let (place, heading) = truth(&run);
        let (odometry, turned) = estimate(&run);
        let way = speed.abs() * 7.5;
        assert!((odometry - place).length() < 2e-3 * way, "{odometry} {place}");
        // While both steerings turn at their largest rate, the axles do not meet in one point, and the tyres scrub.
        assert!(heading_error(turned, heading) < 5e-3, "{turned} {heading}");
    }
    // The inner wheel is at its stop of 0.66 rad: R = 0.77 + 2.6 / tan 0.66.
    let mut run = on_plane("car.xml");
    drive_for(&mut run, &[1.0, 1.0], 4000);
    let places: Vec<DVec2> = places(&mut run, &[1.0, 1.0], 2000);
    let tightest = 0.77 + 2.6 / 0.66_f64.tan();
    let found = radius_through(places[0], places[1], places[2]);
    assert!((found / tightest - 1.0).abs() < 1e-3, "{found} for {tightest}");
    near(&run.read("SteeringEncoder")[2..3], &[0.66], 1e-4);
}

/// Three true places, so many steps apart.
fn places(run: &mut Run, command: &[f64], steps: u64) -> Vec<DVec2> {
    let place = |_| {
        drive_for(run, command, steps);
        truth(run).0
    };
    (0..3).map(place).collect()
}

/// Radius of the circle through three points.
fn radius_through(a: DVec2, b: DVec2, c: DVec2) -> f64 {
    let (ab, bc, ca) = ((b - a).length(), (c - b).length(), (a - c).length());
    ab * bc * ca / (2.0 * (b - a).perp_dot(c - a).abs())
}

/// Mecanum wheels push along their rollers: the platform moves in every direction, and turns, as it is told.
#[test]
fn a_mecanum_platform_moves_in_all_directions() {
    for command in [[0.5, 0.0, 0.0], [0.0, 0.5, 0.0], [-0.3, 0.4, 0.0], [0.0, 0.0, 1.0]] {
        let mut run = on_plane("mecanum.xml");
        drive_for(&mut run, &command, 1500);
        let (before, heading_before) = truth(&run);
        drive_for(&mut run, &command, 1000);
        let (place, heading) = truth(&run);
        let expected = DVec2::new(command[0], command[1]);
        assert!(
            (place - before - expected).length() < 1e-3 * expected.length().max(0.1),
            "{command:?}: {}",
            place - before
        );
        assert!((heading - heading_before - command[2]).abs() < 1e-3, "{command:?}: {}", heading - heading_before);
        near(&run.read("Odometry")[3..], &command, 1e-3);
    }
}

/// Tracks drive straight without slip. In a turn their ends slide sideways, and the turn is slower than the belts alone
/// say.
#[test]
fn a_crawler_drives_straight_and_turns_with_slip() {
    let mut run = on_plane("crawler.xml");
    drive_for(&mut run, &[1.0, 0.0], 2000);
    let before = truth(&run).0;
    drive_for(&mut run, &[1.0, 0.0], 1000);
    let way = truth(&run).0 - before;
    near(&way.to_array(), &[1.0, 0.0], 1e-3);
    near(&run.read("Odometry")[3..], &[1.0, 0.0, 0.0], 1e-9);
    drive_for(&mut run, &[0.0, 0.5], 3000);
    let before = truth(&run).1;
    drive_for(&mut run, &[0.0, 0.5], 1000);
    let turn = heading_error(truth(&run).1, before);
    assert!((0.1..0.5).contains(&turn), "{turn}");
}

/// The limits of the command, the watchdog, faults, and a state that is restored on the way.
#[test]
fn a_vehicle_keeps_its_limits_and_stops_when_nobody_commands() {
    let mut run = on_plane("differential_drive.xml");
    // Before the first command it stands.
    run.steps(300);
    near(&run.read("Odometry"), &[0.0; 6], 1e-9);
    // 9 m/s is beyond 0.22 m/s, which takes 0.088 s at 2.5 m/s².
    drive_for(&mut run, &[9.0, 0.0], 40);
    near(&run.read("Odometry")[3..4], &[0.1], 0.003);
    run.steps(204);
    near(&run.read("Odometry")[3..4], &[0.22], 1e-4);
    assert_eq!(run.read("Drive"), [9.0, 0.0], "the setting is the command");
    let (snapshot, hash) = (run.simulation.snapshot(), run.simulation.state_hash());
    run.steps(400);
    let at_end = run.simulation.state_hash();
    let told: Vec<_> =
        run.told(EventKind::Watchdog).into_iter().map(|(step, subject, ..)| (step, subject.to_owned())).collect();
    assert_eq!(told, [(800, "Vehicle/Drive".to_owned())]);
    near(&run.read("Odometry")[3..], &[0.0; 3], 1e-6);
    let mut again = on_plane("differential_drive.xml");
    again.simulation.restore(&snapshot).unwrap();
    assert_eq!(again.simulation.state_hash(), hash);
    assert_eq!(again.steps(400).simulation.state_hash(), at_end);
    // Without power the wheels roll freely; the next command begins at the speed that is left.
    drive_for(&mut run, &[0.2, 0.0], 300);
    run.fail("Drive", Fault::Off);
    run.steps(100);
    let coasting = run.read("Odometry")[3];
    assert!(coasting > 0.15, "{coasting}");
    run.fail("Drive", Fault::None);
    drive_for(&mut run, &[0.2, 0.0], 1);
    near(&run.read("Odometry")[3..4], &[coasting], 0.01);
}
