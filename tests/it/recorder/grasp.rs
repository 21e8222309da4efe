//! Stored results of grasps, on all three databases.

use simpartner::recorder::{GraspBatch, GraspFinding, GraspTaskFinding, GraspTasks, keep_grasp};

use super::test_database::{TestDatabase, Value};

#[test]
fn a_finding_is_a_row_and_what_it_does_not_tell_is_null() {
    for target in TestDatabase::all() {
        let name = target.name();
        let answer = format!("{{\"text\": \"µ 'quoted' {}\"}}", "long ".repeat(40_000));
        let finding = GraspFinding {
            verb: "check",
            file: "worlds/grasps/pinch.xml",
            texts: &["<grasp".to_owned(), "/>".to_owned()],
            name: "pinch",
            verdict: "holds",
            figures: &[("margin", 30.19), ("slip_time", f64::NAN)],
            answer: &answer,
        };
        keep_grasp(&target.database, &finding).unwrap();
        // A log with runs takes them as well, and they are numbered.
        super::log(super::Settings::new(target.database.clone()), super::steps(1..=20), super::finished(20));
        keep_grasp(&target.database, &GraspFinding { verb: "slip", figures: &[], ..finding }).unwrap();
        let text = |text: &str| Value::Text(text.into());
        let rows =
            target.rows("SELECT graspID, verb, file, verdict, margin, slip_time, answer FROM grasp ORDER BY graspID");
        let row = |number: f64, verb: &str, margin: Value| {
            let known =
                [text(verb), text("worlds/grasps/pinch.xml"), text("holds"), margin, Value::Null, text(&answer)];
            [Value::Number(number)].into_iter().chain(known).collect::<Vec<_>>()
        };
        assert_eq!(rows, [row(1.0, "check", Value::Number(30.19)), row(2.0, "slip", Value::Null)], "{name}");
        let hash = blake3::hash(b"<grasp/>").to_hex();
        assert_eq!(target.rows("SELECT blake3 FROM grasp")[0], [text(hash.as_str())], "{name}");
        let asked = target.rows("SELECT asked FROM grasp");
        assert!(matches!(&asked[0][0], Value::Text(when) if when.ends_with('Z') && when.len() == 24), "{asked:?}");
    }
}

/// Keeps these tasks of a batch.
fn keep_tasks(target: &TestDatabase, key: &str, tasks: std::ops::Range<u64>, cause: Option<&str>) {
    let batch =
        GraspBatch { key: key.into(), file: "worlds/grasps/tasks/box.xml".into(), name: "box".into(), seed: u64::MAX };
    let pose = ["x", "y", "z", "qx", "qy", "qz", "qw"].map(|name| (name, 0.5));
    let numbers = [("number", 1.0), ("ended", 2.5), ("steps", 1250.0), ("contacts", 4.0), ("contacts_after", 0.0)];
    let measures = [("quality_force", 0.25), ("quality_squeeze_after", f64::NAN)];
    let figures = pose.into_iter().chain(numbers).chain(measures).map(|(name, value)| (name.to_owned(), value));
    let figures: Vec<_> = figures.collect();
    let mut kept = GraspTasks::open(&target.database, batch).unwrap();
    for task in tasks {
        let outcome = format!("{{\"task\":{task}}}");
        let finding = GraspTaskFinding { task, status: "Success", cause, figures: &figures, outcome: &outcome };
        kept.keep(&finding).unwrap();
    }
    kept.finish().unwrap();
}

/// Rows of tasks are stored once, even if added repeatedly, and quantities that a task did not reach are NULL.
#[test]
fn tasks_of_a_batch_are_rows_and_none_comes_twice() {
    for target in TestDatabase::all() {
        let name = target.name();
        // More than are committed at once; then some again, and others; and another batch.
        keep_tasks(&target, "a", 0..130, None);
        keep_tasks(&target, "a", 100..150, Some("µ 'again'"));
        keep_tasks(&target, "b", 0..1, None);
        let text = |text: &str| Value::Text(text.into());
        let counts =
            target.rows("SELECT batch, count(*), max(task), min(steps) FROM graspTask GROUP BY batch ORDER BY batch");
        let count = |batch: &str, numbers: [f64; 3]| -> Vec<Value> {
            [text(batch)].into_iter().chain(numbers.map(Value::Number)).collect()
        };
        assert_eq!(counts, [count("a", [150.0, 149.0, 1250.0]), count("b", [1.0, 0.0, 1250.0])], "{name}");
        let known = "SELECT task, seed, status, cause, qw, quality_force, quality_squeeze_after, approached, outcome FROM graspTask";
        let rows = target.rows(&format!("{known} WHERE batch = 'a' AND task IN (0, 129, 140) ORDER BY task"));
        let row = |task: f64, cause: &str| {
            vec![
                Value::Number(task),
                text("18446744073709551615"),
                text("Success"),
                text(cause),
                Value::Number(0.5),
                Value::Number(0.25),
                Value::Null,
                Value::Null,
                text(&format!("{{\"task\":{task}}}")),
            ]
        };
        assert_eq!(rows, [row(0.0, ""), row(129.0, ""), row(140.0, "µ 'again'")], "{name}");
    }
}
