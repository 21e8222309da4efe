//! `runs compare`.

use std::path::Path;

use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection, SqliteConnection};

use super::{DRIVE, Logs, STEPS, simpartner, text};

fn compared(arguments: &[&str]) -> (Option<i32>, Value) {
    let output = simpartner(&[&["runs", "compare", "--json"], arguments].concat());
    (
        output.status.code(),
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr))),
    )
}

#[tokio::main(flavor = "current_thread")]
async fn execute(file: &Path, sql: &str) {
    let mut connection = SqliteConnection::connect(&format!("sqlite:{}", file.display())).await.unwrap();
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
}

#[test]
fn the_same_run_again_is_equal() {
    let logs = Logs::shared();
    let url = logs.url("runs.db");
    let (code, found) = compared(&["1", "2", "--database", &url]);
    assert_eq!((code, &found["equal"], &found["common_steps"]), (Some(0), &json!(true), &json!(STEPS)));
    assert_eq!(found["first_difference"], Value::Null);
    let told = text(&simpartner(&["runs", "compare", "1", "2", "--database", &url]).stdout);
    assert_eq!(told, "steps in both     500\nfirst difference  none\n");
}

#[test]
fn where_two_runs_begin_to_differ_is_named() {
    let logs = Logs::shared();
    let url = logs.url("runs.db");
    let (code, found) = compared(&["1", "3", "--database", &url]);
    assert_eq!((code, &found["equal"]), (Some(10), &json!(false)));
    // The command acts in the step after 0.3 s.
    let first = &found["first_difference"];
    assert_eq!(
        (&first["step"], &first["component"], &first["field"]),
        (&json!(301), &json!("WorkPartner/TurnerController"), &json!("text"))
    );
    assert_eq!(first["quantity"], "command");
    let differing = found["differing"].as_array().unwrap();
    let quantities: Vec<&str> = differing.iter().map(|one| one["quantity"].as_str().unwrap()).collect();
    for quantity in ["command", "position", "velocity", "contact force", "joint rate", "reading"] {
        assert!(quantities.contains(&quantity), "{quantity}: {quantities:?}");
    }
    assert!(differing.iter().all(|one| one["first"].as_u64() >= Some(301)), "{differing:?}");
    assert_eq!(first["values"], json!(["0,0,0.1,5,0,0", "0,0,0.2,5,0,0"]));
    let bodies = found["deviations"].as_array().unwrap();
    assert_eq!(bodies.len(), super::BODIES);
    assert!(bodies.iter().any(|body| body["position_m"]["value"].as_f64() > Some(0.0)));
    assert!(bodies.iter().all(|body| body["position_m"]["step"].as_u64().is_some_and(|step| step == 0 || step > 300)));
}

#[test]
fn one_bit_of_one_body_in_one_step_is_found_in_another_database() {
    let logs = Logs { folder: tempfile::tempdir().unwrap() };
    let shared = Logs::shared();
    logs.run("other.db", DRIVE);
    let (one, other) = (format!("{}#1", shared.url("runs.db")), format!("{}#last", logs.url("other.db")));
    assert_eq!(compared(&[&one, &other]).0, Some(0));

    // The last bit of a number near 0.59.
    let tampered = "UPDATE body_state SET y = y + 1.1102230246251565e-16 WHERE simulationRowID = 4294967296 + 123
        AND bodyID = (SELECT bodyID FROM body WHERE name = 'FrontChassis')";
    execute(&logs.path("other.db"), tampered);
    let (code, found) = compared(&[&one, &other]);
    let first = &found["first_difference"];
    assert_eq!(
        (code, &first["step"], &first["component"], &first["field"]),
        (Some(10), &json!(123), &json!("WorkPartner/FrontChassis"), &json!("y"))
    );
    let values = first["values"].as_array().unwrap();
    let gap = values[1].as_f64().unwrap() - values[0].as_f64().unwrap();
    assert!(gap > 0.0 && gap < 2e-16, "{gap}");
    let deviations = found["deviations"].as_array().unwrap();
    let moved: Vec<&Value> = deviations.iter().filter(|body| body["position_m"]["value"] != json!(0.0)).collect();
    assert_eq!(moved.len(), 1);
    let largest = &moved[0]["position_m"];
    assert_eq!(largest["step"], 123);
    assert!((largest["value"].as_f64().unwrap() / gap - 1.0).abs() < 1e-9, "{largest}");

    // Elements of only one of them.
    execute(
        &logs.path("other.db"),
        "DELETE FROM simulationRow WHERE step > 490; DELETE FROM body_state WHERE simulationRowID > 4294967296 + 490",
    );
    let (_, found) = compared(&[&one, &other]);
    assert_eq!(
        (&found["common_steps"], &found["only_in_first"]["steps"]),
        (&json!(490), &json!({ "steps": 10, "first": 491 }))
    );
}

#[test]
fn a_fork_is_compared_from_where_it_begins() {
    let logs = Logs { folder: tempfile::tempdir().unwrap() };
    logs.run("runs.db", DRIVE);
    let fork = |more: &[&str]| {
        let output = logs.call(&[&["fork", "1", "--at", "350"], more].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
    };
    fork(&[]);
    fork(&["--set", "simulation.seed=7"]);
    let url = logs.url("runs.db");
    // Commands were given at 1 and 301, and steps made, before the fork.
    let told = logs.call(&["runs", "compare", "1", "2"]);
    let expected =
        "steps in both     150\ncompared after    step 350, at which the fork starts\nfirst difference  none\n";
    assert_eq!((text(&told.stdout).as_str(), told.status.code()), (expected, Some(0)));
    for sides in [["1", "2"], ["2", "1"], ["2", "3"]] {
        let (code, found) = compared(&[sides[0], sides[1], "--database", &url]);
        assert_eq!((code, &found["compared_after"], &found["equal"]), (Some(0), &json!(350), &json!(true)), "{found}");
    }
    execute(
        &logs.path("runs.db"),
        "UPDATE body_state SET F_y = F_y + 1 WHERE simulationRowID = 2 * 4294967296 + 400
        AND bodyID = (SELECT max(bodyID) FROM body WHERE simulationID = 2 AND name = 'Wheel1')",
    );
    let told = text(&logs.call(&["runs", "compare", "1", "2"]).stdout);
    assert!(told.contains("first difference  step 400, WorkPartner/Wheel1, contact force, y: "), "{told}");
    assert!(told.contains("differs           contact force: 1 rows of 1 component, from step 400 on"), "{told}");
}

#[test]
fn a_log_that_leaves_out_what_rests_is_equal_to_a_full_one() {
    let logs = Logs { folder: tempfile::tempdir().unwrap() };
    let url = logs.url("runs.db");
    for detail in ["full", "economical"] {
        let set = format!("log.detail={detail}");
        let output = simpartner(&[
            "run",
            "--mode",
            "fast",
            "--world",
            "worlds/maze.xml",
            "--duration",
            "0.5",
            "--set",
            &set,
            "--database",
            &url,
        ]);
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    assert_eq!(compared(&["1", "2", "--database", &url]).0, Some(0));
    // A fork is logged in full for as long as any run, and its parent has fixed bodies' rows only from before it.
    let thin =
        ["--set", "log.detail=economical", "--set", "log.thin_after_s=0.3", "--set", "log.thin_to_every_n_steps=50"];
    for at in ["77", "350"] {
        let fork = ["fork", "2", "--at", at, "--database", &url];
        assert!(simpartner(&[&fork[..], &thin].concat()).status.success());
        let (code, found) = compared(&["last", "2", "--database", &url]);
        assert_eq!(code, Some(0), "{found}");
    }
    let runs: Value = serde_json::from_slice(&logs.call(&["runs", "--json"]).stdout).unwrap();
    assert!(runs[2]["rows"].as_u64() < runs[3]["rows"].as_u64(), "{runs}");
}
