//! The example controllers drive WorkPartner through the maze, unattended: to the goal, and twice to the same bits.

use std::process::{Command, Stdio};

use simpartner::realtime::{ClockSettings, Mode};
use simpartner_description::xml;
use simpartner_model::BodyId;
use simpartner_wire::signal::Port;

use crate::{
    needs::{Need, met},
    server::{Rig, settings},
};

/// Position of the last waypoint of both examples, x and z in metres, and the required distance.
const GOAL: [f64; 2] = [3.4, -3.0];
const NEAR: f64 = 0.6;

/// Lets a controller drive and returns the state's hash and the number of steps.
fn drive(controller: impl Fn(&Rig) -> Command) -> (String, u64) {
    let mut world = xml::read_world("worlds/maze.xml".as_ref()).unwrap();
    world.devices.iter_mut().for_each(|device| device.port = Port::ANY);
    let front = world.mechanism.bodies.iter().position(|body| body.name == "FrontChassis").map(BodyId::new).unwrap();
    let rig = Rig::with(
        world,
        settings(),
        ClockSettings { mode: Mode::Fast, start_paused: true, ..ClockSettings::default() },
    );
    let output = controller(&rig).stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{said}");
    let layout = rig.layout();
    let (report, log) = rig.end();
    let last = log.last().unwrap();
    let pose = &last.values[layout.pose(front)];
    let distance = f64::hypot(pose[0] - GOAL[0], pose[2] - GOAL[1]);
    assert!(distance < NEAR, "{distance} m from the goal: {said}");
    // It has climbed no wall: the chassis is as high as at the start.
    assert!((pose[1] - 0.5885).abs() < 0.01, "{pose:?}");
    (report.state_hash, report.step.0)
}

/// True if a program can be run here; a test without it is skipped.
pub fn is_here(need: Need, program: &str) -> bool {
    let ran = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    met(need, ran.map_err(|error| format!("{program} cannot be run: {error}"))).is_some()
}

#[test]
fn a_controller_in_python_finds_its_way_twice_alike() {
    if !is_here(Need::Python, "python3") {
        return;
    }
    let follow = |rig: &Rig| {
        let mut command = Command::new("python3");
        command.args(["-B", "clients/examples/follow.py", &rig.control.to_string()]);
        command
    };
    assert_eq!(drive(follow), drive(follow));
}

#[cfg(unix)]
#[test]
fn a_controller_in_c_finds_its_way_twice_alike() {
    if !is_here(Need::Cc, "cc") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("follow");
    let mut cc = Command::new("cc");
    cc.args(["-O2", "-Wall", "-Wextra", "-Werror", "-o"]).arg(&program).args(["clients/examples/follow.c", "-lm"]);
    let output = cc.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let follow = |rig: &Rig| {
        let mut command = Command::new(&program);
        command.arg(rig.control.to_string());
        command
    };
    assert_eq!(drive(follow), drive(follow));
}
