//! Loss of the gamepad, the server or the world.

use simpartner::realtime::Control;
use simpartner_description::xml;
use simpartner_gamepad::pad::{Axis, Button, Event};

use crate::{
    Drive, commands,
    rig::{Rig, replay},
    values, wait_for,
};

const VELOCITY: usize = 5;
const ANGLE: usize = 5;

fn forward(value: f64) -> Event {
    Event::Axis(Axis::LeftStickY, value)
}

fn speed(rig: &Rig, record: &simpartner_wire::signal::StepRecord) -> f64 {
    values(rig, record, "WheelMotor1")[VELOCITY]
}

#[test]
fn a_lost_pad_stops_the_wheels_and_leaves_the_rest_as_it_is() {
    let rig = Rig::start("flat.xml", 1.0);
    let drive = Drive::start(&rig, None);
    drive.does(Event::Axis(Axis::LeftStickX, 1.0));
    drive.does(forward(1.0));
    wait_for(&rig, "it drives", |record| speed(&rig, record) == 4.0);
    drive.does(Event::Lost);
    drive.waits_for_notice("the pad is lost; the robot stops");
    wait_for(&rig, "it stands", |record| speed(&rig, record) == 0.0);
    drive.does(Event::Found("hand".into()));
    drive.does(forward(-1.0));
    wait_for(&rig, "it drives again", |record| speed(&rig, record) == -4.0);
    assert_eq!(values(&rig, &rig.latest(), "TurnerController")[ANGLE], -0.4, "Turner waits to be touched");
    drive.end();
    let world = rig.world.clone();
    let (_, log) = rig.end();
    for wheel in ["WheelMotor1", "WheelMotor2", "WheelMotor3", "WheelMotor4"] {
        let driven: Vec<f64> = commands(&world, &log, wheel, VELOCITY).iter().map(|(_, velocity)| *velocity).collect();
        assert_eq!(driven, [4.0, 0.0, -4.0, 0.0], "the end stops it too");
    }
    assert_eq!(commands(&world, &log, "HipController1", ANGLE), [], "nobody touched the legs");
}

#[test]
fn a_server_that_comes_back_finds_the_wheels_stopped_until_the_stick_was_let_go() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive.xml");
    let mut rig = Rig::start("flat.xml", 1.0);
    let drive = Drive::start(&rig, Some(&path));
    drive.does(forward(1.0));
    drive.does(Event::Button(Button::DPadDown, true));
    wait_for(&rig, "it drives", |record| speed(&rig, record) == 4.0);
    wait_for(&rig, "it crouches", |record| values(&rig, record, "HipController1")[ANGLE] < -0.01);
    rig.interrupt();
    drive.waits_for_notice("trying to get it back");
    rig.resume();
    drive.waits_for_notice("the server is back");
    // The stick is still forward, and is not trusted.
    wait_for(&rig, "it stands", |record| speed(&rig, record) == 0.0);
    let hip = values(&rig, &rig.latest(), "HipController1")[ANGLE];
    drive.does(forward(0.99));
    drive.does(forward(0.0));
    drive.does(forward(-1.0));
    wait_for(&rig, "it drives again", |record| speed(&rig, record) == -4.0);
    assert_eq!(values(&rig, &rig.latest(), "HipController1")[ANGLE], hip, "the button has to be pressed again");
    drive.does(Event::Button(Button::DPadDown, true));
    wait_for(&rig, "it goes on crouching", |record| values(&rig, record, "HipController1")[ANGLE] < hip);
    let driven = drive.end();
    rig.request(Control::Pause);
    let world = rig.world.clone();
    let (report, log) = rig.end();
    let wheel: Vec<f64> =
        commands(&world, &log, "WheelMotor1", VELOCITY).iter().map(|(_, velocity)| *velocity).collect();
    assert_eq!(wheel, [4.0, 0.0, -4.0, 0.0]);
    let hips: Vec<f64> = commands(&world, &log, "HipController1", ANGLE).iter().map(|(_, angle)| *angle).collect();
    assert!(hips.is_sorted_by(|one, next| one > next), "it goes on from where it was: {hips:?}");
    // The world was the same all the time, so there is a single recording.
    assert_eq!(driven.recordings, std::slice::from_ref(&path));
    let sequence = xml::read_sequence(&path).unwrap();
    assert_eq!(replay(&world, &sequence, report.step.0, 0).state_hash(), report.state_hash);
}

#[test]
fn another_world_gets_another_recording() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive.xml");
    let rig = Rig::start("flat.xml", 1.0);
    let drive = Drive::start(&rig, Some(&path));
    drive.does(forward(1.0));
    wait_for(&rig, "it drives", |record| speed(&rig, record) == 4.0);
    rig.request(Control::Reset);
    drive.waits_for_notice("the world was reset");
    drive.waits_for_notice("drive-2.xml");
    drive.waits_for_notice("the server is back");
    drive.does(forward(0.0));
    drive.does(forward(-1.0));
    wait_for(&rig, "it drives back", |record| speed(&rig, record) == -4.0);
    let control = rig.control.clone();
    rig.request(Control::Pause);
    let world = rig.world.clone();
    // The end of a server is the end of its world; another server on the same port has its own.
    let (report, _) = rig.end();
    drive.waits_for_notice("trying to get it back");
    let rig = Rig::restart("flat.xml", 1.0, &control);
    drive.waits_for_notice("drive-3.xml");
    let driven = drive.end();
    let files = ["drive.xml", "drive-2.xml", "drive-3.xml"].map(|name| folder.path().join(name));
    assert_eq!(driven.recordings, files);
    let first = xml::read_sequence(&files[0]).unwrap().timeline(simpartner_wire::signal::Timestep::MILLISECOND);
    assert_eq!(first.commands().count(), 4, "the wheels, once");
    let second = xml::read_sequence(&files[1]).unwrap();
    assert_eq!(replay(&world, &second, report.step.0, 0).state_hash(), report.state_hash);
    assert!(xml::read_sequence(&files[2]).unwrap().items.len() <= 1, "nothing was touched, there is at most a pause");
    assert_eq!(rig.end().1.len(), 0);
}

#[test]
fn a_robot_that_cannot_be_stopped_is_an_error() {
    let mut rig = Rig::start("flat.xml", 1.0);
    let drive = Drive::start(&rig, None);
    drive.does(forward(1.0));
    wait_for(&rig, "it drives", |record| speed(&rig, record) == 4.0);
    rig.interrupt();
    drive.waits_for_notice("trying to get it back");
    drive.does(Event::End);
    let error = drive.thread.join().unwrap().unwrap_err().to_string();
    assert_eq!(error, "the robot could not be stopped: the server is lost");
    rig.end();
}
