//! Generated pages. `UPDATE_GENERATED=1` writes them.

use std::{collections::BTreeSet, fmt::Write as _, path::Path};

use crate::{
    cli::{output, text},
    xml::assert_current,
};

/// The help of a verb, without trailing blanks.
fn help(verb: &[&str]) -> String {
    let printed = text(&output(&[verb, &["--help"]].concat()).stdout);
    printed.lines().map(str::trim_end).collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// The verbs that a help lists, but for those of other programs and `help`.
fn verbs(help: &str) -> Vec<&str> {
    let list = help.split_once("Commands:\n").map_or("", |(_, rest)| rest.split("\n\n").next().unwrap_or_default());
    let names = list.lines().filter(|line| line.starts_with("  ") && !line.starts_with("    "));
    let others = ["help", "gamepad", "serial", "ros2"];
    names.filter_map(|line| line.split_whitespace().next()).filter(|verb| !others.contains(verb)).collect()
}

fn write_verb(page: &mut String, verb: &[&str]) {
    let help = help(verb);
    // Writing to a string cannot fail.
    let _ = write!(page, "\n## simpartner {}\n\n```text\n{help}\n```\n", verb.join(" "));
    for inner in verbs(&help) {
        write_verb(page, &[verb, &[inner]].concat());
    }
}

#[test]
fn the_page_of_verbs_is_what_the_program_prints() {
    let mut page = "# Verbs and flags\n\n\
        This page is the output of `simpartner VERB --help` for each verb. `simpartner man VERB` prints the same as a manual page.\n\n\
        Plain `simpartner` means `simpartner run`. The verbs `gamepad`, `serial` and `ros2` start programs of their own; \
        [Gamepad](gamepad.md), [Serial bridge](serial.md) and [ROS 2 bridge](ros2.md) describe them.\n"
        .to_owned();
    let all = help(&[]);
    for verb in verbs(&all) {
        write_verb(&mut page, &[verb]);
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/src/reference/verbs.md");
    assert_current(&path, &page);
}

/// The table of Gazebo's plugins on the page of importers, which the importer's own list makes.
#[test]
fn the_table_of_plugins_is_what_the_importer_does() {
    const TITLE: &str = "## Plugins of Gazebo";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/src/reference/importers.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, section) = page.split_once(TITLE).unwrap();
    let after = section.split_once("\n## ").unwrap().1;
    let mut table = "| part of the name | becomes |\n|---|---|\n".to_owned();
    for (name, what) in simpartner_description::xml::gazebo_plugins() {
        let _ = writeln!(table, "| `{name}` | {what} |");
    }
    let about = "A plugin is known by a part of its name or file name, without regard to case, `-`, `_` and `::`. \
        Any other plugin is left out. Each plugin that is left out is a warning with its line.";
    assert_current(&path, &format!("{before}{TITLE}\n\n{about}\n\n{table}\n## {after}"));
}

/// The numbers at the start of the rows of a table.
fn numbers_of_rows(page: &str) -> BTreeSet<u32> {
    page.lines().filter_map(|line| line.strip_prefix("| ")?.split(' ').next()?.parse().ok()).collect()
}

#[test]
fn the_page_of_exit_codes_has_all_of_them() {
    let all = help(&[]);
    let codes = all.split_once("Exit codes:").unwrap().1;
    let numbers: BTreeSet<u32> =
        codes.split(';').filter_map(|entry| entry.split_whitespace().next()?.parse().ok()).collect();
    assert!(numbers.len() > 10, "{codes}");
    assert_eq!(numbers_of_rows(simpartner_book::markdown("reference/exit-codes.md").unwrap()), numbers);
}
