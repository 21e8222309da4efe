//! Lockstep over real sockets: a slow controller changes nothing, and an absent one is reported by name.

use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher, Hasher},
    sync::Arc,
    time::Duration,
};

use simpartner::realtime::{ClockReport, ClockSettings, LockstepSettings, Mode, OnTimeout, Outcome};
use simpartner_model::{DeviceId, RobotId};
use simpartner_wire::{
    protocol,
    signal::{Event, EventKind, Member, StepRecord},
};

use crate::server::{Client, Rig, robot, settings};

const WHOLE: Member = Member::Robot(RobotId::new(0));
const POSITION: Member = Member::Device(DeviceId::new(1));
const MOTOR: Member = Member::Device(DeviceId::new(2));

/// A paused server in lockstep.
fn rig(members: &[Member], timeout: Duration, on_timeout: OnTimeout) -> Rig {
    let lockstep = LockstepSettings { members: members.to_vec(), timeout, on_timeout };
    let clock = ClockSettings { mode: Mode::Lockstep, start_paused: true, lockstep, ..ClockSettings::default() };
    Rig::with(robot([0; 3]), settings(), clock)
}

/// The clock's client, which is the first.
fn clock(rig: &Rig) -> Client {
    let mut clock = Client::connect(rig.control);
    clock.ask("STATE");
    clock
}

/// Long enough for any machine.
fn patient(members: &[Member]) -> Rig {
    rig(members, Duration::from_secs(60), OnTimeout::Fail)
}

fn events(report: &ClockReport, log: &[Arc<StepRecord>], kind: EventKind) -> Vec<Event> {
    let all = log.iter().flat_map(|record| &record.events).chain(&report.events);
    all.filter(|event| event.kind == kind).cloned().collect()
}

/// The number of the step of a sample.
fn step_of(sample: &str) -> u64 {
    let step = sample.strip_prefix("S ").and_then(|rest| rest.split(' ').next());
    step.and_then(|step| step.parse().ok()).unwrap_or_else(|| panic!("expected a sample, got '{sample}'"))
}

/// A controller of the whole robot that drives the motor against the trunk's position, up to a step.
fn control(client: &mut Client, mut sample: String, last: u64, mut think: impl FnMut()) {
    while step_of(&sample) < last {
        assert!(!sample.contains("dropped"), "{sample}");
        think();
        let step = step_of(&sample);
        let x: f64 = sample.split([' ', ',']).nth(3).unwrap().parse().unwrap();
        let speed = (step as f64 * 0.1).sin() - 100.0 * x;
        assert_eq!(client.ask(&format!("SET @{} Motor=1000,1000,5,0,0,{speed}", step + 1)), "OK");
        sample = client.line();
    }
}

#[test]
fn a_controller_that_takes_its_time_comes_to_the_same_bits_as_one_that_does_not() {
    // Random numbers of the standard library, because they must have no effect.
    let chance = RandomState::new();
    let mut drawn = 0u64;
    let slow = || {
        drawn += 1;
        let mut hasher = chance.build_hasher();
        hasher.write_u64(drawn);
        std::thread::sleep(Duration::from_micros(hasher.finish() % 50_000));
    };
    let run = |think: &mut dyn FnMut()| {
        let rig = patient(&[WHOLE]);
        let (mut clock, mut client) = (clock(&rig), Client::connect(rig.robot));
        client.line();
        let first = client.ask("ACK 0");
        assert!(clock.ask("PLAY").contains("mode=lockstep") && first.starts_with("S 0 0 "), "{first}");
        control(&mut client, first, 60, think);
        assert!(clock.ask("STATE").ends_with("lockstep=waiting:robot"));
        let (report, log) = rig.end();
        assert_eq!((report.step.0, log.len()), (60, 60));
        let commands: Vec<_> = log
            .iter()
            .flat_map(|r| &r.commands)
            .map(|c| (c.command.target.device().unwrap().index(), c.command.text.clone()))
            .collect();
        assert_eq!(commands.len(), 60);
        (report.state_hash, commands)
    };
    let mut slow = slow;
    assert_eq!(run(&mut slow), run(&mut || {}));
}

#[test]
fn a_step_waits_for_every_member() {
    let rig = patient(&[POSITION, MOTOR]);
    let mut clock = clock(&rig);
    let (mut position, mut motor) = (Client::connect(rig.devices[1]), Client::connect(rig.devices[2]));
    position.line();
    motor.line();
    assert!(
        clock
            .ask("STATE")
            .ends_with(" mode=lockstep rate=1 rtf=0 slips=0 epoch=0 lockstep=joining:robot/Position,robot/Motor")
    );
    assert!(position.ask("ACK").starts_with("S 0 0 "));
    assert!(clock.ask("STATE").ends_with("lockstep=joining:robot/Motor"));
    assert!(motor.ask("ACK 0").starts_with("S 0 0 "));
    assert!(clock.ask("PLAY").ends_with("lockstep=waiting:robot/Position,robot/Motor"));
    // A plain frame is an answer too; a command for a later step is none.
    assert_eq!(motor.ask("SET @9 1000,1000,5,0,0,1"), "OK");
    position.write(b"ACK 0\n");
    assert_eq!(position.ask("ACK 1"), "ERR 7 step 1 has not been made; the present one is 0");
    assert!(clock.ask("STATE").ends_with(
        "step=0 time=0 timestep=0.001 mode=lockstep rate=1 rtf=0 slips=0 epoch=0 lockstep=waiting:robot/Motor"
    ));
    motor.write(b"1000,1000,5,0,0,2\n");
    assert!(motor.line().starts_with("<1000,"));
    assert_eq!(motor.line(), "S 1 0.001 1000,1000,5,0,0,2");
    assert!(position.line().starts_with("S 1 0.001 "));
    assert_eq!(position.ask("ACK 0"), "ERR 7 step 0 is over; the present one is 1");
    assert_eq!(position.ask("ACK"), "ERR 7 expected the step it answers for, as in ACK 1");
    // Paused, members may answer in advance, and STEP waits for them as PLAY does.
    assert!(clock.ask("PAUSE").contains("state=PAUSED step=1 "));
    position.write(b"ACK 1\n");
    motor.write(b"ACK 1\n");
    assert!(clock.ask("STEP").contains("state=PAUSED step=2 "));
    // After a reset they receive step 0 and acknowledge it.
    assert!(position.line().starts_with("S 2 ") && motor.line().starts_with("S 2 "));
    assert!(clock.ask("RESET").contains(" epoch=1 lockstep=waiting:robot/Position,robot/Motor"));
    assert!(position.line().starts_with("S 0 0 ") && motor.line().starts_with("S 0 0 "));
    position.write(b"ACK 0\n");
    motor.write(b"ACK 0\n");
    assert!(clock.ask("STEP").contains("step=1 "));
    rig.end();
}

#[test]
fn until_all_have_joined_the_clock_runs_freely() {
    let rig = patient(&[POSITION]);
    let (mut clock, mut position) = (clock(&rig), Client::connect(rig.devices[1]));
    position.line();
    clock.ask("PLAY");
    while step_of(&position.ask("GET")) < 20 {}
    // A new member receives the present step.
    let mut sample = position.ask("ACK 0");
    while let Some(more) =
        clock.ask("STATE").split_once("step=").map(|(_, rest)| rest.split(' ').next().unwrap().to_owned())
    {
        if step_of(&sample).to_string() == more {
            break;
        }
        sample = position.line();
    }
    for step in step_of(&sample)..step_of(&sample) + 5 {
        let next = position.ask(&format!("ACK {step}"));
        assert!(next.starts_with(&format!("S {} ", step + 1)) && !next.contains("dropped"), "{next}");
    }
    // Outside of lockstep there is nothing to acknowledge; the stream continues.
    assert!(clock.ask("MODE fast").contains("mode=fast") && !clock.ask("PAUSE").contains("lockstep="));
    let (report, log) = rig.end();
    let joined = events(&report, &log, EventKind::Lockstep);
    assert_eq!((joined[0].subject.as_str(), joined[0].text.as_str()), ("robot/Position", "client 2 has joined"));
    assert_eq!(report.slips, 0);
}

#[test]
fn who_is_no_member_is_told_what_to_do() {
    let rig = patient(&[POSITION]);
    let (mut clock, mut motor) = (clock(&rig), Client::connect(rig.devices[2]));
    motor.line();
    let known = "its members are robot/Position, and MODE lockstep names others";
    assert_eq!(motor.ask("ACK 0"), format!("ERR 7 robot/Motor is no member of the lockstep; {known}"));
    assert!(clock.ask("MODE lockstep Motor robot").ends_with("lockstep=joining:robot/Motor,robot"));
    assert!(motor.ask("ACK 0").starts_with("S 0 0 "));
    assert!(clock.ask("MODE lockstep").ends_with("lockstep=joining:robot/Position"));
    let what = clock.ask("MODE lockstep Mota");
    assert_eq!(
        what,
        "ERR 8 expected one of robot, robot/Echo, robot/Position, robot/Motor, got 'Mota'; did you mean 'Motor'?"
    );
    clock.ask("MODE realtime");
    let what = "ERR 7 the clock is not in lockstep; MODE lockstep robot/Motor on the control port begins it";
    assert_eq!(motor.ask("ACK 0"), what);
    rig.end();
}

/// Plays three steps in lockstep and then lets the controller die.
fn killed(timeout: Duration, on_timeout: OnTimeout) -> (Rig, Client) {
    let rig = rig(&[WHOLE], timeout, on_timeout);
    let (mut clock, mut client) = (clock(&rig), Client::connect(rig.robot));
    client.line();
    let first = client.ask("ACK 0");
    clock.ask("PLAY");
    control(&mut client, first, 3, || {});
    drop(client);
    (rig, clock)
}

/// Asks for the state until it has this in it.
fn wait_for(clock: &mut Client, what: &str) {
    while !clock.ask("STATE").contains(what) {
        std::thread::yield_now();
    }
}

const TOLD: &str = "no answer for step 3 in 0.05 s (nobody is connected)";
const SOON: Duration = Duration::from_millis(50);

fn assert_told(report: &ClockReport, log: &[Arc<StepRecord>], times: usize) {
    let told = events(report, log, EventKind::LockstepTimeout);
    assert_eq!(told.len(), times, "{told:?}");
    let first = &told[0];
    assert_eq!((first.step.0, first.subject.as_str(), first.text.as_str()), (3, "robot", TOLD));
    assert_eq!(first.value, Some(0.05));
}

#[test]
fn with_hold_a_dead_controller_is_named_once_and_another_may_go_on() {
    let (rig, mut clock) = killed(SOON, OnTimeout::Hold);
    wait_for(
        &mut clock,
        "state=PLAYING step=3 time=0.003 timestep=0.001 mode=lockstep rate=1 rtf=0 slips=0 epoch=0 lockstep=overdue:robot",
    );
    std::thread::sleep(3 * SOON);
    let mut second = Client::connect(rig.robot);
    second.line();
    let sample = second.ask("ACK");
    assert_eq!(step_of(&sample), 3);
    control(&mut second, sample, 6, || {});
    let (report, log) = rig.end();
    assert_eq!((report.outcome.clone(), report.step.0), (Outcome::Quit, 6));
    assert!(!events(&report, &log, EventKind::LockstepTimeout).is_empty());
    assert_eq!(events(&report, &log[..4], EventKind::LockstepTimeout)[0].text, TOLD);
    let moves: Vec<_> = events(&report, &log[..4], EventKind::Lockstep).into_iter().map(|event| event.text).collect();
    assert_eq!(moves[..3], ["client 2 has joined", "client 2 has left", "client 3 has joined"]);
}

#[test]
fn with_pause_a_dead_controller_stops_the_clock() {
    let (rig, mut clock) = killed(SOON, OnTimeout::Pause);
    wait_for(&mut clock, "state=PAUSED step=3 ");
    assert!(clock.ask("STATE").ends_with("lockstep=overdue:robot"));
    // A client that has requested steps receives the reason why there are none.
    assert_eq!(clock.ask("STEP 2"), "ERR 7 no answer for step 3 in 0.05 s from robot");
    let (report, log) = rig.end();
    assert_eq!(report.step.0, 3);
    assert_told(&report, &log, 2);
}

#[test]
fn with_fail_a_dead_controller_ends_the_run() {
    let (rig, _clock) = killed(SOON, OnTimeout::Fail);
    let (report, log) = rig.wait();
    assert_eq!(report.outcome, Outcome::LockstepTimeout("no answer for step 3 in 0.05 s from robot".into()));
    assert_told(&report, &log, 1);
}

#[test]
fn a_controller_that_connects_again_takes_its_place_back() {
    let rig = patient(&[WHOLE]);
    let (mut clock, mut first) = (clock(&rig), Client::connect(rig.robot));
    first.line();
    first.ask("ACK 0");
    clock.ask("PLAY");
    let mut second = Client::connect(rig.robot);
    second.line();
    assert!(second.ask("ACK 0").starts_with("S 0 0 "));
    let what = "ERR 7 client 3 has connected later and taken the place of robot; connect again to take it back";
    assert_eq!(first.ask("ACK 0"), what);
    assert!(second.ask("ACK 0").starts_with("S 1 "));
    rig.end();
}

#[test]
fn a_member_that_a_fault_has_put_off_is_not_waited_for() {
    let rig = patient(&[POSITION]);
    let (mut clock, mut position) = (clock(&rig), Client::connect(rig.devices[1]));
    position.line();
    position.ask("ACK 0");
    assert_eq!(position.ask("FAULT off"), "OK");
    position.write(b"ACK 0\n");
    // It is powered off from the first step on, so that all others are made without it.
    assert!(clock.ask("STEP 10").contains("step=10 "));
    assert_eq!(position.ask("FAULT ok"), "OK");
    assert!(clock.ask("STEP").contains("step=11 "));
    assert!(position.line().ends_with(" dropped=10"));
    assert_eq!(position.ask("GET").split(' ').nth(1), Some("11"));
    rig.end();
}

#[test]
fn commands_of_a_combined_line_act_in_the_same_step_and_are_logged_one_by_one() {
    let rig = patient(&[WHOLE]);
    let (mut clock, mut client) = (clock(&rig), Client::connect(rig.robot));
    assert!(client.line().starts_with("<0,0,0>"));
    assert!(client.ask("INFO").starts_with("OK name=robot kind=Robot port="));
    client.ask("ACK");
    assert_eq!(client.ask("1000,1000,5,0,0,1"), "OK");
    assert!(clock.ask("STEP").contains("step=1 "));
    let (_, log) = rig.end();
    let command = &log[0].commands[0];
    assert_eq!(
        (command.command.text.as_str(), protocol::reply(command).as_str()),
        ("1000,1000,5,0,0,1", "<1000,1000,1000,0,0,0>")
    );
}

/// A step that is made while its member sends other requests is still sent to it.
#[test]
fn a_member_that_talks_is_told_every_step() {
    let rig = patient(&[POSITION]);
    let (mut clock, mut position) = (clock(&rig), Client::connect(rig.devices[1]));
    position.line();
    position.ask("ACK 0");
    clock.ask("PLAY");
    for step in 0..500 {
        position.write(format!("ACK {step}\n").as_bytes());
        position.write(b"INFO\n");
        let answers = [position.line(), position.line()];
        assert!(answers.iter().any(|line| line.starts_with(&format!("S {} ", step + 1))), "{answers:?}");
    }
    rig.end();
}

/// One line in each direction is a step, with the same bits as a command and a separate acknowledgement.
#[test]
fn a_line_that_acknowledges_and_commands_is_answered_by_the_step_alone() {
    let run = |line: fn(u64, &str) -> String, answers: usize| {
        let rig = patient(&[WHOLE]);
        let (mut clock, mut client) = (clock(&rig), Client::connect(rig.robot));
        client.line();
        client.ask("ACK 0");
        clock.ask("PLAY");
        for step in 0..40u64 {
            let motor = format!("Motor=1000,1000,5,0,0,{}", (step as f64 * 0.1).sin());
            client.write(line(step, &motor).as_bytes());
            let heard: Vec<String> = (0..answers).map(|_| client.line()).collect();
            assert!(heard.last().unwrap().starts_with(&format!("S {} ", step + 1)), "{heard:?}");
        }
        let (report, log) = rig.end();
        let commands = log.iter().flat_map(|record| &record.commands);
        (report.state_hash, commands.map(|applied| applied.command.text.clone()).collect::<Vec<_>>())
    };
    let one = run(|step, motor| format!("ACK {step} {motor}\n"), 1);
    assert_eq!(one, run(|step, motor| format!("SET @{} {motor}\n", step + 1), 2));
    assert_eq!(one.1.len(), 40);
}

#[test]
fn a_member_may_let_several_steps_go_and_others_are_asked_about_each() {
    let rig = patient(&[WHOLE, MOTOR]);
    let (mut clock, mut whole, mut motor) = (clock(&rig), Client::connect(rig.robot), Client::connect(rig.devices[2]));
    whole.line();
    motor.line();
    whole.ask("ACK");
    motor.ask("ACK");
    clock.ask("PLAY");
    whole.write(b"ACK 0+10\n");
    for step in 0..10 {
        assert!(motor.ask(&format!("ACK {step} 1000,1000,5,0,0,{step}")).starts_with(&format!("S {} ", step + 1)));
    }
    let sample = whole.line();
    assert!(sample.starts_with("S 10 ") && !sample.contains("dropped"), "{sample}");
    assert!(clock.ask("STATE").ends_with("lockstep=waiting:robot,robot/Motor"));
    // After a reset all members are asked at step 0, regardless of earlier acknowledgements.
    whole.write(b"ACK 10+1000\n");
    assert!(motor.ask("ACK 10").starts_with("S 11 "));
    assert!(clock.ask("RESET").contains("lockstep=waiting:robot,robot/Motor"));
    assert!(whole.line().starts_with("S 0 0 ") && motor.line().starts_with("S 0 0 "));
    whole.write(b"ACK 0+2\n");
    assert!(motor.ask("ACK 0").starts_with("S 1 "));
    assert!(motor.ask("ACK 1").starts_with("S 2 ") && whole.line().starts_with("S 2 "));
    let (_, log) = rig.end();
    assert_eq!(log.iter().flat_map(|record| &record.commands).count(), 10);
}

#[test]
fn a_line_of_a_member_that_is_refused_answers_for_nothing() {
    let rig = patient(&[WHOLE]);
    let (mut clock, mut client) = (clock(&rig), Client::connect(rig.robot));
    client.line();
    let alone = "ERR 7 client 2 is not in the lockstep; its first ACK joins and answers for no step, so send ACK alone";
    assert_eq!([client.ask("ACK 0 Motor=1000,1000,5,0,0,1"), client.ask("ACK 0+2")], [alone, alone]);
    assert!(client.ask("ACK 0").starts_with("S 0 "));
    clock.ask("PLAY");
    let refused = [
        ("ACK 0 Motor=1,2", "ERR 2 Motor: expected 6 numbers, got 2"),
        ("ACK 1 Motor=1000,1000,5,0,0,1", "ERR 7 step 1 has not been made; the present one is 0"),
        ("ACK 0+x", "ERR 8 expected a whole number behind ACK step+, got 'x'"),
    ];
    for (line, answer) in refused {
        assert_eq!(client.ask(line), answer, "{line}");
        assert!(clock.ask("STATE").ends_with("lockstep=waiting:robot"), "{line}");
    }
    assert!(client.ask("ACK 0 Motor=1000,1000,5,0,0,1").starts_with("S 1 "));
    let (_, log) = rig.end();
    assert_eq!((log.len(), log[0].commands.len()), (1, 1));
}
