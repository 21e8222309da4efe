//! Shared parts of command lines that play a sequence: a flag and the progress on standard error.

use std::time::{Duration, Instant};

use anyhow::Result;
use simpartner_description::Sequence;
use simpartner_model::{Moment, Timestep};
use simpartner_terminal::output;

use crate::play::{Options, Progress, play};

/// Interval between two progress lines.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);

/// Plays a sequence and notes the progress.
///
/// # Errors
/// As [`play`].
pub fn play_with_notes(sequence: &Sequence, options: &Options) -> Result<Progress> {
    let mut printed = Instant::now();
    play(sequence, options, |progress| {
        if printed.elapsed() >= PROGRESS_INTERVAL {
            printed = Instant::now();
            let Progress { commands, simulated_s, length_s, .. } = progress;
            output::note(format_args!("{simulated_s:.1} s of {length_s:.1} s, {commands} commands sent"));
        }
    })
}

/// Reads the flag `--lead`.
///
/// # Errors
/// The text is not a time from 0 to 3600 s.
pub fn read_lead(text: &str) -> Result<Moment, String> {
    let lead = Moment::or_seconds(text)?;
    if lead.seconds(Timestep::MILLISECOND) <= 3600.0 { Ok(lead) } else { Err("expected 0 to 3600 s".to_owned()) }
}
