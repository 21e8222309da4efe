//! The verification: the quick cases pass on the default engine, and the output of the verb is complete.

use std::{path::PathBuf, process::Command};

use serde_json::Value;
use simpartner::verify::{self, Bench, Verification};
use simpartner_dynamics::{EngineKind, Settings};

use crate::needs::{Need, met};

fn bench(engine: EngineKind) -> Bench {
    Bench { settings: Settings { engine, ..Settings::default() }, worlds: PathBuf::from("worlds") }
}

fn run(engine: EngineKind, names: &[&str], quick: bool) -> Verification {
    let (bench, names) = (bench(engine), names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());
    let cases = verify::select(&names, quick).unwrap();
    let reports =
        cases.into_iter().map(|case| verify::run(case, &bench).unwrap_or_else(|problems| panic!("{problems}")));
    Verification { engine: bench.engine().unwrap(), reports: reports.collect() }
}

/// Runs the binary: exit code, standard output, standard error.
fn simpartner(arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_simpartner"));
    let output = command.arg("verify").args(arguments).env_remove("SIMPARTNER_PHYSICS_ENGINE").output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn every_quick_case_is_within_its_tolerance() {
    let verification = run(EngineKind::Dynamics, &[], true);
    println!("{}", verify::table::table(&verification, false));
    let missed: Vec<String> = verification
        .rows()
        .filter(|(_, row)| !row.passes())
        .map(|(case, row)| format!("{}: {row:?}", case.name))
        .collect();
    assert!(missed.is_empty(), "{}", missed.join("\n"));
    assert!(verification.reports.len() >= 12 && verification.rows().count() >= 60);
    // A figure of another engine that no row shows has lost its row's name.
    let peers: Vec<Value> = serde_json::from_str(include_str!("../../src/experiments/src/verify/peers.json")).unwrap();
    let rows: Vec<String> = verification.rows().map(|(case, row)| format!("{}/{}", case.name, row.name)).collect();
    for peer in &peers {
        let row = peer["row"].as_str().unwrap();
        let is_quick = verification.reports.iter().any(|report| row.starts_with(&format!("{}/", report.case.name)));
        assert!(!is_quick || rows.iter().any(|name| name == row), "{row}");
    }
    assert!(verification.rows().filter(|(_, row)| row.peer.is_some()).count() >= 30);
}

/// Siconos and this program on the same experiments in the same run: ours is nowhere farther from the reference.
#[test]
fn siconos_is_run_beside_its_own_examples() {
    let told = Command::new("/usr/bin/python3").arg("tests/bench/peers/siconos_peer.py").output();
    let told = told.map_err(|error| error.to_string()).and_then(|told| match told.status.success() {
        true => Ok(told.stdout),
        false => Err(String::from_utf8_lossy(&told.stderr).lines().last().unwrap_or_default().to_owned()),
    });
    let Some(told) = met(Need::Siconos, told) else { return };
    let theirs: Vec<Value> = serde_json::from_slice(&told).unwrap();
    let verification = run(EngineKind::Dynamics, &["impact-times", "pendulum-stops"], false);
    let mut compared = 0;
    for (case, row) in verification.rows() {
        let name = format!("{}/{}", case.name, row.name);
        let Some(figure) = theirs.iter().find(|entry| entry["row"] == name.as_str()) else { continue };
        let (ours, theirs) =
            (row.measured.unwrap() - row.reference, figure["figure"].as_f64().unwrap() - row.reference);
        println!("{name}: off by {ours:.1e}, Siconos by {theirs:.1e}");
        // The time of rest of a ball depends on the last bounces that a program omits.
        assert!(row.name.contains("at rest") || ours.abs() <= theirs.abs() + 1e-12, "{name}: {ours} and {theirs}");
        compared += 1;
    }
    assert!(compared >= 18, "{compared}");
}

#[test]
fn cases_and_their_rows_have_names_of_their_own() {
    let names: Vec<&str> = verify::all().map(|case| case.name).collect();
    let all = |names: &[&str]| names.iter().collect::<std::collections::HashSet<_>>().len();
    assert_eq!(all(&names), names.len());
    let verification = run(EngineKind::Dynamics, &["free-fall", "rolling", "reactions"], false);
    let rows: Vec<String> = verification.rows().map(|(case, row)| format!("{}/{}", case.name, row.name)).collect();
    assert_eq!(rows.iter().collect::<std::collections::HashSet<_>>().len(), rows.len());
}

/// The second engine falls like the thesis's, is shown, and has a row without a value where it has none.
#[test]
fn a_miss_is_shown_with_its_reason() {
    let verification = run(EngineKind::Rapier, &["projectile", "reactions"], false);
    let row = |name: &str| verification.rows().find(|(_, row)| row.name == name).unwrap().1;
    let fall = row("height off, 1 ms");
    assert!((fall.measured.unwrap() - 0.04905).abs() < 1e-6 && !fall.passes());
    assert!(fall.note.contains("first order"), "{}", fall.note);
    assert!(row("way along x off, 1 ms").passes());
    let silent = row("force in joint 1, welded");
    assert!(silent.measured.is_none() && !silent.passes() && silent.note.contains("does not tell"), "{silent:?}");
}

#[test]
fn json_has_the_fields_that_are_promised() {
    let (code, out, _) = simpartner(&["--case", "projectile", "--json"]);
    assert_eq!(code, 0, "{out}");
    let json: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(json.as_object().unwrap().keys().collect::<Vec<_>>(), ["cases"]);
    let cases = json["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 3);
    for case in cases {
        let mut keys: Vec<&str> = case.as_object().unwrap().keys().map(String::as_str).collect();
        keys.sort_unstable();
        assert_eq!(keys, ["measured", "name", "note", "pass", "peer", "reference", "thesis", "tolerance", "unit"]);
    }
    assert_eq!(cases[1]["name"], "projectile/height off, 1 ms");
    assert_eq!(cases[1]["thesis"], 0.0489);
    assert_eq!(cases[1]["pass"], true);
}

#[test]
fn a_miss_has_an_exit_code_and_the_report_needs_nothing_else() {
    let scratch = tempfile::tempdir().unwrap();
    let (html, json) = (scratch.path().join("report.html"), scratch.path().join("report.json"));
    let files = ["--html", html.to_str().unwrap(), "--json", json.to_str().unwrap()];
    let (code, out, _) = simpartner(&[&["--engine", "rapier", "--case", "projectile"], &files[..]].concat());
    assert_eq!(code, 6);
    assert!(out.contains("MISS") && out.contains("2 of 3 within tolerance, on rapier"), "{out}");
    assert!(!out.contains('\x1b'), "no colours where there is no terminal");
    let page = std::fs::read_to_string(html).unwrap();
    for foreign in ["http:", "https:", "src=", "url(", "@import", "<script", "<link"] {
        assert!(!page.contains(foreign), "the report names {foreign}");
    }
    assert!(page.contains("<section id=\"projectile\">") && page.contains("<polyline class=\"thesis\""));
    let json: Value = serde_json::from_str(&std::fs::read_to_string(json).unwrap()).unwrap();
    assert_eq!(json["cases"][1]["pass"], false);
}

#[test]
fn cases_are_listed_and_unknown_ones_refused() {
    let (code, out, _) = simpartner(&["--list"]);
    assert_eq!((code, out.lines().count()), (0, verify::all().count()));
    let (_, quick, _) = simpartner(&["--list", "--quick"]);
    assert!(quick.lines().count() < out.lines().count() && quick.contains("free-fall"));
    let (code, out, error) = simpartner(&["--case", "freefall"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(error.contains("no case 'freefall'; did you mean free-fall?"), "{error}");
}

/// Robots and sequences are built in, so the experiments need no folder.
#[test]
fn experiments_with_robots_run_in_any_folder() {
    let scratch = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_simpartner"));
    let output = command.args(["verify", "--case", "straight"]).current_dir(scratch.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}
