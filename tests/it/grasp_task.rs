//! `simpartner grasp run` and `correlate`: the user's view of grasp tasks. The tasks themselves are tested in the
//! package of grasps.

use std::{fs, path::Path, process::Command};

use serde_json::Value;
use simpartner_description::{rwtask, xml::read_grasp_task};

use crate::cli::{Scratch, output, text};

fn shipped(name: &str) -> String {
    format!("{}/worlds/grasps/tasks/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn printed(arguments: &[&str]) -> String {
    let ran = output(&[&["grasp"], arguments].concat());
    assert!(ran.status.success(), "{arguments:?}: {}", text(&ran.stderr));
    text(&ran.stdout)
}

fn refused(arguments: &[&str]) -> String {
    let ran = output(&[&["grasp"], arguments].concat());
    assert_eq!(ran.status.code(), Some(3), "{arguments:?}: {}", text(&ran.stderr));
    text(&ran.stderr)
}

fn batch(file: &str, rows: &Path, more: &[&str]) -> String {
    let rows = rows.to_str().unwrap();
    printed(&[&["run", &shipped(file), "--seed", "3", "--output", rows], more].concat())
}

/// The rows have the same bytes for any number of threads, and wherever a kill has cut the file off.
#[test]
fn a_batch_is_the_same_for_any_threads_and_after_kills() {
    let scratch = Scratch::new();
    let path = |name: &str| scratch.path(name);
    let counts = batch("box.xml", &path("one"), &["--tasks", "12", "--jobs", "1"]);
    let whole = fs::read_to_string(path("one")).unwrap();
    assert_eq!(whole.lines().count(), 13, "{whole}");
    for (number, line) in whole.lines().skip(1).enumerate() {
        let row: Value = serde_json::from_str(line).unwrap();
        assert_eq!(row["task"], number);
        assert!(row["status"] != "SimulationFailure" || row["cause"].is_string(), "{row}");
    }
    let other = batch("box.xml", &path("four"), &["--tasks", "12", "--jobs", "4"]);
    assert_eq!(fs::read_to_string(path("four")).unwrap(), whole);
    assert_eq!(counts.lines().skip(1).collect::<Vec<_>>(), other.lines().skip(1).collect::<Vec<_>>());
    // Cut in the middle of a row, at the end of one, in the header, and before it; and with rows out of order, as from
    // several threads.
    let ends = [whole.len() * 2 / 3, whole.match_indices('\n').nth(4).unwrap().0 + 1, 20, 0];
    for end in ends {
        fs::write(path("cut"), &whole[..end]).unwrap();
        batch("box.xml", &path("cut"), &["--tasks", "12", "--jobs", "2"]);
        assert_eq!(fs::read_to_string(path("cut")).unwrap(), whole, "cut at {end}");
    }
    let lines: Vec<&str> = whole.lines().collect();
    fs::write(path("mixed"), format!("{}\n{}\n{}\n", lines[0], lines[9], lines[4])).unwrap();
    batch("box.xml", &path("mixed"), &["--tasks", "12"]);
    assert_eq!(fs::read_to_string(path("mixed")).unwrap(), whole);
    // A batch that grows has the rows of before.
    batch("box.xml", &path("small"), &["--tasks", "5"]);
    batch("box.xml", &path("small"), &["--tasks", "12"]);
    assert_eq!(fs::read_to_string(path("small")).unwrap(), whole);
    // A single task has the row of the batch.
    let row: Value =
        serde_json::from_str(&printed(&["run", &shipped("box.xml"), "--seed", "3", "--task", "7"])).unwrap();
    assert_eq!(row, serde_json::from_str::<Value>(lines[8]).unwrap());
}

/// Each row of a batch is a row of the database, for any number of threads, after kills, and after the loss of the file
/// of rows.
#[test]
fn a_batch_is_kept_in_a_database_where_one_is_named() {
    let scratch = Scratch::new();
    let url = |name: &str| scratch.database(name);
    let ask = |database: &str, sql: &str| {
        let ran = output(&["query", "last", sql, "--database", database, "--format", "json"]);
        assert!(ran.status.success(), "{}", text(&ran.stderr));
        serde_json::from_slice::<Value>(&ran.stdout).unwrap()
    };
    let all = "SELECT * FROM graspTask ORDER BY task";
    let (one, four) = (url("one.sqlite"), url("four.sqlite"));
    batch("box.xml", &scratch.path("one"), &["--tasks", "12", "--jobs", "1", "--database", &one]);
    batch("box.xml", &scratch.path("four"), &["--tasks", "12", "--jobs", "4", "--database", &four]);
    let rows = ask(&one, all);
    assert_eq!(ask(&four, all), rows);
    let file = fs::read_to_string(scratch.path("one")).unwrap();
    let lines: Vec<Value> = file.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.as_array().map(Vec::len), Some(12), "{rows}");
    for (row, line) in rows.as_array().unwrap().iter().zip(&lines) {
        assert_eq!(serde_json::from_str::<Value>(row["outcome"].as_str().unwrap()).unwrap(), *line);
        assert_eq!((&row["task"], &row["status"], &row["slip"]), (&line["task"], &line["status"], &line["slip"]));
        assert_eq!((&row["qw"], &row["steps"]), (&line["target"][6], &line["times"]["steps"]));
        assert_eq!(row["quality_epsilon"], line["quality"]["epsilon"], "{line}");
        assert_eq!(row["quality_squeeze_after"], line["quality_after"]["squeeze"], "{line}");
        assert_eq!(row["contacts"], line["contacts"].as_array().unwrap().len());
    }
    // The file ahead of the database, as after a kill; and the database ahead of a lost file.
    let (behind, ahead) = (url("behind.sqlite"), scratch.path("ahead"));
    batch("box.xml", &ahead, &["--tasks", "5"]);
    batch("box.xml", &ahead, &["--tasks", "12", "--database", &behind]);
    assert_eq!(ask(&behind, all), rows);
    batch("box.xml", &scratch.path("new"), &["--tasks", "12", "--database", &behind]);
    assert_eq!(ask(&behind, all), rows);
    // A single task is a row of the same batch.
    let alone = url("alone.sqlite");
    printed(&["run", &shipped("box.xml"), "--seed", "3", "--task", "7", "--database", &alone]);
    assert_eq!(ask(&alone, all)[0], rows[7]);
}

/// Rows of another seed or of another file, and files without rows, are not continued.
#[test]
fn a_file_of_other_rows_is_refused() {
    let scratch = Scratch::new();
    let rows = scratch.path("rows");
    batch("box.xml", &rows, &["--tasks", "1"]);
    let name = rows.to_str().unwrap();
    let other_seed = refused(&["run", &shipped("box.xml"), "--seed", "4", "--output", name]);
    assert!(
        other_seed.contains(":1: its rows are of another batch: seed 3, not 4; give another --output"),
        "{other_seed}"
    );
    let other_file = refused(&["run", &shipped("cylinder.xml"), "--seed", "3", "--output", name]);
    assert!(other_file.contains("its rows are of another batch: name box, not cylinder"), "{other_file}");
    let whole = fs::read_to_string(&rows).unwrap();
    fs::write(&rows, format!("{}\nnonsense\n", whole.lines().next().unwrap())).unwrap();
    let bad_row = refused(&["run", &shipped("box.xml"), "--seed", "3", "--output", name]);
    assert!(bad_row.contains(":2: this is no row"), "{bad_row}");
    fs::write(&rows, "a letter\nto a friend\n").unwrap();
    assert!(
        refused(&["run", &shipped("box.xml"), "--seed", "3", "--output", name])
            .contains("this is no file of grasp rows")
    );
    assert!(refused(&["correlate", name]).contains("this is no file that `grasp run` of this version has written"));
    assert_eq!(fs::read_to_string(&rows).unwrap(), "a letter\nto a friend\n", "what is refused stays as it is");
}

/// Every file of tasks that ships succeeds at some of its grasps, and fails without a cause in none.
#[test]
fn every_gripper_that_ships_grasps() {
    let scratch = Scratch::new();
    for (file, count) in [
        ("box.xml", "8"),
        ("cylinder.xml", "8"),
        ("mesh.xml", "6"),
        ("hand.xml", "6"),
        ("suction.xml", "8"),
        ("pg70.xml", "24"),
    ] {
        let rows = scratch.path(file);
        let report = batch(file, &rows, &["--tasks", count, "--json"]);
        let report: Value = serde_json::from_str(&report).unwrap();
        assert!(report["statuses"]["Success"].as_u64().unwrap_or_default() > 0, "{file}: {report}");
        assert_eq!(report["tasks"].to_string(), count);
        let rows = fs::read_to_string(&rows).unwrap();
        let rows = rows.lines().skip(1).map(|row| serde_json::from_str::<Value>(row).unwrap());
        let failed: Vec<Value> = rows.filter(|row| row["status"] == "SimulationFailure").collect();
        // A gripper that is led into an object on the ground crushes it, and throws it away.
        let crushed = |row: &Value| {
            row["touched_on_the_way"] == true && row["cause"].as_str().is_some_and(|it| it.starts_with("the object is"))
        };
        assert!(failed.len() <= 1 && failed.iter().all(crushed), "{file}: {failed:?}");
    }
    let all: Vec<String> = ["box.xml", "cylinder.xml"].map(|file| scratch.path(file).display().to_string()).into();
    let (picture, csv) = (scratch.path("picture.svg"), scratch.path("box.csv"));
    let found = printed(&["correlate", &all[0], &all[1], "--svg", picture.to_str().unwrap(), "--json"]);
    let found: Value = serde_json::from_str(&found).unwrap();
    assert!(
        found["lifted"].as_u64() >= found["succeeded"].as_u64() && found["succeeded"].as_u64() > Some(0),
        "{found}"
    );
    assert_eq!(found["measures"][0]["measure"], "epsilon");
    let picture = fs::read_to_string(picture).unwrap();
    // Marks without their own colour would be black.
    assert!(picture.contains("<polyline") && picture.contains("<circle") && picture.contains("circle { fill:"));
    batch("box.xml", &scratch.path("box.xml"), &["--tasks", "8", "--csv", csv.to_str().unwrap()]);
    let table = fs::read_to_string(csv).unwrap();
    let columns: Vec<usize> = table.lines().map(|line| line.split(',').count()).collect();
    assert!(columns.len() == 9 && columns.iter().all(|count| *count == columns[0]), "{columns:?}");
}

/// An independent script reads the rows from an exported `.rwtask.xml`; our reader reads what was written, and its
/// targets are tasks again.
#[test]
fn rwtask_files_are_read_by_others_and_by_us() {
    let scratch = Scratch::new();
    let (rows, file) = (scratch.path("rows"), scratch.path("box.rwtask.xml"));
    let name = file.to_str().unwrap();
    batch("box.xml", &rows, &["--tasks", "6", "--rwtask", name]);
    let read = rwtask::read(&file).unwrap();
    let again = rwtask::read_text("again", &rwtask::write(&read)).unwrap();
    assert!(without_rotations(&again) == without_rotations(&read), "writing and reading lose nothing");
    for (one, other) in again.subtasks[0].targets.iter().zip(&read.subtasks[0].targets) {
        // A matrix has the last bits of a quaternion otherwise.
        assert!((one.pose.rotation.dot(other.pose.rotation).abs() - 1.0).abs() < 1e-14);
    }
    let subtask = &read.subtasks[0];
    assert_eq!((subtask.targets.len(), subtask.open.len(), subtask.object.as_str()), (6, 1, "Box"));
    // Matrices bring rotations back to the last bits, and the statuses with them.
    let again = scratch.path("again");
    let (again, rows) = (again.to_str().unwrap(), fs::read_to_string(rows).unwrap());
    printed(&["run", &shipped("box.xml"), "--targets", name, "--output", again]);
    let statuses = |text: &str| -> Vec<Value> {
        text.lines().skip(1).map(|line| serde_json::from_str::<Value>(line).unwrap()["status"].clone()).collect()
    };
    assert_eq!(statuses(&fs::read_to_string(again).unwrap()), statuses(&rows));
    let script = format!("{}/tests/it/read_rwtask.py", env!("CARGO_MANIFEST_DIR"));
    let Ok(ran) = Command::new("python3").args([&script, name]).output() else {
        println!("skipped: Python is not installed");
        return;
    };
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    let seen: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(seen["properties"]["Gripper"], "Gripper");
    for (index, line) in rows.lines().skip(1).enumerate() {
        let row: Value = serde_json::from_str(line).unwrap();
        let target = &seen["subtasks"][0]["targets"][index];
        assert_eq!(target["properties"]["TestStatus"].as_i64(), statuses_number(&row), "{row}");
        for axis in 0..3 {
            let [theirs, ours] = [&target["position"][axis], &row["target"][axis]].map(|value| value.as_f64().unwrap());
            assert!((theirs - ours).abs() < 1e-15);
        }
        // The script turns the matrix into a quaternion by itself.
        let dot: f64 =
            (0..4).map(|k| target["quaternion"][k].as_f64().unwrap() * row["target"][3 + k].as_f64().unwrap()).sum();
        assert!((dot.abs() - 1.0).abs() < 1e-12, "{dot}");
        let contacts = row["contacts"].as_array().unwrap().len();
        let listed = target["properties"]["ContactsGrasp"].as_array().map_or(0, Vec::len);
        assert_eq!(listed, 9 * contacts, "{target}");
    }
}

fn statuses_number(row: &Value) -> Option<i64> {
    let numbers = [
        ("Success", 1),
        ("ObjectMissed", 3),
        ("ObjectDropped", 4),
        ("ObjectSlipped", 5),
        ("TimeOut", 6),
        ("SimulationFailure", 7),
        ("CollisionObjectInitially", 11),
        ("CollisionEnvironmentInitially", 12),
    ];
    numbers.iter().find(|(name, _)| row["status"] == *name).map(|(_, number)| *number)
}

/// All that is the same to the last bit.
fn without_rotations(task: &rwtask::RwTask) -> rwtask::RwTask {
    let mut task = task.clone();
    let plain = |pose: &mut simpartner_model::Pose| pose.rotation = simpartner_model::Pose::IDENTITY.rotation;
    for target in task.subtasks.iter_mut().flat_map(|subtask| &mut subtask.targets) {
        plain(&mut target.pose);
        target.result.iter_mut().flat_map(|result| &mut result.poses).flatten().for_each(plain);
    }
    task
}

/// Files of RobWork that do not fit the gripper are refused with the reason.
#[test]
fn targets_that_do_not_fit_are_refused() {
    let scratch = Scratch::new();
    let path = scratch.path("t.rwtask.xml");
    let name = path.to_str().unwrap();
    let with = |subtask: &str| {
        let text = format!("<CartesianTask><Entities>{subtask}</Entities></CartesianTask>");
        fs::write(&path, text).unwrap();
        refused(&["run", &shipped("box.xml"), "--targets", name])
    };
    let target =
        "<Targets><CartesianTarget id=\"0\"><Transform3D><Pos>0 0 0</Pos></Transform3D></CartesianTarget></Targets>";
    let property = |name: &str, value: &str| {
        let map = format!("<PropertyMap><Property><Name>{name}</Name><Value>{value}</Value></Property></PropertyMap>");
        with(&format!("<CartesianTask>{target}{map}</CartesianTask>"))
    };
    assert!(with("").contains("0 subtasks, and one is taken"));
    assert!(with("<CartesianTask><Targets/></CartesianTask>").contains("the subtask has no target"));
    assert!(property("CloseQ", "<Q>0.01 0.02</Q>").contains("CloseQ has 2 numbers, and the task has 1 fingers"));
    assert!(property("CloseQ", "<Q>0.5</Q>").contains("joint 'Left' cannot close at 0.5"));
    assert!(property("OpenQ", "<Q>-1</Q>").contains("joint 'Left' cannot be open at -1"));
    let turned = property("Approach", "<Transform3D><RPY>1 0 0</RPY></Transform3D>");
    assert!(turned.contains("its approach turns the gripper"), "{turned}");
}

/// Random values of every setting are accepted, or refused with a position; none causes another end of the program.
#[test]
fn settings_at_random_are_read_or_refused() {
    let scratch = Scratch::new();
    let text = fs::read_to_string(shipped("box.xml")).unwrap();
    let folder = Path::new(&shipped("box.xml")).parent().unwrap().to_owned();
    let text =
        text.replace("world=\"box_world.xml\"", &format!("world=\"{}\"", folder.join("box_world.xml").display()));
    let mut stream = simpartner_model::random::Stream::from_number(11);
    let values = ["0", "-1", "1e300", "nan", "", "3", "0.001", "true", "box", "1e-9"];
    let attributes = [
        "closed",
        "maxEffort",
        "z",
        "y",
        "restTime",
        "mode",
        "friction",
        "opening",
        "minDistance",
        "maxDistance",
        "timestep",
        "object",
        "body",
        "joint",
    ];
    for case in 0..200 {
        let mut changed = text.clone();
        let attribute = attributes[stream.number() as usize % attributes.len()];
        let value = values[stream.number() as usize % values.len()];
        let Some(start) = changed.find(&format!(" {attribute}=\"")) else { continue };
        let start = start + attribute.len() + 3;
        let end = start + changed[start..].find('"').unwrap();
        changed.replace_range(start..end, value);
        let path = scratch.path(&format!("{case}.xml"));
        fs::write(&path, &changed).unwrap();
        if let Err(problems) = read_grasp_task(&path) {
            let told = problems.to_string();
            assert!(told.contains(&format!("{case}.xml:")), "{attribute}={value}: {told}");
        }
    }
}

/// A logged task of the batch: in the run's last step, the bodies have the poses of the row.
#[test]
fn a_task_with_a_log_is_a_run_like_any_other() {
    let scratch = Scratch::new();
    let rows = scratch.path("rows");
    batch("box.xml", &rows, &["--tasks", "12"]);
    let rows: Vec<Value> =
        fs::read_to_string(&rows).unwrap().lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect();
    let row = rows.iter().find(|row| row["status"] == "Success").unwrap();
    let (number, database) = (row["task"].to_string(), scratch.database("log.sqlite"));
    let (box_file, nothing) = (shipped("box.xml"), scratch.path("none.toml"));
    fs::write(&nothing, "").unwrap();
    let nothing = nothing.to_str().unwrap();
    let run =
        ["run", &box_file, "--seed", "3", "--task", &number, "--log", "--database", &database, "--properties", nothing];
    printed(&run);
    let query = "SELECT robot, body, step, x, y, z FROM bodyLog WHERE body IN ('Palm', 'Box') ORDER BY step";
    let found = output(&["query", "last", query, "--database", &database, "--format", "csv"]);
    assert!(found.status.success(), "{}", text(&found.stderr));
    let lines = text(&found.stdout);
    let last = |body: &str| -> Vec<String> {
        let line = lines.lines().rfind(|line| line.contains(body)).unwrap();
        line.split(',').map(str::to_owned).collect()
    };
    assert_eq!(last("Palm")[2], row["times"]["steps"].to_string(), "{lines}");
    // The box in the frame of the tool, 12 cm before the palm, is as far from it as in the row.
    let place = |body: &str| -> Vec<f64> { last(body)[3..6].iter().map(|number| number.parse().unwrap()).collect() };
    let (palm, object) = (place("Palm"), place("Box"));
    let apart: f64 = palm.iter().zip(&object).map(|(a, b)| (a - b) * (a - b)).sum();
    let lift: Vec<f64> = (0..3).map(|k| row["lift"][k].as_f64().unwrap()).collect();
    let expected = lift[0] * lift[0] + lift[1] * lift[1] + (lift[2] + 0.12) * (lift[2] + 0.12);
    assert!((apart.sqrt() - expected.sqrt()).abs() < 1e-9, "{} {}", apart.sqrt(), expected.sqrt());
    // The world in the log has the gripper at the start of the task, so the page shows what was simulated.
    let picture = scratch.path("y.svg");
    let drawn =
        ["plot", "last", "--fields", "body:Box.y", "--output", picture.to_str().unwrap(), "--database", &database];
    let drawn = output(&drawn);
    assert!(drawn.status.success(), "{}", text(&drawn.stderr));
    // The gripper's motion is repeated, step by step.
    let replayed = output(&["replay", "last", "--database", &database]);
    let told = text(&replayed.stdout);
    assert!(replayed.status.success() && told.contains("the same; its head is"), "{told}{}", text(&replayed.stderr));
    // A fork continues from the exact state without a driver: the motors keep their commands. It can be replayed as
    // well.
    let fork = ["fork", "last", "--at", "700", "--duration", "0.1", "--database", &database];
    let forked = output(&fork);
    assert!(forked.status.success(), "{}", text(&forked.stderr));
    let replayed = output(&["replay", "last", "--database", &database]);
    assert!(replayed.status.success(), "{}{}", text(&replayed.stdout), text(&replayed.stderr));
}

/// Targets of a RobWork file, and a mesh: the log is sufficient to repeat the task.
#[test]
fn a_task_with_targets_and_one_with_a_mesh_are_made_again_from_their_logs() {
    let scratch = Scratch::new();
    let (rows, targets, nothing) =
        (scratch.path("rows"), scratch.path("box.rwtask.xml"), scratch.write("none.toml", ""));
    let targets = targets.to_str().unwrap();
    batch("box.xml", &rows, &["--tasks", "3", "--rwtask", targets]);
    let (own, mesh) = (shipped("box.xml"), shipped("mesh.xml"));
    for (case, arguments) in
        [vec![own.as_str(), "--task", "2", "--targets", targets], vec![&mesh, "--seed", "5", "--task", "1"]]
            .into_iter()
            .enumerate()
    {
        let database = scratch.database(&format!("{case}.sqlite"));
        let log = ["--log", "--database", &database, "--properties", &nothing];
        printed(&[&["run"], &arguments[..], &log].concat());
        // The original files are not needed any more.
        let replayed = output(&["replay", "last", "--database", &database]);
        let told = text(&replayed.stdout);
        assert!(replayed.status.success() && told.contains("the same;"), "{told}{}", text(&replayed.stderr));
    }
}
