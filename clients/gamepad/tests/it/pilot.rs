//! From events to frames, without a server; and the effect of the built-in mapping on the robot.

use std::time::Duration;

use simpartner_gamepad::{
    mapping::Mapping,
    pad::{Axis, Button, Event},
    pilot::{After, Found, Pilot},
};

use crate::{Drive, rig::Rig, values, wait_for};

const MAPPING: &str = "
    [devices.wheel]
    names = ['Wheel']
    frame = [9, 0]
    on_loss = 'release'
    [devices.arm]
    names = ['Arm']
    frame = [5, 0.25]
    [[axis]]
    input = 'LeftStickY'
    moves = 'wheel'
    field = 'velocity'
    scale = 2
    dead_zone = 0.1
    [[axis]]
    input = 'LeftStickY'
    with = 'LeftTrigger'
    moves = 'arm'
    field = 'angle'
    rate = 1
    range = [-0.5, 0.75]
    [[button]]
    input = 'South'
    moves = ['arm']
    field = 'angle'
    toggle = 0.5";

fn pilot(present: [f64; 2], after: After) -> Pilot {
    let mut pilot = Pilot::new(Mapping::read("m", MAPPING).unwrap());
    pilot.attach(&found(present), after).unwrap();
    pilot
}

/// Groups are in alphabetical order: arm, wheel.
fn found(present: [f64; 2]) -> [Found; 2] {
    let device = |name: &str, group, field: &str, present| Found {
        name: name.into(),
        group,
        fields: vec!["effort".into(), field.into()],
        present: vec![5.0, present],
    };
    [device("Arm", 0, "angle", present[0]), device("Wheel", 1, "velocity", present[1])]
}

fn stick(value: f64) -> Event {
    Event::Axis(Axis::LeftStickY, value)
}

fn button(button: Button, is_down: bool) -> Event {
    Event::Button(button, is_down)
}

/// Commands for arm and wheel; `None` if they are at rest.
fn wanted(pilot: &Pilot) -> [Option<f64>; 2] {
    [0, 1].map(|device| pilot.wanted(device, &[5.0, 0.0]).map(|frame| frame[1]))
}

#[test]
fn nothing_is_sent_until_an_input_is_touched_and_nothing_twice() {
    let mut pilot = pilot([0.0, 0.7], After::Start);
    assert_eq!(wanted(&pilot), [None; 2]);
    pilot.handle(&stick(0.05));
    assert_eq!(wanted(&pilot), [None; 2], "that is within the dead zone");
    pilot.handle(&stick(0.55));
    assert_eq!(wanted(&pilot), [None, Some(1.0)]);
    assert_eq!(pilot.wanted(1, &[9.0, 1.0]), None);
    assert_eq!(pilot.wanted(1, &[9.0, 0.0]), Some(vec![9.0, 1.0]), "the rest of the frame is the mapping's");
    pilot.handle(&stick(0.0));
    assert_eq!(pilot.wanted(1, &[9.0, 1.0]), Some(vec![9.0, 0.0]));
}

#[test]
fn a_held_button_gives_a_stick_another_meaning() {
    let mut pilot = pilot([0.25, 0.0], After::Start);
    pilot.handle(&stick(1.0));
    pilot.handle(&button(Button::LeftTrigger, true));
    assert_eq!(wanted(&pilot), [None, None], "the wheel is let go");
    pilot.handle(&stick(1.0));
    pilot.advance(Duration::from_millis(100));
    pilot.advance(Duration::from_millis(150));
    assert_eq!(wanted(&pilot)[0], Some(0.4));
    pilot.advance(Duration::from_secs(60));
    assert_eq!(wanted(&pilot)[0], Some(0.5), "a client that was blocked catches up 0.1 s at most");
    for tick in 1..20 {
        pilot.advance(Duration::from_millis(60_000 + 100 * tick));
    }
    assert_eq!(wanted(&pilot)[0], Some(0.75), "the end of its range");
    pilot.handle(&button(Button::LeftTrigger, false));
    assert_eq!(wanted(&pilot), [Some(0.75), Some(2.0)], "what was moved stays");
}

#[test]
fn a_toggle_adds_to_where_the_device_was_found() {
    let mut pilot = pilot([-0.125, 0.0], After::Start);
    let press = |pilot: &mut Pilot| {
        pilot.handle(&button(Button::South, true));
        pilot.handle(&button(Button::South, true));
        pilot.handle(&button(Button::South, false));
    };
    press(&mut pilot);
    assert_eq!(wanted(&pilot)[0], Some(0.375));
    press(&mut pilot);
    assert_eq!(wanted(&pilot)[0], Some(-0.125));
}

#[test]
fn a_lost_pad_lets_go_of_what_is_released_and_leaves_what_is_held() {
    let mut pilot = pilot([0.25, 0.0], After::Start);
    pilot.handle(&button(Button::South, true));
    pilot.handle(&stick(1.0));
    assert_eq!(wanted(&pilot), [Some(0.75), Some(2.0)]);
    pilot.handle(&Event::Lost);
    assert_eq!(wanted(&pilot), [None, None]);
    assert_eq!(pilot.wanted(1, &[5.0, 2.0]), Some(vec![9.0, 0.0]), "it has to stop");
}

#[test]
fn what_was_held_while_the_server_was_away_does_not_count() {
    let mut pilot = pilot([0.25, 0.0], After::Start);
    pilot.handle(&stick(1.0));
    pilot.attach(&found([0.25, 2.0]), After::Gap).unwrap();
    assert_eq!(pilot.wanted(1, &[5.0, 2.0]), Some(vec![9.0, 0.0]));
    pilot.handle(&stick(0.8));
    assert_eq!(wanted(&pilot)[1], None);
    pilot.handle(&stick(0.02));
    pilot.handle(&stick(0.55));
    assert_eq!(wanted(&pilot)[1], Some(1.0));
}

#[test]
fn a_mapping_that_does_not_fit_a_device_says_what_would() {
    let mut pilot = Pilot::new(Mapping::read("m", MAPPING).unwrap());
    let mut other = found([0.0, 0.0]);
    other[1].fields[1] = "position".into();
    let wrong = pilot.attach(&other, After::Start).unwrap_err().to_string();
    assert_eq!(wrong, "'Wheel' has no field 'velocity'; its fields are effort, position");
    other[1].present.push(0.0);
    let wrong = pilot.attach(&other, After::Start).unwrap_err().to_string();
    assert_eq!(wrong, "'Wheel' takes 3 numbers (effort, position), and the frame of devices.wheel has 2");
}

/// Sends the events, and waits until the front chassis has moved as expected from its position: forward, up and to the
/// right.
fn does(events: &[Event], what: &str, has_come: impl Fn([f64; 3]) -> bool) {
    let rig = Rig::start("flat.xml", 3.0);
    let before = values(&rig, &rig.latest(), "Position");
    let drive = Drive::start(&rig, None);
    events.iter().for_each(|event| drive.does(event.clone()));
    wait_for(&rig, what, |record| {
        let now = values(&rig, record, "Position");
        has_come([0, 1, 2].map(|axis| now[axis] - before[axis]))
    });
    drive.end();
    rig.end();
}

/// It keeps to the signs of the robot's joints: the legs bend their knees outwards, and the wheels stay below the hips.
#[test]
fn the_shipped_mapping_drives_steers_and_crouches() {
    let steer = |value| Event::Axis(Axis::LeftStickX, value);
    does(&[stick(0.5)], "it drives ahead", |[ahead, ..]| ahead > 0.2);
    does(&[stick(-0.5)], "it drives back", |[ahead, ..]| ahead < -0.2);
    does(&[steer(1.0), stick(1.0)], "it turns right", |[ahead, _, right]| ahead > 0.2 && right > 0.1);
    does(&[steer(-1.0), stick(1.0)], "it turns left", |[ahead, _, right]| ahead > 0.2 && right < -0.1);
    // Legs of twice 0.25 m at 45 degrees; hips to 0.5 rad: 0.5 (cos(0.785) - cos(0.785 + 0.5)) = 0.213 m down, and
    // 0.5 (cos(0.785 - 0.5) - cos(0.785)) = 0.126 m up.
    let crouches = |[ahead, up, _]: [f64; 3]| ahead.abs() < 0.1 && (up + 0.213).abs() < 0.02;
    does(&[button(Button::DPadDown, true)], "it crouches", crouches);
    let stands = |[ahead, up, _]: [f64; 3]| ahead.abs() < 0.1 && (up - 0.126).abs() < 0.02;
    does(&[button(Button::DPadUp, true)], "it stands up", stands);
}
