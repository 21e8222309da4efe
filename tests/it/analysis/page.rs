//! `how-to/analyse.md` of the book: every block runs, in order and in an empty folder, and the tools compute the same
//! values.

use crate::book::runner::{Runner, blocks};

/// The number behind a word, in every text that has it.
fn figures(printed: &[(String, String)], word: &str) -> Vec<f64> {
    let behind = printed.iter().filter_map(|(_, text)| text.split_once(word));
    behind.filter_map(|(_, rest)| rest.trim_start().split(' ').next()?.parse().ok()).collect()
}

#[cfg(unix)]
#[test]
fn every_block_of_the_page_runs_and_the_tools_agree() {
    let path = "how-to/analyse.md";
    let page = simpartner_book::markdown(path).unwrap();
    assert!(blocks(page).len() > 17, "{} blocks", blocks(page).len());
    let mut runner = Runner::new(path);
    runner.run(page);
    let printed = &runner.printed;
    assert!(printed.iter().all(|(_, text)| !text.trim().is_empty()), "a block printed nothing: {printed:?}");
    let (radii, weights) = (figures(printed, "radius"), figures(printed, "wheels carry"));
    // Thesis 4.2.1: 5.95 m for this angle of the joint.
    assert!(radii.iter().all(|radius| (radius - 5.95).abs() < 0.1), "{radii:?}");
    assert!(radii.windows(2).all(|pair| (pair[0] - pair[1]).abs() < 1e-6), "{radii:?}");
    assert!(weights.iter().all(|weight| (weight - 18.0 * 9.81).abs() < 0.5), "{weights:?}");
    assert!(weights.windows(2).all(|pair| (pair[0] - pair[1]).abs() < 1e-6), "{weights:?}");
    assert!(runner.path("wheels.svg").exists());
}
