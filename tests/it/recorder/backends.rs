//! The same log in every database: tables, rows, queries, and the errors of unusable ones.

use std::{net::TcpListener, thread};

use simpartner::recorder::{Reader, RecorderError};

use super::{
    test_database::{TestDatabase, Value, wait},
    *,
};

fn settings_of(target: &TestDatabase) -> Settings {
    Settings::new(target.database.clone())
}

#[test]
fn every_database_holds_every_row_once() {
    for target in TestDatabase::all() {
        let summary = log(settings_of(&target), steps(0..=1000), finished(1000));
        let check = |sql: &str, expected: i64| assert_eq!(target.number(sql), expected, "{}: {sql}", target.name());
        check("SELECT count(*) FROM simulationRow", 1000);
        check("SELECT count(DISTINCT step) FROM simulationRow WHERE step BETWEEN 1 AND 1000", 1000);
        for view in ["pose", "velocity", "forceAndTorque"] {
            check(&format!("SELECT count(*) FROM {view}"), 1000 * BODIES);
        }
        check("SELECT count(*) FROM jointPose", 1000);
        check("SELECT count(*) FROM sensorReading", 500 * 3);
        check("SELECT rows_written FROM simulation", summary.simulations[0].rows as i64);
        check("SELECT steps_logged FROM simulation", 1000);
        check("SELECT count(*) FROM simulationRow WHERE bodies = 5 AND joints = 1", 1000);
        let head =
            "SELECT count(*) FROM simulation s, simulationRow r WHERE r.step = s.steps AND r.state_hash = s.chain_head";
        check(head, 1);
        let ends = target.rows("SELECT status, stateHash FROM simulation");
        assert_eq!(ends, [[Value::Text("finished".into()), Value::Text("c0ffee".into())]], "{}", target.name());
    }
}

/// MariaDB accepts and returns no row larger than its max_allowed_packet, and closes the connection otherwise: a run
/// with a larger file does not begin, with this reason; several files that are too large only together are accepted.
#[test]
fn a_file_that_a_server_does_not_take_is_told_before_the_run() {
    for target in TestDatabase::all().into_iter().filter(|target| target.name() == "mysql") {
        let allowed = target.number("SELECT @@max_allowed_packet + 0") as usize;
        let begin = |sizes: &[usize]| {
            let mut run = run();
            let files = sizes
                .iter()
                .enumerate()
                .map(|(index, size)| SourceFile::of_bytes(format!("{index}.tif"), vec![0; *size]));
            let mut world = world();
            world.sources.extend(files);
            run.world = Arc::new(world);
            Recorder::start(settings_of(&target), run).map(|recorder| recorder.finish(finished(0)).unwrap())
        };
        match begin(&[allowed]) {
            Err(error @ RecorderError::TooLarge { .. }) => {
                assert!(error.to_string().contains("max_allowed_packet"), "{error}")
            }
            other => panic!("{other:?}"),
        }
        begin(&[allowed / 2, allowed / 2, allowed / 2]).unwrap();
        let kept = format!("SELECT count(*) FROM simulationFile WHERE length(content) = {}", allowed / 2);
        assert_eq!(target.number(&kept), 3);
    }
}

/// The thesis used MySQL on a machine whose file names do not distinguish `SimulationRow` from `simulationRow`.
fn as_printed(target: &TestDatabase, query: &str) -> String {
    let centre = query.contains("avg(");
    match target.name() {
        // PostgreSQL follows the standard: selected columns must be in GROUP BY as well.
        "postgres" if centre => {
            query.replace("GROUP BY Pose.simulationRowID", "GROUP BY Pose.simulationRowID, simulationTime")
        }
        // A name must be spelt within a query as in its FROM, unless the server ignores case.
        "mysql" if centre && target.number("SELECT @@lower_case_table_names + 0") == 0 => {
            query.replace("simulationRow.simulationrowID", "SimulationRow.simulationrowID")
        }
        _ => query.to_owned(),
    }
}

#[test]
fn the_queries_of_appendix_5_give_the_same_rows_everywhere() {
    let queries = [
        (include_str!("../appendix5/legs.sql"), "4045", 20),
        (include_str!("../appendix5/turner.sql"), "4282", 10),
        (include_str!("../appendix5/wheels.sql"), "4939", 10),
        (include_str!("../appendix5/centre.sql"), "none", 15),
    ];
    let answers = TestDatabase::all().into_iter().map(|target| {
        // An earlier run in the same database must not mix in.
        log(settings_of(&target), steps(1..=5), finished(5));
        let id = log(settings_of(&target), steps(1..=10), finished(10)).simulations[0].simulation_id;
        let answer = |(query, number, count): (&str, &str, usize)| {
            let mut rows = target.rows(&as_printed(&target, query).replace(number, &id.to_string()));
            // The queries ask for no order.
            rows.sort_by_cached_key(|row| format!("{row:?}"));
            assert_eq!(rows.len(), count, "{}: {query}", target.name());
            rows
        };
        queries.map(answer)
    });
    let answers: Vec<_> = answers.collect();
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
}

#[test]
fn many_servers_write_to_one_database_at_the_same_time() {
    for target in ["postgres", "mysql"].into_iter().filter_map(TestDatabase::on) {
        let runs: Vec<_> = (1..=4_u64)
            .map(|server| {
                let settings = settings_of(&target);
                thread::spawn(move || log(settings, steps(1..=500 * server), finished(500 * server)).simulations[0])
            })
            .collect();
        let mut ids = Vec::new();
        for (server, run) in (1..).zip(runs) {
            let id = run.join().unwrap().simulation_id;
            let rows = format!("FROM simulationRow WHERE simulationID = {id}");
            assert_eq!(target.number(&format!("SELECT count(*) {rows}")), 500 * server, "{}", target.name());
            let bodies =
                format!("SELECT count(*) FROM body_state b, body WHERE b.bodyID = body.bodyID AND simulationID = {id}");
            assert_eq!(target.number(&bodies), 500 * server * BODIES, "{}", target.name());
            ids.push(id);
        }
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 4, "{}", target.name());
    }
}

#[test]
fn what_was_logged_is_read_back_the_same() {
    let mut told = Vec::new();
    for target in TestDatabase::all() {
        let mut records = steps(1..=20);
        let kind = EventKind::Connect;
        records[4].events.push(Event { step: StepIndex(5), kind, subject: "é".into(), text: "1".into(), value: None });
        let id = log(settings_of(&target), records, finished(20)).simulations[0].simulation_id;
        let reader = Reader::new(&target.database);
        let layout = run().layout;
        let run = wait(reader.run(id)).unwrap().unwrap();
        assert_eq!((run.steps, run.status.as_str(), run.world.as_str()), (Some((1, 20)), "finished", "test"));
        let sources = wait(reader.sources(id)).unwrap();
        assert_eq!(sources, [SourceFile::new("world.xml", "<world/>")]);
        let events = wait(reader.events(id, 10)).unwrap();
        assert_eq!((events.len(), events[0].subject.as_str(), events[0].value), (1, "é", None));
        let steps = wait(reader.steps(id, &layout, 2, 3, 100)).unwrap();
        assert_eq!(steps.iter().map(|record| record.step.0).collect::<Vec<_>>(), [2, 5, 8, 11, 14, 17, 20]);
        let of = |record: &StepRecord| record.values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        told.push(steps.iter().map(of).collect::<Vec<_>>());
    }
    assert!(told.iter().all(|steps| *steps == told[0]), "the databases differ");
}

#[test]
fn a_server_that_cannot_be_used_is_named_without_its_password() {
    let refused = |url: &str| {
        let error = Recorder::start(Settings::new(Database::parse(url).unwrap()), run()).expect_err(url);
        let text = error.to_string();
        assert!(!text.contains("geheim") && text.contains(":***@"), "{text}");
        error
    };
    // A closed port: opened and released.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    for scheme in ["postgres", "mysql"] {
        let error = refused(&format!("{scheme}://me:geheim@127.0.0.1:{port}/d"));
        assert!(matches!(error, RecorderError::Unreachable { .. }), "{error:?}");
        assert!(error.to_string().ends_with("or begin without it with log.start_without_database = true"), "{error}");
    }
    if let Some(target) = TestDatabase::on("mysql") {
        let (_, rest) = target.url.split_once('@').unwrap();
        let error = refused(&format!("mysql://nobody:geheim@{rest}"));
        assert!(matches!(error, RecorderError::Denied { .. }), "{error:?}");
    }
    if let Some(target) = TestDatabase::on("postgres") {
        let (_, rest) = target.url.split_once('@').unwrap();
        let error = refused(&format!("postgres://postgres:geheim@{rest}_not_there"));
        assert!(matches!(error, RecorderError::Missing { .. }), "{error:?}");
        let first = std::error::Error::source(&error);
        let causes = std::iter::successors(first, |cause| cause.source()).map(ToString::to_string);
        let causes: Vec<String> = causes.collect();
        assert!(causes.len() == 1 && causes[0].ends_with("_not_there\" does not exist"), "{causes:?}");
    }
}
