//! `tutorials/first-robot.md` of the book: its blocks run in their order, and the results are those that it states.

use std::fs;

use crate::book::{hold_pictures, runner::Runner};

#[cfg(unix)]
#[test]
fn every_block_of_the_tutorial_works() {
    let path = "tutorials/first-robot.md";
    let page = simpartner_book::markdown(path).unwrap();
    let mut runner = Runner::new(path);
    runner.run(page);
    let printed: Vec<&str> = runner.printed.iter().map(|(_, text)| text.as_str()).collect();
    let [_, robot, world, sequence, _, positions, ..] = &printed[..] else {
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
    // 5 rad/s on a radius of 0.1 m for 4 s, with acceleration and deceleration.
    assert!((1.9..2.1).contains(&rows[4][1]), "{rows:?}");
    assert!(rows[4][2].abs() < 0.01 && (rows[4][1] - rows[3][1]).abs() < 0.05, "{rows:?}");
    assert!(fs::read_to_string(runner.path("rover.svg")).unwrap().contains("<svg"));
    hold_pictures(&runner, path, page);
}
