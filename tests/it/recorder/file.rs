//! The files of a log during a run: several programs create the same file, another program moves, removes, replaces or
//! truncates it, and signals end the run.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    time::Duration,
};

use simpartner::recorder::{Completeness, Reader, import};

use super::{
    super::cli::{Scratch, text},
    killed::simpartner,
    outage::{send, wait_for_rows},
    test_database::{TestDatabase, wait},
    *,
};

#[test]
fn several_programs_begin_in_one_new_file_and_all_are_logged() {
    let is_long = std::env::var_os("SIMPARTNER_LONG_TESTS").is_some();
    for _ in 0..if is_long { 10 } else { 1 } {
        let target = TestDatabase::file();
        let arguments = ["run", "--mode", "fast", "--duration", "0.01", "--no-viewer", "--database", &target.url];
        let runs: Vec<Child> = (0..6).map(|_| simpartner(&arguments).spawn().unwrap()).collect();
        for run in runs {
            let ended = run.wait_with_output().unwrap();
            assert!(ended.status.success(), "{}", text(&ended.stderr));
        }
        let found = wait(Reader::new(&target.database).verify(None)).unwrap();
        assert_eq!(found.len(), 6);
        assert!(found.iter().all(|run| run.steps == 10 && run.findings.is_empty()), "{found:?}");
    }
}

#[test]
fn the_end_of_the_terminal_is_ignored_where_nohup_says_so() {
    let scratch = Scratch::new();
    let world = scratch.world();
    let arguments = [
        &["run", "--duration", "0.5", "--no-viewer", "--set", "server.control_port=0", "--database", "none", "--world"],
        &[world.as_str()][..],
    ];
    let mut run = Command::new("sh");
    run.args(["-c", "trap '' HUP; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_simpartner")]).args(arguments.concat());
    let mut run = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let announced = BufReader::new(run.stderr.take().unwrap()).lines().any(|line| line.unwrap().starts_with("control"));
    assert!(announced);
    signal("HUP", run.id());
    let ended = run.wait_with_output().unwrap();
    assert!(text(&ended.stdout).starts_with("outcome           completed\nsteps             500\n"), "{ended:?}");
}

/// A run of 500 steps in a file, `happens` to the file, and 500 more; then it is `restored`, and the log is waited for
/// as long as that takes at most.
fn meddle(
    folder: &Path,
    happens: impl FnOnce(&Path),
    (drain, restored): (Duration, impl FnOnce(&Path)),
) -> Result<LogSummary, RecorderError> {
    let file = folder.join("log.db");
    let spill = folder.join("spill");
    std::fs::create_dir(&spill).unwrap();
    let settings = Settings { spill_folder: spill, drain, ..settings(&file) };
    let recorder = Recorder::start(settings, RunDescription { mode: Mode::RealTime, ..run() }).unwrap();
    let (sender, status) = (recorder.sender(), recorder.status());
    send(&sender, 1..=500);
    wait_for_rows(&status);
    happens(&file);
    send(&sender, 501..=1000);
    // Records wait while the file is missing.
    while !(status.is_away() || status.failed() || status.rows() >= 1000 * BODIES as u64) {
        std::thread::yield_now();
    }
    restored(&file);
    drop(sender);
    recorder.finish(finished(1000))
}

/// The file is unchanged.
const NOTHING: (Duration, fn(&Path)) = (Duration::from_millis(300), |_| ());

fn verify(file: &Path) -> Completeness {
    wait(Reader::new(&settings(file).database).verify(None)).unwrap().remove(0)
}

#[test]
fn steps_for_a_file_that_was_moved_wait_and_come_home_into_it() {
    let folder = tempfile::tempdir().unwrap();
    let moved = folder.path().join("moved.db");
    let error = meddle(folder.path(), |file| std::fs::rename(file, &moved).unwrap(), NOTHING).unwrap_err();
    let RecorderError::Undelivered { path, why, .. } = error else { panic!("{error}") };
    assert!(why.contains("log.db was moved, removed or replaced while a run was logged into it"), "{why}");
    assert!(!folder.path().join("log.db").exists(), "no other is created in its place");
    let there = verify(&moved).steps;
    assert!((1..1000).contains(&there), "{there}");
    assert!(import(&path, &settings(&moved).database).unwrap().is_complete());
    assert_eq!((verify(&moved).steps, verify(&moved).findings), (1000, Vec::new()));
}

#[test]
fn steps_behind_a_file_that_was_removed_come_into_any_other_which_is_told_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let error = meddle(folder.path(), |file| std::fs::remove_file(file).unwrap(), NOTHING).unwrap_err();
    let RecorderError::Undelivered { path, .. } = error else { panic!("{error}") };
    let other = folder.path().join("other.db");
    let imported = import(&path, &settings(&other).database).unwrap();
    let missing = &imported.missing;
    assert_eq!((missing.len(), missing[0].batches.0), (1, 2), "{imported:?}");
    let (first, last) = missing[0].steps.unwrap();
    assert_eq!((first, last + imported.steps), (1, 1000));
    assert_eq!(verify(&other).steps, imported.steps);
}

/// As after a kill, when the server has not yet ended the transaction of the dead process.
#[test]
fn an_import_waits_for_a_lock_that_is_held_longer_than_one_try() {
    let folder = tempfile::tempdir().unwrap();
    let error = meddle(folder.path(), |file| std::fs::remove_file(file).unwrap(), NOTHING).unwrap_err();
    let RecorderError::Undelivered { path, .. } = error else { panic!("{error}") };
    let other = folder.path().join("other.db");
    log(settings(&other), steps(1..=5), finished(5));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let mut holder = runtime.block_on(SqliteConnection::connect_with(&options(&other))).unwrap();
    runtime.block_on(sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut holder)).unwrap();
    let held = std::thread::spawn(move || {
        // A try waits for 5 s.
        std::thread::sleep(Duration::from_secs(7));
        runtime.block_on(holder.close()).unwrap();
    });
    let imported = import(&path, &settings(&other).database);
    held.join().unwrap();
    assert!(imported.unwrap().new_batches > 0);
}

#[test]
fn a_file_that_comes_back_takes_all_of_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let away = folder.path().join("away.db");
    let back = |file: &Path| std::fs::rename(&away, file).unwrap();
    meddle(folder.path(), |file| std::fs::rename(file, &away).unwrap(), (Duration::from_secs(30), back)).unwrap();
    assert_eq!(verify(&folder.path().join("log.db")).findings, Vec::<String>::new());
}

#[test]
fn a_file_that_stands_in_the_place_of_the_database_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other.db");
    log(settings(&other), steps(1..=5), finished(5));
    let error = meddle(folder.path(), |file| std::fs::rename(&other, file).unwrap(), NOTHING).unwrap_err();
    assert!(matches!(error, RecorderError::Undelivered { .. }), "{error}");
    assert_eq!(verify(&folder.path().join("log.db")).steps, 5);
}

#[test]
fn a_file_that_is_cut_short_is_made_whole_from_its_write_ahead_log_or_given_up() {
    let cut = |file: &Path| std::fs::OpenOptions::new().write(true).open(file).unwrap().set_len(0).unwrap();
    let folder = tempfile::tempdir().unwrap();
    meddle(folder.path(), cut, (Duration::from_secs(30), |_: &Path| ())).unwrap();
    assert_eq!(verify(&folder.path().join("log.db")).findings, Vec::<String>::new());
    let folder = tempfile::tempdir().unwrap();
    let copied_and_cut = |file: &Path| {
        execute(file, "PRAGMA wal_checkpoint(TRUNCATE)");
        cut(file);
    };
    let error = meddle(folder.path(), copied_and_cut, NOTHING).unwrap_err();
    let RecorderError::Undelivered { path, .. } = error else { panic!("{error}") };
    let other = folder.path().join("other.db");
    assert_eq!(import(&path, &settings(&other).database).unwrap().missing.len(), 1);
}

#[test]
fn a_file_that_is_gone_at_the_end_is_told_though_all_was_committed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log.db");
    let recorder = Recorder::start(settings(&file), run()).unwrap();
    let (sender, status) = (recorder.sender(), recorder.status());
    send(&sender, 1..=1);
    wait_for_rows(&status);
    std::fs::remove_file(&file).unwrap();
    drop(sender);
    let error = recorder.finish(finished(1)).unwrap_err();
    assert!(error.to_string().contains("was moved, removed or replaced"), "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_limit_on_the_size_of_files_ends_the_log_with_an_event() {
    let scratch = Scratch::new();
    let (world, database) = (scratch.world(), scratch.database("run.db"));
    let run = |blocks: u32, more: &[&str]| {
        let script = format!("ulimit -f {blocks}; exec \"$0\" \"$@\"");
        let mut command = Command::new("sh");
        command.args([
            "-c",
            &script,
            env!("CARGO_BIN_EXE_simpartner"),
            "run",
            "--mode",
            "fast",
            "--duration",
            "100000",
        ]);
        command.args(["--no-viewer", "--set", "log.when_full=end_run", "--world", &world, "--database", &database]);
        command.args(more).stdin(Stdio::null()).output().unwrap()
    };
    // Blocks of 512 bytes.
    let ended = run(100, &[]);
    assert_eq!(ended.status.code(), Some(4), "{ended:?}");
    assert!(text(&ended.stderr).contains("the limit on the size of a file is 51 kB (ulimit -f)"), "{ended:?}");
    let ended = run(66_000, &[]);
    assert_eq!(ended.status.code(), Some(4), "{ended:?}");
    let why = "the log approaches the limit of 33 MB on the size of a file (ulimit -f); raise the limit: ulimit -f unlimited; the log is complete up to step ";
    assert!(text(&ended.stdout).contains(why), "{ended:?}");
    let file = scratch.path("run.db");
    check_number(&file, "SELECT count(*) FROM event WHERE kind = 'logLimit'", 1);
    check_number(&file, "SELECT count(*) FROM simulation WHERE status <> 'running'", 1);
}

fn signal(name: &str, process: u32) {
    assert!(Command::new("kill").arg(format!("-{name}")).arg(process.to_string()).status().unwrap().success());
}
