//! The sequencer against a real server.

// A test that cannot continue has to stop; clippy allows this only in test functions themselves.
#![allow(clippy::unwrap_used)]

mod conditions;
mod rig;

use std::{
    io::{self, Write},
    net::{TcpListener, TcpStream},
    sync::Arc,
};

use rig::{Rig, sequence, state_hash_in_process};
use simpartner::realtime::{Control, Mode, Outcome};
use simpartner_description::Sequence;
use simpartner_model::Moment;
use simpartner_sequencer::play::{Options, Progress, play};
use simpartner_wire::signal::{StepIndex, StepRecord};

fn options(rig: &Rig) -> Options {
    Options { server: rig.control.clone(), token: None, lead: Moment::of_seconds(0.1), quit: false }
}

fn playing(sequence: &Sequence, options: &Options) -> Result<Progress, String> {
    play(sequence, options, |_| {}).map_err(|error| format!("{error:#}"))
}

fn command(text: &str, port: u16) -> String {
    format!("<command><commandString>{text}</commandString><port>{port}</port></command>")
}

/// Both motors, pauses that are no whole steps, a repeat, and a last command that no step follows.
fn turn([left, right, _]: [u16; 3]) -> Sequence {
    let (pause, faster) = (command("0.0333", 0), command("&lt;1000,1000,3,0,0,2&gt;", left));
    let (back, last) = (command("100,100,1,\n0,0,-1", right), command("1,1,1,0,0,0", left));
    sequence(&format!(
        "<sequence version='1'>{faster}<repeat count='3'>{pause}{faster}{back}{pause}{back}</repeat>{pause}{last}</sequence>"
    ))
}

/// Every command that took effect: the step in which it first acted, and its text.
fn acted(log: &[Arc<StepRecord>]) -> Vec<(u64, String)> {
    let commands = log.iter().flat_map(|record| record.commands.iter().map(|applied| (record.step.0, applied)));
    commands.map(|(step, applied)| (step, applied.command.text.clone())).collect()
}

#[test]
fn a_paused_server_comes_to_the_state_of_a_run_in_process() {
    let rig = Rig::start(Mode::Fast, None);
    let (ports, turn) = (rig.ports, turn(rig.ports));
    let mut shown = Vec::new();
    let played = play(&turn, &options(&rig), |progress| shown.push(progress)).unwrap();
    // Seven pauses of 33.3 ms are 233.1 ms.
    assert_eq!((played.commands, played.steps, played.simulated_s), (11, 233, 0.233));
    assert!(shown.is_sorted_by_key(|progress| progress.steps) && shown.last() == Some(&played));
    let (report, _) = rig.end();
    assert_eq!(report.step, StepIndex(233));
    assert_eq!(report.state_hash, state_hash_in_process(ports, &turn, 0));
    assert_ne!(report.state_hash, state_hash_in_process(ports, &turn, 1), "a step's delay would show");
}

/// Watchers that are sent every step, some of whom never read, are not to be noticed by the physics.
#[test]
fn fifty_watching_clients_change_no_bit() {
    let rig = Rig::start(Mode::RealTime, None);
    let (ports, turn) = (rig.ports, turn(rig.ports));
    let watchers: Vec<TcpStream> = (0..50)
        .map(|_| {
            let mut watcher = TcpStream::connect(("127.0.0.1", ports[2])).unwrap();
            watcher.write_all(b"SUB 1\n").unwrap();
            watcher
        })
        .collect();
    let readers: Vec<_> = watchers.iter().take(40).map(|watcher| watcher.try_clone().unwrap()).collect();
    let reading =
        readers.into_iter().map(|mut watcher| std::thread::spawn(move || io::copy(&mut watcher, &mut io::sink())));
    let reading: Vec<_> = reading.collect();
    playing(&turn, &options(&rig)).unwrap();
    let (report, _) = rig.end();
    assert_eq!(report.state_hash, state_hash_in_process(ports, &turn, 0));
    let read: u64 = reading.into_iter().map(|reader| reader.join().unwrap().unwrap_or(0)).sum();
    assert!(read > 40 * 100, "they were sent something to watch: {read} bytes");
}

#[test]
fn a_sequence_starts_where_the_clock_stands() {
    let rig = Rig::start(Mode::Fast, None);
    rig.request(Control::Step { count: 7 });
    let port = rig.ports[0];
    let start = sequence(&[command("1,1,1,0,0,1", port), command("0.005", 0), command("1,1,1,0,0,2", port)].concat());
    let played = playing(&start, &options(&rig)).unwrap();
    assert_eq!(played.steps, 5);
    rig.request(Control::Step { count: 1 });
    let (_, log) = rig.end();
    assert_eq!(acted(&log), [(8, "SET @8 1,1,1,0,0,1".into()), (13, "SET @13 1,1,1,0,0,2".into())]);
}

#[test]
fn a_playing_server_takes_every_command_in_its_step() {
    let rig = Rig::start(Mode::RealTime, None);
    rig.request(Control::Play { rate: None });
    let turn = turn(rig.ports);
    let played = playing(&turn, &options(&rig)).unwrap();
    assert_eq!((played.commands, played.steps), (11, 233));
    // The last command acts in the step after the sequence.
    rig.request(Control::Pause);
    rig.request(Control::Step { count: 1 });
    let (_, log) = rig.end();
    let steps: Vec<u64> = acted(&log).iter().map(|(step, _)| *step).collect();
    assert!(steps[0] > 100, "the lead of 0.1 s");
    let after: Vec<u64> = steps.iter().map(|step| step - steps[0]).collect();
    assert_eq!(after, [0, 33, 33, 67, 100, 100, 133, 167, 167, 200, 233]);
}

#[test]
fn an_unknown_port_is_told_with_file_and_line_before_anything_is_sent() {
    let rig = Rig::start(Mode::Fast, None);
    let lines = [command("1,1,1,0,0,1", rig.ports[0]), command("0.1", 0), command("1", 1025)].join("\n");
    let message = playing(&sequence(&lines), &options(&rig)).unwrap_err();
    assert_eq!(message, "turn.xml:3:1: the server has no device on port 1025");
    rig.request(Control::Step { count: 1 });
    let (report, log) = rig.end();
    assert_eq!((report.step, acted(&log)), (StepIndex(1), vec![]));
}

#[test]
fn a_refusal_is_told_with_file_and_line_and_in_the_servers_words() {
    let rig = Rig::start(Mode::Fast, None);
    let refused = |text: &str, port| {
        let lines = [command("0.01", 0), command(text, port)].join("\n");
        playing(&sequence(&lines), &options(&rig)).unwrap_err()
    };
    let [motor, _, position] = rig.ports;
    let message = refused("1,2,3", motor);
    let expected =
        format!("turn.xml:2:1: the device on port {motor} answers '1,2,3' with: ERR 2 expected 6 numbers, got 3");
    assert_eq!(message, expected);
    let message = refused("1,2,3", position);
    assert!(message.starts_with("turn.xml:2:1: ") && message.contains(" with: ERR 1 expected <>, GET"), "{message}");
    rig.end();
}

#[test]
fn a_token_is_shown_to_every_port_of_a_server_that_wants_one() {
    let rig = Rig::start(Mode::Fast, Some("open sesame"));
    let turn = turn(rig.ports);
    let with = |token: Option<&str>| playing(&turn, &Options { token: token.map(str::to_owned), ..options(&rig) });
    assert!(with(None).unwrap_err().ends_with("help: give its token with --token"));
    assert!(with(Some("open simsim")).unwrap_err().contains("ERR 9 "));
    assert_eq!(with(Some("open sesame")).map(|played| played.commands), Ok(11));
    rig.end();

    let rig = Rig::start(Mode::Fast, None);
    let message = playing(&turn, &Options { token: Some("x".into()), ..options(&rig) }).unwrap_err();
    assert_eq!(message, "the server wants no token; leave --token out");
    rig.end();
}

#[test]
fn the_run_ends_with_the_sequence_if_asked_to() {
    let rig = Rig::start(Mode::Fast, None);
    playing(&turn(rig.ports), &Options { quit: true, ..options(&rig) }).unwrap();
    let again = playing(&turn(rig.ports), &options(&rig)).unwrap_err();
    assert!(again.contains("the run is over"), "{again}");
    let (report, _) = rig.end();
    assert_eq!((report.outcome, report.step), (Outcome::Quit, StepIndex(233)));
}

#[test]
fn a_server_that_is_not_there_or_goes_away_is_told_of() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = listener.local_addr().unwrap().to_string();
    let options = Options { server, token: None, lead: Moment::of_seconds(0.1), quit: false };
    let accepting = std::thread::spawn(move || drop(listener.accept()));
    let lost = playing(&sequence(&command("0.1", 0)), &options).unwrap_err();
    assert!(lost.contains("the control port at 127.0.0.1:"), "{lost}");
    accepting.join().unwrap();
    // The port is closed.
    let refused = playing(&sequence(&command("0.1", 0)), &options).unwrap_err();
    assert!(refused.starts_with("cannot connect to the control port at 127.0.0.1:"), "{refused}");
    assert!(refused.contains("help: start a server with 'simpartner run --paused'"), "{refused}");
}
