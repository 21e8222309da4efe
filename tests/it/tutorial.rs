//! `robots/TUTORIAL.md`: its files are written where it says, its commands run in their order, and what it says of them holds.

use std::{fs, path::Path, process::Command};

/// The blocks of the page: what stands behind the marks that open each, and its text.
fn blocks() -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    let mut parts = include_str!("../../robots/TUTORIAL.md").split("\n```");
    parts.next();
    while let Some(block) = parts.next() {
        let (info, body) = block.split_once('\n').unwrap();
        found.push((info, body.to_owned() + "\n"));
        parts.next();
    }
    found
}

/// Runs a block of commands and returns all that it printed.
fn run(block: &str, folder: &Path) -> String {
    let binary = Path::new(env!("CARGO_BIN_EXE_simpartner"));
    let path = format!("{}:{}", binary.parent().unwrap().display(), std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new("sh");
    command.args(["-e", "-c", block]).env("PATH", path).env_remove("RUST_LOG").current_dir(folder);
    let output = command.output().unwrap();
    let printed = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{block}\n{printed}");
    printed
}

#[cfg(unix)]
#[test]
fn every_block_of_the_tutorial_works() {
    let folder = tempfile::tempdir().unwrap();
    let mut printed = Vec::new();
    for (info, block) in blocks() {
        match info.split_once(' ') {
            Some(("xml", path)) => fs::write(folder.path().join(path), block).unwrap(),
            None if info == "sh" => printed.push(run(&block, folder.path())),
            None if info == "text" => {}
            _ => panic!("a block of {info}"),
        }
    }
    let [_, robot, world, sequence, _, positions] = &printed[..] else {
        panic!("{} blocks of commands", printed.len())
    };
    assert!(robot.contains("8 degrees of freedom"), "{robot}");
    let (right, sunk) = world.split_once("worlds/sunk.xml").unwrap();
    assert!(!right.contains("warning"), "{world}");
    assert!(sunk.contains("warning: 'Rover/LeftWheel' begins 0.050 m deep in the ground"), "{world}");
    assert!(sequence.contains("4 commands in 5 s"), "{sequence}");
    let rows: Vec<Vec<f64>> = positions
        .lines()
        .filter_map(|line| line.split(',').map(|cell| cell.parse().ok()).collect::<Option<Vec<f64>>>())
        .collect();
    assert_eq!(rows.len(), 5, "{positions}");
    // 5 rad/s on a radius of 0.1 m for 4 s, and what it takes to come to speed and to rest.
    assert!((1.9..2.1).contains(&rows[4][1]), "{rows:?}");
    assert!(rows[4][2].abs() < 0.01 && (rows[4][1] - rows[3][1]).abs() < 0.05, "{rows:?}");
    assert!(fs::read_to_string(folder.path().join("rover.svg")).unwrap().contains("<svg"));
}
