//! The `simpartner-sequencer` command: arguments in, progress and a summary out.

use std::{
    path::PathBuf,
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::Result;
use clap::Parser;
use simpartner_description::xml;
use simpartner_sequencer::play::{Options, Progress, play};
use simpartner_terminal::{ServerArguments, output};

/// How often the progress is printed.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);

/// Plays an XML command sequence to a running SimPartner server.
///
/// A paused server is run through the sequence exactly, bit for bit as `simpartner run --mode fast --sequence FILE` would,
/// and left paused. A playing one is followed: every command is sent ahead of the step it is for.
#[derive(Debug, Parser)]
#[command(version, after_help = "Exit codes: 0 played, 1 not played or not to the end, 2 wrong arguments")]
struct Arguments {
    /// Sequence file
    file: PathBuf,
    #[command(flatten)]
    server: ServerArguments,
    /// The server's token, where it wants one
    #[arg(long)]
    token: Option<String>,
    /// How far ahead of a playing clock the sequence begins, in simulated seconds
    #[arg(long, value_name = "SECONDS", default_value = "0.2", value_parser = read_lead)]
    lead: f64,
    /// End the server's run after the sequence
    #[arg(long)]
    quit: bool,
}

fn main() -> ExitCode {
    let code = match output::arguments().map(run) {
        Ok(Ok(Progress { commands, steps, simulated_s, .. })) => {
            output::line(format_args!("commands {commands}\nsteps {steps}\nsimulated {simulated_s} s"));
            ExitCode::SUCCESS
        }
        Ok(Err(error)) => {
            // What is wrong with a file ends its last line itself.
            output::note(format_args!("error: {}", format!("{error:#}").trim_end()));
            ExitCode::FAILURE
        }
        Err(code) => code,
    };
    output::exit(code)
}

fn run(arguments: Arguments) -> Result<Progress> {
    let sequence = xml::read_sequence(&arguments.file)?;
    let server = arguments.server.control()?;
    let Arguments { token, lead: lead_s, quit, .. } = arguments;
    let mut printed = Instant::now();
    play(&sequence, &Options { server, token, lead_s, quit }, |progress| {
        if printed.elapsed() >= PROGRESS_INTERVAL {
            printed = Instant::now();
            let Progress { commands, simulated_s, length_s, .. } = progress;
            output::note(format_args!("{simulated_s:.1} s of {length_s:.1} s, {commands} commands sent"));
        }
    })
}

fn read_lead(text: &str) -> Result<f64, String> {
    let seconds = text.parse().map_err(|_| "expected a number of seconds".to_owned())?;
    if (0.0..=3600.0).contains(&seconds) { Ok(seconds) } else { Err("expected 0 to 3600 s".to_owned()) }
}
