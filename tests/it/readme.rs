//! `README.md`: every block of commands is pasted whole into a shell in an empty folder.

use crate::book::runner::{Runner, blocks};

#[cfg(unix)]
#[test]
fn every_block_that_can_be_pasted_runs_whole() {
    let page = include_str!("../../README.md");
    let mut runner = Runner::new("README.md");
    runner.run(page);
    let printed: Vec<&str> = runner.printed.iter().map(|(_, text)| text.as_str()).collect();
    let [talk, run] = printed[..] else { panic!("{} of {} blocks were run", printed.len(), blocks(page).len()) };
    assert!(talk.contains("<1000,1000,100,0,0,1>\n") && talk.contains("OK state=PLAYING"), "{talk}");
    assert!(run.contains("outcome           completed") && run.contains("chain             the same"), "{run}");
}
