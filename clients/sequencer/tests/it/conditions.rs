//! Sequences of version 2: devices and fields by name, times with units, and waits for readings, inside a run and by
//! its ports.

use simpartner::{
    realtime::{Control, Mode},
    sim::SequenceEnd,
};
use simpartner_description::Sequence;
use simpartner_wire::signal::StepIndex;

use super::{
    acted, options, playing,
    rig::{Rig, misfit, played_in_process, sequence},
};

/// A wheel turns by half a radian, and back and forth twice more.
fn swing() -> Sequence {
    sequence(
        "<sequence version='2'>
  <set device='LeftMotor'>maxForce=1000 velocity=2</set>
  <wait until='Angle.position_3 > 0.5' timeout='2s'/>
  <repeat count='2'>
    <set device='LeftMotor'>velocity_3=-1</set>
    <wait for='30steps'/>
    <set device='Spinner/RightMotor'>1000,1000,3,0,0,1</set>
    <wait until='Angle.position_3 &lt;= 0.4' timeout='3000'/>
    <set device='Spinner/LeftMotor'>velocity_3=+1.5</set>
    <wait until='Angle.position_3 >= 0.45' timeout='3000steps'/>
  </repeat>
  <set device='LeftMotor'>velocity_3=0</set>
  <wait for='0.05s'/>
</sequence>",
    )
}

#[test]
fn a_sequence_that_waits_comes_to_the_same_bits_from_inside_and_by_the_ports() {
    let rig = Rig::start(Mode::Fast, None);
    let ports = rig.ports;
    let played = playing(&swing(), &options(&rig)).unwrap();
    let (report, log) = rig.end();
    let (hash, step, end) = played_in_process(ports, &swing());
    assert_eq!((report.state_hash, report.step, end), (hash, step, SequenceEnd::Played));
    assert_eq!((played.steps, played.commands), (step.0, 8));
    // 0.5 rad at 2 rad/s, back to 0.4 and on to 0.45 twice at the speeds above, in whole steps, and 50 steps of rest.
    let expected = 250.0 + 2.0 * 100.0 + 2.0 * 100.0 / 3.0 + 50.0;
    assert!((step.0 as f64 - expected).abs() < 60.0, "{step} steps");
    let acted = acted(&log);
    assert_eq!(acted.len(), 8);
    // Commands after a reading act in the step after it.
    assert_eq!(acted[1].1, format!("SET @{} velocity_3=-1", acted[1].0));
}

#[test]
fn a_playing_server_is_followed_through_the_waits() {
    let rig = Rig::start(Mode::RealTime, None);
    rig.request(Control::Play { rate: Some(1.0) });
    let played = playing(&swing(), &options(&rig)).unwrap();
    rig.request(Control::Pause);
    let (_, log) = rig.end();
    let acted = acted(&log);
    assert_eq!((acted.len(), played.commands), (8, 8));
    assert!(acted.is_sorted_by_key(|(step, _)| *step));
    assert!(acted[1].0 - acted[0].0 >= 250, "half a radian at 2 rad/s takes 250 steps: {acted:?}");
}

#[test]
fn a_reading_that_does_not_come_ends_the_sequence_with_its_place() {
    let text = "<sequence version='2'><set device='LeftMotor'>maxForce=1000 velocity=1</set>\n<wait until='Angle.position_3 > 5' timeout='0.2s'/>
<set device='LeftMotor'>velocity=9</set></sequence>";
    let rig = Rig::start(Mode::Fast, None);
    let ports = rig.ports;
    let message = playing(&sequence(text), &options(&rig)).unwrap_err();
    assert!(
        message.starts_with("turn.xml:2:1: 'Angle.position_3 > 5' did not come within its timeout; it reads 0.2"),
        "{message}"
    );
    let (report, log) = rig.end();
    let (_, step, end) = played_in_process(ports, &sequence(text));
    assert_eq!((report.step, step, acted(&log).len()), (StepIndex(201), StepIndex(201), 1));
    let SequenceEnd::BrokenOff(why) = end else { panic!("{end:?}") };
    assert!(why.starts_with("turn.xml:2:1: 'Angle.position_3 > 5' did not come within 0.2 s; it reads 0.2"), "{why}");
}

#[test]
fn a_name_that_is_not_there_is_told_with_its_place_and_a_near_one() {
    let rig = Rig::start(Mode::Fast, None);
    let both = |inside: &str| {
        let wrong = sequence(&format!("<sequence version='2'><wait for='1s'/>\n{inside}</sequence>"));
        [misfit(rig.ports, &wrong), playing(&wrong, &options(&rig)).unwrap_err()]
    };
    let cases = [
        ("<set device='LeftMoter'>velocity=1</set>", "turn.xml:2:1: ", "; did you mean 'LeftMotor'?"),
        ("<wait until='Angel.rate_3 > 1' timeout='1'/>", "turn.xml:2:1: ", "; did you mean 'Angle'?"),
        ("<wait until='Angle.rat_3 > 1' timeout='1'/>", "turn.xml:2:1: ", "; did you mean 'rate_3'?"),
        ("<set device='LeftMotor'>velocty=1</set>", "turn.xml:2:1: ", "; did you mean 'velocity'?"),
        (
            "<set device='LeftMotor'>velocity=fast</set>",
            "turn.xml:2:1: ",
            "number 1: expected a finite decimal, got 'fast'",
        ),
        ("<set device='LeftMotor'>velocity=1 velocity_3=2</set>", "turn.xml:2:1: ", "each field once"),
        ("<set device='LeftMotor'>velocity_3=1e9</set>", "turn.xml:2:1: ", "velocity_3"),
    ];
    for (inside, place, what) in cases {
        for message in both(inside) {
            assert!(message.starts_with(place) && message.contains(what), "{inside}: {message}");
        }
    }
    let message = misfit(
        rig.ports,
        &sequence("<sequence version='2'><wait until='LeftMotor.velocity_3 > 1' timeout='1'/></sequence>"),
    );
    assert!(message.ends_with("'LeftMotor' is an actuator, which has no reading; give a sensor"), "{message}");
    rig.end();
}
