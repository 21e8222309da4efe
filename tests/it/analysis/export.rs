//! `export`: its files are read back by the libraries that wrote them, and by others.

use std::{collections::BTreeMap, fs::File, path::Path};

use parquet::{
    file::reader::{FileReader, SerializedFileReader},
    record::Field,
};

use super::{BODIES, JOINTS, Logs, STEPS, python, python_has, text};

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
