//! What was found of grasps, on all three databases.

use simpartner::recorder::{GraspFinding, keep_grasp};

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
