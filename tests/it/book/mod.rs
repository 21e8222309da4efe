//! The book in `docs`: its commands run, its links are valid, its pictures and generated pages are current.

mod generated;
mod links;
pub mod runner;

use std::{fs, path::Path};

use simpartner_book::{chapters, markdown};

use self::runner::Runner;
use crate::xml::assert_current;

/// Pages with a test of their own, which also checks the output of their blocks.
const APART: [&str; 3] = ["tutorials/first-robot.md", "how-to/analyse.md", "how-to/questions.md"];

/// Runs every page of a part in its own folder, and compares its pictures with those of its commands.
fn run_part(part: &str) {
    let mut pages = 0;
    for chapter in chapters().iter().filter(|chapter| chapter.part == part && !APART.contains(&chapter.path)) {
        let page = markdown(chapter.path).unwrap();
        let mut runner = Runner::new(chapter.path);
        runner.run(page);
        hold_pictures(&runner, chapter.path, page);
        pages += 1;
    }
    assert!(pages > 0, "no pages in {part}");
}

/// Compares the pictures of a page with those that its commands have made. `UPDATE_GENERATED=1` writes them.
pub fn hold_pictures(runner: &Runner, path: &str, page: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/src").join(path);
    for picture in links::targets(page).filter(|target| target.ends_with(".svg")) {
        let made = runner.path(picture.rsplit('/').next().unwrap());
        let kept = folder.parent().unwrap().join(picture);
        if let Ok(text) = fs::read_to_string(made)
            && undated(&text) != undated(&fs::read_to_string(&kept).unwrap_or_default())
        {
            assert_current(&kept, &text);
        }
    }
}

/// A picture without the times at which its run began, such as 2026-01-01T12:00:00.000Z.
fn undated(svg: &str) -> String {
    let is_time =
        |text: &&str| text.len() == 24 && text.ends_with('Z') && text[4..].starts_with('-') && text.contains('T');
    svg.split([' ', '<', '"']).filter(|text| !is_time(text)).collect::<Vec<_>>().join(" ")
}

#[cfg(unix)]
#[test]
fn every_block_of_the_introduction_and_the_tutorials_runs() {
    run_part("");
    run_part("Tutorials");
}

#[cfg(unix)]
#[test]
fn every_block_of_the_how_to_pages_runs() {
    run_part("How-to");
}

#[cfg(unix)]
#[test]
fn every_block_of_the_reference_runs() {
    run_part("Reference");
}

#[cfg(unix)]
#[test]
fn every_block_of_the_explanation_runs() {
    run_part("Explanation");
}
