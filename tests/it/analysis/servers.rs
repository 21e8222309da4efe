//! The same runs on three databases: copied from one to the next and back, queried, and pruned.

use super::{BODIES, JOINTS, Logs, STEPS, simpartner, text};
use crate::recorder::test_database::TestDatabase;

fn printed(arguments: &[&str]) -> String {
    let output = simpartner(arguments);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()), "{arguments:?}");
    text(&output.stdout)
}

#[test]
fn runs_are_copied_with_all_they_have_and_not_twice() {
    let logs = Logs { folder: tempfile::tempdir().unwrap() };
    let (from, into) = (Logs::shared().url("runs.db"), logs.url("all.db"));
    let told = printed(&["db", "merge", &from, &into, "--runs", "2,3"]);
    assert_eq!(
        told.lines().map(|line| &line[..25]).collect::<Vec<_>>(),
        ["run 2 was copied as run 1", "run 3 was copied as run 2"]
    );
    assert_eq!(printed(&["db", "merge", &from, &into, "--runs", "2"]), "run 2 has been copied before, as run 1\n");
    assert_eq!(
        printed(&["runs", "compare", &format!("{from}#2"), &format!("{into}#1")]),
        "steps in both     500\nfirst difference  none\n"
    );
    // Every value of every table, but for the numbers that are new.
    for table in simpartner::recorder::inquiry::TABLES.iter() {
        let rows = |url: &str, run: &str| {
            let sql = format!("SELECT * FROM {}", table.name);
            let printed = printed(&["query", run, &sql, "--database", url, "--format", "json"]);
            let mut rows: Vec<serde_json::Value> = serde_json::from_str(&printed).unwrap();
            for row in rows.iter_mut().filter_map(|row| row.as_object_mut()) {
                row.retain(|name, _| {
                    !name.to_lowercase().ends_with("id") && name != "reference" && name != "attached_to"
                });
            }
            let mut rows: Vec<String> = rows.iter().map(|row| row.to_string()).collect();
            rows.sort();
            rows
        };
        assert!(rows(&from, "2") == rows(&into, "1"), "{} has come across changed", table.name);
    }
}

#[test]
fn runs_are_taken_out_whole() {
    let logs = Logs { folder: tempfile::tempdir().unwrap() };
    let url = logs.url("pruned.db");
    printed(&["db", "merge", &Logs::shared().url("runs.db"), &url]);
    let output = simpartner(&["db", "prune", "--keep", "1", "--database", &url]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).ends_with("add --yes to remove these runs\n"), "{}", text(&output.stderr));
    let size = || std::fs::metadata(logs.path("pruned.db")).unwrap().len();
    let before = size();
    let output = simpartner(&["db", "prune", "--keep", "1", "--yes", "--database", &url]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let told = text(&output.stdout);
    assert!(told.starts_with("run 2 removed, ") && told.contains("\nrun 1 removed, "), "{told}");
    assert!(
        told.ends_with("MB are free within the file for further runs; --vacuum gives them back to the disk\n"),
        "{told}"
    );
    for table in simpartner::recorder::inquiry::TABLES.iter() {
        let count = |all: &[&str]| {
            let sql = format!("SELECT count(*) FROM {}", table.name);
            printed(&[&["query", "3", &sql, "--database", &url, "--format", "csv"], all].concat())
        };
        assert_eq!(count(&[]), count(&["--all-runs"]), "{}", table.name);
    }
    assert!(
        printed(&["runs", "compare", &format!("{url}#3"), &format!("{}#3", Logs::shared().url("runs.db"))])
            .ends_with("none\n")
    );
    let told = printed_out(&["db", "prune", "3", "--yes", "--vacuum", "--database", &url]);
    assert!(told.contains(" MB freed on the disk\n"), "{told}");
    assert!(size() < before / 4, "{} of {before} bytes", size());
}

/// Standard output of a verb that also prints messages.
fn printed_out(arguments: &[&str]) -> String {
    let output = simpartner(arguments);
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn a_run_is_the_same_on_every_database() {
    let logs = Logs { folder: tempfile::tempdir().unwrap() };
    let from = Logs::shared().url("runs.db");
    for place in ["postgres", "mysql"].into_iter().filter_map(TestDatabase::on) {
        let url = place.url.clone();
        printed(&["db", "merge", &from, &url, "--runs", "1,2"]);
        let (here, there) = (format!("{from}#2"), format!("{url}#2"));
        let equal = "steps in both     500\nfirst difference  none\n";
        assert_eq!(printed(&["runs", "compare", &here, &there]), equal);
        the_queries_of_appendix_5_agree(&here, &there);
        // The other way round, and out of there.
        let back = logs.url(&format!("{}.db", &url[..5]));
        printed(&["db", "merge", &url, &back, "--runs", "2"]);
        assert_eq!(printed(&["runs", "compare", &here, &format!("{back}#1")]), equal);
        assert!(velocities(&logs, &here) == velocities(&logs, &there), "{url}: the velocities are others");
        a_query_only_reads(&url);
        let told = printed_out(&["db", "prune", "1", "--yes", "--database", &url]);
        assert!(told.contains("run 1 removed, "), "{told}");
        let count = ["query", "2", "SELECT count(*) AS n FROM body_state", "--all-runs", "--format", "csv"];
        assert_eq!(printed(&[&count[..], &["--database", &url]].concat()), format!("n\n{}\n", STEPS * BODIES));
    }
}

fn the_queries_of_appendix_5_agree(here: &str, there: &str) {
    for (sql, number) in [
        (include_str!("../appendix5/legs.sql"), "4045"),
        (include_str!("../appendix5/turner.sql"), "4282"),
        (include_str!("../appendix5/wheels.sql"), "4939"),
        (include_str!("../appendix5/centre.sql"), "1"),
    ] {
        let rows = |run: &str| {
            // PostgreSQL requires selected columns in GROUP BY as well.
            let standard =
                sql.replace("GROUP BY Pose.simulationRowID", "GROUP BY Pose.simulationRowID, simulationTime");
            let sql = if run.starts_with("postgres") { &standard } else { sql };
            let answer = printed(&["query", run, sql, "--as", number, "--format", "csv"]);
            let number = |field: &str| field.parse::<f64>().unwrap();
            let mut rows: Vec<Vec<f64>> =
                answer.lines().skip(1).map(|line| line.split(',').map(number).collect()).collect();
            rows.sort_by(|a, b| a.partial_cmp(b).unwrap());
            rows
        };
        let (ours, theirs) = (rows(here), rows(there));
        assert_eq!(ours.len(), theirs.len(), "{sql}");
        // Numbers of bodies differ between databases, and sums may have another order.
        let alike = |a: &f64, b: &f64| a.fract() == 0.0 || (a - b).abs() <= 1e-9 * a.abs().max(1.0);
        let all = ours.iter().zip(&theirs).all(|(ours, theirs)| ours.iter().zip(theirs).all(|(a, b)| alike(a, b)));
        assert!(all, "{there}: {sql}");
    }
}

/// The velocities of a run as exported, without the numbers of rows and bodies.
fn velocities(logs: &Logs, run: &str) -> Vec<String> {
    let folder = logs.path("velocities");
    let path = folder.display().to_string();
    printed(&["export", run, "--format", "csv", "--tables", "velocity", "--force", "--output", &path]);
    let text = std::fs::read_to_string(folder.join("velocity.csv")).unwrap();
    text.lines().skip(1).map(|line| line.splitn(3, ',').nth(2).unwrap().to_owned()).collect()
}

fn a_query_only_reads(url: &str) {
    for sql in [
        "DELETE FROM command",
        "DROP TABLE event",
        "SELECT 1; DELETE FROM command",
        "COMMIT",
        "UPDATE robot SET name = 'x'",
    ] {
        let output = simpartner(&["query", "1", sql, "--database", url]);
        assert_eq!(output.status.code(), Some(3), "{url} {sql}: {}", text(&output.stderr));
    }
    let output = simpartner(&["query", "1", "SELECT x\nFORM pose", "--database", url]);
    let said = text(&output.stderr);
    assert!(
        said.starts_with("the query failed at line 2, character ") && said.contains("\n  FORM pose\n"),
        "{url}: {said}"
    );
    let sql = format!("SELECT count(*) * {JOINTS} AS n, sum(step) AS s FROM simulationRow");
    let counted = printed(&["query", "1", &sql, "--database", url, "--format", "csv"]);
    assert_eq!(counted, format!("n,s\n{},{}\n", STEPS * JOINTS, STEPS * (STEPS + 1) / 2));
}
