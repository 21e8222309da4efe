//! A recording replays to the same bits.

use simpartner::realtime::Control;
use simpartner_description::xml;
use simpartner_gamepad::{drive::Driven, link::Server};
use simpartner_wire::signal::{BodyId, Timestep};

use crate::{
    by_script,
    rig::{Rig, replay},
    server,
};

/// Forward, a bend to the left, crouching in it, back, with sticks that move all the time.
fn bend() -> String {
    let mut script = String::from("0.2 press DPadDown\n");
    for tick in 10..70 {
        let (time, wave) = (f64::from(tick) * 0.02, (f64::from(tick) * 0.2).sin());
        script +=
            &format!("{time} axis LeftStickY {}\n{time} axis LeftStickX {}\n", 0.6 + 0.3 * wave, -0.8 * wave.abs());
    }
    script + "1.4 release DPadDown\n1.4 axis LeftStickX 0\n1.5 axis LeftStickY -1\n1.9 axis LeftStickY 0\n2 end\n"
}

/// All inputs of the built-in mapping.
const ALL: &str = "0.1 axis LeftStickY 0.7
    0.15 axis LeftStickX 0.9
    0.2 press DPadUp
    0.2 press DPadLeft
    0.3 press North
    0.3 press East
    0.35 press LeftTrigger2
    0.4 axis RightStickX 1
    0.6 release DPadUp
    0.6 press RightTrigger2
    0.7 press LeftTrigger
    0.8 release East
    0.9 release North
    0.9 press South
    1.0 release DPadLeft
    1.0 press DPadRight
    1.2 release LeftTrigger
    1.2 press LeftTrigger2
    1.2 press RightTrigger
    1.2 press West
    1.4 axis LeftStickY 0
    1.5 end";

/// Drives, records, replays in process, and compares the states. The second value is the number of devices.
fn drive_and_replay(rig: Rig, server: &Server, script: &str) -> (Driven, usize) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive.xml");
    let (driven, told) = by_script(server, script, Some(&path));
    rig.request(Control::Pause);
    let world = rig.world.clone();
    let devices = told.iter().find_map(|told| told.strip_prefix("driving ")?.strip_suffix(" devices")?.parse().ok());
    let devices = devices.unwrap();
    let (report, log) = rig.end();
    let sequence = xml::read_sequence(&path).unwrap();
    let timeline = sequence.timeline(Timestep::MILLISECOND);
    let logged: usize = log.iter().map(|record| record.commands.len()).sum();
    assert_eq!((timeline.commands().count() as u64, logged as u64), (driven.commands, driven.commands));
    assert!(timeline.steps <= report.step.0 && timeline.steps == driven.step.0);
    let again = replay(&world, &sequence, report.step.0, 0);
    assert_eq!(again.state_hash(), report.state_hash, "{} commands, {} late", driven.commands, driven.late);
    let late = replay(&world, &sequence, report.step.0, 1);
    assert_ne!(late.state_hash(), report.state_hash, "a step's delay would show");
    let chassis = world.mechanism.bodies.iter().position(|body| body.name == "FrontChassis").unwrap();
    println!(
        "{} commands to {devices} devices, {} late; after {} steps the chassis is at {:?} m, state {}, replayed {}",
        driven.commands,
        driven.late,
        report.step,
        &again.observe().values[again.layout().pose(BodyId::new(chassis))][..3],
        &report.state_hash[..16],
        &again.state_hash()[..16],
    );
    (driven, devices)
}

#[test]
fn a_drive_replays_to_the_same_bits() {
    let rig = Rig::start("flat.xml", 1.0);
    let server = server(&rig);
    let (driven, devices) = drive_and_replay(rig, &server, &bend());
    assert!(driven.commands > 100, "{driven:?}");
    assert_eq!(devices, 13, "four wheels, Turner, four hips, four knees");
}

#[test]
fn a_drive_of_workpartner_3_with_all_it_has_replays_to_the_same_bits() {
    let rig = Rig::start("pole.xml", 1.0);
    let server = server(&rig);
    let (driven, devices) = drive_and_replay(rig, &server, ALL);
    assert!(driven.commands > 300, "{driven:?}");
    assert_eq!(devices, 24);
}

/// Without a lead, at ten times the pace, nearly every command misses its step. Commands that did not act are not in
/// the recording, and repeated ones are at the step in which they acted.
#[test]
fn a_drive_with_too_little_lead_replays_to_the_same_bits() {
    let rig = Rig::start("flat.xml", 10.0);
    let server = Server { lead_s: 0.0, ..server(&rig) };
    let (driven, _) = drive_and_replay(rig, &server, &bend());
    assert!(driven.late > 0 && driven.commands > 50, "{driven:?}");
}
