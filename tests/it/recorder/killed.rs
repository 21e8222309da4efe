//! The process is killed at any time: committed data is complete, and `db verify` names what is missing.

use std::{
    cell::RefCell,
    hash::{BuildHasher, Hasher, RandomState},
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use simpartner::recorder::{Reader, import};
use sqlx::{Connection, SqliteConnection};

use super::{
    super::cli::{Running, Scratch},
    outage::Line,
    test_database::{TestDatabase, wait},
};

pub(super) fn simpartner(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_simpartner"));
    command.args(arguments).env_remove("RUST_LOG").stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The last step that another program can see.
fn last_step(target: &TestDatabase) -> u64 {
    // Without a run there is no step.
    let runs = wait(Reader::new(&target.database).runs()).unwrap_or_default();
    runs.first().and_then(|run| run.steps).map_or(0, |(_, last)| last)
}

/// Runs a simulation into the database, kills it after at most `most` milliseconds, and checks the log.
fn kill(target: &TestDatabase, most: u64) {
    // The files of a killed run are removed with the test.
    let folder = tempfile::tempdir().unwrap();
    let spill = format!("log.spill_folder={}", folder.path().display());
    let arguments = ["run", "--mode", "fast", "--duration", "100000", "--no-viewer", "--database", &target.url];
    let mut run = simpartner(&arguments).args(["--set", &spill]).spawn().unwrap();
    while last_step(target) == 0 {
        assert!(run.try_wait().unwrap().is_none(), "{}: it ended by itself", target.name());
        thread::yield_now();
    }
    thread::sleep(Duration::from_micros(RandomState::new().build_hasher().finish() % (most * 1000)));
    let committed = last_step(target);
    run.kill().unwrap();
    run.wait().unwrap();
    let found = wait(Reader::new(&target.database).verify(None)).unwrap().pop().unwrap();
    assert!(found.steps >= committed, "{}: of {committed} committed steps {} are there", target.name(), found.steps);
    let closed = "the run was not closed (its status is running): it is still running, or was killed".to_owned();
    assert_eq!(found.findings, [closed], "{}", target.name());
}

/// A few times on each database; `SIMPARTNER_LONG_TESTS=1` two hundred times on a file and forty on each server.
#[test]
fn a_killed_run_keeps_every_step_that_was_committed() {
    let is_long = std::env::var_os("SIMPARTNER_LONG_TESTS").is_some();
    let mut killed = Vec::new();
    for (scheme, often) in [("sqlite", 200), ("postgres", 40), ("mysql", 40)] {
        let often = if is_long { often } else { 2 };
        for _ in 0..often {
            let target = if scheme == "sqlite" { Some(TestDatabase::file()) } else { TestDatabase::on(scheme) };
            let Some(target) = target else { break };
            kill(&target, 300);
            killed.push(scheme);
        }
    }
    let count = |scheme| killed.iter().filter(|&&other| other == scheme).count();
    println!("killed: file {}, PostgreSQL {}, MariaDB {}", count("sqlite"), count("postgres"), count("mysql"));
}

#[test]
fn a_database_with_a_killed_run_takes_the_next_and_the_verb_tells_them_apart() {
    let target = TestDatabase::file();
    kill(&target, 50);
    let arguments = ["run", "--mode", "fast", "--duration", "0.1", "--database", &target.url];
    let next = simpartner(&arguments).output().unwrap();
    assert!(next.status.success(), "{next:?}");
    let verified = simpartner(&["db", "verify", "--database", &target.url]).output().unwrap();
    let text = String::from_utf8(verified.stdout).unwrap();
    assert_eq!(verified.status.code(), Some(4), "{text}");
    assert!(text.starts_with("run 1      incomplete"), "{text}");
    assert!(text.contains("\nrun 2      complete    100 steps, "), "{text}");
    let verified = simpartner(&["db", "verify", "--database", &target.url, "2"]).output().unwrap();
    assert_eq!(verified.status.code(), Some(0));
    // A row is removed, and the finding names it.
    target.execute("DELETE FROM body_state WHERE simulationRowID = 2 * 4294967296 + 50 AND bodyID = (SELECT max(bodyID) FROM body)");
    target.execute("DELETE FROM simulationRow WHERE simulationID = 2 AND step BETWEEN 71 AND 80");
    let verified = simpartner(&["db", "verify", "--database", &target.url, "2"]).output().unwrap();
    let text = String::from_utf8(verified.stdout).unwrap();
    assert_eq!(verified.status.code(), Some(4), "{text}");
    assert!(text.contains("step 50 has ") && text.contains("steps 71 to 80 are missing"), "{text}");
    assert!(text.contains(" rows are there, ") && text.contains("step 71 is not logged, but has "), "{text}");
    let unknown = simpartner(&["db", "verify", "--database", &target.url, "3"]).output().unwrap();
    assert_eq!(unknown.status.code(), Some(3));
}

/// A run in real time whose database hangs at some time and which is killed after a number of steps: unconfirmed steps
/// are in the spill file. Returns the number of steps in neither.
fn lost_in_a_hang(
    scratch: &Scratch,
    target: &TestDatabase,
    url: &str,
    steps: u64,
    hang: impl FnOnce(),
    go_on: impl FnOnce(),
) -> u64 {
    let spill = scratch.path("spill");
    std::fs::create_dir(&spill).unwrap();
    let folder = format!("log.spill_folder={}", spill.display());
    let mut run = Running::logging_into(url, scratch, &["--no-viewer", "--set", &folder]);
    while last_step(target) == 0 {
        thread::yield_now();
    }
    hang();
    let from = run.step();
    run.reach(from + steps);
    let reached = run.step();
    run.kill();
    go_on();
    for file in std::fs::read_dir(&spill).unwrap() {
        import(&file.unwrap().path(), &target.database).unwrap();
    }
    let found = wait(Reader::new(&target.database).verify(None)).unwrap().remove(0);
    assert_eq!(found.findings.len(), 1, "{}: only that it was not closed: {:?}", target.name(), found.findings);
    reached.saturating_sub(found.steps)
}

/// The same in a hang of a server, and of a file.
fn lost_on(target: &str, steps: u64) -> Option<u64> {
    let scratch = Scratch::new();
    if target != "sqlite" {
        let line = Line::to_all().find(|line| line.target.name() == target)?;
        let url = line.settings.database.shown_url();
        let (hang, go_on) = (|| line.proxy.stall(true), || line.proxy.stall(false));
        return Some(lost_in_a_hang(&scratch, &line.target, &url, steps, hang, go_on));
    }
    let target = TestDatabase::file();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let other = RefCell::new(None);
    let hang = || {
        let mut connection = runtime.block_on(SqliteConnection::connect(&target.url)).unwrap();
        let locked = sqlx::raw_sql("PRAGMA busy_timeout = 5000; BEGIN IMMEDIATE").execute(&mut connection);
        runtime.block_on(locked).unwrap();
        *other.borrow_mut() = Some(connection);
    };
    Some(lost_in_a_hang(&scratch, &target, &target.url, steps, hang, || drop(other.take())))
}

/// Half of the hang is far more than the permitted loss, and far less than the capacity of a queue in memory. A busy
/// machine may delay the log's thread by that much; one successful try is enough.
#[test]
fn a_run_that_is_killed_while_its_database_hangs_has_its_steps_in_the_spill_file() {
    let is_long = std::env::var_os("SIMPARTNER_LONG_TESTS").is_some();
    let steps = if is_long { 6000 } else { 1000 };
    for target in ["sqlite", "postgres", "mysql"] {
        let mut lost: Vec<u64> = Vec::new();
        while lost.len() < 5 && (is_long || !lost.iter().any(|lost| *lost < steps / 2)) {
            match lost_on(target, steps) {
                Some(count) => lost.push(count),
                None => break,
            }
        }
        println!("{target}: steps lost of {steps} in a hang: {lost:?}");
        assert!(lost.is_empty() || lost.iter().any(|lost| *lost < steps / 2), "{target}: {lost:?}");
    }
}
