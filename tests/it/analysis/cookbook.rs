//! `how-to/questions.md` of the book: every query runs on each database from one text, with equal answers.

use std::path::Path;

use super::{Logs, simpartner, text};
use crate::recorder::test_database::TestDatabase;

/// Queries without rows in the run of the page.
const WITHOUT_ROWS: [&str; 3] = ["'tipOver'", "'leftGround'", "soilSensor"];

/// The questions of the page.
fn questions() -> Vec<&'static str> {
    let page = include_str!("../../../docs/src/how-to/questions.md");
    page.split("\n```sql\n").skip(1).map(|part| part.split("\n```").next().unwrap()).collect()
}

/// The answer: the header, and the fields of each row.
fn answer(url: &str, sql: &str) -> Vec<Vec<String>> {
    let output = simpartner(&["query", "last", sql, "--format", "csv", "--database", url]);
    assert!(output.status.success(), "{url}\n{sql}\n{}", text(&output.stderr));
    let split = |line: &str| line.split(',').map(str::to_owned).collect();
    text(&output.stdout).lines().map(split).collect()
}

/// True if two fields are the same text, or numbers that differ by the order of a sum.
fn is_same(one: &str, other: &str) -> bool {
    let number = |field: &str| match field {
        // PostgreSQL has truth values.
        "true" => Some(1.0),
        "false" => Some(0.0),
        _ => field.parse::<f64>().ok(),
    };
    match (number(one), number(other)) {
        (Some(one), Some(other)) => (one - other).abs() <= 1e-9 * one.abs().max(1.0),
        _ => one == other,
    }
}

#[test]
fn every_question_of_the_cookbook_is_answered_alike_on_every_database() {
    let logs = Logs { folder: tempfile::tempdir().unwrap() };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (here, sequence) = (logs.url("circle.db"), root.join("robots/circle.xml").display().to_string());
    // Long enough for the wheels to turn.
    let run = ["run", "--mode", "fast", "--sequence", &sequence, "--duration", "5", "--database", &here];
    let output = simpartner(&run);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let servers: Vec<TestDatabase> = ["postgres", "mysql"].into_iter().filter_map(TestDatabase::on).collect();
    for server in &servers {
        let output = simpartner(&["db", "merge", &here, &server.url]);
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    let questions = questions();
    assert!(questions.len() >= 20);
    for sql in questions {
        let ours = answer(&here, sql);
        let may_be_empty = WITHOUT_ROWS.iter().any(|word| sql.contains(word));
        assert!(ours.len() > 1 || may_be_empty, "no answer to\n{sql}");
        for server in &servers {
            let theirs = answer(&server.url, sql);
            let alike = ours.len() == theirs.len()
                && ours[1..].iter().zip(&theirs[1..]).all(|(ours, theirs)| {
                    ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(one, other)| is_same(one, other))
                });
            assert!(alike, "{}\n{sql}\n{ours:?}\n{theirs:?}", server.url);
        }
    }
}
