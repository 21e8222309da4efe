//! The last lines of `cargo test`: what the tests needed beside Rust, and which were skipped for want of it.
//!
//! No test, but a program that runs behind the others. `tests/it/needs.rs` leaves one line for each need of each test:
//! need, `ran` or `skipped`, test, reason. They are printed once; a run of tests that were chosen by name prints none.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

#[derive(Default)]
struct Row {
    ran: BTreeSet<String>,
    /// The reason, by test.
    skipped: BTreeMap<String, String>,
}

fn main() {
    let is_choice = |argument: String| !argument.starts_with('-') || argument == "--list";
    if std::env::args().skip(1).any(is_choice) {
        return;
    }
    let mut rows: BTreeMap<String, Row> = BTreeMap::new();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("needs");
    for file in fs::read_dir(folder).into_iter().flatten().flatten() {
        let text = fs::read_to_string(file.path()).unwrap_or_default();
        for line in text.lines() {
            let [need, outcome, test, why] = line.split('\t').collect::<Vec<_>>()[..] else { continue };
            let row = rows.entry(need.to_owned()).or_default();
            match outcome {
                "ran" => drop(row.ran.insert(test.to_owned())),
                _ => drop(row.skipped.insert(test.to_owned(), why.to_owned())),
            }
        }
        // What this run has told is nothing to tell the next.
        let _ = fs::remove_file(file.path());
    }
    if rows.is_empty() {
        return;
    }
    println!("\nneeded beside Rust   tests that ran   skipped");
    for (need, row) in &rows {
        // A test that had its need in one place and not in another did not run as it should.
        let ran = row.ran.iter().filter(|test| !row.skipped.contains_key(*test)).count();
        println!("{need:18} {ran:16} {:9}", row.skipped.len());
    }
    let skipped = rows.iter().flat_map(|(need, row)| row.skipped.iter().map(move |skip| (need, skip)));
    for (need, (test, why)) in skipped {
        println!("skipped for want of {need}: {test}: {why}");
    }
    if rows.values().any(|row| !row.skipped.is_empty()) {
        println!("SIMPARTNER_REQUIRE=NEED,... makes such a skip a failure.");
    }
}
