//! `PUSH`: the motion that forces and springs give, refusals, and replay from the log.

use bevy_math::DVec3;
use simpartner::realtime::{ClockSettings, Mode};
use simpartner_dynamics::EngineKind;

use crate::{
    cli::{Running, Scratch, number, output, text},
    placing::truth,
    scene::{self, Within, body, close, cube},
    server::{Client, Rig, robot, settings},
};

/// The body of the cube.
const CUBE: usize = 2;

/// A cube of 2 kg and 1 m at z = 10 m, beside a robot, without gravity. The clock stands.
fn floating_cube() -> Rig {
    let mut world = robot([0; 3]);
    world.mechanism.bodies.push(body("cube", 2.0, cube(1.0), DVec3::Z * 10.0));
    let mut anchor = body("anchor", 1.0, cube(0.1), DVec3::X * 5.0);
    anchor.fixed = true;
    world.mechanism.bodies.push(anchor);
    let clock = ClockSettings { mode: Mode::Fast, start_paused: true, ..ClockSettings::default() };
    Rig::with(world, settings(), clock)
}

#[test]
fn a_force_acts_for_its_time_at_its_point() {
    let rig = floating_cube();
    let mut control = Client::connect(rig.control);
    assert_eq!(control.ask("PUSH cube force=0,0,4 at=0.3,0,0 seconds=0.01"), "OK");
    control.ask("STEP 10");
    let pushed = truth(rig.control, CUBE);
    close("speed", pushed[9], 4.0 / 2.0 * 0.01, Within::both(1e-12));
    close("spin", pushed[11], -0.3 * 4.0 / (2.0 / 6.0) * 0.01, Within::both(1e-6));
    control.ask("STEP 10");
    close("speed after it", truth(rig.control, CUBE)[9], pushed[9], Within::both(1e-12));
    // A later push takes the place of the earlier one, and 0 s end it.
    assert_eq!(control.ask("PUSH cube force=0,0,4 seconds=1"), "OK");
    assert_eq!(control.ask("PUSH cube torque=0,1,0 seconds=1"), "OK");
    control.ask("STEP 5");
    let turned = truth(rig.control, CUBE);
    close("speed of a torque", turned[9], pushed[9], Within::both(1e-12));
    assert!(turned[11] > pushed[11] + 0.01, "{turned:?}");
    assert_eq!(control.ask("PUSH cube force=0,0,0 seconds=0"), "OK");
    control.ask("STEP 5");
    close("spin without it", truth(rig.control, CUBE)[11], turned[11], Within::both(1e-9));
    // A reset has no pushes.
    assert_eq!(control.ask("PUSH cube force=9,0,0 seconds=1"), "OK");
    control.ask("RESET");
    control.ask("STEP 10");
    assert_eq!(truth(rig.control, CUBE)[..3], [0.0, 0.0, 10.0]);
    rig.end();
}

/// A free mass on a critically damped spring follows x = 1 - (1 + w t) exp(-w t), with w = 10 rad/s. The spring's force
/// is of first order in the timestep: it is off by w h / 2, 5e-3.
#[test]
fn a_spring_takes_a_point_to_its_place() {
    let rig = floating_cube();
    let mut control = Client::connect(rig.control);
    assert_eq!(control.ask("PUSH cube to=1,0,10 seconds=2"), "OK");
    for steps in [100, 200] {
        control.ask("STEP 100");
        let turn = 10.0 * f64::from(steps) * 1e-3;
        let expected = 1.0 - (1.0 + turn) * libm::exp(-turn);
        close("way", truth(rig.control, CUBE)[0], expected, Within::both(5e-3));
    }
    control.ask("STEP 1800");
    let arrived = truth(rig.control, CUBE);
    close("place", arrived[0], 1.0, Within::both(1e-6));
    close("rest", arrived[7], 0.0, Within::both(1e-5));
    // By a corner, the corner arrives; the cube goes on turning about it, which stretches the spring.
    assert_eq!(control.ask("PUSH cube to=2,1,10 at=0.5,0.5,0.5 seconds=6"), "OK");
    control.ask("STEP 6000");
    let [x, y, z, qx, qy, qz, qw] = truth(rig.control, CUBE)[..7].try_into().unwrap();
    let corner = bevy_math::DQuat::from_xyzw(qx, qy, qz, qw) * DVec3::splat(0.5) + DVec3::new(x, y, z);
    assert!(corner.distance(DVec3::new(2.0, 1.0, 10.0)) < 1e-2, "{corner}");
    rig.end();
}

#[test]
fn what_cannot_be_pushed_is_refused_with_the_reason() {
    let rig = floating_cube();
    let mut control = Client::connect(rig.control);
    for (said, heard) in [
        ("PUSH anchor force=1,0,0", "ERR 7 'anchor' cannot be pushed: it is static"),
        ("PUSH cub force=1,0,0", "ERR 8 expected one of robot, cube, got 'cub'; did you mean 'cube'?"),
        ("PUSH cube force=1,0", "ERR 2 expected 3 force numbers, got 2"),
        ("PUSH cube to=0,0,0 seconds=-1", "ERR 4 seconds: expected 0 to 3600, got -1"),
    ] {
        assert_eq!(control.ask(said), heard);
    }
    for said in ["PUSH", "PUSH cube", "PUSH force=1,2,3", "PUSH cube force=1,0,0 to=1,0,0"] {
        assert!(control.ask(said).starts_with("ERR 8 expected "), "{said}");
    }
    control.ask("STEP 5");
    assert_eq!(truth(rig.control, CUBE)[..3], [0.0, 0.0, 10.0]);
    rig.end();
}

/// Pushes are in the log, in the snapshots from which a fork begins, and go on while robots come.
#[test]
fn a_run_with_pushes_is_replayed_and_forked() {
    if scene::settings().engine != EngineKind::Dynamics {
        return;
    }
    let scratch = Scratch::new();
    let database = scratch.database("run.db");
    let mut server = Running::start(&scratch, &["--set", "log.snapshot_interval_s=0.05", "--paused"]);
    for round in 1..=12 {
        let (x, seconds) = (f64::from(round % 5) - 2.0, 0.02 * f64::from(round));
        let line = match round % 3 {
            0 => format!("PUSH WorkPartner to={x},0.8,0.3 seconds={seconds}"),
            1 => format!("PUSH WorkPartner/FrontChassis force={x},900,80 at=0.1,0,{x} seconds={seconds}"),
            _ => format!("PUSH WorkPartner/Wheel1 torque=0,{x},9 seconds={seconds}"),
        };
        assert_eq!(server.ask(&line), "OK");
        assert!(server.ask("STEP 37").starts_with("OK"));
        if round == 6 {
            assert_eq!(server.ask("SPAWN file=rover.xml name=Other position=3,1,3"), "OK name=Other");
        }
    }
    server.ask("QUIT");
    server.end();
    let log = scratch.path("run.db");
    assert_eq!(number(&log, "SELECT count(*) FROM command WHERE text LIKE 'PUSH %' AND port = 0 AND reply = 'OK'"), 12);
    for run in ["1", "2"] {
        let made = output(&["replay", run, "--database", &database]);
        assert_eq!(made.status.code(), Some(0), "{}{}", text(&made.stdout), text(&made.stderr));
    }
    // A fork amid a push reaches the same end.
    let made = output(&["fork", "2", "--database", &database, "--at", "400"]);
    assert_eq!(made.status.code(), Some(0), "{}{}", text(&made.stdout), text(&made.stderr));
    let last =
        "SELECT count(DISTINCT state_hash) FROM simulationRow WHERE step = (SELECT max(step) FROM simulationRow)";
    assert_eq!(number(&log, last), 1);
}
