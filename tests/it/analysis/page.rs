//! `ANALYSIS.md`: every block is run, in order and in an empty folder, and the tools compute the same figures.

use std::{
    io::Write,
    path::Path,
    process::{Command, Stdio},
};

use super::{python_has, text};

/// The blocks of the page: their language and their text.
fn blocks() -> Vec<(String, String)> {
    let page = include_str!("../../../ANALYSIS.md");
    let mut found = Vec::new();
    let mut parts = page.split("\n```");
    parts.next();
    while let Some(block) = parts.next() {
        let (language, body) = block.split_once('\n').unwrap();
        found.push((language.to_owned(), body.to_owned() + "\n"));
        // What stands between this block and the next.
        parts.next();
    }
    found
}

/// Runs a block as its language wants it, and returns what it printed; `None` where its tool is not installed.
fn run(language: &str, block: &str, folder: &Path) -> Option<String> {
    let binary = Path::new(env!("CARGO_BIN_EXE_simpartner"));
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", binary.parent().unwrap().display());
    let mut command = match language {
        "sh" => Command::new("sh"),
        "sql" => Command::new(binary),
        "python" => Command::new("python3"),
        other => panic!("the page has a block of {other}"),
    };
    let imports = |module: &str| block.contains(&format!("import {module}"));
    match language {
        "sh" => command.arg("-e"),
        "sql" => command.args(["query", "last", "-", "--format", "csv"]),
        _ if imports("duckdb") && !python_has("duckdb") => return None,
        _ if imports("pandas") && !python_has("pandas, pyarrow") => return None,
        _ => command.args(["-B", "-"]),
    };
    command.env("PATH", path).env_remove("RUST_LOG").current_dir(folder);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A tenth of the page's run is enough to test the words.
    let block = block.replace("--duration 60", "--duration 6");
    child.stdin.take().unwrap().write_all(block.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{block}\n{}", text(&output.stderr));
    Some(text(&output.stdout))
}

/// The number behind a word, in every text that has it.
fn figures(printed: &[String], word: &str) -> Vec<f64> {
    let behind = printed.iter().filter_map(|text| text.split_once(word));
    behind.filter_map(|(_, rest)| rest.trim_start().split(' ').next()?.parse().ok()).collect()
}

#[cfg(unix)]
#[test]
fn every_block_of_the_page_runs_and_the_tools_agree() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["worlds", "robots"] {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
        std::os::unix::fs::symlink(source, folder.path().join(name)).unwrap();
    }
    let blocks = blocks();
    assert!(blocks.len() > 17, "{} blocks", blocks.len());
    let mut printed = Vec::new();
    for (language, block) in &blocks {
        let Some(text) = run(language, block, folder.path()) else { continue };
        assert!(!text.trim().is_empty(), "nothing came of\n{block}");
        printed.push(text);
    }
    let (radii, weights) = (figures(&printed, "radius"), figures(&printed, "wheels carry"));
    // Thesis 4.2.1: 5.95 m for this angle of the joint.
    assert!(radii.iter().all(|radius| (radius - 5.95).abs() < 0.1), "{radii:?}");
    assert!(radii.windows(2).all(|pair| (pair[0] - pair[1]).abs() < 1e-6), "{radii:?}");
    assert!(weights.iter().all(|weight| (weight - 18.0 * 9.81).abs() < 0.5), "{weights:?}");
    assert!(weights.windows(2).all(|pair| (pair[0] - pair[1]).abs() < 1e-6), "{weights:?}");
    assert!(folder.path().join("wheels.svg").exists());
}
