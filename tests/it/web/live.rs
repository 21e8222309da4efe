//! An open page: it shows the motion, drives the robot, controls the clock, and costs nothing while the world is at
//! rest.

use std::path::Path;

use serde_json::json;
use simpartner::realtime::Control;
use simpartner_description::xml;
use simpartner_wire::protocol;
use tungstenite::Message;

use super::{
    Rig,
    client::{Contact, Page},
    settings,
};

const SPIN: &str = "1000,1000,5,0,0,1";

#[test]
fn frames_show_the_world_as_it_moves() {
    let rig = Rig::start(settings(), None);
    let mut page = Page::open(rig.page);
    let first = page.frame();
    assert_eq!((first.step, first.number, first.state, first.mode, first.pages), (0, 1, 0, 1, 1));
    assert_eq!((first.bodies.len(), first.joints.len(), first.devices.len()), (2, 1, 12));
    assert_eq!(first.bodies[1][..7], [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
    assert_eq!(first.devices[3..9], [1000.0, 1000.0, 1000.0, 0.0, 0.0, 0.0]);
    rig.step(100);
    let later = page.frame_that(|frame| frame.step == 100);
    assert_eq!((later.number > 1, later.time_s, later.epoch), (true, 0.1, 0));
    // Free fall from rest: g t, within the rounding of a single.
    let speed = later.bodies[0][8];
    assert!((speed + 9.81 * 0.1).abs() < 1e-6, "{speed}");
    // The position sensor at the body's origin reads its pose.
    assert_eq!(later.devices[1] as f32, later.bodies[0][1]);
    rig.end();
}

#[test]
fn contacts_carry_the_weight_of_a_standing_robot() {
    let world = xml::read_world(&Path::new(env!("CARGO_MANIFEST_DIR")).join("worlds/flat.xml")).unwrap();
    let weight = 9.81 * world.mechanism.bodies.iter().filter(|body| !body.fixed).map(|body| body.mass).sum::<f64>();
    let rig = Rig::of(world, settings(), None);
    let mut page = Page::open(rig.page);
    let first = page.frame();
    assert_eq!((first.contacts.len(), first.touching), (0, 0));
    rig.step(1000);
    let frame = page.frame_that(|frame| frame.step == 1000);
    // Four wheels, each a ball on the plane.
    assert_eq!((frame.contacts.len(), frame.touching), (4, 4));
    let mut borne = 0.0;
    for Contact { body, other, numbers } in &frame.contacts {
        let [_, height, _, normal @ .., gap] = numbers;
        assert_eq!((*other, &normal[..3]), (u32::MAX, &[0.0, 1.0, 0.0][..]));
        assert!(height.abs() < 1e-3 && gap.abs() < 1e-3, "{numbers:?}");
        // A wheel has one contact, so this is its force.
        assert_eq!(normal[3..], frame.bodies[*body as usize][13..16], "{body}");
        borne += f64::from(normal[4]);
    }
    println!("contacts carry {borne} N of {weight} N");
    assert!((borne / weight - 1.0).abs() < 1e-3);
    rig.end();
}

#[test]
fn a_page_drives_a_motor_like_any_client() {
    let rig = Rig::start(settings(), None);
    let mut page = Page::open(rig.page);
    let drive = |text: &str| json!({ "set": { "device": "robot/Motor", "text": text } });
    assert_eq!(page.ask(1, drive(SPIN)), "<1000,1000,1000,0,0,0>");
    assert_eq!(page.ask(2, drive("GET")), "S 0 0 1000,1000,1000,0,0,0");
    assert_eq!(page.ask(3, drive("")), format!("<{SPIN}>"));
    assert_eq!(page.ask(4, drive("1,2")), "ERR 2 expected 6 numbers, got 2");
    assert!(
        page.ask(5, json!({ "set": { "device": "Mota", "text": "" } })).starts_with("ERR 8 expected one of robot/")
    );
    assert!(page.ask(6, drive("SUB 1")).starts_with("ERR 8 "));
    assert!(page.ask(7, drive("1\n2")).starts_with("ERR 5 "));
    assert_eq!(page.ask(8, drive(&"1".repeat(5000))), "ERR 5 expected a message of at most 4096 bytes");
    rig.step(50);
    let frame = page.frame_that(|frame| frame.step == 50);
    assert_eq!(frame.devices[3..9], [1000.0, 1000.0, 5.0, 0.0, 0.0, 1.0]);
    // Third axis: place 3 to 5 is the anchor's, 3 the positions', then the rates.
    assert!((frame.joints[0][8] - 1.0).abs() < 1e-5, "{:?}", frame.joints[0]);
    let log = rig.end();
    let commands: Vec<_> = log.iter().flat_map(|record| &record.commands).collect();
    assert_eq!((commands.len(), commands[0].command.text.as_str()), (1, SPIN));
    assert_eq!(protocol::reply(commands[0]), "<1000,1000,1000,0,0,0>");
    let connected = log.iter().flat_map(|record| &record.events).find(|event| event.subject == "viewer").unwrap();
    assert!(connected.text.starts_with(&format!("client {} from 127.0.0.1:", commands[0].command.client.0)));
}

#[test]
fn a_page_holds_the_clock() {
    let rig = Rig::start(settings(), None);
    let mut page = Page::open(rig.page);
    let word = |text: &str| json!({ "control": text });
    assert!(page.ask(1, word("STATE")).starts_with("OK state=PAUSED step=0 "));
    assert!(page.ask(2, word("STEP 10")).starts_with("OK state=PAUSED step=10 "));
    page.frame_that(|frame| frame.step == 10 && frame.state == 0);
    assert!(page.ask(3, word("MODE realtime")).contains(" mode=realtime "));
    assert!(page.ask(4, word("PLAY 0.5")).contains("state=PLAYING "));
    page.frame_that(|frame| frame.state == 1 && frame.mode == 0 && frame.step > 10);
    let paused = page.ask(5, word("PAUSE"));
    assert!(paused.starts_with("OK state=PAUSED "), "{paused}");
    page.frame_that(|frame| frame.state == 0);
    assert!(page.ask(6, word("RESET")).contains("state=PAUSED step=0 "));
    let reset = page.frame_that(|frame| frame.step == 0);
    assert_eq!((reset.epoch, reset.bodies[0][1]), (1, 0.0));
    assert!(page.ask(7, word("DANCE")).starts_with("ERR 1 expected STATE, "));
    assert!(page.ask(8, word("DEVICES")).ends_with("OK 3"));
    assert_eq!(page.ask(9, word("FAULT robot/Position off")), "OK");
    rig.end();
}

#[test]
fn a_long_step_holds_back_nothing() {
    let rig = Rig::start(settings(), None);
    let mut page = Page::open(rig.page);
    // At half a step a second it would take a minute; the next message ends it.
    page.say(json!({ "id": 1, "control": "MODE realtime" }));
    page.say(json!({ "id": 2, "control": "RUNTO 100" }));
    page.say(json!({ "id": 3, "set": { "device": "Motor", "text": "GET" } }));
    assert!(page.reply(&json!(3)).starts_with("S "));
    page.frame_that(|frame| frame.step > 5);
    page.say(json!({ "id": 4, "control": "PAUSE" }));
    assert!(page.reply(&json!(4)).starts_with("OK state=PAUSED "));
    assert!(page.reply(&json!(2)).starts_with("ERR 7 "));
    assert!(page.reply(&json!(1)).contains(" mode=realtime "));
    rig.end();
}

#[test]
fn what_cannot_be_understood_is_answered_and_what_is_too_long_ends_it() {
    let rig = Rig::start(settings(), None);
    let mut page = Page::open(rig.page);
    for nonsense in ["", "1", "{}", "{\"id\":1}", "{\"dance\":1}", "{\"set\":{\"device\":\"Motor\",\"text\":\"\"}}"] {
        page.socket.send(Message::text(nonsense)).unwrap();
        assert!(page.reply(&json!(null)).starts_with("ERR 1 expected an object of "), "{nonsense}");
    }
    page.socket.send(Message::binary(vec![1, 2])).unwrap();
    assert!(page.reply(&json!(null)).starts_with("ERR 1 "));
    page.say(json!({ "seen": 4_000_000_000_u32, "watch": { "hz": -1.0 } }));
    assert!(page.ask(1, json!({ "control": "STATE" })).starts_with("OK "));
    // The server may have closed before all of it is sent.
    let _ = page.socket.send(Message::text("x".repeat(70_000)));
    assert!(std::iter::from_fn(|| Some(page.socket.read())).any(|read| read.is_err()));
    rig.end();
}

#[test]
fn control_characters_from_a_page_are_refused() {
    let rig = Rig::start(settings(), None);
    let mut page = Page::open(rig.page);
    for (text, named) in
        [("1,\u{0}", "U+0000"), ("\u{1b}[31m", "U+001B"), ("<\u{9b}1m>", "U+009B"), ("\u{7f}", "U+007F")]
    {
        let refusal = format!("ERR 5 expected text, got the control character {named}");
        let order = json!({ "device": "robot/Motor", "text": text });
        assert_eq!(page.ask(1, json!({ "set": order })).trim_end(), refusal);
        assert_eq!(page.ask(2, json!({ "control": text })).trim_end(), refusal);
    }
    let log = rig.end();
    assert_eq!(log.iter().flat_map(|record| &record.commands).count(), 0);
}

#[test]
fn a_page_that_goes_away_has_its_last_commands_carried_out() {
    let rig = Rig::start(settings(), None);
    let mut page = Page::open(rig.page);
    let order = |text: &str| json!({ "device": "robot/Motor", "text": text });
    page.say(json!({ "on_close": [order("1,1,1,0,0,9")] }));
    page.say(json!({ "on_close": [order("1000,1000,100,0,0,0"), { "device": "none", "text": "" }] }));
    assert_eq!(page.ask(1, json!({ "set": order(SPIN) })), "<1000,1000,1000,0,0,0>");
    let mut other = Page::open(rig.page);
    other.frame_that(|frame| frame.pages == 2);
    drop(page);
    // Nothing moves, so the command is checked at the device's port.
    while other.ask(1, json!({ "set": order("") })) != "<1000,1000,100,0,0,0>" {}
    rig.step(1);
    other.frame_that(|frame| frame.pages == 1);
    let log = rig.end();
    let told: Vec<_> = log.iter().flat_map(|record| &record.commands).map(|c| c.command.text.as_str()).collect();
    assert_eq!(told, [SPIN, "1000,1000,100,0,0,0"]);
}

#[test]
fn a_page_that_stands_still_is_sent_three_frames_and_finds_the_newest_state_later() {
    let rig = Rig::start(settings(), None);
    let (mut still, mut lively) = (Page::open(rig.page), Page::open(rig.page));
    rig.runtime.block_on(rig.handle.control(Control::Play { rate: None })).unwrap();
    for _ in 0..30 {
        lively.frame();
    }
    let end = rig.runtime.block_on(rig.handle.control(Control::Pause)).unwrap().step.0;
    lively.frame_that(|frame| frame.step == end && frame.state == 0);
    // The active one has received at least thirty, so the other's would have arrived as well.
    assert_eq!(still.frames_at_hand(), 3);
    let last = (0..3).map(|_| still.unseen_frame()).last().unwrap();
    assert_eq!(last.number, 3);
    still.say(json!({ "seen": last.number }));
    assert_eq!(still.frame().step, end);
    rig.end();
}

#[test]
fn a_hidden_page_is_sent_no_frames_but_its_answers() {
    let rig = Rig::start(settings(), None);
    let mut page = Page::open(rig.page);
    page.frame();
    page.say(json!({ "watch": { "hz": 0 } }));
    assert!(page.ask(1, json!({ "control": "STATE" })).starts_with("OK "));
    page.frames_at_hand();
    while page.frames_at_hand() > 0 {
        page.frame();
    }
    assert!(page.ask(2, json!({ "control": "STEP 100" })).starts_with("OK "));
    assert!(page.ask(3, json!({ "control": "STATE" })).starts_with("OK "));
    assert_eq!(page.frames_at_hand(), 0);
    page.say(json!({ "watch": { "hz": 30 } }));
    assert_eq!(page.frame().step, 100);
    rig.end();
}

#[test]
fn events_are_told_as_they_come_and_those_of_late_to_a_new_page() {
    let rig = Rig::start(settings(), None);
    let mut page = Page::open(rig.page);
    assert_eq!(page.ask(1, json!({ "control": "FAULT Position delayed 2" })), "OK");
    rig.step(1);
    let fault = page.event("fault");
    assert_eq!(
        fault,
        json!({ "step": 0, "epoch": 0, "kind": "fault", "subject": "robot/Position", "text": "delayed 2", "value": 2.0 })
    );
    let mut late = Page::open(rig.page);
    assert_eq!(late.event("fault"), fault);
    rig.end();
}

/// The page has shown a recorded run meanwhile, and nothing moves.
#[test]
fn who_watches_again_is_shown_what_there_is_also_while_the_clock_stands() {
    let rig = Rig::start(settings(), None);
    rig.step(7);
    let mut page = Page::open(rig.page);
    assert_eq!(page.frame_that(|frame| frame.step == 7).state, 0);
    page.say(json!({ "watch": { "hz": 0 } }));
    assert!(page.ask(1, json!({ "control": "STATE" })).starts_with("OK "));
    page.say(json!({ "watch": { "hz": 60 } }));
    assert_eq!(page.frame().step, 7);
    rig.end();
}

#[test]
fn commands_are_told_with_their_count_to_every_page() {
    let rig = Rig::start(settings(), None);
    let mut page = Page::open(rig.page);
    for speed in 1..=50 {
        let text = format!("1000,1000,5,0,0,{speed}");
        page.ask(speed, json!({ "set": { "device": "robot/Motor", "text": text } }));
    }
    rig.step(3);
    let told = page.commands();
    let told = &told[0];
    assert_eq!((&told["device"], &told["epoch"]), (&json!("robot/Motor"), &json!(0)));
    assert_eq!((&told["text"], &told["step"]), (&json!("1000,1000,5,0,0,50"), &json!(1)));
    assert_eq!(told["count"], json!(50));
    let late = Page::open(rig.page).commands();
    assert_eq!(&late[0], told);
    rig.end();
}

#[test]
fn the_end_of_the_run_is_seen_and_ends_the_page() {
    let rig = Rig::start(settings(), None);
    let mut page = Page::open(rig.page);
    page.frame();
    assert!(page.ask(1, json!({ "control": "QUIT" })).starts_with("OK state=QUITTING "));
    rig.end();
    // The last of the pending messages is a close.
    assert!(std::iter::from_fn(|| page.socket.read().ok()).any(|message| message.is_close()));
}
