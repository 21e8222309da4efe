//! Ten queries of the book's `how-to/questions.md` on each database, from one text. `QUESTIONS=12,20` selects others by
//! their numbers.

use std::time::Instant;

use simpartner::{
    analysis::answer::{Form, answer},
    recorder::{Database, inquiry::Scope},
};

use super::{own, sample};

/// One of each kind: means over time, extremes, groups, wheels, work, joins by step and by time.
const TEN: [usize; 10] = [1, 3, 5, 10, 12, 14, 17, 19, 20, 22];

/// The questions of the page by their numbers, with text and SELECT.
fn questions() -> Vec<(usize, &'static str, &'static str)> {
    let page = include_str!("../../../docs/src/how-to/questions.md");
    let question = |part: &'static str| {
        let (number, rest) = part.split_once(". ")?;
        let (asked, rest) = rest.split_once("**")?;
        let sql = rest.split("```sql\n").nth(1)?.split("\n```").next()?;
        Some((number.parse().ok()?, asked, sql))
    };
    page.split("\n**").filter_map(question).collect()
}

/// Prints each database's time to answer, s.
pub(crate) fn times(places: &[own::Place]) {
    let chosen = std::env::var("QUESTIONS").unwrap_or_else(|_| TEN.map(|number| number.to_string()).join(","));
    let chosen: Vec<usize> = chosen.split(',').filter_map(|number| number.trim().parse().ok()).collect();
    let sample = sample::Sample::new();
    let mut databases = vec![("SQLite", Database::parse(&sample.url()).expect("it is an address"))];
    for place in places.iter().filter(|place| place.name != "SQLite") {
        let start = Instant::now();
        sample::simpartner(&["db", "merge", &sample.url(), place.url()]);
        println!("copied to {} in {:.0} s", place.name, start.elapsed().as_secs_f64());
        databases.push((place.name, place.database.clone()));
    }
    println!("\nquestions of the cookbook to {}: seconds", sample.path.display());
    let names: Vec<String> = databases.iter().map(|(name, _)| format!("{name:>11}")).collect();
    println!("{} {:>6}", names.join(""), "rows");
    for (number, asked, sql) in questions().into_iter().filter(|(number, ..)| chosen.contains(number)) {
        let answers: Vec<(f64, u64)> = databases.iter().map(|(_, database)| asked_of(database, sql)).collect();
        let rows = answers[0].1;
        assert!(answers.iter().all(|(_, other)| *other == rows), "{answers:?}\n{sql}");
        let seconds: Vec<String> = answers.iter().map(|(seconds, _)| format!("{seconds:>11.2}")).collect();
        println!("{} {rows:>6}  {number:>2}. {asked}", seconds.join(""));
    }
}

/// Time to answer a query, s, and the number of its rows.
fn asked_of(database: &Database, sql: &str) -> (f64, u64) {
    let (mut inquiry, run) = sample::open(database);
    let scope = Scope { run: run.simulation_id, alias: None, all_runs: false };
    let start = Instant::now();
    let rows = answer(&mut inquiry, sql, scope, Form::Csv, &mut std::io::sink()).expect("it is a question");
    (start.elapsed().as_secs_f64(), rows)
}
