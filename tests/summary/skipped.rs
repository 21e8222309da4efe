//! The last lines of `cargo test`: the requirements of the tests beside Rust, and the tests that were skipped without
//! them.
//!
//! This is not a test, but a program that runs after the others. `tests/it/needs.rs` writes one line for each
//! requirement of each test: requirement, `ran` or `skipped`, test, reason. They are printed once; a run of selected
//! tests prints none.

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
        // The lines of this run must not appear in the next.
        let _ = fs::remove_file(file.path());
    }
    if rows.is_empty() {
        return;
    }
    println!("\nneeded beside Rust   tests that ran   skipped");
    for (need, row) in &rows {
        // A test with its requirement met in one place and not in another did not run completely.
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
