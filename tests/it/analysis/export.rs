//! `export`: its files are read back by the libraries that wrote them, and by others.

use std::{collections::BTreeMap, fs::File, path::Path};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use parquet::{
    file::reader::{FileReader, SerializedFileReader},
    record::Field,
};
use simpartner_model::{DeviceId, StepIndex};
use simpartner_simulation::camera::CameraModel;

use super::{BODIES, JOINTS, Logs, STEPS, python, python_has, simpartner, text};

fn export(format: &str, output: &Path, more: &[&str]) -> String {
    let output = output.display().to_string();
    Logs::shared().printed(&[&["export", "2", "--format", format, "--output", &output], more].concat())
}

/// The names in a folder, including hidden ones.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        folder.read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn csv_has_a_file_for_each_table_and_the_rows_of_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("csv");
    let told = export("csv", &place, &[]);
    assert!(told.lines().any(|line| line.trim() == format!("{}  pose", STEPS * BODIES)), "{told}");
    for (table, rows) in [("pose", STEPS * BODIES), ("jointPose", STEPS * JOINTS), ("simulation", 1), ("body", BODIES)]
    {
        let text = std::fs::read_to_string(place.join(format!("{table}.csv"))).unwrap();
        assert_eq!(text.lines().count(), rows + 1, "{table}");
    }
    let pose = std::fs::read_to_string(place.join("pose.csv")).unwrap();
    let sql = "SELECT * FROM pose ORDER BY simulationRowID, bodyID";
    assert_eq!(pose, Logs::shared().printed(&["query", "2", sql, "--format", "csv"]));
    assert_eq!(names(folder.path()), ["csv"]);
}

#[test]
fn a_part_of_a_run_is_that_part() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("part");
    export("csv", &place, &["--tables", "simulationRow,POSE", "--from", "0.1", "--to", "0.2", "--every", "50"]);
    assert_eq!(names(&place), ["pose.csv", "simulationRow.csv"]);
    let rows = std::fs::read_to_string(place.join("simulationRow.csv")).unwrap();
    let steps: Vec<&str> = rows.lines().skip(1).map(|line| line.split(',').nth(2).unwrap()).collect();
    assert_eq!(steps, ["100", "150", "200"]);
}

#[test]
fn nothing_is_overwritten_unless_asked_and_nothing_is_left_half_done() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("out");
    let path = place.display().to_string();
    let logs = Logs::shared();
    let call = |more: &[&str]| {
        let output =
            logs.call(&[&["export", "1", "--format", "csv", "--tables", "robot", "--output", &path], more].concat());
        (output.status.code(), text(&output.stderr))
    };
    assert_eq!(call(&[]).0, Some(0));
    let (code, said) = call(&[]);
    assert_eq!(
        (code, said.contains("is there already; name another by --output, or replace it by --force")),
        (Some(3), true)
    );
    assert_eq!(call(&["--force"]).0, Some(0));
    std::fs::write(place.join("letter.txt"), "dear").unwrap();
    let (code, said) = call(&["--force"]);
    assert_eq!((code, said.contains("holds other files than .csv and is not replaced")), (Some(3), true), "{said}");
    assert_eq!(names(&place), ["letter.txt", "robot.csv"]);
    // A file in place of a folder.
    let below = place.join("robot.csv").join("deeper").display().to_string();
    let output = logs.call(&["export", "1", "--format", "mcap", "--output", &below]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert_eq!(names(folder.path()), ["out"]);
}

#[test]
fn parquet_reads_back_to_the_same_rows() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("parquet");
    export("parquet", &place, &[]);
    let reader = SerializedFileReader::new(File::open(place.join("pose.parquet")).unwrap()).unwrap();
    let columns = reader.metadata().file_metadata().schema_descr().columns().to_vec();
    let columns: Vec<&str> = columns.iter().map(|column| column.name()).collect();
    assert_eq!(columns, ["simulationRowID", "bodyID", "x", "y", "z", "axis_x", "axis_y", "axis_z", "angle"]);
    let mut lines = String::from("x,y,z\n");
    for row in reader.get_row_iter(None).unwrap() {
        let row = row.unwrap();
        let numbers: Vec<f64> = row
            .get_column_iter()
            .skip(2)
            .take(3)
            .map(|(_, field)| match field {
                Field::Double(number) => *number,
                other => panic!("{other:?}"),
            })
            .collect();
        let text = |number: f64| zmij::Buffer::new().format(number).to_owned();
        lines += &format!("{},{},{}\n", text(numbers[0]), text(numbers[1]), text(numbers[2]));
    }
    let sql = "SELECT x, y, z FROM pose ORDER BY simulationRowID, bodyID";
    assert!(lines == Logs::shared().printed(&["query", "2", sql, "--format", "csv"]), "the poses are others");
    // Missing values are NULL, and text is text.
    let reader = SerializedFileReader::new(File::open(place.join("body.parquet")).unwrap()).unwrap();
    let bodies: Vec<String> = reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
    assert!(
        bodies.iter().any(|body| body.contains("name: \"FrontChassis\"") && body.contains("radius: null")),
        "{bodies:?}"
    );
}

#[test]
fn duckdb_and_pandas_read_the_parquet() {
    if !python_has("duckdb, pandas, pyarrow") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    export("parquet", &folder.path().join("run"), &[]);
    let program = "
import duckdb, pandas
print(duckdb.sql(\"SELECT count(*), sum(y) FROM 'run/pose.parquet'\").fetchall()[0])
frame = pandas.read_parquet('run/pose.parquet')
print((len(frame), frame['bodyID'].nunique(), str(frame['y'].dtype)))
print(pandas.read_parquet('run/simulationFile.parquet')['role'].tolist())
";
    let printed = python(program, folder.path());
    let lines: Vec<&str> = printed.lines().collect();
    assert!(lines[0].starts_with(&format!("({}, ", STEPS * BODIES)), "{printed}");
    assert_eq!(lines[1], format!("({}, {BODIES}, 'float64')", STEPS * BODIES));
    assert!(lines[2].starts_with("['model', 'model'"), "{printed}");
}

#[test]
fn mcap_has_its_channels_in_the_order_of_time() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("run.mcap");
    export("mcap", &place, &["--every", "10"]);
    let bytes = std::fs::read(&place).unwrap();
    let (mut counts, mut last) = (BTreeMap::<String, usize>::new(), 0);
    for message in mcap::MessageStream::new(&bytes).unwrap() {
        let message = message.unwrap();
        assert!(message.log_time >= last, "time goes back");
        last = message.log_time;
        let value: serde_json::Value = serde_json::from_slice(&message.data).unwrap();
        let schema = message.channel.schema.as_ref().unwrap();
        assert_eq!((schema.encoding.as_str(), message.channel.message_encoding.as_str()), ("jsonschema", "json"));
        if message.channel.topic == "/tf" && message.log_time == 500_000_000 {
            assert_eq!(value["transforms"].as_array().unwrap().len(), BODIES);
        }
        if message.channel.topic == "/device/WorkPartner/Scanner" {
            assert_eq!(
                (schema.name.as_str(), &value["frame_id"]),
                ("foxglove.LaserScan", &"WorkPartner/FrontChassis".into())
            );
            assert_eq!(value["ranges"].as_array().unwrap().len(), 11);
            assert_eq!(value["timestamp"]["nsec"].as_u64(), Some(message.log_time));
        }
        if message.channel.topic == "/device/WorkPartner/Position" {
            assert_eq!((schema.name.as_str(), &value["frame_id"]), ("foxglove.PoseInFrame", &"world".into()));
            assert!(value["x"].is_f64() && value["x"] == value["pose"]["position"]["x"], "{value}");
        }
        if message.channel.topic == "/scene" {
            assert_eq!(schema.name, "foxglove.SceneUpdate");
            let entities = value["entities"].as_array().unwrap();
            assert!(entities.iter().any(|entity| entity["id"] == "ground" && !entity["triangles"][0].is_null()));
            assert!(
                entities
                    .iter()
                    .any(|entity| entity["id"] == "WorkPartner/FrontChassis" && !entity["cubes"][0].is_null())
            );
        }
        *counts.entry(message.channel.topic.clone()).or_default() += 1;
    }
    assert_eq!(last, 500_000_000);
    assert_eq!(counts["/tf"], STEPS / 10 + 1);
    assert_eq!((counts["/body/WorkPartner/Wheel1"], counts["/joint/WorkPartner/Turner"]), (STEPS / 10, STEPS / 10));
    assert_eq!((counts["/device/WorkPartner/Position"], counts["/command"], counts["/scene"]), (STEPS / 10, 2, 1));
}

#[test]
fn the_official_reader_reads_the_mcap() {
    if !python_has("mcap") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    export("mcap", &folder.path().join("run.mcap"), &["--every", "100"]);
    let program = "
import json
from mcap.reader import make_reader
with open('run.mcap', 'rb') as file:
    reader = make_reader(file, validate_crcs=True)
    summary = reader.get_summary()
    names = sorted({schema.name for schema in summary.schemas.values() if schema.name.startswith('foxglove.')})
    print(names, summary.statistics.message_count)
    for schema, channel, message in reader.iter_messages(topics=['/body/WorkPartner/FrontChassis']):
        print(message.log_time, json.loads(message.data)['y'])
";
    let printed = python(program, folder.path());
    let lines: Vec<&str> = printed.lines().collect();
    assert!(lines[0].starts_with("['foxglove.FrameTransforms', "), "{printed}");
    let sql = "SELECT s.step * 1000000, p.y FROM pose p JOIN simulationRow s ON s.simulationRowID = p.simulationRowID
        JOIN body b ON b.bodyID = p.bodyID WHERE b.name = 'FrontChassis' AND s.step % 100 = 0 ORDER BY s.step";
    let expected = Logs::shared().printed(&["query", "2", sql, "--format", "csv"]).replace(',', " ");
    assert_eq!(lines[1..], expected.lines().skip(1).collect::<Vec<_>>());
}

/// A post with two cameras that stand still, one of which sees a ball fall.
const CAMERAS: &str = r#"<world name="cameras"><gravity y="-9.81"/>
<object type="Body" name="Ball"><mass>1</mass><pose x="4" y="1"/><sphere radius="0.3"/></object>
<object type="Body" name="Wall"><static>true</static><pose x="-4" y="1"/><box x="1" y="3" z="3"/></object>
<robot file="post.xml" name="Post"/></world>"#;
const POST: &str = r#"<robot name="Post"><body name="Base"><static>true</static><pose y="0.5"/><box x="0.2" y="1" z="0.2"/></body>
<sensor type="Camera" name="Front" body="Base" port="0" rate="50" latency="0.01" width="32" height="24">
  <pose x="0.2" pitch="1.5707963267948966"/></sensor>
<sensor type="RgbdCamera" name="Back" body="Base" port="0" rate="20" width="32" height="24">
  <pose x="-0.2" pitch="-1.5707963267948966"/><lens model="fisheye" focalX="20" k1="0.1"/>
  <imageNoise standardDeviation="0.01" shot="0.1"/></sensor></robot>"#;

/// Topic, time in ns and content of a message.
type Message = (String, u64, serde_json::Value);

/// Makes a run of this world, 0.2 s long, and exports it without images and with them.
fn run_with_cameras(folder: &Path) -> [Vec<Message>; 2] {
    let path = |name: &str| folder.join(name).display().to_string();
    std::fs::write(path("world.xml"), CAMERAS).unwrap();
    std::fs::write(path("post.xml"), POST).unwrap();
    let (world, url, place) = (path("world.xml"), format!("sqlite:{}", path("run.db")), path("run.mcap"));
    let call = |arguments: &[&str]| {
        let output = simpartner(&[arguments, &["--database", &url]].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
    };
    let seed = "simulation.seed=5";
    call(&["run", "--world", &world, "--mode", "fast", "--duration", "0.2", "--set", seed, "--free-ports"]);
    call(&["export", "1", "--format", "mcap", "--output", &place]);
    let without = read_messages(&place);
    call(&["export", "1", "--format", "mcap", "--output", &place, "--force", "--images"]);
    [without, read_messages(&place)]
}

fn count_messages(messages: &[Message], topic: &str) -> usize {
    messages.iter().filter(|(name, ..)| name.starts_with(topic)).count()
}

#[test]
fn images_of_a_run_are_those_that_its_cameras_took() {
    let folder = tempfile::tempdir().unwrap();
    let [without, all] = run_with_cameras(folder.path());
    assert_eq!(count_messages(&without, "/camera/"), 0);
    // One in 20 ms, of which that of 0.2 s has not arrived by then; and one in 50 ms. No log has step 0.
    let front = ["/camera/Post/Front/color", "/camera/Post/Front/calibration"].map(|topic| count_messages(&all, topic));
    let back = ["/camera/Post/Back/color", "/camera/Post/Back/depth"].map(|topic| count_messages(&all, topic));
    assert_eq!((front, back), ([9, 9], [4, 4]));
    let world = simpartner_description::xml::read_world(&folder.path().join("world.xml")).unwrap();
    let scene = simpartner_render::Scene::new(&world.mechanism).unwrap();
    let poses: Vec<_> = world.mechanism.bodies.iter().map(|body| body.pose).collect();
    let device = world.devices.iter().position(|device| device.name == "Back").unwrap();
    let camera = CameraModel::new(&world, DeviceId::new(device), 5).unwrap().unwrap();
    let mut of_ball = std::collections::BTreeSet::new();
    for (topic, time, message) in &all {
        if topic == "/camera/Post/Front/color" {
            assert_eq!(time % 20_000_000, 0);
            of_ball.insert(message["data"].to_string());
        } else if topic == "/camera/Post/Back/color" || topic == "/camera/Post/Back/depth" {
            // What it sees stands still; its noise is another in each step.
            let images = camera.images(&scene, &poses, StepIndex(time / 1_000_000), 2).unwrap();
            let image = images[usize::from(topic.ends_with("depth"))].png().unwrap();
            assert_eq!(message["data"], BASE64_STANDARD.encode(image), "{topic} {time}");
        }
    }
    // The ball falls by 16 cm before the last image, so no image is like another.
    assert_eq!(of_ball.len(), 9);
}

#[test]
fn images_have_a_calibration_and_a_frame() {
    let folder = tempfile::tempdir().unwrap();
    let [_, all] = run_with_cameras(folder.path());
    let (_, time, calibration) = all.iter().find(|(topic, ..)| topic == "/camera/Post/Back/calibration").unwrap();
    assert_eq!(calibration["timestamp"]["nsec"].as_u64(), Some(*time));
    assert_eq!(calibration["distortion_model"], "kannala_brandt");
    assert_eq!(calibration["D"], serde_json::json!([0.1, 0.0, 0.0, 0.0]));
    assert_eq!(calibration["K"], serde_json::json!([20.0, 0.0, 15.5, 0.0, 20.0, 11.5, 0.0, 0.0, 1.0]));
    let transforms = all.iter().filter(|(topic, ..)| topic == "/tf");
    let frames = transforms.flat_map(|(_, _, message)| message["transforms"].as_array().unwrap());
    let own: Vec<_> = frames.filter(|frame| frame["child_frame_id"] == calibration["frame_id"]).collect();
    assert_eq!(own.len(), 1);
    assert_eq!(own[0]["parent_frame_id"], "Post/Base");
    let output = Logs::shared().call(&["export", "1", "--format", "csv", "--images"]);
    assert_eq!((output.status.code(), text(&output.stderr).contains("--images applies to mcap only")), (Some(2), true));
}

/// The messages of a file.
fn read_messages(place: &str) -> Vec<Message> {
    let bytes = std::fs::read(place).unwrap();
    let read = |message: mcap::Message<'_>| {
        (message.channel.topic.clone(), message.log_time, serde_json::from_slice(&message.data).unwrap())
    };
    mcap::MessageStream::new(&bytes).unwrap().map(|message| read(message.unwrap())).collect()
}
