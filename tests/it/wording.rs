//! Names and comments that need decoding, counted for each package. The numbers may only fall.
//!
//! A function is a verb with its object or the noun that it returns, and a constant has its field's word: one word
//! alone is rarely enough. A comment begins with a noun or a verb, never with a clause in its place, such as "What it
//! misses" or "How far it may be off".

use std::{fs, path::Path};

/// For each package, the largest permitted numbers of private functions of one word, constants of one word, and
/// comments that begin with a clause.
const BUDGETS: &[(&str, [usize; 3])] = &[
    ("", [139, 6, 0]),
    ("clients/c", [15, 0, 0]),
    ("clients/gamepad", [41, 1, 0]),
    ("clients/ros2", [64, 24, 0]),
    ("clients/sequencer", [13, 0, 0]),
    ("clients/serial", [14, 1, 0]),
    ("src/analysis", [45, 1, 0]),
    ("src/book", [7, 1, 0]),
    ("src/description", [392, 77, 0]),
    ("src/dynamics", [365, 20, 0]),
    ("src/experiments", [82, 35, 0]),
    ("src/grasp", [47, 8, 0]),
    ("src/model", [46, 13, 0]),
    ("src/plot", [7, 1, 0]),
    ("src/realtime", [60, 1, 0]),
    ("src/recorder", [194, 50, 0]),
    ("src/render", [6, 0, 0]),
    ("src/server", [79, 11, 0]),
    ("src/simulation", [85, 1, 0]),
    ("src/terminal", [5, 0, 0]),
    ("src/wire", [72, 9, 0]),
];

/// Words that open a clause in place of a noun.
const CLAUSES: [&str; 7] = ["What", "Whether", "How", "By", "Of", "It", "Those"];

/// The counts of a folder. Folders with their own manifest are other packages.
fn count(folder: &Path) -> [usize; 3] {
    let mut sum = [0; 3];
    for path in fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()) {
        let counts = if path.is_dir() {
            let is_other = path.join("Cargo.toml").exists() || path.ends_with("tests");
            if is_other { [0; 3] } else { count(&path) }
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            count_in(text.split("#[cfg(test)]").next().unwrap())
        } else {
            [0; 3]
        };
        sum = [0, 1, 2].map(|place| sum[place] + counts[place]);
    }
    sum
}

fn count_in(text: &str) -> [usize; 3] {
    let (mut counts, mut was_comment) = ([0; 3], false);
    for line in text.lines().map(str::trim_start) {
        let comment = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        if let Some(comment) = comment.filter(|_| !was_comment) {
            let first = comment.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty());
            counts[2] += usize::from(first.is_some_and(|word| CLAUSES.contains(&word)));
        }
        was_comment = comment.is_some();
        let is_of_one_word = |name: &str| !name.is_empty() && !name.contains('_');
        let (item, is_public) = without_visibility(line);
        let function = ["fn ", "const fn ", "async fn "].iter().find_map(|head| item.strip_prefix(head));
        if let Some(rest) = function.filter(|_| !is_public) {
            counts[0] += usize::from(is_of_one_word(name_of(rest)));
        }
        let constant = ["const ", "static "].iter().find_map(|head| item.strip_prefix(head));
        if let Some(rest) = constant.filter(|rest| name_of(rest).chars().all(|c| !c.is_lowercase())) {
            counts[1] += usize::from(is_of_one_word(name_of(rest)));
        }
    }
    counts
}

/// An item without `pub` and its restriction, and true if it is public.
fn without_visibility(line: &str) -> (&str, bool) {
    match line.strip_prefix("pub ") {
        Some(item) => (item, true),
        None => {
            (line.strip_prefix("pub(").and_then(|rest| rest.split_once(") ")).map_or(line, |(_, item)| item), false)
        }
    }
}

fn name_of(rest: &str) -> &str {
    &rest[..rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())]
}

#[test]
fn names_of_one_word_and_comments_that_begin_with_a_clause_become_fewer() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut broken = Vec::new();
    for (package, budget) in BUDGETS {
        let counts = count(&root.join(package).join("src"));
        for (place, what) in
            ["private functions of one word", "constants of one word", "comments that begin with a clause"]
                .iter()
                .enumerate()
        {
            if counts[place] > budget[place] {
                broken.push(format!("{package}: {} {what}, at most {}", counts[place], budget[place]));
            }
        }
    }
    assert!(broken.is_empty(), "give what is new a name or a noun that a stranger knows:\n{}", broken.join("\n"));
}

#[test]
fn what_a_stranger_has_to_decode_is_counted() {
    let text = "/// What it misses.\n/// How far.\npub fn lack() {}\n\n/// Residual, m/s.\nfn residual(x: f64) {}\n\
                pub(super) const LOOK: u64 = 1;\nconst POLL_INTERVAL: u64 = 1;\nasync fn update_all() {}\nconst fn of() {}\n";
    assert_eq!(count_in(text), [2, 1, 1]);
}
