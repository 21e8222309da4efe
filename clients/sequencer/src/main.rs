//! The `simpartner-sequencer` command: parses arguments, prints progress and a summary.

use std::{path::PathBuf, process::ExitCode};

use anyhow::Result;
use clap::Parser;
use simpartner_description::xml;
use simpartner_model::Moment;
use simpartner_sequencer::{
    command::{play_with_notes, read_lead},
    play::{Options, Progress},
};
use simpartner_terminal::{ServerArguments, output};

/// Plays an XML command sequence to a running SimPartner server.
///
/// If the server is paused, it steps through the sequence with the same results as `simpartner run --mode fast
/// --sequence FILE`, bit for bit, and is paused at the end. If it is playing, each command is sent ahead of its step.
#[derive(Debug, Parser)]
#[command(version, after_help = "Exit codes: 0 success, 1 the sequence was not played to its end, 2 wrong arguments")]
struct Arguments {
    /// Sequence file
    file: PathBuf,
    #[command(flatten)]
    server: ServerArguments,
    /// Token of the server, if it requires one
    #[arg(long)]
    token: Option<String>,
    /// Simulated time from now to the start of the sequence on a playing server, from 0 to 3600 s; in seconds, or in
    /// steps as 200steps
    #[arg(long, value_name = "TIME", default_value = "0.2", value_parser = read_lead)]
    lead: Moment,
    /// End the run of the server after the sequence
    #[arg(long)]
    quit: bool,
}

fn main() -> ExitCode {
    let code = match output::arguments().map(run) {
        Ok(Ok(progress)) => {
            output::line(progress);
            ExitCode::SUCCESS
        }
        Ok(Err(error)) => {
            // Messages about a file end with a line break.
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
    let Arguments { token, lead, quit, .. } = arguments;
    play_with_notes(&sequence, &Options { server, token, lead, quit })
}
