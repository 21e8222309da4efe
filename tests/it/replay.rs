//! Replays of runs from their logs alone: the same chain without changes, the position of a change, and forks from any
//! step.

use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher, Hasher},
    io::{BufRead, BufReader, Write},
    net::TcpStream,
    process::Output,
    thread,
    time::Duration,
};

use sqlx::{AssertSqlSafe, Connection, SqliteConnection};

use crate::{
    cli::{Running, Scratch, number, output, text},
    recorder::test_database::TestDatabase,
};

/// A wheel driven in one direction and then in the other, with a fault in between.
const DRIVE: &str = "<sequence version='1'>
  <command><commandString>1000,1000,100,0,0,2</commandString><port>1027</port></command>
  <command><commandString>0.2</commandString><port>0</port></command>
  <command><commandString>FAULT intermittent 0.5</commandString><port>1026</port></command>
  <command><commandString>0,0,0.1,5,0,0</commandString><port>1035</port></command>
  <command><commandString>0.2</commandString><port>0</port></command>
  <command><commandString>1000,1000,100,0,0,-1</commandString><port>1027</port></command>
  <command><commandString>0.2</commandString><port>0</port></command>
</sequence>";

/// A run by that sequence, with a state kept every tenth of a second.
fn drive(scratch: &Scratch, database: &str) {
    let sequence = scratch.write("drive.xml", DRIVE);
    let interval = "log.snapshot_interval_s=0.1";
    let made = output(&["run", "--mode", "fast", "--sequence", &sequence, "--database", database, "--set", interval]);
    assert!(made.status.success(), "{}", text(&made.stderr));
}

fn replay(database: &str, run: &str) -> Output {
    output(&["replay", run, "--database", database])
}

fn fork(database: &str, more: &[&str]) -> Output {
    output(&[&["fork", "1", "--database", database], more].concat())
}

#[track_caller]
pub fn is_the_same(made: &Output) {
    let (out, error) = (text(&made.stdout), text(&made.stderr));
    assert_eq!(made.status.code(), Some(0), "{out}{error}");
    assert!(out.contains("chain             the same; its head is "), "{out}");
    assert_eq!(error, "");
}

#[tokio::main(flavor = "current_thread")]
pub async fn execute(scratch: &Scratch, sql: &str) -> u64 {
    let mut connection = SqliteConnection::connect(&scratch.database("run.db")).await.unwrap();
    let done = sqlx::query(AssertSqlSafe(sql.to_owned())).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    done.rows_affected()
}

/// A whole number below a bound, never the same twice.
fn random(below: u64) -> u64 {
    RandomState::new().build_hasher().finish() % below
}

/// A client that drives a device at random times.
fn meddle(port: u16, command: impl Fn(u64) -> String) {
    let mut device = BufReader::new(TcpStream::connect(("127.0.0.1", port)).unwrap());
    for _ in 0..40 {
        let line = command(random(20));
        device.get_mut().write_all(format!("{line}\n").as_bytes()).unwrap();
        let mut answer = String::new();
        device.read_line(&mut answer).unwrap();
        assert!(!answer.starts_with("ERR"), "{line}: {answer}");
        thread::sleep(Duration::from_micros(random(20_000)));
    }
}

#[test]
fn a_run_that_three_clients_drove_at_random_times_comes_out_the_same() {
    let scratch = Scratch::new();
    let mut server = Running::start(&scratch, &["--set", "simulation.seed=7"]);
    let [wheel, joint, sensor] =
        ["JointController", "AngleController", "PositionSensor"].map(|kind| server.port_of(kind));
    thread::scope(|scope| {
        scope.spawn(|| meddle(wheel, |n| format!("<1000,1000,50,0,0,{}>", n as f64 * 0.3 - 3.0)));
        scope.spawn(|| meddle(joint, |n| format!("<0,0,{},5,0,0>", n as f64 * 0.02)));
        scope.spawn(|| meddle(sensor, |n| format!("CFG noise=0.0{n:02} rate={}", n + 1)));
    });
    server.ask("FAULT WorkPartner/Position stuck");
    let step = server.step();
    server.reach(step + 50);
    server.ask("QUIT");
    server.end();
    let database = scratch.database("run.db");
    assert!(number(&scratch.path("run.db"), "SELECT count(*) FROM command") > 100);
    is_the_same(&replay(&database, "last"));
}

#[test]
fn a_command_that_was_tampered_with_is_named_with_the_step_and_the_number_that_it_changed() {
    let scratch = Scratch::new();
    let database = scratch.database("run.db");
    drive(&scratch, &database);
    is_the_same(&replay(&database, "1"));
    let tampered = "UPDATE command SET text = '1000,1000,100,0,0,-1.5' WHERE text LIKE '%,-1'";
    assert_eq!(execute(&scratch, tampered), 1);
    let made = replay(&database, "1");
    let out = text(&made.stdout);
    assert_eq!(made.status.code(), Some(10), "{out}");
    assert!(out.contains("chain             different from step 401 on\n"), "{out}");
    let first = out.lines().find(|line| line.starts_with("first difference")).unwrap();
    assert!(
        first.starts_with("first difference  step 401, WorkPartner/") && first.contains(": the log has "),
        "{first}"
    );
    assert!(out.contains("steps made        401, 400 of them compared with the log\n"), "{out}");
    // Up to the step before, all is well.
    is_the_same(&output(&["replay", "1", "--until", "400", "--database", &database]));
}

#[test]
fn a_model_that_does_not_fit_its_log_is_refused() {
    let scratch = Scratch::new();
    let database = scratch.database("run.db");
    drive(&scratch, &database);
    for (change, told) in [
        ("UPDATE simulation SET steps = 9000000000000000000", ""),
        ("UPDATE simulationFile SET text = '<world name=\"w\"/>' WHERE ordinal = 0", "is not the one that was logged"),
        ("UPDATE simulationFile SET blake3 = NULL WHERE ordinal = 0", "the tables have 14 bodies, and the model 0"),
        ("UPDATE simulation SET timestep_ns = 0", "which has not run 1"),
    ] {
        execute(&scratch, change);
        for made in [replay(&database, "1"), fork(&database, &["--at", "600"])] {
            let error = text(&made.stderr);
            match told {
                // The logged steps are repeated, regardless of the run's row.
                "" => assert_eq!(made.status.code(), Some(0), "{change}: {error}"),
                "which has not run 1" => assert!(error.contains("says that a step has 0 ns"), "{change}: {error}"),
                told => assert!(made.status.code() == Some(3) && error.contains(told), "{change}: {error}"),
            }
        }
    }
}

#[test]
fn a_fork_with_nothing_changed_has_the_chain_of_its_parent() {
    let scratch = Scratch::new();
    let database = scratch.database("run.db");
    drive(&scratch, &database);
    for (run, at) in [(2, 0), (3, 1 + random(598)), (4, 600)] {
        let made = fork(&database, &["--at", &at.to_string()]);
        assert!(made.status.success(), "at {at}: {}", text(&made.stderr));
        let heads = "SELECT count(DISTINCT chain_head) + count(DISTINCT stateHash) FROM simulation";
        assert_eq!(number(&scratch.path("run.db"), heads), 2, "at {at}");
        is_the_same(&replay(&database, &run.to_string()));
    }
    let origin = "SELECT parent_simulationID * 1000 + parent_step FROM simulation WHERE simulationID = 4";
    assert_eq!(number(&scratch.path("run.db"), origin), 1600);
    assert_eq!(number(&scratch.path("run.db"), "SELECT count(*) FROM snapshot WHERE simulationID = 1"), 6);
}

#[test]
fn steps_behind_the_last_of_a_thinned_log_are_made_again_too() {
    let scratch = Scratch::new();
    let database = scratch.database("run.db");
    let thin = ["--set", "log.thin_after_s=0.1", "--set", "log.thin_to_every_n_steps=100"];
    let run = ["run", "--mode", "fast", "--duration", "0.37", "--no-viewer", "--database", &database];
    let made = output(&[&run[..], &thin].concat());
    assert!(made.status.success(), "{}", text(&made.stderr));
    assert_eq!(number(&scratch.path("run.db"), "SELECT max(step) FROM simulationRow"), 300);
    let again = replay(&database, "1");
    is_the_same(&again);
    assert!(text(&again.stdout).contains("steps made        370, "), "{}", text(&again.stdout));
}

/// Losses of commands are random, so a repeated command would show.
#[test]
fn a_fork_right_before_a_command_gives_it_once() {
    let scratch = Scratch::new();
    let database = scratch.database("run.db");
    let command = |speed: u32| {
        format!(
            "<command><commandString>1000,1000,100,0,0,{speed}</commandString><port>1027</port></command>
            <command><commandString>0.01</commandString><port>0</port></command>"
        )
    };
    let fault = "<command><commandString>FAULT intermittent 0.5</commandString><port>1027</port></command>";
    let commands: String = (0..30).map(command).collect();
    let sequence = scratch.write("lots.xml", &format!("<sequence version='1'>{fault}{commands}</sequence>"));
    let made = output(&["run", "--mode", "fast", "--sequence", &sequence, "--database", &database]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    assert_eq!(number(&scratch.path("run.db"), "SELECT count(*) FROM command WHERE step = 101"), 1);
    assert!(fork(&database, &["--at", "100"]).status.success());
    is_the_same(&replay(&database, "2"));
    assert_eq!(number(&scratch.path("run.db"), "SELECT count(DISTINCT chain_head) FROM simulation"), 1);
}

#[test]
fn a_fork_goes_its_own_way_from_its_step_on() {
    let scratch = Scratch::new();
    let database = scratch.database("run.db");
    drive(&scratch, &database);
    let backwards = DRIVE.replace("0,0,2<", "0,0,-2<");
    let sequence = scratch.write("backwards.xml", &backwards);
    for more in [
        &["--at", "150", "--sequence", &sequence, "--duration", "0.3"][..],
        &["--at", "150", "--without-commands", "--set", "simulation.seed=9"],
    ] {
        let made = fork(&database, more);
        assert!(made.status.success(), "{}", text(&made.stderr));
    }
    let steps = |run: i64| {
        let sql = [
            "SELECT min(step) * 1000 + max(step) FROM simulationRow WHERE simulationID = 2",
            "SELECT min(step) * 1000 + max(step) FROM simulationRow WHERE simulationID = 3",
        ];
        number(&scratch.path("run.db"), sql[run as usize - 2])
    };
    assert_eq!((steps(2), steps(3)), (151_450, 151_600));
    assert_eq!(number(&scratch.path("run.db"), "SELECT count(*) FROM command WHERE simulationID = 3"), 0);
    assert_eq!(number(&scratch.path("run.db"), "SELECT count(DISTINCT chain_head) FROM simulation"), 3);
    is_the_same(&replay(&database, "2"));
    is_the_same(&replay(&database, "3"));
}

#[test]
fn what_cannot_be_forked_or_replayed_is_told() {
    let scratch = Scratch::new();
    let database = scratch.database("run.db");
    drive(&scratch, &database);
    let refused = [
        (fork(&database, &["--at", "601"]), 2, "--at: run 1 has no step 601; it has the steps 0 to 600"),
        (
            fork(&database, &["--at", "5", "--set", "simulation.timestep_s=0.002"]),
            2,
            "--set: a fork cannot change simulation.timestep_s",
        ),
        (fork(&database, &["--at", "5", "--set", "simulation.sed=1"]), 3, "did you mean simulation.seed?"),
        (fork(&database, &["--at", "5", "--set", "simulation.gravity=1"]), 3, "<gravity> is an element of world"),
        (
            output(&["replay", "1", "--until", "700", "--database", &database]),
            2,
            "--until: run 1 has no step 700; it has the steps 0 to 600",
        ),
        (output(&["replay", "5", "--database", &database]), 3, "does not have run 5: it has only run 1"),
    ];
    for (made, code, message) in refused {
        let error = text(&made.stderr);
        assert_eq!(made.status.code(), Some(code), "{error}");
        assert!(error.contains(message), "{error}");
    }
    let late = fork(&database, &["--at", "5", "--duration=-1"]);
    assert!(text(&late.stderr).contains("'--duration <TIME>': expected a time from 0 on"), "{}", text(&late.stderr));
    // A damaged state is not used.
    execute(&scratch, "UPDATE snapshot SET state = X'00' WHERE step = 300");
    let made = fork(&database, &["--at", "350"]);
    assert!(text(&made.stderr).contains("step 300 of run 1: the snapshot is damaged"), "{}", text(&made.stderr));
    assert_eq!(number(&scratch.path("run.db"), "SELECT count(*) FROM simulation"), 1);
}

#[test]
fn runs_are_made_again_from_any_database() {
    for scheme in ["postgres", "mysql"] {
        let Some(place) = TestDatabase::on(scheme) else { continue };
        let scratch = Scratch::new();
        drive(&scratch, &place.url);
        is_the_same(&replay(&place.url, "1"));
        let made = fork(&place.url, &["--at", "333"]);
        assert!(made.status.success(), "{}", text(&made.stderr));
        is_the_same(&replay(&place.url, "last"));
        assert_eq!(place.number("SELECT count(DISTINCT chain_head) FROM simulation"), 1, "{scheme}");
    }
}

/// A log of a version without a chain, or without its chain, proves nothing.
#[test]
fn a_run_without_hashes_is_not_called_the_same() {
    let scratch = Scratch::new();
    let database = scratch.database("run.db");
    drive(&scratch, &database);
    assert_eq!(execute(&scratch, "UPDATE simulationRow SET state_hash = NULL"), 600);
    // The run's row has the hash of the last step.
    is_the_same(&replay(&database, "1"));
    assert_eq!(execute(&scratch, "UPDATE simulation SET chain_head = NULL"), 1);
    let made = replay(&database, "1");
    assert_eq!((made.status.code(), text(&made.stdout)), (Some(3), String::new()));
    assert!(text(&made.stderr).contains("its log has no hash of these steps"), "{}", text(&made.stderr));
}
