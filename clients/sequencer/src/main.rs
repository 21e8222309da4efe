//! The `simpartner-sequencer` command: arguments in, progress and a summary out.

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
/// A paused server is run through the sequence exactly, bit for bit as `simpartner run --mode fast --sequence FILE`
/// would, and left paused. A playing one is followed: every command is sent ahead of the step it is for.
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
    /// How far ahead of a playing clock the sequence begins, in simulated time as 0.2s or 200steps; a plain number is
    /// one of seconds
    #[arg(long, value_name = "TIME", default_value = "0.2", value_parser = read_lead)]
    lead: Moment,
    /// End the server's run after the sequence
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
    let Arguments { token, lead, quit, .. } = arguments;
    play_with_notes(&sequence, &Options { server, token, lead, quit })
}
