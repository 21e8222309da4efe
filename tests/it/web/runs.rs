//! Recorded runs in the page: it shows what was simulated.

use std::{path::Path, process::Command, sync::Arc};

use serde_json::json;
use simpartner::{recorder::Database, run::LogArchive, server::Archive, sim::Simulation};
use simpartner_description::xml;
use simpartner_model::{BodyId, DeviceId, JointId, StepIndex, Timestep};
use simpartner_wire::signal::StepRecord;

use super::{
    Rig,
    client::{Frame, get},
    settings,
};
use crate::scene;

const STEPS: u64 = 200;
const EVERY: u64 = 5;

/// Commands for two of the robot's motors, one of which sticks for a while.
const DRIVE: &str = "<sequence version='1'>
  <command><commandString>1000,1000,1000,0,0,0.2,5,0,0</commandString><port>1035</port></command>
  <command><commandString>1000,1000,100,0,0,1.5</commandString><port>1027</port></command>
  <command><commandString>0.05</commandString><port>0</port></command>
  <command><commandString>FAULT stuck</commandString><port>1027</port></command>
  <command><commandString>1000,1000,100,0,0,2.5</commandString><port>1027</port></command>
  <command><commandString>0,0,-0.1,4,0,0</commandString><port>1035</port></command>
  <command><commandString>0.05</commandString><port>0</port></command>
  <command><commandString>FAULT ok</commandString><port>1027</port></command>
  <command><commandString>0.02</commandString><port>0</port></command>
  <command><commandString>1000,1000,50,0,0,-1.5</commandString><port>1027</port></command>
</sequence>";

/// Drives WorkPartner for a while with the program itself, and returns the log.
fn record(folder: &Path) -> Database {
    let sequence = folder.join("drive.xml");
    std::fs::write(&sequence, DRIVE).unwrap();
    let database = format!("sqlite:{}", folder.join("runs.db").display());
    let every = format!("log.every_n_steps={EVERY}");
    for _ in 0..2 {
        let ran = Command::new(env!("CARGO_BIN_EXE_simpartner"))
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .args(["run", "--world", "worlds/flat.xml", "--mode", "fast", "--sequence"])
            .arg(&sequence)
            .args(["--set", &every, "--set", "simulation.duration_s=0.2", "--database", &database])
            .output()
            .unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    }
    Database::parse(&database).unwrap()
}

/// The same in this process: the records of the steps that are logged.
fn simulate(folder: &Path) -> (Simulation, Vec<StepRecord>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let world = Arc::new(xml::read_world(&root.join("worlds/flat.xml")).unwrap());
    let timeline = xml::read_sequence(&folder.join("drive.xml")).unwrap().timeline(Timestep::MILLISECOND);
    let mut simulation = Simulation::new(world, Timestep::MILLISECOND, scene::settings()).unwrap();
    simulation.schedule(&timeline).unwrap();
    let mut record = StepRecord::new(simulation.layout());
    let mut records = Vec::new();
    for step in 1..=STEPS {
        simulation.step(&mut record);
        if step % EVERY == 0 {
            records.push(record.clone());
        }
    }
    (simulation, records)
}

#[test]
fn a_recorded_run_is_shown_as_it_was_simulated() {
    let folder = tempfile::tempdir().unwrap();
    let database = record(folder.path());
    let archive: Arc<dyn Archive> = Arc::new(LogArchive::new(&database));
    let rig = Rig::start(settings(), Some(archive));
    let runs = get(rig.page, "/runs.json", &[]).json()["runs"].clone();
    let [second, first] = &runs.as_array().unwrap()[..] else { panic!("{runs}") };
    assert_eq!((&second["id"], &first["id"], &first["world"]), (&json!(2), &json!(1), &json!("flat")));
    let bounds = json!([first["first"], first["last"], first["every"], first["timestep"], first["status"]]);
    assert_eq!(bounds, json!([EVERY, STEPS, EVERY, 0.001, "completed"]));

    let (simulation, records) = simulate(folder.path());
    let scene = get(rig.page, "/runs/2/scene.json", &[]).json();
    let world = simulation.world();
    assert_eq!(scene["bodies"].as_array().unwrap().len(), world.mechanism.bodies.len());
    assert_eq!(scene["devices"][0]["name"], json!(world.devices[0].name));
    assert_eq!(scene["id"], get(rig.page, "/runs/2/scene.json", &[]).json()["id"]);

    let answer = get(rig.page, &format!("/runs/2/frames?from={EVERY}&count=1000&every={EVERY}"), &[]);
    assert_eq!(answer.header("content-type"), Some("application/octet-stream"));
    let mut bytes = &answer.body[..];
    let frames: Vec<Frame> = std::iter::from_fn(|| (!bytes.is_empty()).then(|| Frame::take(&mut bytes))).collect();
    assert_eq!(frames.len(), records.len());
    frames.iter().zip(&records).for_each(|(frame, record)| assert_shows(frame, record, &simulation));

    let some = get(rig.page, "/runs/2/frames?from=20&count=3&every=10", &[]).body;
    let mut bytes = &some[..];
    for step in [20, 30, 40] {
        assert_shows(&Frame::take(&mut bytes), &records[step / EVERY as usize - 1], &simulation);
    }
    assert!(bytes.is_empty());
    rig.end();
}

/// The frame has the record's numbers, if they are logged.
fn assert_shows(frame: &Frame, record: &StepRecord, simulation: &Simulation) {
    let layout = simulation.layout();
    let StepIndex(step) = record.step;
    assert_eq!((frame.step, frame.number, frame.epoch, frame.state), (step, 0, 0, 3));
    assert_eq!(frame.time_s, Timestep::MILLISECOND.seconds_at(record.step));
    let start = layout.device(DeviceId::new(0)).start;
    for (index, shown) in frame.bodies.iter().enumerate() {
        let body = BodyId::new(index);
        let pose = &record.values[layout.pose(body)];
        // A rotation and its opposite quaternion mean the same, and an angle and its sine each round once.
        let along: f64 = (3..7).map(|i| pose[i] * f64::from(shown[i])).sum();
        assert!((along.abs() - 1.0).abs() < 1e-6, "step {step}, body {index}: {pose:?} {shown:?}");
        let rest = record.values[layout.twist(body)].iter().chain(&record.values[layout.wrench(body)]);
        let place: Vec<f32> = pose[..3].iter().chain(rest).map(|&value| value as f32).collect();
        assert_eq!([&shown[..3], &shown[7..]].concat(), place, "step {step}, body {index}");
    }
    for (index, shown) in frame.joints.iter().enumerate() {
        let values = record.values[layout.joint(JointId::new(index))].iter().map(|&value| value as f32);
        assert!(
            values.zip(shown).all(|(value, shown)| value.to_bits() == shown.to_bits() || value.is_nan()),
            "{index}"
        );
    }
    for (index, info) in layout.devices().iter().enumerate() {
        let range = layout.device(DeviceId::new(index));
        let shown = &frame.devices[range.start - start..range.end - start];
        match record.fresh[index] || info.kind.is_actuator() {
            true => assert_eq!(shown, &record.values[range], "step {step}, {}", info.name),
            false => assert!(shown.iter().all(|value| value.is_nan()), "step {step}, {}", info.name),
        }
    }
}

#[test]
fn questions_that_a_log_cannot_answer_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let database = record(folder.path());
    let rig = Rig::start(settings(), Some(Arc::new(LogArchive::new(&database))));
    let status = |path: &str| get(rig.page, path, &[]).status;
    for run in ["3", "-1", "9223372036854775807"] {
        for path in ["scene.json", "frames?from=5"] {
            assert_eq!(status(&format!("/runs/{run}/{path}")), 404, "{run} {path}");
        }
        assert_eq!(get(rig.page, &format!("/runs/{run}/events.json"), &[]).json(), json!({ "events": [] }));
    }
    for question in ["", "?from=x", "?from=5&every=0", "?from=5&every=7", "?from=-5", "?from=5&count=-1"] {
        assert_eq!(status(&format!("/runs/1/frames{question}")), 400, "{question}");
    }
    for beyond in ["0&count=1", "6", "1000", "4294967295", "18446744073709551615&count=1000"] {
        let answer = get(rig.page, &format!("/runs/1/frames?from={beyond}"), &[]);
        assert_eq!((answer.status, answer.body.len()), (200, 0), "{beyond}");
    }
    let events = get(rig.page, "/runs/1/events.json", &[]).json()["events"].clone();
    assert_eq!(events[0]["kind"], json!("play"), "{events}");
    let commands = get(rig.page, "/runs/2/commands.json", &[]).json()["commands"].clone();
    let of = |key: &str| commands.as_array().unwrap().iter().map(|one| one[key].clone()).collect::<Vec<_>>();
    assert_eq!(of("count"), vec![json!(1); DRIVE.matches("<port>1").count()], "{commands}");
    assert_eq!((&of("client")[0], of("device").last().unwrap()), (&json!(0), &json!("WorkPartner/WheelMotor1")));
    assert_eq!(of("text").last().unwrap(), &json!("1000,1000,50,0,0,-1.5"));
    assert!(of("step").is_sorted_by_key(|step| step.as_u64().unwrap()), "{commands}");
    rig.end();

    let nothing =
        LogArchive::new(&Database::parse(&format!("sqlite:{}", folder.path().join("none.db").display())).unwrap());
    let rig = Rig::start(settings(), Some(Arc::new(nothing)));
    let answer = get(rig.page, "/runs.json", &[]);
    assert_eq!(answer.status, 503);
    assert!(String::from_utf8(answer.body).unwrap().contains("none.db"));
    rig.end();
}
