//! Output without a reader: a reader that stops ends the output and not the program, a full device is reported as an
//! error, and no verb panics.

use std::{
    fs::File,
    process::{Output, Stdio},
};

use super::cli::{SHORT, Scratch, output, simpartner, text};

/// Every verb that prints, in a database of two runs.
fn verbs(scratch: &Scratch) -> Vec<Vec<String>> {
    let database = scratch.database("a.db");
    let sequence = scratch.write("short.xml", SHORT);
    let run = format!("run --mode fast --sequence {sequence} --database {database}");
    for _ in 0..2 {
        assert!(output(&run.split(' ').collect::<Vec<_>>()).status.success());
    }
    let path = |name: &str| scratch.path(name).display().to_string();
    let (folder, plot, merged) = (path("csv"), path("run.svg"), scratch.database("b.db"));
    let select = "SELECT step FROM simulationRow";
    let mut verbs: Vec<Vec<String>> = [
        run,
        "check worlds/flat.xml robots/circle.xml".into(),
        "check worlds/flat.xml --format json".into(),
        "check worlds/flat.xml --dot".into(),
        "devices".into(),
        "devices --json".into(),
        "verify --list".into(),
        "verify --case free-fall --json".into(),
        format!("replay 1 --until 10 --database {database}"),
        format!("fork 1 --at 490 --database {database}"),
        format!("runs --database {database}"),
        format!("runs --json --database {database}"),
        format!("runs compare 1 2 --database {database}"),
        format!("export 1 --format csv --output {folder} --force --every 100 --database {database}"),
        format!("plot 1 --fields Position.x --output {plot} --database {database}"),
        format!("db verify --database {database}"),
        format!("db merge {database} {merged}"),
        format!("db prune --keep 100 --database {database}"),
        "schema reference".into(),
        "schema properties".into(),
        "--help".into(),
        "run --help".into(),
        "--version".into(),
    ]
    .iter()
    .map(|line| line.split(' ').map(str::to_owned).collect())
    .collect();
    for format in ["table", "csv", "json"] {
        verbs.push(["query", "1", select, "--format", format, "--database", &database].map(str::to_owned).to_vec());
    }
    verbs
}

fn with(verb: &[String], stdout: Stdio, stderr: Stdio) -> Output {
    let arguments: Vec<&str> = verb.iter().map(String::as_str).collect();
    simpartner(&arguments).stdout(stdout).stderr(stderr).output().unwrap()
}

#[test]
fn a_reader_that_has_had_enough_ends_the_output_and_not_the_program() {
    let scratch = Scratch::new();
    for verb in verbs(&scratch) {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ended = with(&verb, writer.into(), Stdio::piped());
        let told = text(&ended.stderr);
        assert!(ended.status.success(), "{verb:?} ends with {}: {told}", ended.status);
        assert!(!told.contains("pipe") && !told.contains("panicked"), "{verb:?} says {told}");
    }
    // The output of a run's start may be lost as well.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let run = ["run", "--mode", "fast", "--duration", "0.1", "--database", "none"].map(str::to_owned);
    assert!(with(&run, Stdio::null(), writer.into()).status.success());
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_device_is_told_and_fails() {
    let scratch = Scratch::new();
    for verb in verbs(&scratch) {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let ended = with(&verb, full.into(), Stdio::piped());
        let told = text(&ended.stderr);
        // The final output of a run is not its result, which is in the log. It goes to standard error instead.
        let is_kept = ["run", "fork"].contains(&verb[0].as_str()) && verb.get(1).is_some_and(|flag| flag != "--help");
        assert_eq!(ended.status.code(), Some(i32::from(!is_kept)), "{verb:?} says {told}");
        assert_eq!(told.contains("outcome           completed\n"), is_kept, "{verb:?} says {told}");
        assert_eq!(told.matches("standard output cannot be written to").count(), 1, "{verb:?} says {told}");
    }
}

/// A failure of the verb itself is not hidden by one of its output.
#[cfg(target_os = "linux")]
#[test]
fn the_exit_code_of_the_verb_stays() {
    let scratch = Scratch::new();
    let world = scratch.write("bad.xml", "<world><gravity q='1'/></world>");
    let verb = ["check", "worlds/flat.xml", &world].map(str::to_owned);
    let full = File::options().write(true).open("/dev/full").unwrap();
    assert_eq!(with(&verb, full.into(), Stdio::piped()).status.code(), Some(3));
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    assert_eq!(with(&verb, writer.into(), Stdio::piped()).status.code(), Some(3));
}

/// Control characters in names of files or clients are printed escaped.
#[test]
fn control_characters_never_reach_the_terminal_raw() {
    let scratch = Scratch::new();
    let name = scratch.path("no\u{1b}[2Jworld.xml").display().to_string();
    let ended = output(&["check", &name]);
    let told = text(&ended.stderr) + &text(&ended.stdout);
    assert!(told.contains("no\\u001b[2Jworld.xml") && !told.contains('\u{1b}'), "{told:?}");
}
